"""Histories for experiments, from a lake, a file or a synthetic preset; and rating one with a system."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import Beliefs, Outcome, Rounds
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.core.system import PerformanceLaw, System
from ranklake.rating_kernels.metrics.metrics import FILTERS
from ranklake.storage import Contest, Dataset, Lake, LakeError

from ..common.adapters import all_rounds
from ..common.configuration.settings import build_contest_params, find_system
from ..common.margins import check_points_of
from ..common.skipping import ANY_SYSTEM
from ..compilation.compile import compile_kernels
from ..engines.threads import Threads
from ..entrants.entrants import Entrants, laws_of
from ..entrants.scores import RoundScores, score_rounds
from ..execution.rounds import rate_rounds
from ..sources.base import SourceError
from ..sources.column_names import Columns
from ..sources.files.contests import read_contests
from ..sources.options import ReadOptions
from ..sources.synthetic import PRESETS, generate

GROUPS = ("experienced", "everyone")
_COLUMNS = {"tennis_atp.parquet": ("contest=contest_id", "player=player_id", "time=time")}
_ENDINGS = (
    ".tar", ".tgz", ".txz", ".zip", ".gz", ".bz2", ".zst", ".xz",
    ".csv", ".txt", ".tsv", ".tab", ".jsonl", ".ndjson", ".json", ".parquet", ".pq",
)  # fmt: skip
_DATA_SETS = tuple(one for one in _ENDINGS if one not in (".txt", ".json"))  # not files of one contest


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """Contests in the order in which they are rated.

    ``n_contests``, ``mean_participants``: number of contests, and their mean number of participants; skipped contests
    included.
    ``rounds``: the contests that every system rates: :data:`~ranklake.flows.common.skipping.ANY_SYSTEM`.
    ``index`` (int64[r]): for each round, the number of contests before it.
    ``handles``: names of the players, by player number.
    """

    name: str
    n_contests: int
    mean_participants: float
    rounds: Rounds
    index: npt.NDArray[np.int64]
    titles: list[str]
    handles: pa.StringArray

    @property
    def tested(self) -> npt.NDArray[np.bool_]:
        """The rounds after the first tenth of the contests, on which hyperparameters were tuned."""
        return self.index >= self.n_contests // 10

    def first(self, n: int, name: str) -> History:
        """The first ``n`` contests, under another name."""
        stop = int(np.searchsorted(self.index, n))
        rounds = self.rounds.part(0, stop)
        mean = rounds.n_rows / max(len(rounds), 1)
        return History(name, min(n, self.n_contests), mean, rounds, self.index[:stop], self.titles[:stop], self.handles)

    def extremes(self) -> list[History]:
        """A smallest and a largest round, a history each."""
        sizes = np.diff(self.rounds.offsets)
        rows = sorted({int(np.argmin(sizes)), int(np.argmax(sizes))})
        return [replace(self, rounds=self.rounds.part(at, at + 1)) for at in rows]

    def rate(self, system: str, **settings: Any) -> RatedHistory:
        """Rate the whole history on all cores; all players begin as newcomers."""
        found = find_system(system)
        params = build_contest_params(found, settings)
        check_points_of(params, self.rounds, "the history")
        beliefs = found.newcomers(params, len(self.handles))
        compile_kernels(found.name, np.diff(self.rounds.offsets))
        with Threads() as engine:
            began = time.perf_counter()
            outcome = rate_rounds(found, params, beliefs, self.rounds, engine)
            return RatedHistory(self, found, params, outcome, beliefs, time.perf_counter() - began)


@dataclass(frozen=True, eq=False, slots=True)
class RatedHistory:
    """A history rated by one system: the outcome of every participation, the final beliefs, and the time in seconds."""

    history: History
    system: System
    params: Any
    outcome: Outcome
    beliefs: Beliefs
    seconds: float

    def law(self) -> PerformanceLaw | None:
        """The law of each participation before its round; None if the system has no model of performances."""
        rounds, prior = self.history.rounds, self.outcome.prior
        prior = prior._replace(mu=rounds.strengths(prior.mu))
        return laws_of(self.system, self.params, np.diff(rounds.offsets), rounds.conditions, prior)

    def entrants(self) -> Entrants:
        """The entrants of every round, with the system's chances."""
        return Entrants.of_outcome(self.system, self.params, self.history.rounds, self.outcome)

    def scores(
        self, groups: Sequence[str] = GROUPS, mu: Floats | None = None, law: PerformanceLaw | None = None
    ) -> dict[str, RoundScores]:
        """Scores of each contest for groups of players, in the order of ``mu``; by default of the ratings before it."""
        rounds, outcome = self.history.rounds, self.outcome
        strength = rounds.strengths(outcome.mu_prior if mu is None else mu)
        filters = [FILTERS[name] for name in groups]
        return score_rounds(
            rounds.offsets, rounds.lo, strength, outcome.n_before, filters, probabilities=False, law=law,
            of_laws=["rank_information"],
        )  # fmt: skip


def data_files(path: Path) -> list[Path]:
    """The data sets at a path: the archives and tables of a folder that has some; otherwise the path itself."""
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.iterdir() if one.is_file() and one.name.lower().endswith(_DATA_SETS))
    return found or [path]


def name_of(path: Path) -> str:
    """The name of a data set in a file: the file's name without its extensions."""
    name = path.name
    while name.lower().endswith(_ENDINGS):
        name = name.rpartition(".")[0]
    return name


def from_file(path: Path, options: ReadOptions | None = None) -> History:
    """The history in a folder, archive or table that `ranklake ingest files` reads.

    ``options``: options for reading; invalid contests are always skipped.
    Raises SourceError: the file cannot be read as contests; the message names it.
    """
    options = options or ReadOptions()
    columns = options.columns if options.columns.named else Columns.parse(_COLUMNS.get(path.name, ()))
    return _collect(name_of(path), read_contests(path, replace(options, columns=columns, on_error="skip")))


def synthetic(preset: str, seed: int) -> History:
    """The history of a synthetic preset; its name is that of the preset."""
    return _collect(preset, generate(PRESETS[preset], seed))


def from_lake(lake: Lake, name: str) -> History:
    """The history of a data set in a lake, with its corrections."""
    dataset = Dataset.open(lake, name)
    if not dataset.contests.num_rows:
        raise LakeError(f"data set {name} has no contests; `ranklake ingest` brings them in")
    return _history(name, all_rounds(dataset), dataset.contests.column("name").to_pylist(), dataset.handles())


def _collect(name: str, contests: Iterable[Contest]) -> History:
    found = list(contests)
    if not found:
        raise SourceError("no contests", name)
    encoded = pa.chunked_array([one.handles for one in found], pa.string()).combine_chunks().dictionary_encode()
    rounds = Rounds.from_columns(
        np.concatenate(([0], np.cumsum([len(one) for one in found]))), encoded.indices.to_numpy(),
        np.concatenate([one.lo for one in found]), np.concatenate([one.hi for one in found]),
        [one.time_seconds for one in found], [one.weight for one in found], [one.perf_ceiling for one in found],
    )  # fmt: skip
    return _history(name, rounds, [one.name for one in found], encoded.dictionary)


def _history(name: str, rounds: Rounds, titles: list[str], handles: pa.StringArray) -> History:
    informative = ANY_SYSTEM.keep(rounds)
    index = np.flatnonzero(informative)
    mean = rounds.n_rows / max(len(rounds), 1)
    return History(name, len(rounds), mean, rounds.keep(informative), index, [titles[i] for i in index], handles)
