"""Runs scored side by side: differences with confidence intervals paired by round, and rounds that each run won."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.standings import Floats, Longs
from ranklake.rating_kernels.metrics.bootstrap import interval
from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER, SCALE
from ranklake.storage import Lake, LakeError

from ..common.cpus import available_cpus
from ..common.finite import finite_json
from ..common.text import count
from ..compilation.compile import CompileCallback, announce
from ..entrants.scores import EACH_ROUND, METRICS, Mask, RoundScores, is_better
from .evaluate import Evaluation, evaluate, rounds_to_skip

CONFIDENCE = 0.95  # coverage of the intervals
LEAST_ROUNDS = 3  # minimum for an interval; the quantile is then exact to 1 %


class WinRate(NamedTuple):
    """Percent of some rounds that the first run predicted strictly better; equal rounds count half."""

    filter: str
    metric: str
    rounds: str
    n_rounds: int
    percent: float


@dataclass(frozen=True)
class Evaluations:
    """Evaluations of runs over the same rounds."""

    runs: Sequence[Evaluation]

    def win_rates(self) -> Iterator[tuple[Evaluation, Evaluation, list[WinRate]]]:
        """:func:`win_rates` of every pair of runs."""
        return ((one, other, list(win_rates(one, other))) for one, other in combinations(self.runs, 2))

    def to_table(self) -> pa.Table:
        """One row a run, round and filter."""
        return pa.concat_tables([run.to_table() for run in self.runs])

    def to_json(self) -> dict[str, Any]:
        """The document of a single run, or those of all with their comparisons."""
        documents = [run.to_json() for run in self.runs]
        if len(documents) == 1:
            return documents[0]
        rates = (
            {"run": one.run, "other": other.run, **finite_json(rate._asdict())}
            for one, other, rates in self.win_rates()
            for rate in rates
        )
        found = differences(self.runs, list(self.runs[0].filters))
        return {
            "runs": documents,
            "win_rates": list(rates),
            "differences": [finite_json(difference._asdict()) for difference in found],
            "confidence": CONFIDENCE,
        }


def evaluate_runs(
    lake: Lake,
    names: Sequence[str],
    skip: int | float = 0,
    *,
    workers: int | None = None,
    scale: float = SCALE,
    on_progress: Callable[[str, int, int], None] = lambda run, done, total: None,
    on_scored: Callable[[Evaluation], None] = lambda evaluation: None,
    on_compile: CompileCallback = announce,
) -> Evaluations:
    """Score one run, or several runs over the same rounds.

    ``skip``: rounds at the start that are not scored: a number, or a share of the rounds of each run as a float.
    ``workers``: threads; by default one for each core.
    ``on_progress``: called with the name of a run, its number of scored rounds and that of all its rounds.
    ``on_scored``: called with each evaluation.
    Raises LakeError: as for :func:`~ranklake.flows.evaluation.evaluate.evaluate` and :func:`check_comparable`.
    """
    skips = [rounds_to_skip(lake, name, skip) if isinstance(skip, float) else skip for name in names]
    how: dict[str, Any] = {"workers": workers or available_cpus(), "scale": scale, "on_compile": on_compile}
    runs: list[Evaluation] = []
    for name, first_round in zip(names, skips, strict=True):
        evaluation = evaluate(lake, name, first_round, on_progress=partial(on_progress, name), **how)
        on_scored(evaluation)
        if runs:
            check_comparable(runs[0], evaluation)
        runs.append(evaluation)
    return Evaluations(runs)


def check_comparable(one: Evaluation, other: Evaluation) -> None:
    """Raise :class:`LakeError` unless both runs rated the same contests in the same order."""
    if one.first_round == other.first_round and one.contest_ids == other.contest_ids:
        return
    n = min(len(one), len(other))
    differs = next((i for i in range(n) if one.contest_ids[i] != other.contest_ids[i]), None)
    if differs is not None:
        at, theirs = one.contest_ids[differs], other.contest_ids[differs]
        where = f"round {one.first_round + differs} is contest {at} in the first and {theirs} in the second"
    else:
        where = f"they have {one.first_round + len(one):,} and {count(other.first_round + len(other), 'round')}"
    raise LakeError(
        f"runs {one.run} and {other.run} cannot be compared: {where}; bring both up to date with "
        f"`ranklake rate --run {one.run}` and `ranklake rate --run {other.run}`"
    )


def win_rates(one: Evaluation, other: Evaluation) -> Iterator[WinRate]:
    """How often ``one`` is better than ``other``, for every filter and metric: all rounds, divisions, size classes.

    Rounds without a value of either run are left out.

    "An Elo-based rating system for TopCoder SRM", the comparison of systems by rounds won.
    """
    classes = {"all": np.ones(len(one), dtype=bool)}
    classes |= {f"division {number}": one.division == number for number in (1, 2)}
    classes |= {f"{name} players": rounds for name, rounds in one.sizes()}
    for filter in one.filters:
        for metric in EACH_ROUND:
            points, scored = _points(one, other, filter, metric)
            for name, rounds in classes.items():
                n = int(np.count_nonzero(rounds & scored))
                if n:
                    yield WinRate(filter, metric, name, n, 100.0 * float(points[rounds & scored].sum()) / n)


def _points(one: Evaluation, other: Evaluation, filter: str, metric: str) -> tuple[Floats, Mask]:
    """For each round 1, 1/2 or 0 points of ``one``; and a mask of the rounds in which both have a value."""
    a, b = one.filters[filter].per_round(metric), other.filters[filter].per_round(metric)
    if not is_better(metric, 1.0, 0.0):
        a, b = -a, -b
    return (a > b) + 0.5 * (a == b), ~(np.isnan(a) | np.isnan(b))


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

    ``evaluations``: evaluations of the same rounds; see :func:`check_comparable`.

    The interval is that of :func:`half_width`; that of the calibration error, which is no ratio of two sums, is by
    :func:`bootstrap_interval`. It does not account for the choice of the best among several runs.
    """
    for filter in filters:
        for metric in METRICS:
            best = best_run(evaluations, filter, metric)
            if best is None:
                continue
            for evaluation in evaluations:
                a, b = evaluation.filters[filter], best.filters[filter]
                d = a.mean(metric) - b.mean(metric)
                if metric in EACH_ROUND or evaluation is best:
                    half = 0.0 if evaluation is best else half_width(a, b, metric)
                    low, high = d - half, d + half
                else:
                    low, high = bootstrap_interval(a, b, metric)
                yield Difference(filter, metric, evaluation.run, best.run, d, low, high)


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
    (value, weight), (value_other, weight_other) = one.known(metric), other.known(metric)
    n = int(np.count_nonzero((weight > 0) | (weight_other > 0)))
    if n < LEAST_ROUNDS or not weight.any() or not weight_other.any():
        return math.nan
    residual = _residuals(value, weight) - _residuals(value_other, weight_other)
    variance = n / (n - 1) * float(np.dot(residual, residual))
    return student_quantile(0.5 + CONFIDENCE / 2, n - 1) * math.sqrt(variance)


def bootstrap_interval(one: RoundScores, other: RoundScores, metric: str) -> tuple[float, float]:
    """Confidence interval of ``one.mean(metric) - other.mean(metric)``, for any metric; NaN as in :func:`half_width`.

    Both have the same rounds. The percentiles of the differences in rounds drawn with replacement.
    """
    weight = one.weight if one.pairs is None else one.pairs.weight
    if np.count_nonzero(weight) < LEAST_ROUNDS:
        return math.nan, math.nan
    return interval(one.resampled(metric) - other.resampled(metric), CONFIDENCE)


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


def _residuals(value: Floats, weight: Longs) -> Floats:
    """Contribution of each round to the deviation of the ratio of two sums."""
    total = float(weight.sum())
    return np.asarray((value - value.sum() / total * weight) / total)
