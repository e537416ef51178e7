"""Whether a measurement became slower, from the same number of runs before and after, one of each in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SLOWER = 1.1  # ratio of a regression
JUDGED = 1.07  # ratio from which on a case is judged as a regression: one of 10 % may be measured smaller
LEAST_TURNS = 5
CONFIDENCE = 0.995  # of one decision; a comparison makes one after every turn
RESAMPLES, SEED = 10_000, 1


@dataclass(frozen=True, slots=True)
class Change:
    """Seconds before and after, means of the faster half, and the 99.5 % bootstrap interval of their ratio."""

    before: float
    after: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """Time after divided by time before."""
        return self.after / self.before

    @property
    def slower(self) -> bool:
        """Whether the ratio is a regression, and the interval excludes noise."""
        return self.ratio >= JUDGED and self.low > 1.0

    @property
    def faster(self) -> bool:
        """The same in the other direction."""
        return self.ratio <= 1.0 / JUDGED and self.high < 1.0

    @property
    def certain(self) -> bool:
        """Whether this is a regression, or the interval excludes one; else more turns are needed."""
        return self.slower or self.high < SLOWER


def change(before: Sequence[float], after: Sequence[float]) -> Change:
    """Compare the seconds of the turns before with those after.

    A process may be a third slower than the next one for all its life, by the places of its memory or by other load;
    none is faster than the code allows. So the faster half of each side is compared. The turns are resampled in pairs
    with replacement (Efron, "Bootstrap methods", Annals of Statistics 7, 1979), with a fixed seed, since a load that
    comes and goes affects both sides of a turn.
    """
    times = np.array([before, after], dtype=float)
    drawn = np.random.default_rng(SEED).integers(times.shape[1], size=(RESAMPLES, times.shape[1]))
    before_drawn, after_drawn = _faster_half(times[:, drawn])
    tail = 0.5 * (1.0 - CONFIDENCE)
    low, high = np.quantile(after_drawn / before_drawn, (tail, 1.0 - tail))
    before_mean, after_mean = _faster_half(times)
    return Change(float(before_mean), float(after_mean), float(low), float(high))


def _faster_half(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over the faster half of the last axis."""
    half = (times.shape[-1] + 1) // 2
    return np.asarray(np.partition(times, half - 1, axis=-1)[..., :half].mean(axis=-1))
