"""Whether a measurement became slower, from the same number of runs before and after, one of each in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["JUDGED", "LEAST_TURNS", "Change", "change"]

SLOWER = 1.1  # ratio of a regression
JUDGED = 1.07  # ratio from which on a median is judged as a regression: that of one of 10 % may be measured smaller
LEAST_TURNS = 5
CONFIDENCE = 0.99
RESAMPLES, SEED = 10_000, 1


@dataclass(frozen=True, slots=True)
class Change:
    """The ratio of the times after and before.

    Attributes
    ----------
    ratio : float
        Median of the ratios of the turns.
    low, high : float
        The 99 % bootstrap interval of that median.
    """

    ratio: float
    low: float
    high: float

    @property
    def slower(self) -> bool:
        """Whether the median is a regression, and the interval excludes noise."""
        return self.ratio >= JUDGED and self.low > 1.0

    @property
    def faster(self) -> bool:
        """The same in the other direction."""
        return self.ratio <= 1.0 / JUDGED and self.high < 1.0

    @property
    def certain(self) -> bool:
        """Whether the interval excludes either noise alone or a regression; else more turns are needed."""
        return self.low > 1.0 or self.high < SLOWER


def change(before: Sequence[float], after: Sequence[float]) -> Change:
    """Compare the seconds of each turn before with those after.

    Neighbours in time are compared, so that a load that comes and goes has little effect. The turns are resampled with
    replacement (Efron, "Bootstrap methods", Annals of Statistics 7, 1979), with a fixed seed.
    """
    ratios = np.asarray(after) / np.asarray(before)
    drawn = np.random.default_rng(SEED).integers(len(ratios), size=(RESAMPLES, len(ratios)))
    tail = 0.5 * (1.0 - CONFIDENCE)
    low, high = np.quantile(np.median(ratios[drawn], axis=1), (tail, 1.0 - tail))
    return Change(float(np.median(ratios)), float(low), float(high))
