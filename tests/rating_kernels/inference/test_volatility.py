"""New volatilities of Glicko-2: the paper's procedure, any numbers, and many rows side by side."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from helpers.strategies import repeatable
from hypothesis import assume, given
from hypothesis import strategies as st
from twins.glicko2 import new_volatility

from ranklake.rating_kernels.inference.volatility import ROWS, new_volatilities

PRINTED = 173.7178
INFORMATIONS = (0.0, 1e-300, 1e-25, 1e-12, 1e-3, 0.25, 1e5)


def volatility(vol: float, f2: float, surprise: float, information: float, tau: float) -> float:
    """Of one row."""
    found = np.empty(1)
    new_volatilities(1, *(np.array([x]) for x in (vol, f2, surprise, information)), tau, found)
    return float(found[0])


def equation(x: float, vol: float, f: float, surprise: float, information: float, tau: float) -> float:
    """F of step 5."""
    v, e = 1 / information, math.exp(x)
    delta = surprise * v
    return e * (delta**2 - f**2 - v - e) / (2 * (f**2 + v + e) ** 2) - (x - math.log(vol**2)) / tau**2


@given(
    st.floats(-3, 0.3).map(lambda x: 10**x),
    st.floats(-2.5, 0.3).map(lambda x: 10**x),
    st.floats(-1, 1),
    st.floats(0.001, 30),
    st.sampled_from([1, 2, 10, 1000]),
    st.floats(0.1, 2),
)
@repeatable(400)
def test_volatility__is_that_of_the_procedure_of_the_paper(vol, f, share, gap, n, tau) -> None:
    """``n`` opponents, each ``gap`` units away: from the expected results to upsets that leave F three zeros."""
    e = math.exp(-gap)
    surprise, information = n * share, n * e / (1 + e) ** 2
    found = volatility(vol, f * f, surprise, information, tau)
    assume(information > 1e-15)
    assert found == pytest.approx(new_volatility(surprise / information, f, 1 / information, vol, tau), rel=1e-11)


def test_volatility__after_a_great_upset_is_the_zero_nearest_to_the_old_one() -> None:
    """1500 beats 3500: F is positive at ln 0.06^2, falls below 0, rises again and falls for good."""
    vol, f, gap = 0.06, 60 / PRINTED, 2000 / PRINTED
    e = math.exp(-gap)
    surprise, information = 1 / (1 + e), e / (1 + e) ** 2
    found = 2 * math.log(volatility(vol, f * f, surprise, information, 0.5))
    xs = np.linspace(math.log(vol**2), math.log((surprise / information) ** 2), 20_001)
    signs = np.sign([equation(x, vol, f, surprise, information, 0.5) for x in xs])
    turns = np.flatnonzero(np.diff(signs))
    assert len(turns) == 3
    assert xs[turns[0]] <= found <= xs[turns[0] + 1]
    assert found - math.log(vol**2) < 0.001


@pytest.mark.parametrize("vol", [1e-150, 1e-6, 0.06, 1.0, 1e10])
def test_volatility__is_found_for_any_results(vol: float) -> None:
    others = product((1e-12, 0.1, 4.0, 1e20), (1e-3, 0.3, 1.2, 100.0), (0.0, 1e-20, -1.0, 1e3, -1e6), INFORMATIONS)
    for f, tau, surprise, information in others:
        assert 0 < volatility(vol, f * f, surprise, information, tau) < math.inf, (f, tau, surprise, information)


def test_volatilities__do_not_depend_on_the_rows_beside_them() -> None:
    """Some rows are upsets, which are searched above the old volatility, the others below."""
    draw = np.random.default_rng(8)
    vol, f2 = np.exp(draw.normal(-3.0, 0.5, ROWS)), np.exp(draw.normal(-2.0, 1.0, ROWS))
    surprise, information = draw.uniform(-0.5, 0.5, ROWS), 10.0 ** draw.uniform(-2.5, -0.6, ROWS)
    together, alone = np.empty(ROWS), np.empty(ROWS)
    new_volatilities(ROWS, vol, f2, surprise, information, 0.5, together)
    for i in range(ROWS):
        alone[i] = volatility(vol[i], f2[i], surprise[i], information[i], 0.5)
    assert together.tobytes() == alone.tobytes()
    squared, k = surprise**2, information * f2 + 1.0
    assert 2 < np.count_nonzero(squared > information * k + (information * vol) ** 2) < ROWS - 2
