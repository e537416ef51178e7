"""Exponentials and logarithms that vectorise.

The compiler calls the C library for ``math.exp``, one number at a time. The functions here are short series without
branches, which the compiler vectorises.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .jit import inner_exact, intrinsic

C3 = math.pi / math.sqrt(3.0)  # a logistic law of standard deviation s has scale s / C3

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts: k * high is exact for every exponent k
_LN2_LOW = 1.90821492927058770002e-10
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)  # of the standard normal law at 0
_LARGEST = 708.0  # e^708 and e^-708 are the last whole powers that are normal numbers
_TO_INTEGER = 1.5 * 2.0**52  # a whole number added to it is in the last bits: AVX2 cannot convert float64 to int64


@intrinsic
def float_of_bits(typing_context: Any, bits: Any) -> Any:
    """The float64 whose bits are those of an int64."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@intrinsic
def bits_of_float(typing_context: Any, value: Any) -> Any:
    """The bits of a float64 as an int64."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _floor(typing_context: Any, value: Any) -> Any:
    """The largest whole number <= a float64, as a float64: ``math.floor`` returns an integer."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        floor = builder.module.declare_intrinsic("llvm.floor", [arguments[0].type])
        return builder.call(floor, arguments)

    return types.float64(types.float64), generate


@intrinsic
def fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c of float64, rounded once."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        fma = builder.module.declare_intrinsic("llvm.fma", [double], ir.FunctionType(double, [double] * 3))
        return builder.call(fma, arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of ``array[index]``; the index may be out of bounds. Has no effect on results."""
    from llvmlite import ir
    from numba import types
    from numba.core.cgutils import get_item_pointer, get_or_insert_function, voidptr_t

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        item = get_item_pointer(context, builder, array, view, arguments[1:])
        place = builder.bitcast(item, voidptr_t)
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, word, word, word])
        function = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, word(0), word(3), word(1)])  # for reading, high locality, data cache
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@inner_exact
def exp(x: float) -> float:
    """e^x, with ``x`` clamped to [-708, 708]; NaN stays NaN. Relative error below 3e-16."""
    x = min(max(x, -_LARGEST), _LARGEST)
    k = math.floor(x * _LOG2_E + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW  # |r| <= ln(2)/2: the Taylor series to r^13 ends below 5e-18
    p = 1 / 6227020800.0
    p = p * r + 1 / 479001600.0
    p = p * r + 1 / 39916800.0
    p = p * r + 1 / 3628800.0
    p = p * r + 1 / 362880.0
    p = p * r + 1 / 40320.0
    p = p * r + 1 / 5040.0
    p = p * r + 1 / 720.0
    p = p * r + 1 / 120.0
    p = p * r + 1 / 24.0
    p = p * r + 1 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * float_of_bits((np.int64(k) + 1023) << 52)


@inner_exact
def exp_in_registers(x: float) -> float:
    """The bits of :func:`exp`, without conversions between float64 and int64: AVX2 has none for whole registers.

    :func:`exp` stays as it is, because the compiler chooses by the cost of a term how it reorders a sum: with cheaper
    exponentials, some systems' ratings would have other bits.
    """
    x = min(max(x, -_LARGEST), _LARGEST)
    k = _floor(x * _LOG2_E + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1 / 6227020800.0
    p = p * r + 1 / 479001600.0
    p = p * r + 1 / 39916800.0
    p = p * r + 1 / 3628800.0
    p = p * r + 1 / 362880.0
    p = p * r + 1 / 40320.0
    p = p * r + 1 / 5040.0
    p = p * r + 1 / 720.0
    p = p * r + 1 / 120.0
    p = p * r + 1 / 24.0
    p = p * r + 1 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * float_of_bits((bits_of_float(k + _TO_INTEGER) + 1023) << 52)


@inner_exact
def log1p(x: float) -> float:
    """ln(1 + x) for 0 <= x < 1e300. Relative error below 5e-16."""
    u = 1.0 + x
    lost = (x - (u - 1.0)) / u  # rounding error of the sum
    bits = bits_of_float(u)
    k = (bits >> 52) - 1023
    m = float_of_bits((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
    upper = m > 1.4142135623730951
    m = 0.5 * m if upper else m
    k = k + 1 if upper else k
    s = (m - 1.0) / (m + 1.0)  # ln m = 2 artanh s, |s| < 0.172: the series to s^23 ends below 1e-18
    z = s * s
    p = 1 / 23.0
    p = p * z + 1 / 21.0
    p = p * z + 1 / 19.0
    p = p * z + 1 / 17.0
    p = p * z + 1 / 15.0
    p = p * z + 1 / 13.0
    p = p * z + 1 / 11.0
    p = p * z + 1 / 9.0
    p = p * z + 1 / 7.0
    p = p * z + 1 / 5.0
    p = p * z + 1 / 3.0
    p = p * z
    return k * _LN2_HIGH + (2.0 * s + (2.0 * s * p + (k * _LN2_LOW + lost)))


@inner_exact
def one_minus_exp(y: float) -> float:
    """1 - e^-y for y >= 0, without cancellation near 0. Relative error below 5e-16."""
    p = 1 / 87178291200.0  # the Taylor series to y^14, for y < 0.35 ends below 1e-17 of the result
    p = 1 / 6227020800.0 - p * y
    p = 1 / 479001600.0 - p * y
    p = 1 / 39916800.0 - p * y
    p = 1 / 3628800.0 - p * y
    p = 1 / 362880.0 - p * y
    p = 1 / 40320.0 - p * y
    p = 1 / 5040.0 - p * y
    p = 1 / 720.0 - p * y
    p = 1 / 120.0 - p * y
    p = 1 / 24.0 - p * y
    p = 1 / 6.0 - p * y
    p = 0.5 - p * y
    p = 1.0 - p * y
    return p * y if y < 0.35 else 1.0 - exp(-y)


@inner_exact
def _excess(x: float) -> tuple[float, float]:
    """Numerator and denominator of H(x) - x for x >= 0, where H = phi / (1 - Phi) is the normal hazard.

    The rational function of degrees 9 and 10 that is nearest on [0, inf): its error is 1.2e-17 of H. All coefficients
    are positive, so nothing cancels and rounding stays below 3e-16. Found by weighted least squares in 60 digits.
    """
    r = 0.9999999999958035
    r = r * x + 29.174571458911455
    r = r * x + 420.2452551901145
    r = r * x + 3869.9386669893843
    r = r * x + 24948.487967055757
    r = r * x + 116552.7091281211
    r = r * x + 395434.03001120966
    r = r * x + 945922.7414695403
    r = r * x + 1467577.9828992216
    r = r * x + 1159522.3205103045
    n = x + 29.17457145748699
    n = n * x + 422.245255380807
    n = n * x + 3928.2877959434363
    n = n * x + 25782.97912475658
    n = n * x + 124117.51832821299
    n = n * x + 442852.01826061535
    n = n * x + 1157025.261497139
    n = n * x + 2126110.925297937
    n = n * x + 2501187.314964533
    n = n * x + 1453245.7168284392
    return r, n


@inner_exact
def upper_hazard(x: float) -> float:
    """H(x) = phi(x) / (1 - Phi(x)) of the standard normal law for x >= 0: no exponential. Relative error 4e-16."""
    r, n = _excess(x)
    return x + r / n


@inner_exact
def hazard(x: float) -> float:
    """H(x) = phi(x) / (1 - Phi(x)) of the standard normal law, for |x| up to 1e14.

    Relative error below 1e-15, plus x^2 / 2 roundings in the lower tail; below 1e-307 for x < -37.6.
    """
    size = abs(x)
    r, n = _excess(size)
    top = size * n + r
    density = _DENSITY * exp(-0.5 * size * size)
    upper = x >= 0.0
    return (top if upper else density * top) / (n if upper else top - density * n)


@inner_exact
def hazards(x: float) -> tuple[float, float, float, float, float, float]:
    """H(x), H'(x), H''(x) and H(-x), H'(-x), H''(-x), for one division. H' = H (H - x) lies in (0, 1)."""
    size = abs(x)
    r, n = _excess(size)
    top = size * n + r
    density = _DENSITY * exp(-0.5 * size * size)
    rest = top - density * n  # 1 - density / H > 1/2 of top: H(-size) = density / (1 - density / H(size))
    inverse = 1.0 / (n * rest)
    upper, above = top * rest * inverse, r * rest * inverse
    lower = density * top * n * inverse
    below = lower + size  # H - x is `above` on one side and `below` on the other
    upper_slope, lower_slope = upper * above, lower * below
    upper_bend = upper_slope * (upper + above) - upper
    lower_bend = lower_slope * (lower + below) - lower
    if x >= 0.0:
        return upper, upper_slope, upper_bend, lower, lower_slope, lower_bend
    return lower, lower_slope, lower_bend, upper, upper_slope, upper_bend


@inner_exact
def normal_quantile(below: float, above: float) -> float:
    """The x with Phi(x) = ``below`` and 1 - Phi(x) = ``above``, of which the smaller is taken, 1e-300 at least.

    Absolute error below 4e-16 up to x = 1, relative error below 1e-15 from there.
    """
    tail = min(below, above)
    t = math.sqrt(-2.0 * math.log(tail))
    x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    for _ in range(2):  # from Abramowitz and Stegun 26.2.23, 4.5e-4 off; Halley's method cubes that twice
        x = max(x, 0.0)
        u = 1.0 / upper_hazard(x) - tail / (_DENSITY * exp(-0.5 * x * x))
        x += u / (1.0 - 0.5 * x * u)
    return x if above < below else -x
