"""Reference implementation of smoothing: dense matrices for a player, pairwise sums for a round, plain sweeps.

Nothing is shared with the fast kernels: no recursion, no tables, no cure for slow convergence. A player's skills are
jointly normal with a tridiagonal precision matrix; a cavity is the same system without one observation. With skewed
performances the skills are the mode, found by Newton's method on the dense matrix with a search along each step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from twins.elo_mmr import Twin as EloMMRTwin
from twins.elo_mms import Law, _update

Standing = tuple[str, int, int]  # player, lo, hi


def dense(
    mu0: float,
    sig0: float,
    perf: Sequence[float],
    beta: Sequence[float],
    added: Sequence[float],
    growth: Sequence[float],
    scale: Sequence[float] | None = None,
) -> dict[str, list[float]]:
    """Smoothed and leave-one-out means and deviations of one player (``mu, sig, mu_out, sig_out``)."""
    n = len(perf)
    precision, pull = _chain(sig0, added, growth, scale)
    seen = np.array(beta) ** -2.0
    answer: dict[str, list[float]] = {"mu": [], "sig": [], "mu_out": [], "sig_out": []}
    for name, left_out in (("", [None] * n), ("_out", range(n))):
        for k, out in enumerate(left_out):
            weight = seen.copy()
            if out is not None:
                weight[out] = 0.0
            matrix = precision + np.diag(weight)
            mean = np.linalg.solve(matrix, pull + weight * (np.array(perf) - mu0))
            answer[f"mu{name}"].append(mu0 + float(mean[k]))
            answer[f"sig{name}"].append(math.sqrt(float(np.linalg.inv(matrix)[k, k])))
    return answer


def joint(
    sig0: float, perf: Sequence[float], beta: Sequence[float], added: Sequence[float], growth: Sequence[float],
    scale: Sequence[float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Mean and covariance of one player's skills, less the mean of newcomers; an infinite noise observes nothing."""
    precision, pull = _chain(sig0, added, growth, scale)
    weight = np.array(beta) ** -2.0
    covariance = np.linalg.inv(precision + np.diag(weight))
    return covariance @ (pull + weight * np.array(perf)), covariance


def _chain(
    sig0: float, added: Sequence[float], growth: Sequence[float], scale: Sequence[float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Precision of a player's skills before any result, and precision times mean; each is ``scale`` times the last."""
    n = len(added)
    tiny = 1e-9  # squared points: no drift makes the matrix infinite
    precision, pull = np.zeros((n, n)), np.zeros(n)
    precision[0, 0] += sig0**-2.0
    for k in range(1, n):
        q = 1.0 / max(added[k], tiny)
        apart = np.array([-1.0 if scale is None else -scale[k], 1.0])
        precision[k - 1 : k + 1, k - 1 : k + 1] += q * np.outer(apart, apart)
        pull[k - 1 : k + 1] += q * growth[k] * apart
    return precision, pull


def skewed_mode(
    sig0: float,
    perf: Sequence[float],
    laws: Sequence[Law],
    added: Sequence[float],
    growth: Sequence[float],
    left_out: int | None = None,
    scale: Sequence[float] | None = None,
) -> np.ndarray:
    """Most probable skills of one player, less the mean of newcomers, given performances with skewed noise."""
    precision, pull = _chain(sig0, added, growth, scale)
    seen = [k for k in range(len(perf)) if k != left_out]

    def value(skill: np.ndarray) -> float:
        return 0.5 * skill @ precision @ skill - pull @ skill + sum(_loss(laws[k], skill[k] - perf[k]) for k in seen)

    skill = np.linalg.solve(precision, pull)
    for _ in range(200):
        slope, curve = precision @ skill - pull, precision.copy()
        for k in seen:
            y = skill[k] - perf[k]
            slope[k] += _force(laws[k], y)
            curve[k, k] += (_force(laws[k], y + 1e-3) - _force(laws[k], y - 1e-3)) / 2e-3
        move, before = -np.linalg.solve(curve, slope), value(skill)
        while value(skill + move) > before + 1e-12 * abs(before):
            move *= 0.5
        skill = skill + move
        if np.abs(move).max() < 1e-9:
            return skill
    raise AssertionError("no mode found")


def _force(law: Law, y: float) -> float:
    return law.pull(y) if y > 0.0 else y / law.upper**2


def _loss(law: Law, y: float) -> float:
    """Minus the logarithm of the density of a performance ``y`` below the skill, up to a constant: the integral."""
    if y <= 0.0:
        return 0.5 * (y / law.upper) ** 2
    width = math.sqrt(3.0) * law.lower / math.pi
    skewed = 2.0 * math.log(math.cosh(y / (2.0 * width))) if law.logistic else 0.5 * (y / law.lower) ** 2
    return (1.0 - law.share) * 0.5 * (y / law.upper) ** 2 + law.share * skewed


def sweep(
    rounds: Sequence[Sequence[Standing]],
    times: Sequence[int],
    weights: Sequence[float],
    cavities: Sequence[dict[str, tuple[float, float]]],
    params: dict[str, float | str],
    advantages: Sequence[dict[str, float]] | None = None,
) -> tuple[list[dict[str, float]], list[dict[str, dict[str, float]]]]:
    """Performances against the given cavities (mu, sigma), and the beliefs that follow, of each round by player."""
    beta, split = float(params["beta"]), params["tie_mode"]
    field = EloMMRTwin(beta=beta, gamma=1.0, tie_mode=split)
    perf = []
    more = advantages or [dict.fromkeys(cavity, 0.0) for cavity in cavities]
    for standings, weight, cavity, ahead in zip(rounds, weights, cavities, more, strict=True):
        spread = [
            (cavity[p][0] + ahead[p], math.hypot(cavity[p][1], beta / math.sqrt(weight))) for p, _, _ in standings
        ]
        perf.append({player: field._performance(spread, lo, hi) - ahead[player] for player, lo, hi in standings})
    beliefs: list[dict[str, dict[str, float]]] = [{} for _ in rounds]
    for player in sorted({player for standings in rounds for player, _, _ in standings}):
        mine = [r for r, shown in enumerate(perf) if player in shown]
        added, growth = [0.0], [0.0]
        for k, (_before, r) in enumerate(itertools.pairwise(mine), 1):
            days = max(times[r] - max(times[one] for one in mine[:k]), 0) / 86400.0
            added.append(float(params["gamma"]) ** 2 * weights[r] + float(params["drift_per_day"]) * days)
            shows = max(1.0 - 2.0 / len(rounds[r]), 0.0)
            growth.append(shows * float(params["practice"]) / (1.0 + k / float(params["practice_rounds"])))
        noise = [beta / math.sqrt(weights[r]) for r in mine]
        columns = dense(
            float(params["mu_init"]), float(params["sigma_init"]), [perf[r][player] for r in mine], noise, added, growth
        )
        for k, r in enumerate(mine):
            beliefs[r][player] = {name: column[k] for name, column in columns.items()}
    return perf, beliefs


def messages(
    sig0: float,
    cavities: Sequence[tuple[float, float]],
    perf: Sequence[float],
    laws: Sequence[Law],
    rho: Sequence[float],
    added: Sequence[float],
    growth: Sequence[float],
) -> list[tuple[float, float]]:
    """Mean and variance of each cavity of one player, from the messages that all other rounds send given theirs.

    A round sends the normal law that changes its cavity as a place does which shows the share ``rho`` of a performance.
    """
    precision, value = [], []
    for (mean, variance), shown, law, share in zip(cavities, perf, laws, rho, strict=True):
        after = _update(mean, math.sqrt(variance), shown, law)[0]
        left = variance - share * variance**2 / (variance + law.variance)
        precision.append(1.0 / left - 1.0 / variance)
        value.append((after / left - mean / variance) / precision[-1])
    chain, pull = _chain(sig0, added, growth)
    found = []
    for k in range(len(perf)):
        weight = np.array(precision)
        weight[k] = 0.0
        matrix = chain + np.diag(weight)
        mean = np.linalg.solve(matrix, pull + weight * np.array(value))
        found.append((float(mean[k]), float(np.linalg.inv(matrix)[k, k])))
    return found
