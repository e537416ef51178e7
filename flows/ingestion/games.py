"""From files of one-to-one games, or a generator, to a data set of kind ``games``, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.tables.games import Period
from ranklake.storage.lake import layout
from ranklake.storage.leases.holder import LeaseHolder

from ..common.progress import ProgressCallback
from ..common.text import count
from ..sources.base import SourceError
from ..sources.games.batch import GamesReport
from ..sources.games.reading import GamesOptions, read_periods
from ..sources.games.synthetic import GamesPreset, generate_games
from .report import SourceReport, counted

_NAME = "games"


@dataclass
class GamesIngested(SourceReport):
    """Counts of an ingestion of games: ``new``, ``corrected``, ``unchanged`` and ``moved`` are periods."""

    read: GamesReport = field(default_factory=GamesReport)
    moved: int = 0

    def details(self) -> list[str]:
        """The games that were left out, and new players with odd names."""
        return [*super().details(), *self.read.lines()]

    def line(self) -> str:
        """The counts in one line."""
        periods = {kind: getattr(self, kind) for kind in ("new", "corrected", "unchanged")}
        games = count(self.read.games, "game")
        return f"{counted(periods, 'period') or 'no periods'} with {games}, in {self.seconds:.1f} s"


def ingest_games(
    lake: Lake,
    paths: Sequence[str],
    dataset: str,
    options: GamesOptions,
    *,
    on_progress: ProgressCallback = lambda done, total, message: None,
    **how: Any,
) -> GamesIngested:
    """Bring a data set of games up to date with files, all periods or none.

    A period that the files have games of is replaced as a whole; the others stay. Periods are rated in order of time.
    ``paths`` are as for ``read_periods``, and ``how`` as for ``Dataset.ingest``.

    Raises ``SourceError`` if a file cannot be read or has no game that can be rated, ``LakeError`` if the data set has
    contests.
    """
    report = GamesIngested(_NAME, layout.check_dataset_name(dataset))
    periods = read_periods(paths, options, report.read, lambda games: on_progress(games, None, f"{games:,} games read"))
    return _ingest(lake, report, periods, ", ".join(paths), on_progress, **how)


def ingest_synthetic_games(
    lake: Lake,
    preset: GamesPreset,
    seed: int,
    dataset: str,
    *,
    on_progress: ProgressCallback = lambda done, total, message: None,
    **how: Any,
) -> GamesIngested:
    """Bring a data set of games up to date with synthetic ones; otherwise as :func:`ingest_games`."""
    report = GamesIngested(_NAME, layout.check_dataset_name(dataset))

    def counted_in(period: Period) -> Period:
        report.read.games += len(period)
        return period

    return _ingest(lake, report, map(counted_in, generate_games(preset, seed)), "synthetic games", on_progress, **how)


def _ingest(
    lake: Lake,
    report: GamesIngested,
    periods: Iterator[Period],
    source: str,
    on_progress: ProgressCallback,
    *,
    rewrite: bool = False,
    steal: bool = False,
    on_wait: Callable[[LeaseHolder], None] = lambda by: None,
) -> GamesIngested:
    began, name = time.monotonic(), report.dataset
    changing = Dataset.ingest(lake, name, order="time", rewrite=rewrite, steal=steal, games=True, on_wait=on_wait)
    first = tuple(islice(periods, 1))  # before the lease, as in files
    if not first:
        found = "".join(f"; {line}" for line in report.read.lines()[:3])
        raise SourceError(f"no game that can be rated; nothing was ingested{found}", source)
    with changing as adding:
        for number, period in enumerate(chain(first, periods), 1):
            report.count(adding.add(period))
            on_progress(report.read.games, None, f"{number:,} periods written")
    report.moved, report.alike = adding.moved, adding.alike_players()
    report.seconds = time.monotonic() - began
    return report
