"""Sums over all worse places against exact sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels.fields.rank_scan import DIRECT, direct_worse_sums, worse_sums
from ranklake.rating_kernels.inference.performance import group_starts

Floats = np.ndarray[Any, np.dtype[np.float64]]
Longs = np.ndarray[Any, np.dtype[np.int64]]

MAP = Serial().map


def groups(n: int, size: int, seed: int = 3) -> Longs:
    """Tie groups of about ``size``."""
    lo = np.sort(np.random.default_rng(seed).integers(0, -(-n // size), n)) if size > 1 else np.arange(n)
    return group_starts(np.searchsorted(lo, lo).astype(np.int32))


def variances(kind: str, n: int) -> Floats:
    draw = np.random.default_rng([n, 7])
    return {
        "usual": lambda: draw.uniform(80, 515, n) ** 2 + 315.0**2,
        "equal": lambda: np.full(n, 3.3),
        "two": lambda: draw.choice([350.0**2, 120.0**2], n),
        "any": lambda: np.exp(draw.uniform(-28, 14, n)),
        "one sharp": lambda: np.append(np.full(n - 1, 1e6), 1e-12),
    }[kind]()


def exact_sum(i: int, first: Longs, variance: Floats) -> float:
    g = int(np.searchsorted(first, i, "right")) - 1
    v, all_variances = float(variance[i]), variance.tolist()
    tied = [0.5 / math.sqrt(v + w) for w in all_variances[first[g] : first[g + 1]]]
    return math.fsum(tied + [1.0 / math.sqrt(v + w) for w in all_variances[first[g + 1] :]])


@pytest.mark.parametrize("size", [1, 10, 10_000])
@pytest.mark.parametrize("kind", ["usual", "equal", "two", "any", "one sharp"])
@pytest.mark.parametrize("n", [1, 2, DIRECT, DIRECT + 1, 5000])
def test_sums__are_over_all_players_with_a_worse_place(n: int, kind: str, size: int) -> None:
    first, variance = groups(n, size), variances(kind, n)
    sums, direct = worse_sums(first, variance, MAP), np.empty(n)
    direct_worse_sums(0, len(first) - 1, first, variance, direct)
    for i in {*range(0, n, 1 + n // 20), n - 1, int(variance.argmin()), int(variance.argmax())}:
        value = exact_sum(i, first, variance)
        assert sums[i] == pytest.approx(value, rel=2e-12)
        assert direct[i] == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("size", [1, 10, 10_000])
def test_sums__count_each_pair_once(size: int) -> None:
    first, variance = groups(900, size), variances("any", 900)
    pairs = 1.0 / np.sqrt(variance[:, None] + variance)
    assert math.fsum(worse_sums(first, variance, MAP)) == pytest.approx(0.5 * math.fsum(pairs.ravel()), rel=1e-12)


@pytest.mark.parametrize("kind", ["usual", "any"])
@pytest.mark.parametrize("size", [1, 10, 3000, 50_000])
def test_sums__are_the_same_bits_however_the_work_is_shared(size: int, kind: str) -> None:
    first, variance = groups(9000, size), variances(kind, 9000)
    expected = worse_sums(first, variance, MAP)
    for engine in (Serial(1), Serial(7), Threads(1), Threads(2), Threads(3)):
        with engine:
            assert np.array_equal(worse_sums(first, variance, engine.map), expected)
