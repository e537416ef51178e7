"""What a benchmark measures: sums over units of rounds, the measures made of them, and paired intervals.

Every measure is a function of sums over rounds. The sums of at most :data:`MOST_UNITS` blocks of consecutive rounds
determine a measure and its bootstrap, so that a cell of a long history stays small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels import Outcome, Rounds, System
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.metrics.bootstrap import MOST_UNITS, interval, resampled_sums
from ranklake.rating_kernels.metrics.calibration import BINS, PairSums, calibration_error
from ranklake.rating_kernels.metrics.metrics import FILTERS as ALL_FILTERS
from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER

from ..chances.played import RoundGames
from ..chances.record import chances_of_games
from ..chances.stored import games_of_entrants
from ..common.metric_names import COMPARED_METRICS
from ..entrants.entrants import Entrants
from ..entrants.scores import Mask, RoundScores
from ..evaluation.game_chances import score_chances
from ..evaluation.games import LEAST_BEFORE
from ..evaluation.three_way import SUMS
from .histories import BenchmarkHistory

FILTERS = ("everyone", "experienced")
_SCORES = ("pair_inversion", "pair_inversion_equal_half", "rank_deviation")
_CHANCES = ("own_cross_entropy", "brier")
RESULTS = ("log_loss3", "brier3", "ranked_probability")  # of the chances of a win, a draw and a loss
HEADINGS = {
    "pair_inversion": ("pair inversion, %", 2),
    "pair_inversion_equal_half": ("pair inversion with equal ratings as half, %", 2),
    "rank_deviation": ("rank deviation, %", 2),
    "rank_information": ("rank information, nats", 4),
    "rank_likelihood": ("rank likelihood, nats", 3),
    "own_cross_entropy": ("cross-entropy, bits", 4),
    "brier": ("Brier score", 4),
    "calibration_error": ("calibration error, %", 2),
    "log_loss3": ("log loss of three results, bits", 4),
    "brier3": ("Brier score of three results", 4),
    "ranked_probability": ("ranked probability score", 4),
}
"""Names of the metrics for people, and their digits."""

# Columns of sums: a weight, and the sums of the measures that have it; then 10 bins of 4 sums
_WEIGHTED = {
    "weight": _SCORES, "information_weight": ("rank_information",), "likelihood_weight": ("rank_likelihood",),
    "pair_weight": _CHANCES, "result_weight": RESULTS,
}  # fmt: skip
COLUMNS = tuple(name for weight, names in _WEIGHTED.items() for name in (weight, *names))
_BIN_SUMS = 4


class Difference(NamedTuple):
    """A measure of one system minus that of the best one, and its paired interval; NaN if unknown."""

    best: str
    difference: float
    low: float
    high: float


def sums_of(
    system: System,
    params: Any,
    history: BenchmarkHistory,
    rounds: Rounds,
    kept: Mask,
    outcome: Outcome,
    skip_share: float,
) -> dict[str, Floats]:
    """Sums over units of the contests after the first share, or of the periods of games, for each filter.

    ``rounds``, ``kept``: what the system rates of the history, and a mask of it; all other contests have no score.
    Returns float64[units, columns] by filter: :data:`COLUMNS`, and the sums of the reliability table. Units are the
    same for every system.
    """
    n, first = history.n_results, int(np.floor(history.n_results * skip_share))
    units = min(n - first, MOST_UNITS)
    starts = np.arange(units) * (n - first) // max(units, 1)
    entrants = Entrants.of_outcome(system, params, rounds, outcome)
    filters = [ALL_FILTERS[name] for name in FILTERS]
    scores = entrants.scores(filters, probabilities=False, results=history.periods)
    results = _of_results(system, params, history, rounds, entrants, kept)
    found = {}
    for name, one in scores.items():
        pairs = one.pairs
        assert pairs is not None, "the chances of a system"
        columns = np.zeros((n, len(COLUMNS) + pairs.bins[0].size))
        rows = kept if history.periods is None else slice(None)
        columns[rows] = _columns(one, pairs, results[rows, list(LEAST_BEFORE).index(name)])
        found[name] = np.add.reduceat(columns[first:], starts, axis=0) if units else columns[:0]
    return found


def _of_results(
    system: System, params: Any, history: BenchmarkHistory, rounds: Rounds, entrants: Entrants, kept: Mask
) -> Floats:
    """Sums of :data:`RESULTS` over the games of each unit, by what the units before taught; 0 for larger rounds.

    Returns float64[units, filters, 1 + metrics]: games and sums.
    """
    found, conditions = np.zeros((history.n_results, len(LEAST_BEFORE), 1 + len(RESULTS))), rounds.conditions
    if history.periods is not None:
        sides = entrants.mu, entrants.sigma, entrants.n_before, entrants.lo
        counts, score = np.diff(history.periods), rounds.score
        games = RoundGames(0, counts, *sides, conditions, score, history.swapped, None)
    elif (np.diff(entrants.offsets) <= 2).all():
        games = games_of_entrants(entrants, 0, conditions, kept)
    else:
        return found
    sums = score_chances(system, params, chances_of_games(system, params, games), games).sums
    chosen = [SUMS.index(name) for name in ("games", *RESULTS)]
    found[:] = sums[:, :, chosen]
    return found


def _columns(scores: RoundScores, pairs: PairSums, results: Floats) -> Floats:
    """The columns of each round; ``results``: games and sums of :data:`RESULTS`."""
    known = {name: scores.known(name) for names in _WEIGHTED.values() if names != RESULTS for name in names}
    games = results[:, 0].astype(np.int64)
    known |= {name: (total, games) for name, total in zip(RESULTS, results[:, 1:].T, strict=True)}
    sums = {name: total for name, (total, _) in known.items()}
    weights = {weight: known[names[0]][1] for weight, names in _WEIGHTED.items()}
    columns = [(weights | sums)[name] for name in COLUMNS]
    return np.column_stack([*columns, pairs.bins.reshape(len(pairs), -1)]).astype(np.float64)


def measures(sums: Floats) -> dict[str, Floats]:
    """Every metric, given summed columns (float64[..., columns]); NaN without a score."""
    at = {name: sums[..., number] for number, name in enumerate(COLUMNS)}
    with np.errstate(invalid="ignore", divide="ignore"):
        found = {name: at[name] / at[weight] for weight, names in _WEIGHTED.items() for name in names}
    return found | {"calibration_error": calibration_error(_bins(sums))}


def reliability(sums: Floats) -> list[dict[str, float]]:
    """The reliability table of summed columns (float64[columns])."""
    pairs = PairSums(np.zeros(1, np.int64), np.zeros(1), np.zeros(1), _bins(sums)[None])
    return [row._asdict() for row in pairs.table()]


def differences(systems: Mapping[str, Floats]) -> dict[str, dict[str, Difference]]:
    """For each metric, the difference of every system to the best one, given the sums of each system by its name."""
    values = {name: measures(sums.sum(axis=0)) for name, sums in systems.items()}
    drawn = {name: measures(resampled_sums(sums)) if len(sums) else {} for name, sums in systems.items()}
    found: dict[str, dict[str, Difference]] = {}
    for metric in COMPARED_METRICS:
        sign = 1.0 if metric in HIGHER_IS_BETTER else -1.0
        known = {name: sign * float(one[metric]) for name, one in values.items() if not np.isnan(one[metric])}
        if known:
            best = max(known, key=lambda name: known[name])
            found[metric] = {
                name: Difference(
                    best, float(values[name][metric] - values[best][metric]),
                    *((0.0, 0.0) if name == best else interval(drawn[name][metric] - drawn[best][metric])),
                )
                for name in known
            }  # fmt: skip
    return found


def is_better_first(row: Mapping[str, Any], filter: str, metric: str) -> float:
    """A key that sorts rows of a document, best first; those without a value come last."""
    value = row.get("scores", {}).get(filter, {}).get(metric)
    if value is None:
        return math.inf
    return float(-value if metric in HIGHER_IS_BETTER else value)


def _bins(sums: Floats) -> Floats:
    return sums[..., len(COLUMNS) :].reshape(*sums.shape[:-1], len(BINS) - 1, _BIN_SUMS)
