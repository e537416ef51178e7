"""Moments of truncated normal laws against integrals in a hundred digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.rating_kernels.inference.truncation import beyond, tail, within

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
DIGITS = 140


def density(z: Decimal) -> Decimal:
    return (-z * z / 2).exp() / (2 * PI).sqrt()


def upper(z: Decimal) -> Decimal:
    """1 - Phi(z): Phi's Taylor series up to 12, Laplace's continued fraction beyond."""
    if abs(z) > 12:
        fraction = abs(z)
        for k in range(600, 0, -1):
            fraction = abs(z) + k / fraction
        far = density(z) / fraction
        return far if z > 0 else 1 - far
    term = total = z
    for k in range(1, 3000):
        term = term * z * z / (2 * k + 1)
        total += term
        if abs(term) < Decimal(10) ** -DIGITS:
            break
    return Decimal(1) / 2 - density(z) * total


def exact(precision: float, pull: float, low: float, high: float | None) -> tuple[Decimal, Decimal]:
    """Mean and variance of N(pull / precision, 1 / precision) on (low, high), by the textbook."""
    if high is not None and pull > 0:  # in the upper tail, where a probability is not 1 less nearly nothing
        m, v = exact(precision, -pull, -high, -low)
        return -m, v
    with localcontext() as context:
        context.prec = DIGITS
        mean, deviation = Decimal(pull) / Decimal(precision), 1 / Decimal(precision).sqrt()
        a = (Decimal(low) - mean) / deviation
        mass, first, second = upper(a), density(a), a * density(a)
        if high is not None:
            b = (Decimal(high) - mean) / deviation
            mass, first, second = mass - upper(b), first - density(b), second - b * density(b)
        m = first / mass
        return mean + deviation * m, deviation * deviation * (1 + second / mass - m * m)


def errors(found: tuple[float, float], expected: tuple[Decimal, Decimal]) -> tuple[float, float]:
    """Of the mean in standard deviations, of the variance relative to it."""
    (mean, variance), (m, v) = found, expected
    return float(abs(Decimal(float(mean)) - m) / v.sqrt()), float(abs(Decimal(float(variance)) / v - 1))


def test_tail__has_all_its_digits() -> None:
    for a in (*np.linspace(-9, 12, 64), *-np.logspace(-9, -1, 9), *np.logspace(-9, 3, 43)):
        hazard, excess, spread = tail(a)
        with localcontext() as context:
            context.prec = DIGITS
            m, v = exact(1.0, 0.0, a, None)
            lost = 2e-15 + (2e-16 * a * a if a < 0 else 0.0)  # of the exponent
            assert abs(Decimal(float(hazard)) / m - 1) <= Decimal(lost), a
            assert abs(Decimal(float(excess)) / (m - Decimal(a)) - 1) <= Decimal("2e-15"), a
            assert abs(Decimal(float(spread)) / v - 1) <= Decimal("2e-15"), a


@pytest.mark.parametrize("a", [1e4, 1e8, 1e14])
def test_tail__far_out_is_exponential(a: float) -> None:
    hazard, excess, spread = tail(a)
    assert hazard == pytest.approx(a, rel=1e-7)
    assert excess == pytest.approx((1 - 2 / a**2) / a, rel=1e-14)
    assert spread == pytest.approx((1 - 6 / a**2) / a**2, rel=1e-14)


@pytest.mark.parametrize("a", [-1e14, -50.0, -38.6])
def test_tail__of_the_whole_line_is_the_whole_law(a: float) -> None:
    hazard, excess, spread = tail(a)
    assert 0.0 <= hazard < 1e-300
    assert (excess, spread) == (-a, 1.0)


@given(st.floats(-30, 30), st.floats(-4, 4), st.sampled_from([-1.0, 0.0, 2.5]))
@repeatable(80)
def test_beyond__has_all_its_digits(a: float, size: float, edge: float) -> None:
    deviation = 10.0**size
    precision = 1 / deviation**2
    pull = (edge - a * deviation) * precision
    mean, variance = errors(beyond(precision, pull, edge), exact(precision, pull, edge, None))
    rounded = 1e-15 * (1 + abs(edge) / deviation + abs(a)) * (1 + abs(a))  # of a, in deviations of what is left
    assert mean <= rounded
    assert variance <= max(rounded, 4e-15)


@given(st.floats(-7, 1.6), st.floats(-3, 1.8), st.sampled_from([-1.0, 1.0]), st.floats(-4, 4))
@repeatable(300)
def test_within__has_all_its_digits(width: float, centre: float, sign: float, size: float) -> None:
    """Windows of a ten-millionth to forty standard deviations, centred a thousandth to sixty away."""
    deviation = 10.0**size
    precision, reach, pull = 1 / deviation**2, 10.0**width * deviation, sign * 10.0**centre / deviation
    mean, variance = errors(within(precision, pull, reach), exact(precision, pull, -reach, reach))
    assert mean <= 3e-14 * (1 + 10.0**centre)
    assert variance <= 2e-14


@given(st.floats(0, 4.5), st.floats(-2, 0.6))
@repeatable(200)
def test_within__has_all_its_digits_on_both_sides_of_the_quadrature(tilt: float, width: float) -> None:
    """The tilt is the log-density's slope over half the window; quadrature serves up to 3 and 1.2 deviations."""
    reach = 10.0**width
    mean, variance = errors(within(1.0, tilt / reach, reach), exact(1.0, tilt / reach, -reach, reach))
    assert mean <= 1e-14 * (1 + tilt / reach)
    assert variance <= 1e-14


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
@repeatable(200)
def test_within__mirrors_to_the_bit_and_stays_inside(precision: float, pull: float, reach: float) -> None:
    mean, variance = within(precision, pull, reach)
    assert within(precision, -pull, reach) == (-mean, variance)
    assert 0.0 <= mean <= reach
    assert 0.0 < variance <= min(reach * reach / 3.0, 1.0 / precision) * (1 + 1e-14)


def test_within__of_a_law_of_which_nothing_is_known_is_even() -> None:
    assert within(0.0, 0.0, 1.5) == pytest.approx((0.0, 0.75), rel=1e-15)
    mean, _ = within(0.0, 0.4, 2.0)  # and of one that only tilts: Langevin's function
    assert mean == pytest.approx(2.0 * (1 / math.tanh(0.8) - 1 / 0.8), rel=1e-14)


@pytest.mark.parametrize("reach", [40.0, 1e9])
def test_within__of_a_window_without_a_cut_is_the_whole_law(reach: float) -> None:
    assert within(4.0, 12.0, reach) == pytest.approx((3.0, 0.25), rel=1e-14)
    assert within(4.0, 0.0, reach)[0] == pytest.approx(0.0, abs=1e-300)
