"""Score how well the ratings of a run predicted its rounds, from its stored rounds; no round is rated again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels.core.limits import POINTS, positive
from ranklake.rating_kernels.core.system import check_value
from ranklake.rating_kernels.metrics.metrics import SCALE
from ranklake.rating_kernels.metrics.rank_errors import RankErrors, total
from ranklake.rating_kernels.warm import CHANCES, SCORES
from ranklake.storage import Lake, LakeError, Run

from ..chances.record import chances_before_rounds
from ..common.arguments import checked
from ..common.finite import finite_json, finite_rows
from ..common.text import count
from ..compilation.compile import CompileCallback, announce, compile_parts
from ..entrants.scores import EACH_ROUND, RoundScores
from ..results.rated_rounds import RatedRounds
from .game_chances import ThreeWayReport
from .games import summary
from .margins import slope_of
from .pieces import PieceScorer, split
from .three_way import ThreeWayScores

SIZES = {"2-16": 2, "17-99": 17, "100-199": 100, "200-399": 200, "400-599": 400, "600-799": 600, "800+": 800}
_PIECE_ROWS = 60_000  # rows of consecutive segments that are scored together
DIVISION = re.compile(r"\bdiv(?:ision)?\.?\s*([12])\b", re.IGNORECASE)
_BOTH = re.compile(r"\bdiv(?:ision)?\.?\s*1\s*(?:\+|and|&)\s*(?:div(?:ision)?\.?\s*)?2\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of a run's rounds from ``first_round`` on; arrays have one entry a round.

    A round that is a period of games has the sums over its games.

    ``run``, ``system``: names of the run and of its rating system.
    ``contest_ids``: ids of the contests.
    ``n_players``, ``year``, ``division`` (int[r]): participants, of which a team is one, and 2 for a period of games;
    year of the contest's end, 0 if unknown; division 1 or 2 from the contest's name, 0 without one.
    ``filters``: scores under each filter.
    ``errors`` (float64[r, rows, 4]): log2 rank errors; see
    :func:`ranklake.rating_kernels.metrics.rank_errors.rank_errors`.
    ``games`` (float64[r, filters, 4] or None): sums over the games of each period; see
    :func:`.games.score_games`. None for a run over contests.
    ``margins`` (float64[r, 6] or None): sums over the games with points of each period; see
    :func:`.margins.score_margins`. None for a run over contests.
    ``three_way``: scores of the three chances of games, or of contests of two entrants; None for a run over others.
    ``damage``: reason why later rounds in the lake are not valid rounds of the run; empty if all are.
    """

    run: str
    system: str
    first_round: int
    contest_ids: list[str]
    n_players: npt.NDArray[np.int64]
    year: npt.NDArray[np.int64]
    division: npt.NDArray[np.int64]
    filters: dict[str, RoundScores]
    errors: npt.NDArray[np.float64]
    games: npt.NDArray[np.float64] | None = None
    margins: npt.NDArray[np.float64] | None = None
    three_way: ThreeWayReport | None = None
    damage: str = ""

    @property
    def margin_and_surprise(self) -> dict[str, Any] | None:
        """The number of games with points, the slope of their surprises for 100 rating points of lead, and its standard
        error; None without such games. See :mod:`.margins`.
        """
        found = None if self.margins is None else slope_of(self.margins)
        return found if found and found["games"] else None

    def __len__(self) -> int:
        return len(self.contest_ids)

    def by_era(self, filter: str) -> dict[str, dict[str, Any]]:
        """Summaries by year."""
        years = np.unique(self.year).tolist()
        return {str(year or "unknown"): self.filters[filter].summary(self.year == year) for year in years}

    def by_size(self, filter: str) -> dict[str, dict[str, Any]]:
        """Summaries by the number of participants."""
        return {name: self.filters[filter].summary(rounds) for name, rounds in self.sizes()}

    def sizes(self) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
        """The size classes with rounds, and masks of their rounds."""
        size_class = np.searchsorted(list(SIZES.values()), self.n_players, side="right") - 1
        for at, name in enumerate(SIZES):
            if np.any(size_class == at):
                yield name, size_class == at

    def rank_errors(self) -> list[RankErrors]:
        """The breakdown of log2 rank errors."""
        return total(self.errors)

    def to_table(self) -> pa.Table:
        """One row a round and filter."""
        n = len(self)
        tables = []
        for name, scores in self.filters.items():
            columns: dict[str, Any] = {
                "run": pa.array([self.run] * n, pa.string()),
                "round_index": np.arange(self.first_round, self.first_round + n, dtype=np.int32),
                "contest_id": pa.array(self.contest_ids, pa.string()),
                "filter": pa.array([name] * n, pa.string()),
                "n_players": self.n_players,
                "division": self.division.astype(np.int32),
                "weight": scores.weight,
            }
            columns |= {metric: pa.array(scores.per_round(metric), from_pandas=True) for metric in EACH_ROUND}
            tables.append(finite_rows(pa.table(columns)))
        return pa.concat_tables(tables)

    def to_json(self) -> dict[str, Any]:
        """Everything except the single rounds; a number that is not finite is null."""
        document: dict[str, Any] = finite_json(
            {
                "run": self.run,
                "rounds": len(self),
                "system": self.system,
                "first_round": self.first_round,
                "filters": {name: scores.summary() for name, scores in self.filters.items()},
                "reliability": {
                    name: [row._asdict() for row in scores.reliability()] for name, scores in self.filters.items()
                },
                "by_era": {name: self.by_era(name) for name in self.filters},
                "by_size": {name: self.by_size(name) for name in self.filters},
                "by_experience": {name: scores.experience() for name, scores in self.filters.items()},
                "rank_errors": [row._asdict() for row in self.rank_errors()],
            }
            | ({} if self.games is None else {"games": summary(self.games)})
            | ({} if self.three_way is None else {"three_way": self.three_way.to_json()})
            | ({} if (found := self.margin_and_surprise) is None else {"margin_and_surprise": found})
        )
        return document


@checked
def evaluate(
    lake: Lake | str,
    name: str,
    first_round: int = 0,
    *,
    workers: int = 1,
    scale: float = SCALE,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_compile: CompileCallback = announce,
) -> Evaluation:
    """Score the rounds of a run from ``first_round`` on.

    Parameters
    ----------
    lake, name
        The lake, or its folder or address, and the name of the run.
    workers
        Number of threads; the result is the same to the bit for any number.
    scale
        Rating difference at which odds of ten to one are predicted, for expected ranks and cross-entropy.
    on_progress
        Called with the number of scored rounds and the number of all rounds.

    Raises
    ------
    ValueError
        The scale is out of range.
    LakeError
        The run does not exist, it has no round to score, its data set or one of its contests is missing, or a period
        has other games now.
    """
    check_value("scale", scale, positive(POINTS)["limits"])
    rounds = RatedRounds(lake if isinstance(lake, Lake) else Lake.open(lake), name)
    run, chain, dataset = rounds.run, rounds.chain, rounds.dataset
    if first_round >= chain.stop_round:
        raise LakeError(
            f"run {name} has {count(chain.stop_round, 'round')}, and the first {first_round:,} are skipped: none is "
            "left to score; rate more rounds or skip fewer"
        )
    scored_ids, known = chain.contest_ids[first_round:], rounds.contests_table.column("weight").is_valid().to_pylist()
    if gone := next((one for one, there in zip(scored_ids, known[first_round:], strict=True) if not there), None):
        raise LakeError(
            f"contest {gone} of run {name} is no longer in data set {dataset.name}; "
            f"`ranklake rate --dataset {dataset.name} --run {name}` brings the run up to date"
        )
    division = [division_of(name or "") for name in rounds.contests_table.column("name").to_pylist()]
    compile_parts([SCORES, CHANCES], on_compile)
    chances = chances_before_rounds(rounds)
    scorer = PieceScorer(rounds, first_round, np.array(division, dtype=np.int64), scale, chances)
    pieces = list(split(chain, first_round, _PIECE_ROWS))
    scored = []
    with ThreadPoolExecutor(workers, thread_name_prefix="ranklake-score") as pool:
        try:
            for done, part in enumerate(pool.map(scorer.score, pieces), 1):
                scored.append(part)
                on_progress(pieces[done - 1].stop_round - first_round, chain.stop_round - first_round)
        finally:
            pool.shutdown(cancel_futures=True)
    report = None
    if chances is not None:
        parts = [part.three_way for part in scored if part.three_way is not None]
        report = ThreeWayReport(scorer.model_of_draws, chances.note, ThreeWayScores.joined(parts))
    ends = rounds.ends[first_round:]
    year = ends.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + 1970
    return Evaluation(
        name,
        run.config["system"],
        first_round,
        scored_ids,
        np.concatenate([part.n_players for part in scored]),
        np.where(ends == 0, 0, year),
        scorer.division[first_round:],
        {filter: RoundScores.joined([part.filters[filter] for part in scored]) for filter in scored[0].filters},
        np.concatenate([part.errors for part in scored]),
        np.concatenate([part.games for part in scored]) if rounds.of_games else None,
        np.concatenate([part.margins for part in scored]) if rounds.of_games else None,
        report,
        chain.reason if chain.rest else "",
    )


def rounds_to_skip(lake: Lake, name: str, share: float) -> int:
    """The first ``share`` of a run's rounds, rounded down as the Elo-MMR paper does.

    Raises LakeError: the run does not exist.
    """
    return int(np.floor(Run.open(lake, name).segments().stop_round * share))


def division_of(name: str) -> int:
    """Division 1 or 2 if a contest's name contains exactly one of them; otherwise 0."""
    found = {int(number) for number in DIVISION.findall(name)}
    return found.pop() if len(found) == 1 and not _BOTH.search(name) else 0
