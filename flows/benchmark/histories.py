"""Histories to compare systems on: files as `ingest files` and `ingest games` read them, data sets, frames."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.standings import Longs
from ranklake.storage import Dataset, Lake, LakeError
from ranklake.storage.datasets.tables.games import GAMES_KIND

from ..common.progress import ProgressCallback
from ..common.skipping import Skipping
from ..common.times import spelled
from ..evaluation.tuning.history import TrialRounds, load_history
from ..experiments.data import name_of
from ..frames.results import Reading, named_columns
from ..ingestion.adding import How
from ..ingestion.files import FILES, ingest_contests, read_files
from ..ingestion.games import ingest_games
from ..ingestion.report import FilesReport
from ..sources.archives.archive import ARCHIVES
from ..sources.column_names import KEYS as OF_CONTESTS
from ..sources.files.inputs import format_of
from ..sources.games.options import KEYS as OF_GAMES
from ..sources.games.options import GamesOptions, parse_columns
from ..sources.lake_tables import is_delta, is_leftover
from ..sources.limits import Limits

_DATASET = "history"  # in the temporary lake of a history from files
_ALL_ROUNDS = Skipping(False, False, False)


@dataclass(frozen=True, eq=False, slots=True)
class BenchmarkHistory:
    """Contests in rated order, of rated participants alone; each system skips some (:mod:`.cells`).

    ``rounds``: contests, or games of one-to-one games.
    ``periods`` (int64[p + 1] or None): of games, the first game of each period and the number of games.
    ``digest``: of all numbers of the rounds.
    ``swapped`` (bool[r] or bool[0]): games whose winner is the second player; empty if none is.
    ``left_out``: what is wrong with each contest or kind of game that was left out.
    """

    name: str
    rounds: Rounds
    n_players: int
    periods: Longs | None
    digest: str
    left_out: Sequence[str] = ()
    swapped: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))

    @classmethod
    def of(
        cls,
        name: str,
        rounds: Rounds,
        periods: Longs | None = None,
        left_out: Sequence[str] = (),
        swapped: npt.NDArray[np.bool_] | None = None,
    ) -> BenchmarkHistory:
        """A history of all rounds that have rated participants."""
        whole = TrialRounds.of(rounds, _ALL_ROUNDS)
        digest = blake2b(digest_size=16)
        won = np.empty(0, bool) if swapped is None or not swapped.any() else swapped
        for column in (*whole.rounds.arrays, *(() if periods is None else (periods,)), *([won] if len(won) else [])):
            digest.update(f"{column.dtype} {len(column)} ".encode() + column.tobytes())
        return cls(name, whole.rounds, whole.n_players, periods, digest.hexdigest(), left_out, won)

    @property
    def n_results(self) -> int:
        """The number of contests, or of periods of games: what a share of the history counts."""
        return len(self.rounds) if self.periods is None else len(self.periods) - 1

    @property
    def timed(self) -> bool:
        return bool(self.rounds.time_seconds.any())

    def facts(self) -> dict[str, Any]:
        """What the history is, for JSON."""
        rounds, ends = self.rounds, self.rounds.time_seconds[self.rounds.time_seconds != 0]
        days = [spelled(int(end))[:10] for end in (ends.min(), ends.max())] if len(ends) else [None, None]
        sizes = np.diff(rounds.offsets)
        return {
            "name": self.name, "kind": "contests" if self.periods is None else "games", "contests": len(rounds),
            "players": self.n_players, "participations": rounds.n_rows, "largest": int(sizes.max(initial=0)),
            "teams": rounds.teams is not None, "first_day": days[0], "last_day": days[1],
            "left_out": len(self.left_out), "digest": self.digest,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class HistorySource:
    """Where a history comes from: a path of files, a data set of a lake, or a frame of results.

    ``options``: of files as for :func:`.ingestion.files.read_files`; of a frame the names of its columns by key.
    ``games``: whether the files are of one-to-one games.
    """

    name: str
    place: str | Lake | Any
    options: Mapping[str, Any]
    games: bool = False

    def read(self, on_progress: ProgressCallback) -> BenchmarkHistory:
        """The history.

        Raises SourceError, LakeError, ValueError, OSError: it cannot be read, or it has no contests.
        """
        if isinstance(self.place, Lake):
            return _of_dataset(self.name, Dataset.open(self.place, self.name))
        if not isinstance(self.place, str):
            read = Reading(named_columns(self.options)).read(self.place)
            return BenchmarkHistory.of(self.name, read.rounds, left_out=read.left_out)
        how = How(on_progress=on_progress)
        with tempfile.TemporaryDirectory(prefix="ranklake-") as folder:
            lake = Lake.open(folder, create=True)
            if self.games:
                left_out = ingest_games(lake, [self.place], _DATASET, GamesOptions(**self.options), how).read.lines()
            else:
                read_all = read_files(self.place, self.options)
                report = ingest_contests(lake, read_all, FilesReport(FILES, _DATASET), how)
                left_out = [one.reason for one in report.read.left_out]
            return _of_dataset(self.name, Dataset.open(lake, _DATASET), left_out)


def sources_of(
    paths: Sequence[str], games: Sequence[str], columns: Sequence[str], options: Mapping[str, Any]
) -> list[HistorySource]:
    """The histories at paths, of contests and of games; each may be ``NAME=PATH``.

    A folder with tables or archives has one history in each of them; any other folder is one history.

    ``columns``: ``KEY=COLUMN`` for all tables that have such a key, or ``NAME.KEY=COLUMN`` for one history.
    ``options``: the other options of `ingest files`.
    Raises ValueError: a column names no history or no key.
    """
    places = [(name, place, False) for text in paths for name, place in _places(text)]
    places += [(name, place, True) for text in games for name, place in _places(text, whole=True)]
    names = [name for name, *_ in places]
    for column in columns:
        key = column.partition("=")[0]
        name, dot, bare = key.rpartition(".")
        if dot and name not in names:
            raise ValueError(f"--column {column}: there is no history {name!r}; there are {', '.join(names)}")
        if bare not in OF_CONTESTS and bare not in OF_GAMES:
            raise ValueError(f"--column {column}: there is no key {bare!r}")
    return [source_of(name, place, columns, options, games=of_games) for name, place, of_games in places]


def source_of(
    name: str, place: str, columns: Sequence[str], options: Mapping[str, Any], *, games: bool = False
) -> HistorySource:
    """The history of this name at a path; ``columns`` and ``options`` as for :func:`sources_of`."""
    known = list(OF_GAMES) if games else OF_CONTESTS
    own = [column.removeprefix(f"{name}.") for column in columns if column.startswith(f"{name}.")]
    of_table = games or format_of(Path(place)) is not None or "*" in place
    for_all = [column for column in columns if column.partition("=")[0] in known] if of_table else []
    given = {column.partition("=")[0] for column in own}
    chosen = [*own, *(column for column in for_all if column.partition("=")[0] not in given)]
    if not games:
        return HistorySource(name, place, {**options, "columns": chosen})
    taken = {key: options[key] for key in ("time_format", "delimiter", "encoding", "on_error") if key in options}
    limits = Limits.parse(options.get("limits", ()))
    return HistorySource(name, place, {**taken, "columns": parse_columns(chosen), "limits": limits}, games=True)


def _places(text: str, whole: bool = False) -> Iterator[tuple[str, str]]:
    """The names and paths of the histories that a path, or ``NAME=PATH``, stands for."""
    name, equals, path = text.partition("=")
    if equals and name and not Path(text).exists():
        yield name, path
        return
    folder = Path(text)
    inside = [] if whole or not folder.is_dir() or is_delta(folder) else sorted(folder.iterdir())
    found = [file for file in inside if _holds_history(file)]
    for file in found or [folder]:
        yield name_of(file) or str(file), str(file)


def _holds_history(file: Path) -> bool:
    """Whether a file of a folder is a history of its own: a table or an archive; contests ``N.json`` are no table."""
    if not file.is_file() or is_leftover(file.name) or file.suffix == ".txt":
        return False
    return file.name.lower().endswith(ARCHIVES) or format_of(file) not in (None, "json")


def _of_dataset(name: str, dataset: Dataset, left_out: Sequence[str] = ()) -> BenchmarkHistory:
    if not dataset.contests.num_rows:
        raise LakeError(f"data set {name} has no contests; `ranklake ingest` brings them in")
    whole = load_history(dataset, skipping=_ALL_ROUNDS)
    if dataset.kind != GAMES_KIND:
        return BenchmarkHistory.of(name, whole.rounds, left_out=left_out)
    games = dataset.contests.column("n_players").to_numpy() // 2
    return BenchmarkHistory.of(name, whole.rounds, np.concatenate(([0], np.cumsum(games))), left_out, whole.swapped)


def simultaneous(rounds: Rounds, periods: Longs) -> Rounds:
    """The games of each period as one event, for hyperparameters that rate them all at the same time."""
    return replace(rounds, event=np.repeat(periods[:-1], np.diff(periods)))
