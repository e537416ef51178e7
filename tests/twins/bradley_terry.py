"""The Bradley-Terry model as a general choice between outcomes with features, in plain loops.

Each outcome has a vector f of features, and a chance proportional to e^(f . parameters). The score of an outcome is its
f less the mean of all, and the curvature is the covariance of the f. Newton's method and Gauss-Jordan elimination.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from math import fsum
from typing import Any

from twins.components import closure

UNIT = 400.0 / math.log(10.0)
Vector = list[float]
Matrix = list[Vector]


def fit(games: Sequence[Any], names: Sequence[str], params: Any) -> Any:
    """Columns by player, coefficients with errors, deviations of differences, and nu."""
    n, c = len(names), len(params.covariates)
    tied = params.ties == "davidson"
    size = n + c + tied
    precision = [(UNIT / params.ridge) ** 2] * n + [params.covariate_sd**-2.0] * c + [0.0] * tied
    at = [0.0] * size
    for _ in range(60):
        slope, curvature, squares = _sums(games, names, at, tied)
        inverse = _inverse(
            [[v + precision[i] * (i == j) for j, v in enumerate(row)] for i, row in enumerate(curvature)]
        )
        step = [fsum(v * (slope[j] - precision[j] * at[j]) for j, v in enumerate(row)) for row in inverse]
        at = [a + s for a, s in zip(at, step, strict=True)]
    groups = closure([[names.index(g[0]), names.index(g[1])] for g in games])
    of = {player: number for number, group in enumerate(groups) for player in group}
    whole = _times(_times(inverse, squares), inverse)
    model = [math.sqrt(inverse[i][i] - 1.0 / (len(groups[of[i]]) * precision[0])) for i in range(n)]
    sandwich = [math.sqrt(whole[i][i]) for i in range(n)]
    extreme = [
        any(all((g[2] if g[0] == name else 1 - g[2]) == y for g in games if name in g[:2]) for y in (0, 1))
        for name in names
    ]
    columns = {
        "mu": [params.mu_init + UNIT * t for t in at[:n]],
        "sigma": [UNIT * (max(s, m) if e else s) for s, m, e in zip(sandwich, model, extreme, strict=True)],
        "sigma_sandwich": [UNIT * s for s in sandwich],
        "sigma_model": [UNIT * m for m in model],
        "extreme": extreme,
        "component": [of[i] for i in range(n)],
    }
    coefficients = [(at[i], math.sqrt(whole[i][i])) for i in range(n, n + c)]
    differences = {
        (a, b): UNIT * math.sqrt(whole[a][a] + whole[b][b] - 2.0 * whole[a][b])
        for a, b in zip(*pairs([of[i] for i in range(n)]), strict=True)
    }
    return columns, coefficients, differences, math.exp(at[-1]) if tied else None


def pairs(component: Sequence[int]) -> tuple[list[int], list[int]]:
    """All pairs of players of one component."""
    found = [(a, b) for a, b in combinations(range(len(component)), 2) if component[a] == component[b]]
    return [a for a, _ in found], [b for _, b in found]


def _sums(games: Sequence[Any], names: Sequence[str], at: Vector, tied: bool) -> tuple[Vector, Matrix, Matrix]:
    """The gradient, the curvature, and the products of scores."""
    size = len(at)
    slope, curvature, squares = [0.0] * size, _zeros(size), _zeros(size)
    for first, second, y, weight, count, x in games:
        z = [0.0] * size
        z[names.index(first)], z[names.index(second)] = 1.0, -1.0
        z[len(names) : len(names) + len(x)] = x
        outcomes = [z, [0.0] * size]
        shares = [y, 1.0 - y]
        if tied:
            tie = [0.0] * (size - 1) + [1.0]
            outcomes = [[0.5 * v for v in z], tie, [-0.5 * v for v in z]]
            shares = [float(y == 1), float(y == 0.5), float(y == 0)]
        logits = [fsum(f * a for f, a in zip(one, at, strict=True)) for one in outcomes]
        total = fsum(map(math.exp, logits))
        chances = [math.exp(v) / total for v in logits]
        mean = [fsum(p * f[i] for p, f in zip(chances, outcomes, strict=True)) for i in range(size)]
        score = [fsum(s * (f[i] - mean[i]) for s, f in zip(shares, outcomes, strict=True)) for i in range(size)]
        for i in range(size):
            slope[i] += count * weight * score[i]
            for j in range(size):
                spread = (p * (f[i] - mean[i]) * (f[j] - mean[j]) for p, f in zip(chances, outcomes, strict=True))
                curvature[i][j] += count * weight * fsum(spread)
                squares[i][j] += count * weight**2 * score[i] * score[j]
    return slope, curvature, squares


def _zeros(size: int) -> Matrix:
    return [[0.0] * size for _ in range(size)]


def _times(a: Matrix, b: Matrix) -> Matrix:
    return [[fsum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def _inverse(matrix: Matrix) -> Matrix:
    """The inverse by elimination with the largest pivot."""
    n = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows]
