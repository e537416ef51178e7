"""From files of one-to-one games, or a generator, to a data set of kind ``games``, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from ranklake.storage import Lake
from ranklake.storage.datasets.tables.games import Period

from ..common.text import count
from ..sources.base import SourceError
from ..sources.games.batch import GamesReport
from ..sources.games.options import GamesOptions
from ..sources.games.reading import read_periods
from ..sources.games.synthetic import GamesPreset, generate_games
from .adding import QUIET, How, add_all
from .report import SourceReport


@dataclass
class GamesIngested(SourceReport):
    """Counts of an ingestion of games: ``new``, ``corrected``, ``unchanged`` and ``moved`` are periods."""

    read: GamesReport = field(default_factory=GamesReport)

    def details(self) -> list[str]:
        """The games that were left out, and new players with odd names."""
        return [*super().details(), *self.read.lines()]

    def line(self) -> str:
        """The counts in one line."""
        periods = self.counted("period", "new", "corrected", "unchanged") or "no periods"
        return f"{periods} with {count(self.read.games, 'game')}, in {self.seconds:.1f} s"


def ingest_games(
    lake: Lake, paths: Sequence[str], dataset: str, options: GamesOptions, how: How = QUIET
) -> GamesIngested:
    """Bring a data set of games up to date with files, all periods or none.

    A period that the files have games of is replaced as a whole; the others stay. Periods are rated in order of time.
    ``paths`` are as for ``read_periods``.

    Raises ``SourceError`` if a file cannot be read or has no game that can be rated, ``LakeError`` if the data set has
    contests.
    """
    report = GamesIngested("games", dataset)

    def on_read(games: int) -> None:
        how.on_progress(games, None, f"{games:,} games read")

    return _ingest(lake, report, read_periods(paths, options, report.read, on_read), ", ".join(paths), how)


def ingest_synthetic_games(lake: Lake, preset: GamesPreset, seed: int, dataset: str, how: How = QUIET) -> GamesIngested:
    """Bring a data set of games up to date with synthetic ones; otherwise as :func:`ingest_games`."""
    report = GamesIngested("games", dataset)

    def counted_in(period: Period) -> Period:
        report.read.games += len(period)
        return period

    return _ingest(lake, report, map(counted_in, generate_games(preset, seed)), "synthetic games", how)


def _ingest(lake: Lake, report: GamesIngested, periods: Iterable[Period], source: str, how: How) -> GamesIngested:
    left = iter(periods)
    if (first := next(left, None)) is None:
        found = "".join(f"; {line}" for line in report.read.lines()[:3])
        raise SourceError(f"no game that can be rated; nothing was ingested{found}", source)

    def on_added() -> None:
        number = report.new + report.corrected + report.unchanged
        how.on_progress(report.read.games, None, f"{number:,} periods written")

    report.moved = add_all(lake, report, chain([first], left), how, on_added, order="time", games=True).moved
    return report
