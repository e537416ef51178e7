"""Follow a source: ingest new contests, then update the runs and their published tables.

Ingesting, rating and publishing are incremental: each does only the remaining work. A follow runs the three in
sequence; the next call completes the work after a crash, and applies manual corrections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ranklake.storage import Lake, Run

from ..common.extras import need
from ..common.progress import ProgressCallback
from ..common.text import count
from ..engines.protocols import Engine
from ..ingestion.adding import QUIET, How, count_contests
from ..ingestion.report import SourceReport
from ..ingestion.source_update import SourceRequest, update
from ..publication.database import publish_to_database
from ..publication.publish import PublishReport
from ..publication.publish import publish as publish_run
from ..rating.config import RunConfig
from ..rating.rate import RateOptions, rate
from ..rating.report import RateReport

Show = Callable[[str, str], AbstractContextManager[ProgressCallback]]  # the work, and the units of its progress


@contextmanager
def unseen(what: str, units: str) -> Iterator[ProgressCallback]:
    """Progress that is not shown; see :func:`ranklake.flows.cli.terminal.output.progress` for a visible one."""
    yield lambda done, total, text: None


@dataclass(frozen=True, slots=True)
class Followed:
    """The report of one followed run: of its rating, and of its publication, None if that was not requested or the run
    has no ratings.
    """

    run: str
    rated: RateReport
    published: PublishReport | None

    @property
    def changed(self) -> bool:
        """Whether the run was out of date."""
        rated = self.rated.rated > 0 or bool(self.rated.why)
        return rated or (self.published is not None and bool(self.published.tables))

    def lines(self) -> Iterator[str]:
        """The lines of the report."""
        yield f"run {self.run}: {self.rated.line()}"
        for warning in (*self.rated.warnings, *filter(None, [self.rated.apart])):
            yield f"run {self.run}: {warning}"
        if self.published is not None:
            yield f"run {self.run}: {self.published.line()}"


@dataclass(frozen=True, slots=True)
class FollowReport:
    """The reports of the source and of each run; no runs if the data set is empty."""

    ingested: SourceReport
    runs: tuple[Followed, ...]

    @property
    def changed(self) -> bool:
        """Whether anything has changed."""
        return self.ingested.changed or any(run.changed for run in self.runs)

    def details(self) -> Iterator[str]:
        """Remarks on the source besides the counts; the next follow may repeat them."""
        for line in self.ingested.details():
            yield f"data set {self.ingested.dataset}: {line}"

    def summary(self) -> str:
        """One line for a follow that changed nothing."""
        n_contests = self.ingested.unchanged
        text = f"data set {self.ingested.dataset}: nothing new, {count(n_contests, 'contest')}"
        names = ", ".join(run.run for run in self.runs)
        runs = f"run{'' if len(self.runs) == 1 else 's'} {names} up to date" if names else "nothing to rate"
        return f"{text}; {self.ingested.cost()}; {runs}"

    def lines(self) -> Iterator[str]:
        """The lines of the report: details, then changes."""
        yield from self.details()
        yield from self.changes()

    def changes(self) -> Iterator[str]:
        """The changes of the source and of each run."""
        yield f"data set {self.ingested.dataset}: {self.ingested.line()}"
        for run in self.runs:
            yield from run.lines()
        if not self.runs:
            yield f"data set {self.ingested.dataset}: no contests yet, nothing to rate"


def follow(
    lake: Lake,
    request: SourceRequest,
    runs: Sequence[RunConfig],
    engine: Engine,
    *,
    publish: bool = True,
    to: Mapping[str, Any] | None = None,
    show: Show = unseen,
    how: How = QUIET,
) -> FollowReport:
    """Ingest new contests of a source, and update runs and their published tables.

    ``runs`` are at least one, over the data set of the source. ``to`` publishes into a database instead: ``url``,
    ``schema`` and ``prefix`` of ``publish_to_database``. ``show`` shows the progress.

    Raises ``SourceError`` if the source cannot be read, then nothing is rated; ``LakeError``, then completed steps
    stay; ``MissingExtraError`` before anything is done.
    """
    if publish and to is None:
        need("deltalake", "publish", "publishing")
    with show(f"ingesting {request.source}", "responses") as on_progress:
        ingested = update(lake, request, replace(how, on_progress=on_progress))
    followed = []
    for config in runs if count_contests(lake, request.dataset) else ():
        rated = rate_shown(lake, config, engine, show)
        published = publish_rated(lake, config.run, to=to, show=show) if publish else None
        followed.append(Followed(config.run, rated, published))
    return FollowReport(ingested, tuple(followed))


def rate_shown(lake: Lake, config: RunConfig, engine: Engine, show: Show = unseen) -> RateReport:
    """As :func:`~ranklake.flows.rating.rate.rate`, with its progress shown."""
    with show(f"rating {config.run}", "participations") as update_progress:
        return rate(lake, config, engine, RateOptions(on_progress=lambda reached: update_progress(*reached.shown())))


def publish_rated(
    lake: Lake, run: str, maintain: bool = False, to: Mapping[str, Any] | None = None, show: Show = unseen
) -> PublishReport | None:
    """Publish a run into the lake, or into the database ``to``, see :func:`follow`; None if the run has no ratings."""
    if not has_ratings(lake, run):
        return None
    with show(f"publishing {run}", "participations") as update_progress:
        if to is None:
            return publish_run(lake, run, maintain=maintain, on_progress=update_progress)
        return publish_to_database(lake, run, **to, on_progress=update_progress)


def has_ratings(lake: Lake, run: str) -> bool:
    """Whether a run has ratings."""
    return any(segment.n_rows > 0 for segment in Run.open(lake, run).segments().segments)
