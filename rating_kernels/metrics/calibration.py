"""Calibration: the chances that a system gives to pairs of participants, against their results.

The chance is the system's own (``win_probability``), for every pair of selected rows of a round; a tie is half a win,
as in its definition. A game is a round of two. Scores of a pair with chance p and result y:

    cross-entropy, bits    -y log2 p - (1 - y) log2 (1 - p), p within [1e-9, 1 - 1e-9]
    squared error          (y - p)^2, the Brier score
    reliability table      pairs in ten bins of the favourite's chance max(p, 1 - p): their mean chance, and the share
                           of favourites that won; where p = 1/2, either is the favourite half the time
    calibration error      the mean over bins of |mean chance - share seen|, weighted, in percent

Means are per participation: a round of N selected rows has the weight N, and each of its pairs 2 / (N - 1). Rounds in
which all tie count here.

Sources: Brier, "Verification of forecasts expressed in terms of probability", 1950; Naeini, Cooper and Hauskrecht,
"Obtaining well calibrated probabilities using Bayesian binning", 2015, for the expected calibration error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..core.standings import Floats, Longs
from ..core.system import Prior
from .metrics import Kept
from .pair_cells import PairKinds, pair_kinds

CHANCE_METRICS = ("own_cross_entropy", "brier", "calibration_error")
BINS: Floats = np.linspace(0.5, 1.0, 11)
LEAST_CHANCE = 1e-9  # bounds the cross-entropy of a result whose chance is 0

_EVEN = 1e-9  # distance from 1/2 that may be the rounding of an even chance

Chances = Callable[[Longs, Prior, Prior], Floats]
"""The chances of some players to beat others, given the indices of their rounds and their priors."""


class ReliabilityBin(NamedTuple):
    """Pairs whose favourite's chance is in one bin.

    ``least``, ``most``: bounds of the bin.
    ``pairs``, ``weight``: number of pairs, and their weight in participations.
    ``chance``, ``seen``: mean chance of the favourite, and share of favourites that won; NaN without pairs.
    """

    least: float
    most: float
    pairs: int
    weight: float
    chance: float
    seen: float


@dataclass(frozen=True, slots=True)
class PairSums:
    """Sums over the pairs of each round, by which all measures of chances are made.

    ``weight`` (int64[r]): selected rows; 0 for a round with fewer than two.
    ``cross_entropy``, ``squared_error`` (float64[r]): mean over the round's pairs, times the weight.
    ``bins`` (float64[r, 10, 4]): number of pairs, and weighted sums over them: weights, chances, results of favourites.
    """

    weight: Longs
    cross_entropy: Floats
    squared_error: Floats
    bins: Floats

    def __len__(self) -> int:
        return len(self.weight)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the sums of consecutive rounds."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def grouped(self, results: Longs) -> Self:
        """The sums of periods, of which number ``i`` has the rounds ``results[i]:results[i + 1]``."""
        period, n = np.repeat(np.arange(len(results) - 1), np.diff(results)), len(results) - 1

        def of_periods(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            flat = values.reshape(len(values), -1)
            columns = [np.bincount(period, column, n) for column in flat.T]
            return np.stack(columns, axis=-1).reshape(n, *values.shape[1:]).astype(values.dtype)

        return type(self)(*(of_periods(getattr(self, field.name)) for field in fields(self)))

    def means(self, rounds: Any = slice(None)) -> dict[str, float]:
        """The metrics :data:`CHANCE_METRICS` over some rounds; NaN without pairs. Empty rounds change no bit."""
        counted = self.weight[rounds] > 0
        weight = int(self.weight[rounds].sum())
        if not weight:
            return dict.fromkeys(CHANCE_METRICS, float("nan"))
        sums = (float(column[rounds][counted].sum()) / weight for column in (self.cross_entropy, self.squared_error))
        error = float(calibration_error(self.bins[rounds][counted].sum(axis=0)))
        return dict(zip(CHANCE_METRICS, (*sums, error), strict=True))

    def table(self, rounds: Any = slice(None)) -> list[ReliabilityBin]:
        """The reliability table of some rounds."""
        pairs, weight, chance, seen = self.bins[rounds].sum(axis=0).T
        with np.errstate(invalid="ignore"):
            rows = zip(BINS[:-1], BINS[1:], pairs, weight, chance / weight, seen / weight, strict=True)
        return [
            ReliabilityBin(round(float(least), 2), round(float(most), 2), round(n), *map(float, values))
            for least, most, n, *values in rows
        ]


def calibration_error(bins: Floats) -> Floats:
    """The expected calibration error of summed bins, percent; NaN without pairs.

    ``bins`` (float64[..., 10, 4]): sums as in :class:`PairSums`.
    """
    with np.errstate(invalid="ignore"):
        error: Floats = 100.0 * np.abs(bins[..., 2] - bins[..., 3]).sum(axis=-1) / bins[..., 1].sum(axis=-1)
    return error


def score_pairs(kept: Kept, prior: Prior, deviation: Floats, chances: Chances) -> PairSums:
    """Score the chances of all pairs of the selected rows.

    ``prior``: of each selected row.
    ``deviation`` (float64[n]): of the performance of each selected row, points; where the system has no law of
    performances, its sigma.
    ``chances``: of the system; in rounds of more than :data:`.pair_cells.FEW` rows of typical rows at differences of
    ratings on a lattice.
    """
    n, start = len(kept.offsets) - 1, 0
    sums, bins = np.zeros((2, n)), np.zeros((3, n * (len(BINS) - 1)))
    while start < n:
        start, kinds = pair_kinds(kept, start, prior.mu, deviation)
        one, other = (
            Prior(mu, prior.sigma[rows], np.full(len(mu), np.nan), prior.n_before[rows])
            for mu, rows in ((kinds.mu_one, kinds.one), (kinds.mu_other, kinds.other))
        )

        def chance_of(lead: Any, kinds: PairKinds = kinds, one: Prior = one, other: Prior = other) -> Floats:
            found = chances(kinds.of_round, one._replace(mu=kinds.mu_one + lead), other)
            return np.clip(found, LEAST_CHANCE, 1.0 - LEAST_CHANCE)

        chance = chance_of(0.0)
        pairs, score = kinds.won + kinds.lost + kinds.tied, kinds.won + 0.5 * kinds.tied
        bits = -(score * np.log2(chance) + (pairs - score) * np.log2(1.0 - chance))
        squares = kinds.won * np.square(1.0 - chance) + kinds.lost * np.square(chance)
        squares += kinds.tied * np.square(0.5 - chance)
        for total, values in zip(sums, (bits, squares), strict=True):
            total += np.bincount(kinds.of_round, values, n)
        favourite = np.maximum(chance, 1.0 - chance)
        seen = np.where(np.abs(chance - 0.5) < _EVEN, 0.5 * pairs, np.where(chance > 0.5, score, pairs - score))
        ends = [chance_of(0.5 * sign * kinds.step) for sign in (-1.0, 1.0)] if kinds.step.any() else [chance]
        for at, share in _bins_of(ends):
            at += kinds.of_round * (len(BINS) - 1)
            for total, values in zip(bins, (pairs, pairs * favourite, seen), strict=True):
                total += np.bincount(at, share * values, len(total))
    with np.errstate(divide="ignore"):
        each = np.where(kept.weight > 1, 2.0 / (kept.weight - 1.0), 0.0)
    pairs, favourite, seen = bins.reshape(3, n, -1)
    weighted = np.stack([pairs, *(each[:, None] * column for column in (pairs, favourite, seen))], axis=-1)
    return PairSums(kept.weight, each * sums[0], each * sums[1], weighted)


def _bins_of(ends: Sequence[Floats]) -> Iterator[tuple[Longs, Floats]]:
    """The bins of kinds of pairs whose chances lie between two, and the share of each kind in its bin.

    A step of a lattice is smaller than a bin: of two bins the first has what lies below its upper bound.
    """
    first, last = ends[0], ends[-1]
    even = (first - 0.5) * (last - 0.5) <= 0.0
    sides = np.maximum(first, 1.0 - first), np.maximum(last, 1.0 - last)
    low, high = np.where(even & (first != last), 0.5, np.minimum(*sides)), np.maximum(*sides)
    lower, upper = (np.minimum(np.searchsorted(BINS, side, "right") - 1, len(BINS) - 2) for side in (low, high))
    width = np.where(high > low, high - low, 1.0)
    share = np.where(lower == upper, 1.0, (BINS[lower + 1] - low) / width)
    yield lower, share
    if len(ends) > 1:
        yield upper, 1.0 - share
