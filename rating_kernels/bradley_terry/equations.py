"""The linear equations of Newton's method, with a factor of the matrix.

The gradient of the likelihood sums to zero over the players of a component: the sum of their strengths is known by the
prior alone, and without one the matrix has no inverse. To the matrix is added a multiple of (1 1') for each component,
which leaves all steps as they are, because they sum to zero.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ..core.beliefs import Map, serial_map
from ..core.standings import Floats, Ints
from .comparisons import CovariateError
from .dense import factored, inverse, solved
from .params import BradleyTerry

_COLLINEAR = 1e-9  # share of a covariate that nothing else explains
_SLIGHT = 1e-12  # share of a diagonal that is added where nothing else makes the matrix definite


class Equations(NamedTuple):
    """A factored matrix of parameters, and the variance of the common level of each player's component in its inverse.

    ``n``: the number of parameters.
    ``level`` (float64[players]): what the prior alone, or nothing, tells.
    """

    factor: Floats
    n: int
    level: Floats

    @classmethod
    def of(cls, matrix: Floats, component: Ints, params: BradleyTerry, c: int, map: Map) -> Self:
        """The equations of a matrix of curvatures, of which the upper triangle is given; the matrix is changed.

        ``component`` (int32[players]): of each player.
        ``c``: the number of covariates, after the players.
        """
        n = len(component)
        players, others = np.arange(n), np.arange(n, n + c)
        matrix[players, players] += params.precision
        matrix[others, others] += params.covariate_precision
        common = add_levels(matrix, component)
        size = np.bincount(component)[component]
        return cls(factored(matrix, map), len(matrix), 1.0 / (size * (params.precision + common)))

    def solve(self, right: Floats) -> Floats:
        """The solution for one right side."""
        return solved(self.factor, right)

    def inverse(self, map: Map = serial_map) -> Floats:
        """The inverse of the matrix, with the variance of common levels."""
        return inverse(self.factor, self.n, map)


def add_levels(matrix: Floats, component: Ints) -> Floats:
    """Add (1 1') of each component, as large as its diagonal is on average; returns the eigenvalues, of each player."""
    n = len(component)
    sizes = np.bincount(component)
    common = np.bincount(component, matrix.diagonal()[:n]) / sizes
    for number, size in enumerate(sizes):
        rows = np.flatnonzero(component == number)
        matrix[np.ix_(rows, rows)] += common[number] / size
    return common[component]


def check_covariates(matrix: Floats, component: Ints, c: int, map: Map = serial_map) -> None:
    """Raise CovariateError if a covariate is 0 in all games, or collinear with players or with covariates before it.

    ``matrix``: the curvatures without priors, of which the upper triangle is given.
    """
    n = len(component)
    whole = matrix[: n + c, : n + c].copy()
    players = np.arange(n)
    whole[players, players] *= 1.0 + _SLIGHT
    add_levels(whole, component)
    diagonal = matrix.diagonal()[n : n + c]
    if not diagonal.all():
        raise CovariateError(int(np.argmin(diagonal != 0.0)), "is 0 in all games")
    pivots = factored(whole, map).diagonal()[n : n + c] ** 2
    bad = ~(pivots > _COLLINEAR * diagonal)
    if bad.any():
        column = int(np.argmax(bad))
        others = " or with other covariates" if c > 1 else ""
        raise CovariateError(column, f"is collinear with the players{others}: its coefficient has no best value")
