"""The tabulated sum over all opponents against exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.fields import KINDS, Table, field, groups, plan_for, slowly

from ranklake.rating_kernels.fields.blocks import BLOCK, BLOCKS, block_starts
from ranklake.rating_kernels.fields.direct import direct_sum
from ranklake.rating_kernels.fields.panels import HALF_WIDTH, LEVEL_RATIO
from ranklake.rating_kernels.inference.performance import FULL, SPLIT, Ties, bracket

# A 32-term series on a panel of half-width 0.9 pi / rate ends near 2.6^-32 = 5e-14 of the panel's largest value when
# all rates are equal and all ratings stand over the panel's centre, the worst place; spread fields reach 1e-14.
OF_PANEL = 2e-13
OF_VALUE = 2e-12  # a sum falls to e^-1.8pi of its size across a panel, at most


@pytest.mark.quick("97-*")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "rate_ratio"), [(97, 1.0), (97, 3.9), (97, 1000.0), (300, 4.0), (300, 30.0), (5000, 10.0)]
)
def test_table__holds_the_sum_from_end_to_end(kind: str, n: int, rate_ratio: float) -> None:
    mu, rate = field(kind, n, rate_ratio)
    table = Table(mu, rate)
    for p in table.levels(40):
        side, (value, slope) = table.side(p), table.at(p)
        truth, true_slope = slowly(p, side, mu, rate)
        richest, _ = slowly(p - side * 2 * table.plan.half_width[0], side, mu, rate)
        assert abs(value - truth) <= OF_PANEL * richest
        assert abs(value - truth) <= (OF_VALUE if rate_ratio == 1.0 else OF_PANEL) * truth
        assert abs(slope - true_slope) <= 1e-7 * abs(true_slope)  # steers Newton only


@pytest.mark.parametrize("kind", KINDS)
def test_table__of_two_thousand_agrees_with_the_direct_sum(kind: str) -> None:
    mu, rate = field(kind, 2000, 6.0)
    table = Table(mu, rate)
    for p in table.levels(60):
        whole, rest, slope = direct_sum(p, table.side(p), mu, rate, rate, 0, 2000)
        assert table.at(p) == (pytest.approx(whole + rest, rel=1e-12), pytest.approx(slope, rel=1e-8))


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_table__adds_the_limits_of_players_beyond_all_panels(side: float) -> None:
    """The partial sums of a block end with the last panel: a term beyond it counts there, and never after it."""
    mu, rate = field("spread", 97)
    plan = plan_for(mu, rate)
    table = Table(np.append(mu, 1500.0 + side * 1e6), np.append(rate, 1 / 120.0), plan=plan)
    for p in table.levels(20):
        value, slope = slowly(p, table.side(p), np.append(mu, 1500.0 + side * 1e6), np.append(rate, 1 / 120.0))
        assert table.at(p) == (pytest.approx(value, rel=1e-11), pytest.approx(slope, rel=1e-7))


@pytest.mark.parametrize("kind", KINDS)
def test_direct_sum__is_exact_to_rounding(kind: str) -> None:
    mu, rate = field(kind, 97, 30.0)
    for p in np.linspace(-500, 5500, 25):
        for side in (1.0, -1.0):
            whole, rest, slope = direct_sum(p, side, mu, rate, rate, 0, 97)
            assert (whole + rest, slope) == pytest.approx(slowly(p, side, mu, rate), rel=2e-14)


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5, 0.75])
def test_table__holds_two_crowds_of_equals_wherever_they_stand(shift: float) -> None:
    """Equal ratings and rates put all poles of the sum above one point of a panel: the worst case of the series."""
    rate = np.full(200, 1 / 120.0)
    width = 2 * np.pi * 120.0
    mu = 1500.0 + np.repeat([-(shift + 0.25) * width, (shift + 0.25) * width], 100)
    table = Table(mu, rate)
    for p in table.levels(60):
        truth, _ = slowly(p, table.side(p), mu, rate)
        assert abs(table.at(p)[0] - truth) <= OF_VALUE * truth


@pytest.mark.parametrize("rate_ratio", [1.0, 50.0])
def test_table__falls_from_left_to_right(rate_ratio: float) -> None:
    mu, rate = field("clusters", 400, rate_ratio)
    table = Table(mu, rate)
    points = np.sort(table.levels(3000))
    values = np.array([table.at(p)[0] for p in points])
    above = points >= table.plan.middle
    assert np.all(np.diff(values[above]) <= OF_VALUE * values[above][:-1])
    assert np.all(np.diff(values[~above]) >= -OF_VALUE * values[~above][:-1])
    both = table.at(table.plan.middle)[0] + table.at(np.nextafter(table.plan.middle, -np.inf))[0]
    assert both == pytest.approx(rate.sum(), rel=1e-13)


@pytest.mark.parametrize("rate_ratio", [1.0, 100.0])
def test_table__hardly_depends_on_the_division_of_its_terms(rate_ratio: float) -> None:
    mu, rate = field("spread", 3000, rate_ratio)
    whole = Table(mu, rate, [0, 3000])
    for starts in ([0, 1, 2, 3000], [0, 1500, 1501, 2999, 3000], range(0, 3001, 100)):
        parts = Table(mu, rate, starts)
        assert np.allclose(parts.series, whole.series, rtol=0, atol=1e-13 * rate.sum())
        for p in whole.levels(30):
            assert parts.at(p)[0] == pytest.approx(whole.at(p)[0], rel=1e-12)


def test_block_starts__are_fixed_by_the_number_of_terms() -> None:
    for n in (1, 2, BLOCK, BLOCK + 1, 5000, BLOCK * BLOCKS, BLOCK * BLOCKS + 1, 1_000_000):
        starts = block_starts(n)
        assert (starts[0], starts[-1]) == (0, n)
        assert np.all(np.diff(starts) > 0)
        assert len(starts) - 1 <= BLOCKS
        assert len(set(np.diff(starts)[:-1].tolist())) <= 1
        assert len(starts) == 2 or starts[1] >= BLOCK


@pytest.mark.parametrize("rate_ratio", [1.0, 3.9, 4.1, 17.0, 1000.0])
def test_plan__has_a_level_for_every_rate_and_panels_from_end_to_end(rate_ratio: float) -> None:
    mu, rate = field("spread", 200, rate_ratio)
    plan = plan_for(mu, rate)
    levels = len(plan.half_width)
    assert rate.min() >= plan.top_rate / LEVEL_RATIO**levels * (1 - 1e-12)
    assert levels == 1 or rate.min() <= plan.top_rate / LEVEL_RATIO ** (levels - 1) * (1 + 1e-12)
    assert np.allclose(plan.half_width, HALF_WIDTH / plan.top_rate * LEVEL_RATIO ** np.arange(levels), rtol=1e-15)
    panels = np.diff(plan.offset)
    assert np.all(panels % 2 == 0)
    assert np.all(plan.middle + 2 * plan.first * plan.half_width <= plan.low)
    assert np.all(plan.middle + 2 * (plan.first + panels) * plan.half_width >= plan.high)
    assert np.all(plan.first <= 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate_ratio", [1.0, 100.0])
def test_table_start__is_within_a_cell_of_the_root(kind: str, rate_ratio: float) -> None:
    mu, rate = field(kind, 300, rate_ratio)
    table = Table(mu, rate)
    cell = (table.plan.high - table.plan.low) / (len(table.guesses) - 1)
    for p in np.linspace(table.plan.low, table.plan.high, 77):
        excess = 2 * slowly(p, 1.0, mu, rate)[0] - rate.sum()
        if abs(slowly(p, 1.0, mu, rate)[1]) * cell > 1e-9 * rate.sum():  # else any p nearby answers as well
            assert abs(table.start(excess) - p) <= cell * 1.01


@pytest.mark.parametrize("target", [1e9, -1e9])
def test_table_start__beyond_the_table_is_its_end(target: float) -> None:
    mu, rate = field("spread", 300)
    table = Table(mu, rate)
    cell = (table.plan.high - table.plan.low) / (len(table.guesses) - 1)
    assert abs(table.start(target) - (table.plan.low if target > 0 else table.plan.high)) <= cell


@pytest.mark.parametrize("ties", [FULL, SPLIT, Ties(0.01, 1.0, False), Ties(1.0, 1e-6, False)])
@pytest.mark.parametrize("kind", KINDS)
def test_bracket__holds_the_root_of_every_group(kind: str, ties: Ties) -> None:
    mu, rate = field(kind, 60, 100.0)
    lo = np.sort(np.random.default_rng(3).integers(0, 20, 60))
    lo = np.searchsorted(lo, lo).astype(np.int32)
    places = groups(lo, rate)
    low, high, middle, top_rate, bottom_rate = bracket(mu, rate, places.above, places.below, ties)
    assert low <= middle <= high
    assert (top_rate, bottom_rate) == (rate.max(), rate.min())
    for g in range(len(places.above)):
        tied = slice(places.first[g], places.first[g + 1])
        assert places.above[g] == pytest.approx(rate[: tied.start].sum(), rel=1e-14)
        assert places.below[g] == pytest.approx(rate[tied.stop :].sum(), rel=1e-14)
        for p, sign in ((low, 1.0), (high, -1.0)):
            won = slowly(p, 1.0, mu[tied], rate[tied])[0]
            own = ties.loss * (rate[tied].sum() - won) + (1.0 - ties.win) * won
            assert sign * (slowly(p, 1.0, mu, rate)[0] - places.above[g] - own) > 0
