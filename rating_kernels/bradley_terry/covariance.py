"""The covariance of estimated strengths and coefficients.

    V = H^-1 G H^-1        G = sum over games of w^2 (y - p)^2 z z'

``sandwich`` needs no true model. ``model`` is H^-1 without the common level of a component, which only the prior knows.
``cluster``: G is the sum of s_c s_c' over clusters, times C / (C - 1), with s_c the summed scores of a cluster.

A player who never lost, or never won, has residuals near 0: the sandwich is then far too small, and the larger of both
deviations is taken.

Source: Huber, "The behavior of maximum likelihood estimates under nonstandard conditions" (1967); White, "A
heteroskedasticity-consistent covariance matrix estimator" (Econometrica 48, 1980).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Map, serial_map
from ..core.jit import exact
from ..core.standings import Floats, Ints
from .comparisons import Comparisons
from .dense import product
from .equations import Equations
from .fit import Fit, Used, point_of, used_games
from .params import CLUSTER, MODEL, UNIT, BradleyTerry
from .sums import Point, matrix_of, scores, sums


class Covariance:
    """The covariance of the parameters of a fit; see :func:`covariance`.

    Attributes
    ----------
    sandwich, model
        Deviation of each rating around the mean of its component, float64[n], rating points; without a game the ridge.
    extreme
        Players without a win or without a loss: bool[n].
    """

    def __init__(
        self, found: Fit, used: Used, params: BradleyTerry, inverse: Floats, level: Floats, meat: Floats, map: Map
    ) -> None:
        self._found, self._used, self._params, self._map = found, used, params, map
        self._inverse, self._level = inverse, level
        self._half = product(meat, inverse, map)
        n = len(used.players)
        self.extreme = found.extreme
        self.sandwich = self._of_all(np.sqrt(_column_dots(inverse, self._half)[:n]))
        self.model = self._of_all(np.sqrt(inverse.diagonal()[:n] - level))

    @property
    def sigma(self) -> Floats:
        """The deviation of each rating, by the covariance of the parameters: float64[n], rating points."""
        if self._params.covariance == MODEL:
            return self.model
        return np.where(self.extreme, np.maximum(self.sandwich, self.model), self.sandwich)

    @cached_property
    def matrix(self) -> Floats:
        """Of all players, the coefficients and ln nu where it is learnt: float64[n + k, n + k], natural units."""
        inner, players = self._inner, self._used.players
        n, k = len(self._found.theta), len(inner) - len(players)
        whole = np.zeros((n + k, n + k))
        idle = np.setdiff1d(np.arange(n), players)
        whole[idle, idle] = (self._params.ridge / UNIT) ** 2
        at = np.append(players.astype(np.int64), np.arange(n, n + k))
        whole[np.ix_(at, at)] = inner
        return whole

    @property
    def coefficient_errors(self) -> Floats:
        """The standard error of each coefficient: float64[c], natural units."""
        n, c = len(self._used.players), len(self._found.gamma)
        return np.sqrt(self._inner.diagonal()[n : n + c])

    @property
    def ln_nu_error(self) -> float | None:
        """The standard error of ln nu; None where it is not learnt."""
        return float(np.sqrt(self._inner[-1, -1])) if self._used.davidson else None

    def of_differences(self, a: Ints, b: Ints) -> Floats:
        """The deviation of the difference of the ratings of players ``a`` and ``b``, float64[k], rating points."""
        whole = self.matrix
        variance = whole[a, a] + whole[b, b] - 2.0 * whole[a, b]
        return UNIT * np.sqrt(np.maximum(variance, 0.0))

    @cached_property
    def _inner(self) -> Floats:
        """The covariance of the parameters that the games tell something about."""
        if self._params.covariance != MODEL:
            return product(self._inverse, self._half, self._map)
        whole = self._inverse.copy()
        of, n = self._used.component, len(self._used.players)
        whole[:n, :n] -= np.where(of[:, None] == of, self._level, 0.0)
        return whole

    def _of_all(self, deviation: Floats) -> Floats:
        """Natural units of players with games, as rating points of all players."""
        whole = np.full(len(self._found.theta), self._params.ridge)
        whole[self._used.players] = UNIT * deviation
        return whole


def covariance(
    found: Fit,
    comparisons: Comparisons,
    params: BradleyTerry,
    clusters: npt.NDArray[np.integer] | None = None,
    map: Map = serial_map,
) -> Covariance:
    """The covariance of a fit to these comparisons. O(rows (2 + c)^2 + n^3).

    ``clusters`` (int[m]): the cluster of each row of ``comparisons``, which has the games of one cluster alone; needed
    where the covariance of the parameters is "cluster", otherwise without effect.

    Raises ValueError: clusters are missing, or there is only one.
    """
    used = used_games(comparisons, len(found.theta), params)
    n, c = len(used.players), used.rows.n_covariates
    at = point_of(used, found)
    here = sums(used.rows, used.runs, at, map)
    equations = Equations.of(matrix_of(here, used.runs, n), used.component, params, c, map)
    if params.covariance == CLUSTER:
        meat = _of_clusters(used, at, clusters, len(comparisons.first))
    else:
        meat = matrix_of(sums(used.rows, used.runs, at, map, squares=True), used.runs, n)
    return Covariance(found, used, params, equations.inverse(map), equations.level, _symmetric(meat), map)


def _of_clusters(used: Used, at: Point, clusters: npt.NDArray[np.integer] | None, m: int) -> Floats:
    """The upper triangle of the sum of s_c s_c' C / (C - 1)."""
    if clusters is None or len(clusters) != m:
        raise ValueError(f"the covariance of clusters needs the cluster of each of {m:,} rows")
    names, number = np.unique(clusters[used.kept], return_inverse=True)
    if len(names) < 2:
        raise ValueError("the covariance of clusters needs two clusters at least")
    order = np.argsort(number, kind="stable")
    rows = used.rows.take(order)
    k = len(at.gamma) + at.davidson
    whole = np.zeros((len(at.theta) + k,) * 2)
    starts = np.searchsorted(number[order], np.arange(len(names) + 1))
    _add_clusters(starts, rows.first, rows.second, rows.x, scores(rows, at), whole)
    return np.asarray(whole * (len(names) / (len(names) - 1.0)), np.float64)


@exact
def _add_clusters(starts, first, second, x, score, whole):
    """Add the products of the summed scores of each cluster, of the parameters of its games."""
    size, c = len(whole), x.shape[1]
    n = size - (c + 1 if score.shape[1] > 1 else c)
    total, has = np.zeros(size), np.zeros(size, np.bool_)
    has[n:] = True
    for cluster in range(len(starts) - 1):
        for i in range(starts[cluster], starts[cluster + 1]):
            total[first[i]] += score[i, 0]
            total[second[i]] -= score[i, 0]
            has[first[i]] = has[second[i]] = True
            for j in range(c):
                total[n + j] += score[i, 0] * x[i, j]
            if size > n + c:
                total[n + c] += score[i, 1]
        at = np.flatnonzero(has)
        for i in range(len(at)):
            for j in range(i, len(at)):
                whole[at[i], at[j]] += total[at[i]] * total[at[j]]
        total[:] = 0.0
        has[:n] = False


def _symmetric(upper: Floats) -> Floats:
    return np.asarray(upper + np.triu(upper, 1).T, np.float64)


@exact
def _column_dots(a, b):
    """The sum of A[k, i] B[k, i] over k, for each i."""
    total = np.zeros(a.shape[1])
    for k in range(len(a)):
        for i in range(len(total)):
            total[i] += a[k, i] * b[k, i]
    return total
