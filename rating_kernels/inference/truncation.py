"""Moments of a normal law truncated on one side or on both, with full precision for every cut.

A law N(m, v) is given as ``precision`` = 1 / v and ``pull`` = m / v, so that a law without information (both zero)
needs no special case. Textbook formulas subtract nearly equal numbers if the cut is far out in a tail or the window is
narrow. Here all quantities are relative to the edge of the cut, where the law is concentrated, and nothing cancels.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import inner_exact, inner_kernel
from ..core.numerics import exp, hazard

_TILT, _WIDTH = 3.0, 1.2  # limits up to which the quadrature of a window is exact to rounding
_HALF = 6
_RIGHT, _MASS = (rule[_HALF:] for rule in np.polynomial.legendre.leggauss(2 * _HALF))
_NODES, _WEIGHTS = np.concatenate((_RIGHT, -_RIGHT)), np.concatenate((_MASS, _MASS))


@inner_exact
def tail(a: float) -> tuple[float, float, float]:
    """Means of z and of z - a and variance, for standard normal z > a up to 1e15. Relative errors below 2e-15.

    With H the hazard they are H, H - a and 1 - H (H - a). Above 0 all come from E in Laplace's continued fraction H = a
    + 1 / (a + E), E = 2 / (a + 3 / (a + ...)): E is taken as the rational function of degrees 10 and 11 that is nearest
    to it on [0, inf), with an error of 6e-17. All its coefficients are positive. Below 0 rounding of the hazard's
    exponent adds to the relative error of H, which is then small.
    """
    if a < 0.0:
        h = hazard(a)
        return h, h - a, 1.0 - h * (h - a)
    n = 2.0
    n = n * a + 64.61021314939713
    n = n * a + 1058.6080947840342
    n = n * a + 11359.50666662925
    n = n * a + 87565.55126662526
    n = n * a + 504383.39960021304
    n = n * a + 2196492.562634457
    n = n * a + 7157510.59638142
    n = n * a + 16804682.674869437
    n = n * a + 25966195.138312202
    n = n * a + 20506737.713694748
    d = a + 32.305106574698776
    d = d * a + 532.3040473918874
    d = d * a + 5776.668653069135
    d = d * a + 45358.687771778226
    d = d * a + 268843.2987950183
    d = d * a + 1223350.9462277417
    d = d * a + 4270662.774177163
    d = d * a + 11227507.790235076
    d = d * a + 21263679.493039157
    d = d * a + 26321277.88054722
    d = d * a + 16362009.414190888
    e = n / d
    excess = 1.0 / (a + e)
    return a + excess, excess, (a * e + (e * e - 1.0)) * excess * excess


@inner_exact
def beyond(precision: float, pull: float, edge: float) -> tuple[float, float]:
    """Mean and variance of the law where it exceeds ``edge``; ``precision`` > 0."""
    root = math.sqrt(precision)
    _, excess, spread = tail(edge * root - pull / root)
    return edge + excess / root, spread / precision


@inner_kernel
def _inside(tilt, bend):
    """Mean and variance of u on (-1, 1) under a density like exp(tilt u - bend u^2), tilt >= 0: no term is negative."""
    density = np.empty(2 * _HALF)
    for i in range(2 * _HALF):
        density[i] = _WEIGHTS[i] * exp((tilt - bend * _NODES[i]) * _NODES[i])
    total, first, second = 0.0, 0.0, 0.0
    for i in range(_HALF):
        total += density[i] + density[i + _HALF]
        first += (density[i] - density[i + _HALF]) * _NODES[i]
    mean = first / total
    for i in range(2 * _HALF):
        second += density[i] * (_NODES[i] - mean) * (_NODES[i] - mean)
    return mean, second / total


@inner_exact
def within(precision: float, pull: float, reach: float) -> tuple[float, float]:
    """Mean and variance of the law between ``-reach`` and ``reach``.

    Narrow windows with moderate tilt are integrated by quadrature. A wider window is the tail beyond its near edge
    minus the tail beyond the far edge, which has the small share ``rho``.
    """
    tilt, width = abs(pull) * reach, reach * math.sqrt(precision)
    if tilt <= _TILT and width <= _WIDTH:
        mean, spread = _inside(tilt, 0.5 * width * width)
        return (reach * mean if pull >= 0.0 else -reach * mean), reach * reach * spread
    root = math.sqrt(precision)
    centre = abs(pull) / root
    near, far = centre - width, centre + width
    mean, excess, spread = tail(near)
    mean_far, excess_far, spread_far = tail(far)
    rho = exp(-2.0 * tilt) * mean / mean_far
    apart = (2.0 * width + excess_far - excess) / (1.0 - rho)
    variance = ((spread - rho * spread_far) / (1.0 - rho) - rho * apart * apart) / precision
    own_inside = near < 0.0  # the law's mean
    mean = (centre - (mean - rho * apart)) / root if own_inside else reach - (excess - rho * apart) / root
    return (mean if pull >= 0.0 else -mean), variance
