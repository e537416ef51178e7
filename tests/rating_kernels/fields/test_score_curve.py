"""Curves of expected scores in pieces: against the twin, against the logistic curve, sums, moments and refusals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st
from twins.elo import Twin

from ranklake.rating_kernels import Elo
from ranklake.rating_kernels.fields.score_curve import (
    MAX_POINTS,
    check_points,
    deviation,
    expected_of,
    shape_of,
    straight,
    sum_in_pieces,
)


@st.composite
def tables(draw: st.DrawFn) -> list[float]:
    """Points of a curve, a third of them from the point of equals on."""
    steps = draw(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 1000)), min_size=1, max_size=12))
    leads, gains = np.cumsum(np.array(steps, float), axis=0).T
    expected = 0.5 + gains / gains[-1] * draw(st.sampled_from([0.5, 0.45, 0.2]))
    found = np.stack([leads, expected], axis=1).ravel().tolist()
    return [0.0, 0.5, *found] if draw(st.integers(0, 2)) == 0 else found


@repeatable(60)
@given(tables(), st.lists(st.floats(-4000.0, 4000.0), max_size=20))
def test_curve__agrees_with_the_twin_rises_and_is_odd(table: list[float], leads: list[float]) -> None:
    check_points("table", table)
    shape, twin = shape_of(table), Twin(cdf="table", cdf_table=table)
    at = np.sort(np.array([*leads, *table[::2], 0.0, *np.linspace(-table[-2], table[-2], 41)]))
    found = expected_of(at, shape)
    assert found == pytest.approx([twin.expected(x) for x in at.tolist()], abs=1e-13)
    assert np.all(np.diff(found) >= -1e-15)
    assert np.array_equal(expected_of(-at, shape)[at > 0], 1.0 - found[at > 0])
    assert expected_of(np.array([0.0, table[-2], 1e9]), shape).tolist() == [0.5, table[-1], table[-1]]
    assert expected_of(np.array(table[::2]), shape) == pytest.approx(table[1::2], abs=1e-15)


def test_line__is_that_of_the_lead_of_certainty() -> None:
    leads = np.linspace(-600.0, 600.0, 241)
    expected = np.clip(0.5 + leads / 850.0, 0.0, 1.0)
    assert expected_of(leads, straight(425.0)) == pytest.approx(expected, abs=1e-15)
    assert expected_of(leads, shape_of((85.0, 0.6, 170.0, 0.7, 425.0, 1.0))) == pytest.approx(expected, abs=1e-15)
    assert deviation(straight(425.0)) == pytest.approx(425.0 / math.sqrt(3.0), rel=1e-12)


def test_logistic_curve__tabulated_by_the_point_is_the_curve() -> None:
    grid = np.arange(0.0, 2801.0)
    table = np.stack([grid, 1.0 / (1.0 + 10.0 ** (-grid / 400.0))], axis=1).ravel().tolist()
    shape, leads = shape_of(table), np.random.default_rng(5).uniform(-2800.0, 2800.0, 20_000)
    assert np.abs(expected_of(leads, shape) - 1.0 / (1.0 + 10.0 ** (-leads / 400.0))).max() < 1e-8
    assert deviation(shape) == pytest.approx(math.pi / math.sqrt(3.0) * 400.0 / math.log(10.0), rel=1e-5)


@repeatable(60)
@given(tables(), st.lists(st.integers(-500, 2500), min_size=1, max_size=40))
def test_sum__is_that_of_the_opponents_one_by_one(table: list[float], ratings: list[int]) -> None:
    mu, shape = np.array(ratings, float), shape_of(table)
    above = np.empty(len(mu))
    cut = len(mu) // 2
    for start, stop in ((0, cut), (cut, len(mu))):
        sum_in_pieces(start, stop, mu, np.sort(mu), shape, above)
    expected = [math.fsum(expected_of(mu - mine, shape)) for mine in mu]
    assert above == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((), "table must have rows of a lead and an expected score, got 0 numbers"),
        ((100.0,), "got 1 numbers"),
        ((100.0, 0.6, -5.0, 0.7), r"row 2: a lead must be 0 or within 1e-09\.\.1e\+10 rating points, got lead -5"),
        ((1e-300, 0.6), "row 1: a lead must be 0 or within"),
        ((0.0, 0.5), "table must have a row with a lead above 0"),
        ((100.0, 0.4), "row 1: an expected score must be within 0.5..1, got lead 100 and expected 0.4"),
        ((100.0, 60.0), "row 1: an expected score must be within 0.5..1, got lead 100 and expected 60"),
        ((100.0, math.nan), "row 1: an expected score must be within 0.5..1"),
        ((0.0, 0.6), "row 1: equals have an expected score of 0.5, and nobody else, got lead 0 and expected 0.6"),
        ((50.0, 0.5), "row 1: equals have an expected score of 0.5, and nobody else"),
        ((50.0, 0.6, 50.0, 0.7), "row 2: leads and expected scores must both increase, .* after 50 and 0.6; beyond"),
        ((50.0, 0.6, 60.0, 0.6), "row 2: leads and expected scores must both increase"),
    ],
)
def test_table__that_is_no_curve_is_refused(numbers: Sequence[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_points("table", numbers)


def test_table__of_too_many_rows_is_refused() -> None:
    rows = MAX_POINTS + 1
    table = np.stack([np.arange(1.0, rows + 1.0), 0.5 + np.arange(1.0, rows + 1.0) / (2 * rows)], axis=1).ravel()
    with pytest.raises(ValueError, match="cdf_table must have at most 10,000 rows, got 10,001"):
        Elo(cdf="table", cdf_table=tuple(table.tolist()))
    check_points("table", table[:-2].tolist())
