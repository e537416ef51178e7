"""Extensions of Elo-MMS that were tried and not kept; each value is chosen on the first tenth of a history.

The rating pass below is that of ``elo-mms`` with default hyperparameters, full ties, no ceilings, and one more
parameter for each idea, which has no effect at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from timing import Options, Result

from ranklake.flows.entrants.scores import score_rounds
from ranklake.flows.evaluation.residuals import contest_classes
from ranklake.flows.experiments.data import History, from_file
from ranklake.flows.sources.column_names import Columns
from ranklake.flows.sources.options import ReadOptions
from ranklake.rating_kernels.core.numerics import C3
from ranklake.rating_kernels.inference.diffusion import elapsed_days, practice_gain
from ranklake.rating_kernels.inference.logistic_field import solve_round
from ranklake.rating_kernels.inference.performance import FULL, SPLIT
from ranklake.rating_kernels.inference.skewed import (
    Law,
    RoundLaw,
    _tanh_root,
    in_round,
    shift_of_mean,
    variance_of_noise,
)
from ranklake.rating_kernels.metrics.metrics import FILTERS

HISTORIES = (
    ("elo-datasets/codeforces.tar.xz", (), 1087),
    ("elo-datasets/ctf.tar.xz", (), None),
    ("f1_races.parquet", ("contest=contest_id",), None),
)


class Ideas(NamedTuple):
    """Parameters of the ideas: points and days, or as stated.

    ``debut``, ``debut_by_class``: 1 / number of debuts that a newcomer's prior of 1,500 counts as, when averaged with
    the performances in earlier debuts, of all contests or of the contest's class. ``class_noise``: power of the noise's
    factor by class, beta_t^2 = (V S / C)^2 - V - mean sigma^2, with the variance V of prior means, the deviation S of
    performances and their covariance C, averaged over earlier rounds of the class.
    """

    debut: float = 0.0
    debut_by_class: float = 0.0
    pool: float = 0.0  # share of the distance from 1,500 to the others' mean rating, added to a newcomer's prior
    class_noise: float = 0.0
    level: float = 0.0  # logarithm of the noise's factor by 1,000 points of a player's rating
    field_level: float = 0.0  # the same, of the field's mean rating
    tail: float = 0.0  # share of the normal law in the lower side
    rest: float = 0.0  # gained by a long break: rest (1 - e^(-days / 60))
    days_gain: float = 0.0  # gained by a day, up to a year
    practice_level: float = 0.0  # relative change of practice by 500 points of rating
    early_drift: float = 0.0  # deviation of an additional drift, halved in variance after five rounds
    early_noise: float = 0.0  # relative additional noise of newcomers, halved after three rounds
    debut_recent: float = 0.0  # rate of the moving average of performances in debuts that is a newcomer's prior
    own_noise: float = 0.0  # 1 / number of rounds that the common noise counts as, beside a player's own surprises
    cut: float = 0.0  # largest surprise of a good result
    by_sign: float = 0.0  # relative additional noise in the update of sigma after a bad result, less after a good one
    momentum: float = 0.0  # part of the moving average of a player's changes that is added before each round
    form: float = 0.0  # deviation of a second part of the skill, which fades in 30 days
    class_skill: float = 0.0  # deviation of a second part of the skill, of the contest's class
    split: float = 0.0  # whether ties are half a win and half a loss, not coincidences


VALUES = {
    "debut": (0.002, 0.01, 0.05),
    "debut_by_class": (0.002, 0.01, 0.05),
    "pool": (0.25, 0.5, 1.0),
    "class_noise": (0.5, 1.0),
    "level": (0.1, 0.2, 0.3, 0.45),
    "field_level": (-0.2, 0.2, 0.4),
    "tail": (0.05, 0.1, 0.2, 0.4),
    "rest": (-10.0, 10.0, 20.0),
    "days_gain": (0.05, 0.1, 0.2),
    "practice_level": (-0.3, 0.3),
    "early_drift": (10.0, 20.0, 40.0),
    "early_noise": (-0.3, -0.15, 0.15, 0.3, 0.6),
    "debut_recent": (0.001, 0.01),
    "own_noise": (0.02, 0.1, 0.3),
    "cut": (250.0, 400.0, 600.0),
    "by_sign": (-0.3, 0.3, 1.0),
    "momentum": (0.1, 0.3, 0.6),
    "form": (20.0, 40.0, 80.0),
    "class_skill": (20.0, 40.0, 80.0),
    "split": (1.0,),
}
BETA, SKEW, GAMMA, DRIFT, PRACTICE, PRACTICE_ROUNDS, SIGMA_INIT = 130.0, 1.4, 12.0, 12.0, 8.0, 20.0, 350.0
NOISE = Law(BETA, SKEW, normal=False, duel=2.0, ranked=True)


def elo_mms_ideas(options: Options) -> Iterator[Result]:
    """Each idea on each history: the value with most pairs on the first tenth, and its change on the rest.

    A quick run has the smallest history alone and interprets the pass: its compilation would take most of the time.
    """
    rate = _rate.py_func if options.quick else _rate
    for file, columns, n in HISTORIES[-1:] if options.quick else HISTORIES:
        history = from_file(options.file(file), ReadOptions(columns=Columns.parse(columns)))
        if (stop := options.least(n or history.n_contests)) < history.n_contests:
            history = history.first(stop, history.name)
        train, test = _pairs(rate, history, True, Ideas()), _pairs(rate, history, False, Ideas())
        what = f"{history.name}: elo-mms {test[0]:.2f} % experienced, {test[1]:.2f} % everyone"
        figures = {"experienced": float(test[0]), "everyone": float(test[1])}
        yield Result("elo-mms-ideas", what, figures=figures, case=history.name)
        for name, values in list(VALUES.items())[: 1 if options.quick else None]:
            found = {value: _pairs(rate, history, True, Ideas(**{name: value})) for value in values}
            best = max(values, key=lambda value: found[value][0])
            gain = _pairs(rate, history, False, Ideas(**{name: best})) - test
            first = found[best] - train
            what = f"{history.name}: {name}={best:g} {gain[0]:+.2f} experienced, {gain[1]:+.2f} everyone"
            tenth = f"on the first tenth {first[0]:+.2f}, {first[1]:+.2f}"
            figures = {"experienced": float(gain[0]), "everyone": float(gain[1])}
            yield Result("elo-mms-ideas", f"{what}; {tenth}", figures=figures, case=f"{history.name} {name}")


def _pairs(rate: Callable[..., None], history: History, train: bool, ideas: Ideas) -> Any:
    """Pairs predicted, percent, equal ratings half: experienced, everyone; of the first tenth, or of the rest."""
    rounds, split = history.rounds, int(np.searchsorted(history.index, history.n_contests // 10))
    if train:
        rounds = rounds.part(0, split)
    labels, of_round = np.unique(contest_classes(history.titles[: len(rounds)]), return_inverse=True)
    mu, n_before = np.empty(rounds.n_rows), np.empty(rounds.n_rows, np.int32)
    rate(
        rounds.offsets, rounds.player, rounds.lo, rounds.time_seconds, rounds.weight, of_round, len(labels),
        len(history.handles), ideas, mu, n_before,
    )  # fmt: skip
    filters = [FILTERS["experienced"], FILTERS["everyone"]]
    scores = score_rounds(rounds.offsets, rounds.lo, mu, n_before, filters, probabilities=False)
    part = slice(0, None) if train else slice(split, None)
    return np.array([one.mean("pair_inversion_equal_half", part) for one in scores.values()])


@numba.njit(error_model="numpy")
def _rate(offsets, player, lo, time_seconds, weight, of_round, n_classes, n_players, ideas, mu_prior, n_before):
    mu, sigma = np.full(n_players, 1500.0), np.full(n_players, SIGMA_INIT)
    n_rounds, last_time = np.zeros(n_players, np.int64), np.zeros(n_players, np.int64)
    debuts, factors = np.zeros((n_classes, 2)), np.zeros((n_classes, 2))  # sums and numbers
    recent, own, everyone = 0.0, np.zeros((n_players, 2)), np.zeros(2)  # sums of squared surprises, and numbers
    speed, second = np.zeros(n_players), np.zeros((n_players, n_classes if ideas.class_skill > 0.0 else 1))
    counts = np.zeros(second.shape)
    for r in range(len(offsets) - 1):
        a, b = offsets[r], offsets[r + 1]
        w, one, law = weight[r], of_round[r], in_round(NOISE, float(b - a))
        known, n_known = 0.0, 0
        for i in range(a, b):
            if n_rounds[player[i]] > 0:
                known += mu[player[i]]
                n_known += 1
        field = known / n_known if n_known else 1500.0
        newcomer = 1500.0 + (ideas.pool * (field - 1500.0) if n_known >= 10 else 0.0)
        if ideas.debut > 0.0:
            newcomer += debuts[:, 0].sum() / (1.0 / ideas.debut + debuts[:, 1].sum())
        if ideas.debut_by_class > 0.0:
            newcomer += debuts[one, 0] / (1.0 / ideas.debut_by_class + debuts[one, 1])
        newcomer += recent
        mean = factors[:, 0].sum() / max(factors[:, 1].sum(), 1.0)
        common = math.exp(ideas.class_noise * (factors[one, 0] - mean * factors[one, 1]) / (factors[one, 1] + 3.0))
        common *= math.exp(ideas.field_level * min(max(field - 1500.0, -1500.0), 1500.0) / 1000.0)
        beta, noise, spread, centre, omega, perf, further, variance = np.empty((8, b - a))
        side = one if ideas.class_skill > 0.0 else 0
        for q in range(b - a):
            row = player[a + q]
            k = n_rounds[row]
            if k > 0:
                days = elapsed_days(time_seconds[r], last_time[row])
                gain = practice_gain(k, PRACTICE, PRACTICE_ROUNDS)
                gain *= max(0.0, 1.0 + ideas.practice_level * (mu[row] - 1500.0) / 500.0)
                gain += ideas.days_gain * min(days, 365.0) + ideas.rest * (1.0 - math.exp(-days / 60.0))
                mu[row] += law.tau * gain + ideas.momentum * speed[row]
                if ideas.form > 0.0:
                    second[row, 0] *= math.exp(-days / 30.0)
                drift = GAMMA**2 * w + DRIFT * days + ideas.early_drift**2 / (1.0 + k / 5.0)
                sigma[row] = math.sqrt(sigma[row] ** 2 + drift)
            else:
                mu[row] = newcomer
            factor = common * math.exp(ideas.level * min(max(mu[row] - 1500.0, -1500.0), 1500.0) / 1000.0)
            beta[q] = law.beta * factor * (1.0 + ideas.early_noise / (1.0 + k / 3.0))
            if ideas.own_noise > 0.0 and everyone[1] > 0.0:
                expected = 1.0 + ideas.own_noise * own[row, 1] * everyone[0] / everyone[1]
                beta[q] *= math.sqrt((1.0 + ideas.own_noise * own[row, 0]) / expected)
            its_law = RoundLaw(beta[q], law.skew, law.normal, law.tau, law.hidden)
            noise[q] = variance_of_noise(its_law, w)
            further[q], variance[q] = second[row, side], ideas.form**2
            if ideas.class_skill > 0.0:
                variance[q] = 1.0 / (1.0 / ideas.class_skill**2 + counts[row, side] / noise[q])
            mu_prior[a + q], n_before[a + q] = mu[row] + further[q], k
            centre[q] = mu_prior[a + q] - shift_of_mean(its_law, w)
            spread[q] = sigma[row] ** 2 + variance[q]
            omega[q] = C3 / math.sqrt(spread[q] + noise[q])
        solve_round(centre, omega, lo[a:b], SPLIT if ideas.split > 0.0 else FULL, math.inf, perf)
        if ideas.class_noise != 0.0:
            _estimate(mu_prior[a:b], spread, perf, noise, n_before[a:b], common, factors[one])
        for q in range(b - a):
            row, p = player[a + q], w / (beta[q] * beta[q])
            if n_rounds[row] == 0:
                above = perf[q] + (mu_prior[a + q] - centre[q]) - 1500.0
                debuts[one, 0] += above
                debuts[one, 1] += 1.0
                recent += ideas.debut_recent * (above - recent)
            else:
                squared = (perf[q] - centre[q]) ** 2 / (spread[q] + noise[q])
                own[row, 0], own[row, 1] = own[row, 0] + squared, own[row, 1] + 1.0
                everyone[0], everyone[1] = everyone[0] + squared, everyone[1] + 1.0
            surprise = perf[q] - mu_prior[a + q]
            if 0.0 < ideas.cut < surprise:
                surprise = ideas.cut
            change = _change(surprise, spread[q], p, SKEW / (C3 * math.sqrt(p)), law.tau, ideas.tail)
            slow = sigma[row] ** 2
            mu[row] += change * (slow / spread[q])
            second[row, side] += change * (variance[q] / spread[q])
            counts[row, side] += 1.0
            speed[row] = 0.7 * speed[row] + 0.3 * change
            shown = noise[q] * ((1.0 + ideas.by_sign) if surprise < 0.0 else 1.0 / (1.0 + ideas.by_sign))
            # the whole spread shrinks by hidden; the slow part by its share of what the round shows
            sigma[row] = math.sqrt(slow - slow * slow * (1.0 - law.hidden) / (spread[q] + shown))
            last_time[row] = max(last_time[row], time_seconds[r]) if n_rounds[row] else time_seconds[r]
            n_rounds[row] += 1


@numba.njit(error_model="numpy")
def _estimate(mu, variance, perf, noise, n_before, common, factor):
    """Add the logarithm of this round's noise, relative to the assumed one, for players of five rounds."""
    known = n_before >= 5
    if known.sum() < 30:
        return
    prior, shown = mu[known] - mu[known].mean(), perf[known] - perf[known].mean()
    v, s, c = (prior**2).mean(), (shown**2).mean(), (prior * shown).mean()
    found = (v * v * s / (c * c) if c > 0.0 else math.inf) - v - variance[known].mean()
    assumed = noise[known].mean() / (common * common)
    factor[0] += 0.5 * math.log(min(max(found / assumed, 0.25), 4.0))
    factor[1] += 1.0


@numba.njit(error_model="numpy")
def _change(surprise, variance, p, scale, tau, tail):
    """Change of the rating; ``tail`` is the share of the normal law in the lower side, whose other part is logistic."""
    share = tau * (1.0 - tail)
    if surprise >= 0.0:
        return surprise * variance * p / (1.0 + variance * p)
    linear = p * (1.0 - tau) + tau * tail * p / (SKEW * SKEW)
    if share <= 0.0:
        return surprise * variance * linear / (1.0 + variance * linear)
    delta = -surprise * scale / (share * variance)
    u = _tanh_root(2.0 * scale * scale * (1.0 + variance * linear) / (share * variance), delta)
    return -variance * (linear * 2.0 * scale * u + share * math.tanh(u) / scale)
