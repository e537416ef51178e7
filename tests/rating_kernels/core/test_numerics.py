"""exp, log1p, 1 - e^-y and normal quantiles against decimal arithmetic of many digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numba
import numpy as np
import pytest

from ranklake.rating_kernels.core.numerics import exp, log1p, normal_quantile, one_minus_exp

DIGITS = 60


def exactly(function: Callable[[Decimal], Decimal], x: float) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return function(Decimal(x))


def loop(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """The function in a compiled, vectorised loop."""

    @numba.njit
    def over(x):
        result = np.empty_like(x)
        for i in range(len(x)):
            result[i] = function(x[i])
        return result

    return over


RANDOM = np.random.default_rng(7)
SMALL = 10.0 ** RANDOM.uniform(-300, -1, 300)
CASES = {
    "exp": (
        exp,
        lambda x: x.exp(),
        np.concatenate(
            [RANDOM.uniform(-708, 708, 1200), RANDOM.uniform(-1, 1, 500), SMALL, -SMALL, [0.0, -0.0, 708.0, -708.0]]
        ),
        3e-16,
    ),
    "log1p": (
        log1p,
        lambda x: (x + 1).ln() if x > Decimal("1e-30") else x,
        np.concatenate(
            [RANDOM.uniform(0, 3, 1200), 10.0 ** RANDOM.uniform(-3, 300, 500), SMALL, [2**0.5 - 1, 1.0, 2.0**53, 9e299]]
        ),
        5e-16,
    ),
    "one_minus_exp": (
        one_minus_exp,
        lambda y: 1 - (-y).exp() if y > Decimal("1e-15") else y - y * y / 2,
        np.concatenate(
            [RANDOM.uniform(0, 2, 1200), RANDOM.uniform(0.34, 0.36, 300), RANDOM.uniform(0, 800, 200), SMALL]
        ),
        5e-16,
    ),
}


@pytest.mark.quick("one by one-*", "in a loop-exp")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", ["one by one", "in a loop"])
def test_numerics__has_the_relative_error_that_its_docstring_states(name: str, how: str) -> None:
    function, reference, points, promised = CASES[name]
    found = loop(function)(points) if how == "in a loop" else np.array([function(x) for x in points.tolist()])
    for x, value in zip(points.tolist(), found.tolist(), strict=True):
        truth = exactly(reference, x)
        assert abs(Decimal(value) - truth) <= Decimal(promised) * abs(truth), (x, value, float(truth))


@pytest.mark.parametrize("how", [exp, loop(exp)])
def test_exp__is_clamped_where_its_value_would_not_be_a_normal_number(how) -> None:
    far = np.array([709.0, 1e5, 1e300, math.inf])
    values = [how(far), how(-far)] if how is not exp else [[exp(x) for x in far], [exp(-x) for x in far]]
    assert np.all(np.asarray(values[0]) == exp(708.0))
    assert np.all(np.asarray(values[1]) == exp(-708.0))
    assert 0.0 < exp(-708.0) < np.finfo(float).tiny * 1.5 < 1e300 < exp(708.0) < math.inf


@pytest.mark.parametrize("function", [exp, one_minus_exp, log1p])
def test_numerics__nan_stays_nan(function) -> None:
    assert math.isnan(function(math.nan))
    mixed = loop(function)(np.array([0.5, math.nan, 1.5, 2.5, math.nan]))
    assert np.isnan(mixed).tolist() == [False, True, False, False, True]


def test_numerics__is_exact_at_zero_and_has_limits() -> None:
    assert exp(0.0) == 1.0
    assert log1p(0.0) == 0.0
    assert one_minus_exp(0.0) == 0.0
    assert one_minus_exp(1e6) == one_minus_exp(math.inf) == 1.0


@pytest.mark.parametrize("function", [exp, log1p, one_minus_exp])
def test_numerics__never_falls_where_it_should_rise(function) -> None:
    """In steps of about 1e-13, across the joints between the pieces of the functions."""
    joints = {exp: 0.5 * math.log(2), log1p: 2**0.5 - 1, one_minus_exp: 0.35}
    x = joints[function] * (1.0 + 1e-12 * np.arange(-200, 200))
    values = loop(function)(x)
    assert np.all(np.diff(values) >= -4e-16)
    assert values[-1] > values[0]


def normal_tail(x: float) -> tuple[Decimal, Decimal]:
    """1 - Phi and phi by the Taylor series of the ratio of Phi - 1/2 to phi, whose terms are all positive."""
    with localcontext() as context:
        context.prec = 400
        z = Decimal(x)
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
        density = (-z * z / 2).exp() / (2 * pi).sqrt()
        term = total = z
        k = 1
        while abs(term) > Decimal(10) ** -330 * abs(total):
            term *= z * z / (2 * k + 1)
            total += term
            k += 1
        return Decimal(1) / 2 - density * total, density


def test_normal_quantile__is_right_to_the_last_digits_from_whichever_side_is_small() -> None:
    for tail in (*np.linspace(0.5, 0.01, 50), *np.logspace(-3, -50, 48), 0.5 - 1e-9, 0.15865525393145707):
        found = normal_quantile(1.0 - tail, tail)
        there, density = normal_tail(found)
        error = float((there - Decimal(float(tail))) / density)
        assert abs(error) <= (4e-16 if found <= 1.0 else 1e-15 * found), tail
        assert normal_quantile(tail, 1.0 - tail) == -found, tail


def test_normal_quantile__has_no_sign_in_the_middle_and_reaches_far() -> None:
    assert normal_quantile(0.5, 0.5) == 0.0
    assert normal_quantile(1.0, 1e-300) == pytest.approx(37.0471, abs=1e-4)
    assert math.isnan(normal_quantile(math.nan, math.nan))
