"""Other laws of performances in Elo-MMR: each with the noise that is best on the first tenth of a history.

The rating pass below is that of ``elo-mmr`` with rho = inf, full ties, no ceilings, teams or drift by the day: for each
law the performance of a tie group is the zero of the paper's sum over the field, and the rating the mode of a normal
prior times one factor of the same law. ``gumbel`` is the law of Plackett and Luce's model, with a light lower and a
heavy upper tail; ``mirrored`` is its reflection.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numba
import numpy as np
from against_peer import TENNIS, TENNIS_COLUMNS
from timing import Options, Result

from ranklake.flows.entrants.scores import RoundScores, score_rounds
from ranklake.flows.evaluation.evaluations import half_width
from ranklake.flows.experiments.data import History, from_file
from ranklake.flows.sources.column_names import Columns
from ranklake.flows.sources.options import ReadOptions
from ranklake.rating_kernels.metrics.metrics import FILTERS

HISTORIES = (
    ("f1_races.parquet", ("contest=contest_id",), None),
    (TENNIS, TENNIS_COLUMNS, None),
    ("elo-datasets/ctf.tar.xz", (), None),
    ("elo-datasets/codeforces.tar.xz", (), 300),
)
LAWS = {"logistic": 0, "normal": 1, "gumbel": 2, "mirrored": 3}
LIMITS = (30.0, 45.0, 60.0, 80.0, 110.0, 150.0, 210.0, 300.0)  # sig_limit of elo-mmr, at weight_limit 0.2
METRICS = ("pair_inversion_equal_half", "rank_deviation")
NODES_A_SCALE, DIRECT = 4.0, 60


def elo_mmr_laws(options: Options) -> Iterator[Result]:
    """Each law on each history, and its difference to the logistic law on the rounds after the first tenth."""
    for file, columns, n in HISTORIES[:1] if options.quick else HISTORIES:
        history = from_file(options.file(file), ReadOptions(columns=Columns.parse(columns)))
        if (stop := options.least(n or history.n_contests)) < history.n_contests:
            history = history.first(stop, history.name)
        split, found = int(np.searchsorted(history.index, history.n_contests // 10)), {}
        for name, law in LAWS.items():
            first = {limit: _scores(history, law, limit, 0, split) for limit in LIMITS}
            best = max(LIMITS, key=lambda limit: first[limit]["experienced"].mean(METRICS[0]))
            found[name] = _scores(history, law, best, split, len(history.rounds))
            figures, words = {}, []
            for filter, scores in found[name].items():
                for metric in METRICS:
                    logistic = found["logistic"][filter]
                    value, other = scores.mean(metric), logistic.mean(metric)
                    half = half_width(scores, logistic, metric)
                    figures[f"{filter} {metric}"] = value - other if law else value
                    words.append(f"{value - other:+.3f} ±{half:.3f}" if law else f"{value:.3f}")
            what = f"{history.name}: {name} sig_limit={best:g}: inversion, deviation {', '.join(words)}"
            yield Result("elo-mmr-laws", what, figures=figures, case=f"{history.name} {name}")


def _scores(history: History, law: int, limit: float, start: int, stop: int) -> dict[str, RoundScores]:
    """Scores of rounds ``start`` to ``stop - 1``, of experienced players and of everyone."""
    rounds = history.rounds.part(0, stop)
    mu, n_before = np.empty(rounds.n_rows), np.empty(rounds.n_rows, np.int32)
    _rate(rounds.offsets, rounds.player, rounds.lo, rounds.weight, len(history.handles), law, limit, mu, n_before)
    row, part = rounds.offsets[start], rounds.part(start, stop)
    filters = [FILTERS["experienced"], FILTERS["everyone"]]
    return score_rounds(part.offsets, part.lo, mu[row:], n_before[row:], filters, probabilities=False)


@numba.njit(error_model="numpy")
def _rate(offsets, player, lo, weight, n_players, law, limit, mu_prior, n_before):
    mu, sigma, n_rounds = np.full(n_players, 1500.0), np.full(n_players, 350.0), np.zeros(n_players, np.int32)
    for r in range(len(offsets) - 1):
        a, b = offsets[r], offsets[r + 1]
        beta2, gamma2 = limit**2 * (1.0 + 5.0 / weight[r]), 0.2 * limit**2 * weight[r]
        scale = np.empty(b - a)
        for i in range(a, b):
            row = player[i]
            sigma[row] = math.sqrt(sigma[row] ** 2 + gamma2)
            mu_prior[i], n_before[i] = mu[row], n_rounds[row]
            scale[i - a] = _scale(law, math.sqrt(sigma[row] ** 2 + beta2))
        perf = np.empty(b - a)
        _perform(law, mu_prior[a:b], scale, lo[a:b], perf)
        noise = _scale(law, math.sqrt(beta2))
        for i in range(a, b):
            row, variance = player[i], sigma[player[i]] ** 2
            low, high = min(mu[row], perf[i - a]), max(mu[row], perf[i - a])
            for _ in range(60):
                x = 0.5 * (low + high)
                if (mu[row] - x) / variance - _terms(law, (perf[i - a] - x) / noise)[2] / noise > 0.0:
                    low = x
                else:
                    high = x
            mu[row] = 0.5 * (low + high)
            sigma[row] = math.sqrt(1.0 / (1.0 / variance + 1.0 / beta2))
            n_rounds[row] += 1


@numba.njit(error_model="numpy")
def _scale(law, deviation):
    """The scale of a law of this deviation."""
    if law == 0:
        return deviation * math.sqrt(3.0) / math.pi
    return deviation if law == 1 else deviation * math.sqrt(6.0) / math.pi


@numba.njit(error_model="numpy")
def _terms(law, z):
    """Derivatives of ln(1 - F), ln F and ln f, at the mode 0 of the last: for a loss, a win and a tie."""
    if law == 3:
        loss, win, tie = _terms(2, -z)
        return -win, -loss, -tie
    if law == 0:
        below = 1.0 / (1.0 + math.exp(-z))
        return -below, 1.0 - below, 1.0 - 2.0 * below
    if law == 1:
        return -_hazard(z), _hazard(-z), -z
    e = math.exp(min(-z, 300.0))
    loss = -1.0 if e < 1e-12 else -e / math.expm1(e) if e < 700.0 else 0.0
    return loss, e, e - 1.0


@numba.njit(error_model="numpy")
def _hazard(z):
    """phi / (1 - Phi)."""
    if z > 25.0:
        return z + 1.0 / z
    return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / (0.5 * math.erfc(z / math.sqrt(2.0)))


@numba.njit(error_model="numpy")
def _perform(law, mu, scale, lo, perf):
    """The zero of the sum over the field for each tie group: bisection, in large rounds between nodes of a grid."""
    n, widest = len(mu), scale.max()
    reach = 2.0 * math.log(4.0 * n) * widest if n <= DIRECT else 1.2 * math.log(4.0 * n) * widest
    low, high = mu.min() - reach, mu.max() + reach
    count = int((high - low) * NODES_A_SCALE / scale.min()) + 2 if n > DIRECT else 0
    step, sums = (high - low) / max(count - 1, 1), np.zeros(max(count, 1))
    if count:
        for j in range(n):
            for k in range(count):
                sums[k] += _terms(law, (low + k * step - mu[j]) / scale[j])[1] / scale[j]
    start = 0
    while start < n:
        stop = start
        while stop < n and lo[stop] == lo[start]:
            for k in range(count):  # from below to tied
                _, win, tie = _terms(law, (low + k * step - mu[stop]) / scale[stop])
                sums[k] += (tie - win) / scale[stop]
            stop += 1
        if count:
            perf[start:stop] = low + step * _crossing(sums)
        else:
            left, right = low, high
            for _ in range(50):
                p, total = 0.5 * (left + right), 0.0
                for j in range(n):
                    loss, win, tie = _terms(law, (p - mu[j]) / scale[j])
                    total += (loss if j < start else tie if j < stop else win) / scale[j]
                if total > 0.0:
                    left = p
                else:
                    right = p
            perf[start:stop] = 0.5 * (left + right)
        for j in range(start, stop):
            for k in range(count):  # from tied to above
                loss, _, tie = _terms(law, (low + k * step - mu[j]) / scale[j])
                sums[k] += (loss - tie) / scale[j]
        start = stop


@numba.njit(error_model="numpy")
def _crossing(sums):
    """The place at which a falling function on a grid is zero: the cubic through four nodes."""
    left, right = 0, len(sums) - 1
    while right - left > 1:
        k = (left + right) // 2
        left, right = (k, right) if sums[k] > 0.0 else (left, k)
    first = min(max(left - 1, 0), len(sums) - 4)
    low, high = float(left), float(right)
    for _ in range(40):
        x, value = 0.5 * (low + high), 0.0
        for i in range(4):
            part = sums[first + i]
            for j in range(4):
                if j != i:
                    part *= (x - first - j) / (i - j)
            value += part
        low, high = (x, high) if value > 0.0 else (low, x)
    return 0.5 * (low + high)
