"""Paired bootstrap over rounds: the spread of measures that are functions of sums over rounds.

Rounds are drawn with replacement, as many as there are, and the sums are taken over the drawn ones. The draws depend on
the number of rounds alone: two systems on the same rounds have the same draws, so that the difference of their measures
has a paired interval. Of more than :data:`MOST_UNITS` rounds, as many blocks of consecutive rounds are drawn, which
costs less and includes the correlation of near rounds.

Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 8 and 13 (percentile intervals).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..core.standings import Floats

RESAMPLES = 2_000
MOST_UNITS = 2_048
SEED = 0


def resampled_sums(sums: Floats, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Sums over drawn rounds.

    ``sums`` (float64[r, ...]): sums of each round.
    Returns float64[resamples, ...]: the same for the same number of rounds, seed and number of resamples.
    """
    n = len(sums)
    units = min(n, MOST_UNITS)
    flat = np.asarray(sums, dtype=np.float64).reshape(n, -1)
    if n > units:
        flat = np.add.reduceat(flat, np.arange(units) * n // units, axis=0)
    return np.asarray(_times(units, resamples, seed) @ flat).reshape(resamples, *sums.shape[1:])


@lru_cache(maxsize=1)
def _times(units: int, resamples: int, seed: int) -> Floats:
    """How often each unit is drawn in each resample, ``[resample, unit]``: nine tenths of the time of one measure."""
    drawn = np.random.default_rng(seed).integers(0, units, (resamples, units))
    times = np.bincount((drawn + units * np.arange(resamples)[:, None]).ravel(), minlength=resamples * units)
    return times.reshape(resamples, units).astype(np.float64)


def interval(values: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """The percentile interval of a measure, or a difference of measures, given its value in each resample.

    Resamples without a value (NaN) are left out; NaN if none has one.
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return float("nan"), float("nan")
    tail = 0.5 * (1.0 - confidence)
    low, high = np.quantile(known, [tail, 1.0 - tail])
    return float(low), float(high)
