"""Sums over pairs from tables: against exact sums, general properties, cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels.fields.pairs import pair_field
from ranklake.rating_kernels.fields.pairs.nodes import Nodes
from ranklake.rating_kernels.fields.pairs.pair_field import SETUP, pair_sums
from ranklake.rating_kernels.fields.pairs.table import SPACING, _fast_length
from ranklake.rating_kernels.fields.pairs.terms import KINDS, direct_sums

Floats = np.ndarray[Any, np.dtype[np.float64]]
Players = tuple[Floats, Floats]

POWER = {"normal": 0.0, "logistic": 0.5, "spread2": 1.0, "spread3": 1.5}
OF_SUM = 2e-11  # what a table may be off, of the sum of all terms' bounds
MAP = Serial().map


def exact_term(kind: str, d: float, v: float) -> float:
    z = d / math.sqrt(v)
    if kind == "normal":
        return 0.5 * math.erfc(z / math.sqrt(2.0))
    e = math.exp(-min(abs(z), 745.0))
    p, rest = (1.0 / (1.0 + e), e / (1.0 + e)) if z >= 0 else (e / (1.0 + e), 1.0 / (1.0 + e))
    return {"logistic": p / math.sqrt(v), "spread2": p * rest / v, "spread3": p * rest / v**1.5}[kind]


def exact_sum(kind: str, i: int, mu: Floats, variance: Floats, weight: Floats | None = None) -> tuple[float, float]:
    """The sum of player ``i``, and that of the terms' bounds."""
    weights = [1.0] * len(mu) if weight is None else weight.tolist()
    m, v = float(mu[i]), float(variance[i])
    others = list(zip(mu.tolist(), variance.tolist(), weights, strict=True))
    value = math.fsum(w * exact_term(kind, m - a, v + b) for a, b, w in others)
    return value, math.fsum(abs(w) * (v + b) ** -POWER[kind] for _, b, w in others)


def players(kind: str, n: int) -> Players:
    """Ratings and variances of ``n`` players."""
    draw = np.random.default_rng([n, len(kind)])
    usual, half = draw.normal(1500, 500, n), np.arange(n) % 2 == 0
    return {
        "usual": lambda: (usual, draw.uniform(80, 515, n) ** 2),
        "performances": lambda: (usual, draw.uniform(80, 515, n) ** 2 + 315.0**2),
        "equals": lambda: (usual, np.full(n, 120.0**2)),
        "newcomers": lambda: (np.full(n, 1500.0), np.full(n, 350.0**2)),
        "nearly equals": lambda: (usual, 120.0**2 * (1 + 1e-14 * draw.random(n))),
        "widest level": lambda: (usual, 50.0**2 * np.where(half, 1.0, pair_field.WIDEST)),
        "narrowest two": lambda: (usual, 50.0**2 * np.where(half, 1.0, 1.0001 * pair_field.WIDEST)),
        "any sigma": lambda: (usual, np.exp(draw.uniform(math.log(0.01), math.log(1000), n)) ** 2),
        "two clusters": lambda: (np.where(half, 0.0, 5000.0) + draw.normal(0, 1e-3, n), np.full(n, 1e-6)),
        "sharp clusters": lambda: (np.where(half, 0.0, 5000.0) + draw.normal(0, 1e-3, n), draw.choice([1e-6, 1e5], n)),
        "sharp": lambda: (usual, np.full(n, 1e-12)),
        "sharp and equal": lambda: (np.where(half, 0.0, 5000.0), np.full(n, 1e-12)),
        "long": lambda: (draw.uniform(0, 5000, n), draw.uniform(0.5, 1, n)),
        "one newcomer": lambda: (usual, np.append(np.full(n - 1, 1e-4), 500.0**2)),
        "one veteran": lambda: (usual, np.append(np.full(n - 1, 350.0**2), 1e-9)),
        "one apart": lambda: (np.append(draw.normal(0, 10, n - 1), 1e7), draw.uniform(1, 9, n)),
        "far from zero": lambda: (1e12 + np.round(usual), draw.uniform(1, 2, n)),
        "all scales": lambda: (10.0 ** draw.uniform(-9, 9, n), 10.0 ** draw.uniform(-15, 9, n)),
    }[kind]()


SHAPES = (
    "usual", "performances", "equals", "newcomers", "nearly equals", "widest level", "narrowest two", "any sigma",
    "two clusters", "sharp clusters", "sharp", "sharp and equal", "long", "one newcomer", "one veteran", "one apart",
    "far from zero", "all scales",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums__are_those_of_all_terms(shape: str, kind: str) -> None:
    mu, variance = players(shape, 1700)
    (sums,) = pair_sums([kind], mu, variance, MAP)
    extremes = (mu.argmin(), mu.argmax(), variance.argmin(), variance.argmax())
    for i in {*map(int, extremes), *range(3, 1700, 170)}:
        value, bound = exact_sum(kind, i, mu, variance)
        assert abs(sums[i] - value) <= OF_SUM * bound


@pytest.mark.quick("*-logistic", "1-*")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 40, 159])
def test_sums__of_few_are_right_to_rounding(shape: str, kind: str, n: int) -> None:
    mu, variance = players(shape, n)
    weight = np.random.default_rng(n).uniform(-1, 3, n)
    direct = np.empty(n)
    direct_sums(KINDS[kind], 0, n, mu, variance, weight, direct)
    (sums,) = pair_sums([kind], mu, variance, MAP, weight)
    for i in range(0, n, 13):
        value, bound = exact_sum(kind, i, mu, variance, weight)
        assert abs(direct[i] - value) <= 1e-14 * bound
        assert abs(sums[i] - value) <= OF_SUM * bound


@pytest.mark.quick("*-1.0", "spread3-*")
@pytest.mark.parametrize("ratio", [1.0, 1.1, 4.0, 40.0, 127.0, 129.0, 1e4])
@pytest.mark.parametrize("kind", KINDS)
def test_table__holds_a_crowd_in_one_spot_wherever_it_stands_between_grid_points(kind: str, ratio: float) -> None:
    """The worst case of the interpolation: all terms have the steepest slope and the same error."""
    crowd, n = 400, 1100
    reach = 12 * math.sqrt(2.0 * ratio)
    for place in (0.25, 0.5):
        mu = np.append(np.full(crowd, (20 + place) * SPACING * math.sqrt(2.0)), np.linspace(0, reach, n - crowd))
        variance = np.append(np.ones(crowd), np.geomspace(1.0, ratio, n - crowd)[::-1])
        weight = np.append(np.ones(crowd), np.full(n - crowd, 1e-3))
        sums, direct = pair_sums([kind], mu, variance, MAP, weight)[0], np.empty(n)
        direct_sums(KINDS[kind], 0, n, mu, variance, weight, direct)
        bound = ((variance[:, None] + variance) ** -POWER[kind] * weight).sum(axis=1)
        assert np.abs((sums - direct) / bound).max() <= OF_SUM


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_sums__are_the_same_bits_however_the_work_is_shared(shape: str) -> None:
    mu, variance = players(shape, 2500)
    kinds = list(KINDS)
    expected = pair_sums(kinds, mu, variance, MAP)
    for engine in (Serial(1), Serial(7), Threads(1), Threads(2), Threads(3)):
        with engine:
            assert np.array_equal(pair_sums(kinds, mu, variance, engine.map), expected)


@pytest.mark.quick("usual", "performances", "equals", "any sigma", "two clusters", "one newcomer", "one apart")
@pytest.mark.parametrize("shape", SHAPES)
def test_sums__of_several_kinds_are_those_of_each(shape: str) -> None:
    mu, variance = players(shape, 1200)
    together = pair_sums(["spread3", "normal"], mu, variance, MAP)
    for row, kind in enumerate(["spread3", "normal"]):
        bound = ((variance[:, None] + variance) ** -POWER[kind]).sum(axis=1)
        assert np.all(np.abs(together[row] - pair_sums([kind], mu, variance, MAP)[0]) <= OF_SUM * bound)


@pytest.mark.parametrize("shape", SHAPES)
def test_normal__gives_each_pair_one_point(shape: str) -> None:
    mu, variance = players(shape, 3000)
    weight = np.random.default_rng(5).uniform(0, 2, 3000)
    (sums,) = pair_sums(["normal"], mu, variance, MAP, weight)
    assert math.fsum(weight * sums) == pytest.approx(0.5 * math.fsum(weight) ** 2, rel=1e-11)
    assert sums.min() >= -1e-8
    assert sums.max() <= weight.sum() + 1e-8


@pytest.mark.quick("logistic-*", "*-usual")
@pytest.mark.parametrize("shape", ["usual", "any sigma", "two clusters", "long"])
@pytest.mark.parametrize("kind", KINDS)
def test_sums__do_not_depend_on_where_zero_is_nor_on_the_unit_nor_on_the_order(shape: str, kind: str) -> None:
    mu, variance = players(shape, 1500)
    (sums,) = pair_sums([kind], mu, variance, MAP)
    bound = OF_SUM * ((variance[:, None] + variance) ** -POWER[kind]).sum(axis=1)
    scaled = pair_sums([kind], 64.0 * mu, 4096.0 * variance, MAP)[0] * 4096.0 ** POWER[kind]
    assert np.all(np.abs(scaled - sums) <= bound)
    rounded = np.round(mu * 2.0**20) / 2.0**20  # which 1024 can be added to
    (here,), (there,) = (pair_sums([kind], rounded + shift, variance, MAP) for shift in (0.0, 1024.0))
    assert np.all(np.abs(there - here) <= bound)
    order = np.random.default_rng(8).permutation(len(mu))
    assert np.all(np.abs(pair_sums([kind], mu[order], variance[order], MAP)[0] - sums[order]) <= bound[order])


@given(
    st.integers(160, 700), st.floats(0, 6), st.floats(0, 12), st.floats(-6, 3), st.sampled_from(sorted(KINDS)),
    st.integers(0, 99),
)  # fmt: skip
@repeatable(60)
def test_sums__agree_with_direct_ones_at_any_scale(
    n: int, distance: float, spread: float, size: float, kind: str, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    variance = 10.0 ** (size + spread * draw.random(n) ** 2)
    mu = 10.0 ** (distance - 1) * (draw.normal(0, 1, n) + draw.choice([0.0, 10.0], n))
    weight = draw.choice([0.0, 1.0, 2.5], n)
    sums, direct = pair_sums([kind], mu, variance, MAP, weight)[0], np.empty(n)
    direct_sums(KINDS[kind], 0, n, mu, variance, weight, direct)
    bound = ((variance[:, None] + variance) ** -POWER[kind] * weight).sum(axis=1)
    assert np.all(np.abs(sums - direct) <= OF_SUM * bound)


@pytest.mark.parametrize("kind", KINDS)
def test_sums__of_zero_players_and_of_one(kind: str) -> None:
    empty = np.empty(0)
    assert pair_sums([kind, "normal"], empty, empty, MAP).shape == (2, 0)
    alone = {"normal": 0.5, "logistic": 0.5 / 4.0, "spread2": 0.25 / 16.0, "spread3": 0.25 / 64.0}[kind]
    assert pair_sums([kind], np.array([1500.0]), np.array([8.0]), MAP)[0, 0] == pytest.approx(alone, rel=1e-15)


@pytest.mark.parametrize("n", [3, 1000])
@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan])
def test_sums__need_positive_variances(n: int, wrong: float) -> None:
    mu, variance = players("usual", n)
    variance[1] = wrong
    with pytest.raises(ValueError, match="variances must be > 0, got"):
        pair_sums(["normal"], mu, variance, MAP)


def work(monkeypatch: pytest.MonkeyPatch, mu: Floats, variance: Floats) -> int:
    """Number of direct terms, and the cost of tables in terms."""
    done = []

    def count(name: str, cost: Callable[..., int]) -> None:
        real = getattr(pair_field, name)

        def counting(*given: Any) -> None:
            done.append(cost(*given))
            real(*given)

        monkeypatch.setattr(pair_field, name, counting)

    with monkeypatch.context() as monkeypatch:
        count("add_near", lambda code, start, stop, *rest: int(np.diff(rest[4][start:stop]).sum()))
        count(
            "add_table",
            lambda codes, field, near, own, nodes, *rest: (
                SETUP + (near[1] - near[0] + own[1] - own[0]) * len(nodes.variance) * 5
            ),
        )
        count("add_limits", lambda code, starts, near, variance, *rest: len(variance) * len(rest[-2]))
        pair_sums(["logistic"], mu, variance, MAP)
    return sum(done)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_cost__is_linear(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (work(monkeypatch, *players(shape, n)) for n in (8_000, 64_000))
    assert large <= 8 * 1.5 * small  # a direct sum would cost 64 times as much
    assert large <= 64_000 * 5_000


@pytest.mark.quick("normal-1.001-*", "spread3-*")
@pytest.mark.parametrize("cut", [1.0, 16.0])
@pytest.mark.parametrize("ratio", [1.001, 2.0, 8.0, 40.0, 128.0])
@pytest.mark.parametrize("kind", KINDS)
def test_nodes__hold_terms_of_every_variance(kind: str, ratio: float, cut: float) -> None:
    """At all distances, against the opponents with the least smooth terms."""
    nodes = Nodes.between(np.array([KINDS[kind]]), 1.0, cut, cut * ratio)
    distances = np.append(np.linspace(0, 6, 40), np.geomspace(6, 40 * math.sqrt(ratio * cut), 40))
    worst = 0.0
    for band, opponent in ((0, 1.0), (0, cut), (0, cut * ratio), (1, cut)):
        own = slice(nodes.offset[band], nodes.offset[band + 1])
        if own.start == own.stop:
            assert (band, cut) == (1, 1.0)  # there are no sharp players
            continue
        v = np.linspace(*((cut, cut * ratio) if band == 0 else (1.0, cut)), 60)
        u = (np.log(v + nodes.shift[band]) - nodes.middle[band]) * nodes.inverse_half[band]
        cardinal = np.polynomial.chebyshev.chebvander(u, own.stop - own.start - 1) @ nodes.cosines[own, own].T
        for d in distances:
            at_nodes = [exact_term(kind, d, w + opponent) for w in nodes.variance[own]]
            exact = np.array([exact_term(kind, d, w + opponent) for w in v])
            worst = max(worst, np.abs((cardinal @ at_nodes - exact) * (v + opponent) ** POWER[kind]).max())
    assert worst <= 0.5 * OF_SUM


def test_fast_length__has_small_factors_only() -> None:
    for least in (1, 27, 257, 333, 1000, 8191, 70_001):
        length = _fast_length(least)
        assert least <= length <= 1.13 * least + 1
        for factor in (2, 3, 5):
            while length % factor == 0:
                length //= factor
        assert length == 1
