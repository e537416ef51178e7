"""Plain Python twin of the calibration of chances: every pair one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def pair_sums(lo: Sequence[int], chance: Callable[[int, int], float]) -> tuple[float, float, list[list[float]]]:
    """Mean cross-entropy and squared error of all pairs of a round, and its bins: pairs, mean chance and seen share."""
    bits, squares, bins = [], [], [[] for _ in range(10)]
    for i in range(len(lo)):
        for j in range(i + 1, len(lo)):
            p = min(max(chance(i, j), 1e-9), 1.0 - 1e-9)
            y = 0.5 if lo[i] == lo[j] else 1.0
            bits.append(-y * math.log2(p) - (1.0 - y) * math.log2(1.0 - p))
            squares.append((y - p) ** 2)
            favourite, seen = (p, y) if p > 0.5 else (1.0 - p, 1.0 - y)
            if abs(p - 0.5) < 1e-9:
                seen = 0.5
            bins[min(int((favourite - 0.5) * 20 + 1e-12), 9)].append((favourite, seen))
    means = []
    for one in bins:
        chance, seen = zip(*one, strict=True) if one else ((0.0,), (0.0,))
        means.append([len(one), math.fsum(chance) / len(chance), math.fsum(seen) / len(seen)])
    return math.fsum(bits) / len(bits), math.fsum(squares) / len(squares), means


def calibration_error(bins: list[list[float]]) -> float:
    """The expected calibration error of bins with pairs, percent."""
    return 100.0 * math.fsum(n * abs(p - seen) for n, p, seen in bins) / math.fsum(n for n, _, _ in bins)
