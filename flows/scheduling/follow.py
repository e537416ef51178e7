"""Follow a source: what is new there comes in, and the runs and published tables that are behind it catch up.

Ingesting, rating and publishing each find out by themselves what is left to do, and do no more: so to follow is to do
one after the other, and what an earlier one left undone, by a crash or a correction by hand, the next one does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from ranklake.storage import Lake, Run

from ..common.extras import need
from ..common.text import count
from ..engines.protocols import Engine
from ..ingestion.report import SourceReport
from ..ingestion.source_update import check_source, has_contests, update
from ..publication.publish import PublishReport
from ..publication.publish import publish as publish_run
from ..rating.config import RunConfig
from ..rating.rate import rate
from ..rating.report import Progress, RateReport

__all__ = [
    "FollowReport",
    "Followed",
    "Show",
    "Tell",
    "catch_up",
    "check_source",
    "follow",
    "has_contests",
    "has_ratings",
    "publish_rated",
    "rate_shown",
]

Tell = Callable[[int, int | None, str], None]
Show = Callable[[str, str], AbstractContextManager[Tell]]  # what is being done, and the units it is counted in


@contextmanager
def unseen(what: str, units: str) -> Iterator[Tell]:
    """Progress that nobody looks at; see :func:`ranklake.flows.cli.terminal.terminal.progress` for one that is seen."""
    yield lambda done, total, told: None


@dataclass(frozen=True, slots=True)
class Followed:
    """What became of one run.

    Attributes
    ----------
    run : str
        Its name.
    rated : RateReport
        What was rated.
    published : PublishReport or None
        What was published; None if that was not wanted, or nobody has been rated yet.
    """

    run: str
    rated: RateReport
    published: PublishReport | None

    @property
    def changed(self) -> bool:
        """Whether anything was behind."""
        rated = self.rated.rated > 0 or bool(self.rated.why)
        return rated or (self.published is not None and bool(self.published.tables))

    def lines(self) -> Iterator[str]:
        """The report for a person."""
        yield f"run {self.run}: {self.rated.line()}"
        if self.rated.drift:
            yield f"run {self.run}: {self.rated.drift}"
        if self.published is not None:
            yield f"run {self.run}: {self.published.line()}"


@dataclass(frozen=True, slots=True)
class FollowReport:
    """What a follow did: what came in, and what became of each run; no run while a data set is empty."""

    ingested: SourceReport
    runs: tuple[Followed, ...]
    seconds: float

    @property
    def changed(self) -> bool:
        """Whether anything is other than before."""
        return self.ingested.changed or any(run.changed for run in self.runs)

    def details(self) -> Iterator[str]:
        """What a person should know of the source beside the counts; it may be the same after the next follow."""
        for line in self.ingested.details():
            yield f"data set {self.ingested.dataset}: {line}"

    def summary(self) -> str:
        """One line for a follow that changed nothing."""
        n_contests = self.ingested.unchanged
        told = f"data set {self.ingested.dataset}: nothing new, {count(n_contests, 'contest')}"
        names = ", ".join(run.run for run in self.runs)
        runs = f"run{'' if len(self.runs) == 1 else 's'} {names} up to date" if names else "nothing to rate"
        return f"{told}; {self.ingested.asked()}; {runs}"

    def lines(self) -> Iterator[str]:
        """The report for a person: details, then what changed."""
        yield from self.details()
        yield from self.changes()

    def changes(self) -> Iterator[str]:
        """What came in, and what became of each run."""
        yield f"data set {self.ingested.dataset}: {self.ingested.line()}"
        for run in self.runs:
            yield from run.lines()
        if not self.runs:
            yield f"data set {self.ingested.dataset}: no contests yet, nothing to rate"


def follow(
    lake: Lake,
    source: str,
    runs: Sequence[RunConfig],
    engine: Engine,
    *,
    publish: bool = True,
    show: Show = unseen,
    **where: Any,
) -> FollowReport:
    """Ingest what is new of a source, and bring runs and their published tables up to date with it.

    Parameters
    ----------
    runs
        At least one, all over the data set that the source goes into, as
        :func:`~ranklake.flows.rating.resolve.resolve_runs` gives them.
    where
        ``since``, ``base_url``, ``path`` and ``file_options``, as :func:`ranklake.flows.ingestion.source_update.update`
        has them.
    publish
        Publish each run, too.
    show
        How progress is shown.

    Raises
    ------
    SourceError
        The source cannot be reached or read, or sent what is no contest; nothing is rated then.
    LakeError
        Something is damaged, or somebody else writes the data set or a run; what was done before stays.
    MissingExtraError
        The package that publishing needs is not installed; nothing is done then.
    """
    began = time.perf_counter()
    if publish:
        need("deltalake", "publish", "publishing")
    dataset = runs[0].dataset
    with show(f"ingesting {source}", "responses") as tell:
        ingested = update(lake, source, dataset, on_progress=tell, **where)
    followed = []
    if has_contests(lake, dataset):
        followed = [catch_up(lake, config, engine, publish=publish, show=show) for config in runs]
    return FollowReport(ingested, tuple(followed), time.perf_counter() - began)


def catch_up(lake: Lake, config: RunConfig, engine: Engine, *, publish: bool = True, show: Show = unseen) -> Followed:
    """Bring one run and its published tables up to date with the data set.

    Raises
    ------
    LakeError
        As for :func:`~ranklake.flows.rating.rate.rate` and :func:`~ranklake.flows.publication.publish.publish`.
    """
    rated = rate_shown(lake, config, engine, show)
    return Followed(config.run, rated, publish_rated(lake, config.run) if publish else None)


def rate_shown(lake: Lake, config: RunConfig, engine: Engine, show: Show = unseen) -> RateReport:
    """As :func:`~ranklake.flows.rating.rate.rate`, with its progress shown."""
    with show(f"rating {config.run}", "contests") as tell:

        def on_progress(progress: Progress) -> None:
            tell(progress.rounds, progress.n_rounds, f"{progress.rows / max(progress.seconds, 1e-9):,.0f} rows/s")

        return rate(lake, config, engine, on_progress=on_progress)


def publish_rated(lake: Lake, run: str, maintain: bool = False) -> PublishReport | None:
    """As :func:`~ranklake.flows.publication.publish.publish`; None if the run has rated nobody yet."""
    return publish_run(lake, run, maintain=maintain) if has_ratings(lake, run) else None


def has_ratings(lake: Lake, run: str) -> bool:
    """Whether a run has rated anybody."""
    return any(segment.n_rows > 0 for segment in Run.open(lake, run).segments().segments)
