"""Differences between the scores of runs over the same rounds, with confidence intervals paired by round."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER

from .evaluate import Evaluation
from .scores import METRICS, RoundScores

CONFIDENCE = 0.95  # coverage of the intervals
LEAST_ROUNDS = 3  # minimum for an interval; the quantile is then exact to 1 %


class Difference(NamedTuple):
    """A metric of one run minus that of the best run; the bounds are NaN for fewer than ``LEAST_ROUNDS`` rounds."""

    filter: str
    metric: str
    run: str
    best: str
    difference: float
    low: float
    high: float


def differences(evaluations: Sequence[Evaluation], filters: Sequence[str]) -> Iterator[Difference]:
    """The difference of every run to the best, for each filter and metric.

    ``evaluations``: evaluations of the same rounds; see :func:`ranklake.flows.evaluation.evaluations.check_comparable`.

    The interval is that of :func:`half_width`. It does not account for the choice of the best among several runs.
    """
    for filter in filters:
        for metric in METRICS:
            best = best_run(evaluations, filter, metric)
            if best is None:
                continue
            for evaluation in evaluations:
                a, b = evaluation.filters[filter], best.filters[filter]
                d = a.mean(metric) - b.mean(metric)
                half = 0.0 if evaluation is best else half_width(a, b, metric)
                yield Difference(filter, metric, evaluation.run, best.run, d, d - half, d + half)


def best_run(evaluations: Sequence[Evaluation], filter: str, metric: str) -> Evaluation | None:
    """The run with the best mean, the first of equal runs; None if no run has a mean."""
    sign = 1.0 if metric in HIGHER_IS_BETTER else -1.0
    scored = [(sign * evaluation.filters[filter].mean(metric), evaluation) for evaluation in evaluations]
    known = [(value, evaluation) for value, evaluation in scored if not math.isnan(value)]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def half_width(one: RoundScores, other: RoundScores, metric: str) -> float:
    """Half the width of the confidence interval of ``one.mean(metric) - other.mean(metric)``; NaN if unknown.

    A mean over participations is a ratio of two sums over rounds. Its linearisation (Cochran, "Sampling Techniques",
    3rd edition, 1977, section 2.11) gives each round one residual. The residuals of the two runs are subtracted round
    by round, so that differences in difficulty between rounds cancel. The interval is Student's, with the number of
    rounds as sample size. With equal weights it is the paired t-interval. Rounds are assumed to be independent.
    """
    (value, weight), (value_other, weight_other) = _parts(one, metric), _parts(other, metric)
    n = int(np.count_nonzero((weight > 0) | (weight_other > 0)))
    if n < LEAST_ROUNDS or not weight.any() or not weight_other.any():
        return math.nan
    residual = _residuals(value, weight) - _residuals(value_other, weight_other)
    variance = n / (n - 1) * float(np.dot(residual, residual))
    return student_quantile(0.5 + CONFIDENCE / 2, n - 1) * math.sqrt(variance)


def student_quantile(p: float, degrees: int) -> float:
    """Student's t, the quantile for probability ``p``; exact to 1 % from two degrees of freedom on, 0.1 % from four.

    Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.5.
    """
    x = NormalDist().inv_cdf(p)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92_160,
    )
    return x + math.fsum(term / degrees**power for power, term in enumerate(terms, 1))


def _parts(scores: RoundScores, metric: str) -> tuple[Floats, Floats]:
    """Numerator and denominator of the mean, by round: the sum of a metric, and its weight."""
    value, weight = scores.known(metric)
    return value, weight.astype(np.float64)


def _residuals(value: Floats, weight: Floats) -> Floats:
    """Contribution of each round to the deviation of the ratio of two sums."""
    total = weight.sum()
    return np.asarray((value - value.sum() / total * weight) / total)
