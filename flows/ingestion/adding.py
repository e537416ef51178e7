"""How an ingestion writes and what it tells, and the one walk that adds contests to a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec

from ranklake.storage import Contest, Dataset, Ingest, Lake, MissingError
from ranklake.storage.datasets.tables.games import Period
from ranklake.storage.lake import layout
from ranklake.storage.leases.holder import LeaseHolder

from ..common.progress import ProgressCallback, not_shown
from ..sources.base import SourceError
from .report import SourceReport

T = TypeVar("T")


@dataclass(frozen=True)
class How:
    """How an ingestion writes, and whom it tells.

    ``rewrite``, ``steal``, ``on_wait``: as for ``Dataset.ingest``; ``steal`` and ``on_wait`` also for the lease on the
    responses of a site.
    ``on_progress``: called with the number of documents or contests that are done, of all, and a message.
    ``on_retry``: called with the reason and the length of the pause before a request is repeated.
    ``before_commit``: called with the ingest when everything is read; its errors leave the data set unchanged.
    """

    rewrite: bool = False
    steal: bool = False
    on_wait: Callable[[LeaseHolder], None] = lambda by: None
    on_progress: ProgressCallback = not_shown
    on_retry: Callable[[str], None] = lambda why: None
    before_commit: Callable[[Ingest], None] = lambda adding: None

    def ingest(self, lake: Lake, dataset: str, **kind: Any) -> AbstractContextManager[Ingest]:
        """``Dataset.ingest``; ``kind`` has its other arguments."""
        return Dataset.ingest(lake, dataset, rewrite=self.rewrite, steal=self.steal, on_wait=self.on_wait, **kind)


QUIET = How()


def add_all(
    lake: Lake,
    report: SourceReport,
    contests: Iterable[Contest | Period | SourceError],
    how: How,
    on_added: Callable[[], None] = lambda: None,
    **kind: Any,
) -> Ingest:
    """Add contests, or periods of games, to the data set of a report, all or none, and count them there.

    The first one is read before the lease is taken: most faults of a file end here, and leave no folder of a new data
    set. ``on_added`` is called after each of them; ``kind`` is as for :meth:`How.ingest`.
    """
    layout.check_dataset_name(report.dataset)
    left = iter(contests)
    first = tuple(islice(left, 1))
    with how.ingest(lake, report.dataset, **kind) as adding:
        for contest in chain(first, left):
            if isinstance(contest, SourceError):
                report.reject(contest)
            else:
                report.count(adding.add(contest))
                on_added()
        how.before_commit(adding)
    report.alike = adding.alike_players()
    report.end()
    return adding


def read_record(lake: Lake, place: str, kind: type[T]) -> tuple[T | None, str]:
    """The record of an earlier ingestion, and the version of its file; None if it is missing or unreadable: that costs
    one reading of everything.
    """
    version = ""
    try:
        data, version = lake.read_versioned(place)
        return msgspec.json.decode(data, type=kind), version
    except (MissingError, msgspec.MsgspecError):
        return None, version


def count_contests(lake: Lake, dataset: str) -> int:
    """The number of contests of a data set; 0 if it does not exist."""
    try:
        return int(Dataset.open(lake, dataset).contests.num_rows)
    except MissingError:
        return 0
