"""Scores of predictions, round by round and in total: the common part of evaluation, search and experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.metrics.bootstrap import resampled_sums
from ranklake.rating_kernels.metrics.calibration import CHANCE_METRICS, PairSums, ReliabilityBin, calibration_error
from ranklake.rating_kernels.metrics.metrics import (
    FILTERS,
    HIGHER_IS_BETTER,
    LAW_METRICS,
    PER_ROW,
    SCALE,
    Filter,
    Kept,
    Scores,
    keep,
    score,
)
from ranklake.rating_kernels.metrics.rank_information import rank_information
from ranklake.rating_kernels.metrics.rank_likelihood import rank_likelihood

PER_ROUND = ("kendall_tau_b", "spearman_rho")
_OF_LAWS = dict(zip(LAW_METRICS, (rank_information, rank_likelihood), strict=True))
SUMMED = (*PER_ROW, *LAW_METRICS)  # the latter are NaN in rounds and for systems that have none
EACH_ROUND = (*PER_ROW, *PER_ROUND, *LAW_METRICS, *CHANCE_METRICS[:2])  # metrics with a value for each round
METRICS = (*EACH_ROUND, "calibration_error")
EXPERIENCE = {"0": 0, "1-4": 1, "5-9": 5, "10-24": 10, "25-74": 25, "75-199": 75, "200+": 200}  # rounds rated before

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RoundScores:
    """Scores of consecutive rounds under one filter. A round is one result, or a period of games: many results.

    ``weight`` (int64[r]): participations kept; 0 for a round without a score.
    ``sums`` (dict of str to float64[r]): metrics ``SUMMED``, summed over the participations of each round; NaN for a
    round without a value.
    ``values`` (dict of str to float64[r]): means of the metrics ``PER_ROUND`` over the results of each round; NaN for a
    round without a value.
    ``n_values`` (int64[r]): results with a value of the metrics ``PER_ROUND``.
    ``by_experience`` (float64[r, classes, 1 + metrics]): participations and sums of the metrics ``SUMMED`` for each
    class of ``EXPERIENCE``.
    ``pairs``: the chances of pairs against their results, for the metrics ``CHANCE_METRICS``; None without chances.
    """

    weight: Longs
    sums: dict[str, Floats]
    values: dict[str, Floats]
    n_values: Longs
    by_experience: Floats = field(repr=False)
    pairs: PairSums | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        kept: Kept,
        scores: Scores,
        of_laws: Mapping[str, Floats],
        n_before: Ints,
        results: Longs | None = None,
        pairs: PairSums | None = None,
    ) -> Self:
        """Sum scored rows by round, in the order of the rows; ``results`` as for :func:`score_rounds`."""
        n_values = (~np.isnan(scores.kendall_tau_b)).astype(np.int64)
        values = {name: getattr(scores, name) for name in PER_ROUND}
        if results is not None:
            kept = Kept(kept.offsets[results], kept.rows, kept.lo, kept.hi)
            pairs = None if pairs is None else pairs.grouped(results)
            values = {name: _means(one, results) for name, one in values.items()}
            n_values = np.diff(np.concatenate(([0], np.cumsum(n_values)))[results])
        n_rounds, weight = len(kept.offsets) - 1, kept.weight
        of_round = np.repeat(np.arange(n_rounds), weight)
        rows = {name: getattr(scores, name) for name in PER_ROW} | {name: of_laws[name] for name in LAW_METRICS}
        sums = {name: np.bincount(of_round, values, n_rounds).astype(np.float64) for name, values in rows.items()}
        n_classes = len(EXPERIENCE)
        of_class = np.searchsorted(list(EXPERIENCE.values()), n_before, side="right") - 1 + of_round * n_classes
        cells = [np.bincount(of_class, values, n_rounds * n_classes) for values in (None, *rows.values())]
        experience = np.stack(cells, axis=-1).reshape(n_rounds, n_classes, -1).astype(np.float64)
        return cls(weight, sums, values, n_values, experience, pairs)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the scores of consecutive parts."""

        def together(pick: str) -> dict[str, Floats]:
            return {
                name: np.concatenate([getattr(part, pick)[name] for part in parts]) for name in getattr(parts[0], pick)
            }

        weight, n_values, experience = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("weight", "n_values", "by_experience")
        )
        pairs = [part.pairs for part in parts if part.pairs is not None]
        together_pairs = PairSums.joined(pairs) if pairs else None
        return cls(weight, together("sums"), together("values"), n_values, experience, together_pairs)

    def __len__(self) -> int:
        return len(self.weight)

    def per_round(self, metric: str) -> Floats:
        """A metric of each round, of ``EACH_ROUND``; NaN for a round without a score."""
        if metric in self.values:
            return self.values[metric]
        sums, weight = self.known(metric) if metric in CHANCE_METRICS else (self.sums[metric], self.weight)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / weight)

    def known(self, metric: str) -> tuple[Floats, Longs]:
        """Sum and weight of a metric of each round, of ``EACH_ROUND``; both 0 for a round that has none.

        The weight of the metrics ``PER_ROUND`` is the number of results, that of the others the participations.
        """
        if metric in CHANCE_METRICS:
            if self.pairs is None:
                return np.zeros(len(self)), np.zeros(len(self), dtype=np.int64)
            own = metric == "own_cross_entropy"
            return self.pairs.cross_entropy if own else self.pairs.squared_error, self.pairs.weight
        of_results = metric in self.values
        sums = self.values[metric] * self.n_values if of_results else self.sums[metric]
        missing = np.isnan(sums)
        return np.where(missing, 0.0, sums), np.where(missing, 0, self.n_values if of_results else self.weight)

    def mean(self, metric: str, rounds: Mask | slice = slice(None)) -> float:
        """Mean of a metric over some rounds: by participation (tau and rho: by result); NaN without a scored round."""
        if metric in CHANCE_METRICS:
            return float("nan") if self.pairs is None else self.pairs.means(rounds)[metric]
        sums, weight = (array[rounds].sum() for array in self.known(metric))
        return float(sums / int(weight)) if weight else float("nan")

    def resampled(self, metric: str) -> Floats:
        """A metric over rounds that are drawn with replacement; the draws depend on the number of rounds only.

        The difference of two such arrays has a paired interval
        (:func:`ranklake.rating_kernels.metrics.bootstrap.interval`).
        """
        if metric == "calibration_error":
            bins = np.zeros((len(self), 1, 4)) if self.pairs is None else self.pairs.bins
            return calibration_error(resampled_sums(bins))
        sums, weight = resampled_sums(np.stack(self.known(metric), axis=1)).T
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / weight)

    def summary(self, rounds: Mask | slice = slice(None)) -> dict[str, Any]:
        """Weight and every metric over some rounds."""
        return {"weight": int(self.weight[rounds].sum())} | {name: self.mean(name, rounds) for name in METRICS}

    def reliability(self, rounds: Mask | slice = slice(None)) -> list[ReliabilityBin]:
        """The reliability table of some rounds; empty without chances."""
        return [] if self.pairs is None else self.pairs.table(rounds)

    def experience(self) -> dict[str, dict[str, Any]]:
        """Weight and the metrics ``SUMMED`` by rounds rated before; classes without players are left out."""
        sums = self.by_experience[:, :, 1:]
        missing = np.isnan(sums)
        weight = np.where(missing, 0.0, self.by_experience[:, :, :1]).sum(axis=0)
        with np.errstate(invalid="ignore"):
            means = np.where(missing, 0.0, sums).sum(axis=0) / weight
        return {
            name: {"weight": int(n)} | dict(zip(SUMMED, row, strict=True))
            for name, n, row in zip(EXPERIENCE, self.by_experience[:, :, 0].sum(axis=0), means.tolist(), strict=True)
            if n
        }


def score_rounds(
    offsets: Longs,
    lo: Ints,
    mu: Floats,
    n_before: Ints,
    filters: Sequence[Filter] = tuple(FILTERS.values()),
    scale: float = SCALE,
    probabilities: bool = True,
    law: PerformanceLaw | None = None,
    of_laws: Sequence[str] = LAW_METRICS,
    results: Longs | None = None,
    pairs: Callable[[Filter], PairSums] | None = None,
) -> dict[str, RoundScores]:
    """Score the ratings before each round under each filter, by name.

    ``offsets``, ``lo``: as in :class:`ranklake.rating_kernels.Rounds`.
    ``mu``, ``n_before``: one entry a row: rating before the round (``mu_prior``), rounds rated before.
    ``scale``, ``probabilities``: as for :func:`ranklake.rating_kernels.metrics.metrics.score`.
    ``law``: laws of performances, one entry a row; without them the metrics ``LAW_METRICS`` are NaN.
    ``of_laws``: which of these metrics to compute; the others are NaN.
    ``results`` (int64[p + 1]): the rounds are games, of which period ``i`` has ``results[i]:results[i + 1]``: scores
    are those of the periods.
    ``pairs``: scores the chances of pairs under a filter; without it, and under a filter that selects by place, there
    are no metrics of chances.
    """
    found = {}
    for one in filters:
        kept = keep(offsets, lo, n_before >= one.least, one.top)
        rows = kept.rows
        values = dict.fromkeys(LAW_METRICS, np.full(len(rows), np.nan))
        if law is not None:
            values |= {name: _OF_LAWS[name](kept, law.take(rows)) for name in of_laws}
        scores = score(kept, mu[rows], scale, probabilities=probabilities)
        chances = None if pairs is None or one.top is not None else pairs(one)
        found[one.name] = RoundScores.of(kept, scores, values, n_before[rows], results, chances)
    return found


def _means(values: Floats, results: Longs) -> Floats:
    """The mean over the results of each round that have a value; NaN without one."""
    of_round = np.repeat(np.arange(len(results) - 1), np.diff(results))
    known = ~np.isnan(values)
    counts = np.bincount(of_round[known], minlength=len(results) - 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(of_round[known], values[known], len(results) - 1) / counts)


def is_better(metric: str, one: float, other: float) -> bool:
    """Whether ``one`` is strictly better."""
    return one > other if metric in HIGHER_IS_BETTER else one < other
