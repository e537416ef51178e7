"""Reference implementation of the prediction metrics in plain Python: every pair, as in the definitions.

Rows are ``(mu, lo, hi)`` in standing order. Sources as in ``rating_kernels/metrics/metrics.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = tuple[float, int, int]


def keep(rows: Sequence[Row], counts: Sequence[bool], top: int | None = None) -> list[int]:
    """Rows that count; none if all of them tie."""
    kept = [i for i, counted in enumerate(counts) if counted]
    if top is not None:
        kept = [i for i in kept if sum(rows[j][1] < rows[i][1] for j in kept) < top]
    return kept if len({rows[i][1] for i in kept}) > 1 else []


def score(rows: Sequence[Row], scale: float = 400.0) -> dict[str, Any]:
    """Every metric of rows that were kept; places are compared, whatever gaps they have."""
    n = len(rows)
    mu, lo = [row[0] for row in rows], [row[1] for row in rows]
    sorted_rows = sorted(range(n), key=lambda i: -mu[i])
    answer: dict[str, Any] = {
        "pair_inversion": [],
        "pair_inversion_equal_half": [],
        "rank_deviation": [],
        "log2_performance": [],
        "cross_entropy": [],
    }
    for i in range(n):
        right, neutral, bits, expected = 0, 0.0, 0.0, 1.0
        for j in range(n):
            if j == i:
                continue
            if lo[i] == lo[j]:
                right, neutral, expected = right + 1, neutral + 1, expected + 0.5
                continue
            winner, loser = (i, j) if lo[i] < lo[j] else (j, i)
            right += mu[winner] >= mu[loser]
            neutral += 0.5 if mu[winner] == mu[loser] else mu[winner] > mu[loser]
            bits += _log2_of_one_plus_exp((mu[loser] - mu[winner]) / scale)
            expected += _chance((mu[j] - mu[i]) / scale)
        first = sum(place < lo[i] for place in lo)
        last = first + sum(place == lo[i] for place in lo) - 1
        position = sorted_rows.index(i)
        answer["pair_inversion"].append(100 * right / (n - 1))
        answer["pair_inversion_equal_half"].append(100 * neutral / (n - 1))
        answer["rank_deviation"].append(100 * max(first - position, position - last, 0) / (n - 1))
        answer["log2_performance"].append(math.log2(expected / (1 + (first + last) / 2)))
        answer["cross_entropy"].append(bits / (n - 1))
    answer["kendall_tau_b"], answer["spearman_rho"] = _tau_b(mu, lo), _rho(mu, lo)
    return answer


def _log2_of_one_plus_exp(tens: float) -> float:
    x = tens * math.log(10)
    return (max(x, 0.0) + math.log1p(math.exp(-abs(x)))) / math.log(2)


def _chance(tens: float) -> float:
    """1 / (1 + 10 ** -tens)."""
    return 1 / (1 + 10**-tens) if tens > -300 else 0.0


def _tau_b(mu: Sequence[float], lo: Sequence[int]) -> float | None:
    agree, by_mu, by_place = 0, 0, 0
    for i in range(len(mu)):
        for j in range(i):
            a, b = _sign(mu[i] - mu[j]), _sign(lo[j] - lo[i])
            agree, by_mu, by_place = agree + a * b, by_mu + a * a, by_place + b * b
    return agree / math.sqrt(by_mu * by_place) if by_mu and by_place else None


def _rho(mu: Sequence[float], lo: Sequence[int]) -> float | None:
    a = [sum(other > one for other in mu) + (mu.count(one) + 1) / 2 for one in mu]
    b = [sum(other < one for other in lo) + (lo.count(one) + 1) / 2 for one in lo]
    mean = (len(mu) + 1) / 2
    norm = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True)) / norm if norm else None


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)
