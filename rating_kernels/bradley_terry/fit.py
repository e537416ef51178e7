"""The most likely strengths and coefficients of the Bradley-Terry model, by Newton's method.

    maximise  sum_g w_g [ y ln p + (1 - y) ln(1 - p) ] - (lambda / 2) |theta|^2 - (lambda_x / 2) |gamma|^2

Source: Bradley and Terry, "Rank analysis of incomplete block designs" (Biometrika 39, 1952); Cattelan, "Models for
paired comparison data" (Statistical Science 27, 2012), for covariates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Map, serial_map
from ..core.jit import exact
from ..core.standings import Floats, Ints
from ..core.system import ConvergenceError
from .comparisons import Comparisons
from .equations import Equations, check_covariates
from .graph import check_beaten, components
from .params import DAVIDSON, DROP, BradleyTerry
from .sums import Point, Runs, Sums, matrix_of, sums

Mask = npt.NDArray[np.bool_]
LARGEST = 10_000
"""Players of a fit: its matrices take 8 n^2 bytes each, and a factorisation n^3 / 3 operations."""
_NEAR = 1e-12  # largest last step, natural units
_FARTHEST = 2.0  # natural units that a step may change a strength, or a covariate the chance
_MOST = 50  # iterations
_ROUNDING = 1e-13  # of the objective, relative


class TiesError(ValueError):
    """Results that the model of ties cannot use."""


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """The most likely parameters.

    Attributes
    ----------
    theta
        Strength of each player, natural units; they sum to 0 over a component. 0 for a player without a game.
    gamma
        Coefficient of each covariate.
    nu
        How common ties are, by Davidson's model; 0 without ties. None in other models.
    component
        0 is that with the most players, of equal ones that with the least number; -1 for players without a game.
    n_games, wins, draws, losses
        Numbers of games of each player, also of those that the model ignores. A share between 0 and 1 is a draw.
    extreme
        Players without a win, or without a loss; a draw counts as half of both.
    iterations
        Number of steps.
    log_likelihood
        Of the results, without the prior.
    """

    theta: Floats
    gamma: Floats
    nu: float | None
    component: Ints
    n_games: Floats
    wins: Floats
    draws: Floats
    losses: Floats
    extreme: Mask
    iterations: int = 0
    log_likelihood: float = 0.0


class Used(NamedTuple):
    """The games that a model uses, between players who have one.

    ``kept`` (bool[m]): whether the model uses each of the given rows.
    ``players`` (int32[n]): the number of each of them.
    ``rows``: the games, with players numbered in that order.
    ``component`` (int32[n]): of each of them.
    ``davidson``: whether the chance of a tie is a parameter.
    """

    kept: Mask
    players: Ints
    rows: Comparisons
    runs: Runs
    component: Ints
    davidson: bool


def fit(
    comparisons: Comparisons, n_players: int, params: BradleyTerry, start: Fit | None = None, map: Map = serial_map
) -> Fit:
    """The most likely parameters given the games. O(rows (2 + c)^2 + n^3) an iteration, some 5 to 8 of them.

    ``start``: where the search begins, such as the fit to fewer games; the result differs by rounding only.

    Raises UnbeatenError: without a ridge, a group of players only won. Raises CovariateError: a covariate is 0 in all
    games, or collinear with others or with the players. Raises TiesError: all games are ties, or, for Davidson's model,
    a result is neither a win, a tie nor a loss. Raises ValueError: there are too many players. Raises ConvergenceError:
    no maximum after 50 iterations.
    """
    used = used_games(comparisons, n_players, params)
    counts = np.zeros((4, n_players))
    _count(comparisons.first, comparisons.second, comparisons.result, comparisons.count, counts)
    component = np.full(n_players, -1, np.int32)
    component[used.players] = used.component
    drawn = 0.0 if params.ties == DROP else counts[2]
    extreme = (component >= 0) & ((counts[1] + drawn == 0.0) | (counts[3] + drawn == 0.0))
    at, steps, value = _climb(used, params, _start(used, start), map)
    theta = np.zeros(n_players)
    theta[used.players] = at.theta
    nu = None if params.ties != DAVIDSON else math.exp(at.ln_nu) if at.davidson else 0.0
    n_games, wins, draws, losses = counts
    return Fit(theta, at.gamma, nu, component, n_games, wins, draws, losses, extreme, steps, value)


def used_games(comparisons: Comparisons, n_players: int, params: BradleyTerry) -> Used:
    """The games that the model uses; see :func:`fit`."""
    rows, kept = comparisons, np.ones(len(comparisons.first), np.bool_)
    drawn = (rows.result > 0.0) & (rows.result < 1.0)
    if params.ties == DROP and drawn.any():
        kept = ~drawn
        rows = rows.take(kept)
    if params.ties == DAVIDSON:
        if not (rows.result[drawn] == 0.5).all():
            raise TiesError("Davidson's model knows wins, ties and losses: a result must be 0, 0.5 or 1")
        if drawn.all() and len(drawn):
            raise TiesError("all games are ties: Davidson's model has no most likely chance of a tie")
    of = components(rows.first, rows.second, n_players)
    if params.precision == 0.0:
        ahead, behind = rows.result > 0.0, rows.result < 1.0
        winner, loser = (rows.first[ahead], rows.second[behind]), (rows.second[ahead], rows.first[behind])
        check_beaten(np.concatenate(winner), np.concatenate(loser), of)
    players = np.flatnonzero(of >= 0).astype(np.int32)
    if len(players) > LARGEST:
        raise ValueError(f"a fit takes at most {LARGEST:,} players, and these games have {len(players):,}")
    if len(players) < n_players:
        number = np.zeros(n_players, np.int32)
        number[players] = np.arange(len(players), dtype=np.int32)
        rows = rows._replace(first=number[rows.first], second=number[rows.second])
    return Used(kept, players, rows, Runs.of(rows), of[players], params.ties == DAVIDSON and bool(drawn.any()))


def point_of(used: Used, found: Fit) -> Point:
    """The parameters of a fit, of players with a game."""
    ln_nu = math.log(found.nu) if used.davidson and found.nu else math.nan
    return Point(found.theta[used.players], found.gamma, ln_nu)


@exact
def _count(first, second, result, count, counts):
    """Add games, wins, draws and losses of each player."""
    for i in range(len(first)):
        a, b, n = first[i], second[i], count[i]
        counts[0, a] += n
        counts[0, b] += n
        won, lost = result[i] == 1.0, result[i] == 0.0
        counts[1 if won else 3 if lost else 2, a] += n
        counts[3 if won else 1 if lost else 2, b] += n


def _start(used: Used, start: Fit | None) -> Point:
    """Where the search begins: at 0, or at an earlier fit, whose strengths are centred in each component."""
    rows, n, ln_nu = used.rows, len(used.players), math.nan
    if used.davidson:  # the best one of equal players
        times, tied = rows.count * rows.weight, rows.result == 0.5
        ln_nu = math.log(2.0 * float(np.sum(times[tied])) / float(np.sum(times[~tied])))
    theta, gamma = np.zeros(n), np.zeros(rows.n_covariates)
    if start is not None:
        known = used.players < len(start.theta)
        theta[known] = start.theta[used.players[known]]
        theta = _centred(theta, used.component)
        gamma = start.gamma if len(start.gamma) == len(gamma) else gamma
        ln_nu = math.log(start.nu) if used.davidson and start.nu else ln_nu
    return Point(theta, gamma, ln_nu)


def _centred(theta: Floats, component: Ints) -> Floats:
    """Strengths less their mean in each component."""
    mean = np.bincount(component, theta) / np.bincount(component)
    return np.asarray(theta - mean[component], np.float64)


def _climb(used: Used, params: BradleyTerry, at: Point, map: Map) -> tuple[Point, int, float]:
    """The maximum, the number of steps, and the log-likelihood; see :func:`fit`."""
    n, c = len(used.players), used.rows.n_covariates
    if n == 0:
        return at, 0, 0.0
    here = sums(used.rows, used.runs, at, map)
    typical = np.sqrt(here.rest.diagonal()[:c] / np.sum(here.runs[:, 0]))  # size of a covariate
    scale = np.concatenate((np.ones(n), typical, np.ones(int(used.davidson))))
    largest = math.nan
    for iteration in range(1, _MOST + 1):
        matrix = matrix_of(here, used.runs, n)
        if iteration == 1 and c:
            check_covariates(matrix, used.component, c, map)
        slope = _slope(here, at, params)
        step = Equations.of(matrix, used.component, params, c, map).solve(slope)
        last, largest = largest, float(np.max(np.abs(step * scale)))
        if not math.isfinite(largest):
            break
        if largest > _FARTHEST:
            step *= _FARTHEST / largest
        value = _objective(here, at, params)
        gain, size = float(slope @ step), _ROUNDING * (1.0 + abs(value))
        if largest < _NEAR or (gain < size and largest >= last):  # the second: rounding does not let it fall further
            at = at.moved(step)
            return at._replace(theta=_centred(at.theta, used.component)), iteration, here.value
        while True:
            there = at.moved(step)
            then = sums(used.rows, used.runs, there, map)
            if _objective(then, there, params) >= value - size or float(np.max(np.abs(step * scale))) < _NEAR:
                break
            step *= 0.5
        at, here = there, then
    raise ConvergenceError(
        f"the strengths of {n:,} players have no maximum after {_MOST} iterations: the last step changed one by "
        f"{largest:.3g} natural units"
    )


def _objective(found: Sums, at: Point, params: BradleyTerry) -> float:
    prior = params.precision * np.sum(np.square(at.theta)) + params.covariate_precision * np.sum(np.square(at.gamma))
    return found.value - 0.5 * float(prior)


def _slope(found: Sums, at: Point, params: BradleyTerry) -> Floats:
    """The gradient of the objective."""
    slope = found.score.copy()
    n, c = len(at.theta), len(at.gamma)
    slope[:n] -= params.precision * at.theta
    slope[n : n + c] -= params.covariate_precision * at.gamma
    return slope
