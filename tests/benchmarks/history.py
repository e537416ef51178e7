"""Histories of contests in memory, and the raters of both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from timing import SkippedRow

from ranklake.flows.engines.factory import open_engine
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.sources.column_names import Columns
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.options import ReadOptions
from ranklake.rating_kernels import SYSTEMS, Beliefs, Rounds
from ranklake.storage import Dataset, Lake

PIECE_ROWS = 2_000  # as in the files of `ranklake ingest`
TENNIS_COLUMNS = ("contest=contest_id", "player=player_id", "time=time")


@dataclass(frozen=True, eq=False)
class History:
    """Contests in rated order, and the handles by player number."""

    rounds: Rounds
    handles: pa.StringArray

    def __str__(self) -> str:
        return f"{len(self.rounds):,} rounds, {self.rounds.n_rows:,} participations, {len(self.handles):,} players"


@cache
def load(path: Path, limit: int | None = None, columns: tuple[str, ...] = ()) -> History:
    """The first ``limit`` contests of a file, all by default; uninformative ones are left out."""
    sizes, times, handles, lo, hi = [], [], [], [], []
    read = read_contests(path, ReadOptions(columns=Columns.parse(columns), on_error="skip"))
    for contest in islice(read, limit):
        sizes.append(len(contest))
        times.append(contest.time_seconds)
        handles.append(contest.handles)
        lo.append(contest.lo)
        hi.append(contest.hi)
    encoded = pa.chunked_array(handles).combine_chunks().dictionary_encode()
    rounds = Rounds.from_columns(
        np.concatenate(([0], np.cumsum(sizes))),
        encoded.indices.to_numpy(),
        np.concatenate(lo),
        np.concatenate(hi),
        times,
    )
    return History(rounds, encoded.dictionary)


@contextmanager
def lake_of(path: Path, limit: int | None = None) -> Iterator[Lake]:
    """A lake with the first contests of a file as data set ``d``."""
    with TemporaryDirectory() as folder:
        lake = Lake.open(folder)
        with Dataset.ingest(lake, "d") as adding:
            for contest in islice(read_contests(path), limit):
                adding.add(contest)
        yield lake


def rate_pieces(rounds: Rounds, n_players: int, engine: Any, system: str = "elo-mmr") -> Beliefs:
    """Rate a history with default hyperparameters, in the pieces of `ranklake rate`."""
    chosen = SYSTEMS[system]
    params = chosen.params()
    beliefs = chosen.newcomers(params, n_players)
    for start, stop in _pieces(rounds.offsets):
        rate_rounds(chosen, params, beliefs, rounds.part(start, stop), engine)
    return beliefs


def rate_warm(history: History, system: str = "elo-mmr") -> Callable[[object], Beliefs]:
    """The rater of ranklake, ready for timing: kernels compiled, uninformative rounds left out, one thread a core."""
    rounds, n_players = history.rounds.keep(history.rounds.informative), len(history.handles)
    engine = open_engine("threads")
    sizes = np.diff(rounds.offsets)
    for at in {int(np.argmin(sizes)), int(np.argmax(sizes))}:
        rate_pieces(rounds.part(at, at + 1), n_players, engine, system)
    return lambda _: rate_pieces(rounds, n_players, engine, system)


def peer_rater(history: History, system: Any) -> Callable[[object], dict[str, Any]]:
    """The authors' engine on the same contests, ready for timing: its objects are created."""
    try:
        import elo_mmr_py
    except ImportError as error:
        raise SkippedRow("the authors' engine is not installed; pip install --group bench -e .") from error
    rounds = history.rounds
    names = history.handles.to_pylist()
    # It needs times that do not decrease. Nothing drifts with time here, so their values have no effect.
    times = np.maximum.accumulate(rounds.time_seconds)
    times -= times[0]
    contests = []
    for i, (a, b) in enumerate(zip(rounds.offsets[:-1], rounds.offsets[1:], strict=True)):
        players = [names[player] for player in rounds.player[a:b].tolist()]
        standings = list(zip(players, rounds.lo[a:b].tolist(), rounds.hi[a:b].tolist(), strict=True))
        contests.append(elo_mmr_py.Contest(standings, time_seconds=int(times[i])))
    return lambda _: elo_mmr_py.rate_latest(contests, system=system)


def largest_difference(history: History, beliefs: Beliefs, ratings: dict[str, Any]) -> float:
    """Largest |mu - mu of the peer| over all players, rating points; infinite if the players are not the same."""
    rated = beliefs.n_rounds > 0
    names = history.handles.filter(pa.array(rated)).to_pylist()
    if set(names) != set(ratings):
        return float("inf")
    return float(np.max(np.abs(beliefs.mu[rated] - [ratings[name].mu for name in names])))


def _pieces(offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    start, last = 0, len(offsets) - 1
    while start < last:
        stop = min(int(np.searchsorted(offsets, offsets[start] + PIECE_ROWS)), last)
        yield start, stop
        start = stop
