"""Scores of predictions, round by round and in total: the common part of evaluation, search and experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.rating_kernels.core.system import PerformanceLaw
from ranklake.rating_kernels.metrics.metrics import (
    FILTERS,
    HIGHER_IS_BETTER,
    PER_ROW,
    SCALE,
    Filter,
    Kept,
    Scores,
    keep,
    score,
)
from ranklake.rating_kernels.metrics.rank_information import rank_information

__all__ = ["EXPERIENCE", "METRICS", "SUMMED", "RoundScores", "is_better", "score_rounds"]

PER_ROUND = ("kendall_tau_b", "spearman_rho")
SUMMED = (*PER_ROW, "rank_information")  # NaN in rounds and for systems without rank information
METRICS = (*PER_ROW, *PER_ROUND, "rank_information")
EXPERIENCE = {"0": 0, "1-4": 1, "5-9": 5, "10-24": 10, "25-74": 25, "75-199": 75, "200+": 200}  # rounds rated before

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RoundScores:
    """Scores of consecutive rounds under one filter.

    Attributes
    ----------
    weight : int64[r]
        Participations kept; 0 for a round without a score.
    sums : dict of str to float64[r]
        Metrics ``SUMMED``, summed over the participations of each round; NaN for a round without a value.
    values : dict of str to float64[r]
        Metrics ``PER_ROUND``; NaN for a round without a value.
    by_experience : float64[r, classes, 1 + metrics]
        Participations and sums of the metrics ``SUMMED`` for each class of ``EXPERIENCE``.
    """

    weight: Longs
    sums: dict[str, Floats]
    values: dict[str, Floats]
    by_experience: Floats = field(repr=False)

    @classmethod
    def of(cls, kept: Kept, scores: Scores, information: Floats, n_before: Ints) -> Self:
        """Sum scored rows by round, in the order of the rows."""
        n_rounds, weight = len(kept.offsets) - 1, kept.weight
        of_round = np.repeat(np.arange(n_rounds), weight)
        rows = {name: getattr(scores, name) for name in PER_ROW} | {"rank_information": information}
        sums = {name: np.bincount(of_round, values, n_rounds).astype(np.float64) for name, values in rows.items()}
        n_classes = len(EXPERIENCE)
        of_class = np.searchsorted(list(EXPERIENCE.values()), n_before, side="right") - 1 + of_round * n_classes
        cells = [np.bincount(of_class, values, n_rounds * n_classes) for values in (None, *rows.values())]
        experience = np.stack(cells, axis=-1).reshape(n_rounds, n_classes, -1).astype(np.float64)
        return cls(weight, sums, {name: getattr(scores, name) for name in PER_ROUND}, experience)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the scores of consecutive parts."""

        def together(pick: str) -> dict[str, Floats]:
            return {
                name: np.concatenate([getattr(part, pick)[name] for part in parts]) for name in getattr(parts[0], pick)
            }

        weight = np.concatenate([part.weight for part in parts])
        return cls(weight, together("sums"), together("values"), np.concatenate([part.by_experience for part in parts]))

    def __len__(self) -> int:
        return len(self.weight)

    def per_round(self, metric: str) -> Floats:
        """A metric of each round; NaN for a round without a score."""
        if metric in self.values:
            return self.values[metric]
        with np.errstate(invalid="ignore"):
            return np.asarray(self.sums[metric] / self.weight)

    def known(self, metric: str) -> tuple[Floats, Longs]:
        """Sum and weight of a metric ``SUMMED`` of each round; both 0 for a round that has none."""
        sums = self.sums[metric]
        missing = np.isnan(sums)
        return np.where(missing, 0.0, sums), np.where(missing, 0, self.weight)

    def mean(self, metric: str, rounds: Mask | slice = slice(None)) -> float:
        """Mean of a metric over some rounds: by participation (tau and rho: by round); NaN without a scored round."""
        if metric in self.values:
            values = self.values[metric][rounds]
            values = values[~np.isnan(values)]
            return float(values.sum() / len(values)) if len(values) else float("nan")
        sums, weight = (array[rounds].sum() for array in self.known(metric))
        return float(sums / int(weight)) if weight else float("nan")

    def summary(self, rounds: Mask | slice = slice(None)) -> dict[str, Any]:
        """Weight and every metric over some rounds."""
        return {"weight": int(self.weight[rounds].sum())} | {name: self.mean(name, rounds) for name in METRICS}

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
) -> dict[str, RoundScores]:
    """Score the ratings before each round under each filter, by name.

    Parameters
    ----------
    offsets, lo
        As in :class:`ranklake.rating_kernels.Rounds`.
    mu, n_before
        One entry a row: rating before the round (``mu_prior``), rounds rated before.
    scale, probabilities
        As for :func:`ranklake.rating_kernels.metrics.metrics.score`.
    law
        Laws of performances, one entry a row; without them there is no rank information.
    """
    found = {}
    for one in filters:
        kept = keep(offsets, lo, n_before >= one.least, one.top)
        rows = kept.rows
        information = np.full(len(rows), np.nan) if law is None else rank_information(kept, law.take(rows))
        scores = score(kept, mu[rows], scale, probabilities=probabilities)
        found[one.name] = RoundScores.of(kept, scores, information, n_before[rows])
    return found


def is_better(metric: str, one: float, other: float) -> bool:
    """Whether ``one`` is strictly better."""
    return one > other if metric in HIGHER_IS_BETTER else one < other
