"""How common draws are and what the advantage is worth, learnt from results of games.

The parameters theta = ln nu and h maximise the sum of ln P(result) - (theta - ln nu0)^2 / (2 s^2) - h^2 / (2 s_h^2):
a prior worth some five games for nu and nine for h. Newton's method takes the observed Hessian where it is negative
definite, otherwise Fisher's information, and halves a step until the objective does not fall.

In the model that keeps the expected score the two are orthogonal: the advantage hardly depends on how draws are
modelled. A system with a model of draws of its own has its own chances, and the advantage only is learnt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.standings import Floats
from ..core.system import ConvergenceError
from .games import Leads, Pairings
from .sums import Results, Sums, sums_of_leads, sums_of_scores
from .three_way import DAVIDSON, MODELS, NONE, PRESERVING, ThreeWay

_LOW, _HIGH, _FARTHEST = -12.0, 6.0, 2000.0  # limits of ln nu, and of the advantage in rating points
_NEAR_T, _NEAR_H, _MOST = 1e-10, 1e-7, 50  # last step of ln nu and of the advantage; iterations
_ROUNDING = 1e-12  # of the objective, relative
_SAME_SLOPES = 1.0  # rating points that the advantage may move before slopes are computed again
_STEP, _OWN_STEP = (0.5, 1e-3)  # rating points to each side for differences: of logit(E), of logarithms of own chances
_NOTHING: Floats = np.empty(0)


class Assumed(NamedTuple):
    """What is believed before the first game: normal laws of ln nu and of the advantage in rating points."""

    nu: float = 2.0 / 3.0  # a quarter of draws between equals
    ln_nu_deviation: float = 1.0
    advantage_deviation: float = 100.0


ASSUMED = Assumed()


class Played(NamedTuple):
    """Results of games for the first entrant.

    ``result`` (int8[n]): 1 for a win, 0 for a draw, -1 for a loss.
    ``holds`` (bool[n]): whether the advantage holds; None: in all games.
    ``weight`` (float64[n]): how often a game counts; None: once.
    """

    games: Leads | Pairings
    result: Results
    holds: npt.NDArray[np.bool_] | None = None
    weight: Floats | None = None


@dataclass(frozen=True, slots=True)
class Learnt:
    """What games taught about draws and the advantage.

    Attributes
    ----------
    nu, ln_nu_error
        How common draws are, and the standard error of its logarithm; 0 in a model without nu.
    advantage, advantage_error
        Rating points for the first entrant, and the standard error.
    games, iterations
        Number of games, and of passes over them.
    log_likelihood
        Of the results, without the prior.
    """

    nu: float
    advantage: float
    ln_nu_error: float
    advantage_error: float
    games: int
    iterations: int = 0
    log_likelihood: float = 0.0

    @property
    def nu_error(self) -> float:
        """The standard error of nu itself, to first order."""
        return self.nu * self.ln_nu_error


def fit(played: Played, model: str = PRESERVING, start: Learnt | None = None, assumed: Assumed = ASSUMED) -> Learnt:
    """The most likely parameters given the games and what is believed before them. O(games) an iteration.

    ``start``: where the search begins, such as the fit to fewer games; the result differs by rounding only.

    Raises ValueError: another model, or a weight that is negative or not finite. Raises ConvergenceError: no maximum
    after 50 iterations.
    """
    if model not in MODELS:
        raise ValueError(f"the model of draws must be one of {', '.join(MODELS)}, got {model!r}")
    weight = played.weight
    if weight is not None and not (good := (weight >= 0.0) & (weight < np.inf)).all():
        raise ValueError(f"the weight of a game must be >= 0 and finite, got {float(weight[~good][0])!r}")
    objective = _Objective(played, model, assumed)
    t, h = math.log(assumed.nu), 0.0
    if start is not None:
        t, h = math.log(start.nu) if start.nu > 0.0 else t, start.advantage
    at = objective.at(t, h)
    if not math.isfinite(at.value):
        raise ValueError(objective.what_is_not_finite())
    change_t = change_h = math.nan
    for iteration in range(1, _MOST + 1):
        change_t, change_h = _step(at, t, h)
        tried = objective.clip(t + change_t, h + change_h)
        change_t, change_h = tried[0] - t, tried[1] - h
        while not (near := abs(change_t) < _NEAR_T and abs(change_h) < _NEAR_H):
            there = objective.at(t + change_t, h + change_h)
            if there.value >= at.value - _ROUNDING * (1.0 + abs(at.value)):
                break
            change_t, change_h = 0.5 * change_t, 0.5 * change_h
        t, h = t + change_t, h + change_h
        if near:
            return objective.learnt(t, h, at, iteration)
        at = there
    change_t, change_h = _step(at, t, h)
    if change_t * at.t + change_h * at.h < _ROUNDING * (1.0 + abs(at.value)):  # nothing to gain but rounding
        return objective.learnt(t, h, at, _MOST)
    raise ConvergenceError(
        f"the chances of {len(played.result):,} games have no most likely parameters after {_MOST} iterations: the "
        f"last step changed ln nu by {change_t:.3g} and the advantage by {change_h:.3g} rating points"
    )


class _Objective:
    """The logarithm of the posterior density as a function of ln nu and the advantage."""

    def __init__(self, played: Played, model: str, assumed: Assumed) -> None:
        self._played, self._model, self._assumed = played, model, assumed
        self._games = played.games if isinstance(played.games, Leads) else played.games.leads() or played.games
        self._own = isinstance(self._games, Pairings) and self._games.has_own_draws and model != NONE
        self._fixed = self._own or model == NONE  # ln nu stays
        self._slopes: tuple[float, Floats, Floats] | None = None  # of logit(E), and where they were computed
        if isinstance(self._games, Pairings) and not self._own:
            # of the weaker entrant: 1 less a small number has all digits
            self._weaker, self._changed = self._games.weaker_first()
            self._sign = np.where(self._changed, -1.0, 1.0)
        holds, weight = played.holds, played.weight
        self._holds = _NOTHING if holds is None else holds.astype(np.float64)
        self._weight = _NOTHING if weight is None else weight

    def at(self, t: float, h: float) -> Sums:
        """The objective and its derivatives."""
        return self._likelihood(t, h) + self._prior(t, h)

    def clip(self, t: float, h: float) -> tuple[float, float]:
        """The parameters within their limits."""
        return min(max(t, _LOW), _HIGH), min(max(h, -_FARTHEST), _FARTHEST)

    def what_is_not_finite(self) -> str:
        """The first game without an expected score, in words."""
        games = self._games
        known = games.lead if isinstance(games, Leads) else np.sum(games.expected(), axis=0)
        row = int(np.argmin(np.isfinite(known)))
        return f"game {row} has no expected score: the difference of the strengths must be finite, got {known[row]}"

    def learnt(self, t: float, h: float, at: Sums, iterations: int) -> Learnt:
        """The result at a maximum; ``at``: the sums there."""
        hh, ht, tt = _curvature(at)
        det = hh * tt - ht * ht
        return Learnt(
            nu=0.0 if self._fixed else math.exp(t),
            advantage=h,
            ln_nu_error=0.0 if self._fixed else math.sqrt(hh / det),
            advantage_error=math.sqrt(tt / det),
            games=len(self._played.result),
            iterations=iterations,
            log_likelihood=at.value - self._prior(t, h).value,
        )

    def _prior(self, t: float, h: float) -> Sums:
        assumed = self._assumed
        one, other = assumed.ln_nu_deviation**-2, assumed.advantage_deviation**-2
        off = 0.0 if self._fixed else t - math.log(assumed.nu)
        value = -0.5 * (one * off * off + other * h * h)
        return Sums(value, -other * h, -one * off, -other, 0.0, -one, other, 0.0, one)

    def _likelihood(self, t: float, h: float) -> Sums:
        played, nu, davidson = self._played, math.exp(t), self._model == DAVIDSON
        if self._model == NONE:
            nu = 0.0
        if self._own:
            return self._of_own_chances(h)
        if isinstance(self._games, Leads):
            lead, rate = self._games
            found = sums_of_leads(lead, rate, played.result, self._holds, self._weight, h, nu, davidson)
        else:
            found = sums_of_scores(*self._curve_at(h), played.result, self._weight, nu, davidson)
        return found._replace(t=0.0, ht=0.0, tt=0.0, fisher_ht=0.0, fisher_tt=0.0) if self._fixed else found

    def _curve_at(self, h: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Expected scores of both entrants, and first and second derivative of logit(E) by the advantage.

        The derivatives are differences. Near the place where they were computed last, the first one is extrapolated.
        """
        weak = self._weak_at(h)
        strong = 1.0 - weak
        if self._slopes is None or abs(h - self._slopes[0]) > _SAME_SLOPES:
            below, here, above = map(_logit, (self._weak_at(h - _STEP), weak, self._weak_at(h + _STEP)))
            slope, bend = (above - below) / (2.0 * _STEP), ((above - here) - (here - below)) / _STEP**2
            holds = self._holds if len(self._holds) else 1.0
            # logit(E) of the other entrant is the opposite
            self._slopes = h, self._sign * slope * holds, self._sign * bend * holds
        where, slope, bend = self._slopes
        first, other = np.where(self._changed, strong, weak), np.where(self._changed, weak, strong)
        return first, other, slope + (h - where) * bend, bend

    def _weak_at(self, h: float) -> Floats:
        """The expected scores of the weaker entrants."""
        return self._weaker.ahead(self._sign * self._ahead(h)).expected_of_first()

    def _of_own_chances(self, h: float) -> Sums:
        """The sums of a system's own chances, by differences."""
        games, result = self._games, self._played.result
        assert isinstance(games, Pairings)
        three = [games.ahead(self._ahead(h + d)).three_way(0.0) for d in (-_OWN_STEP, 0.0, _OWN_STEP)]
        below, here, above = (ThreeWay(*(np.log(np.maximum(p, 1e-300)) for p in one)) for one in three)
        weight = self._weight if len(self._weight) else 1.0
        slopes = [(a - b) / (2.0 * _OWN_STEP) for a, b in zip(above, below, strict=True)]
        bends = [((a - c) - (c - b)) / _OWN_STEP**2 for a, c, b in zip(above, here, below, strict=True)]
        won, drawn = result > 0, result == 0
        value, slope, bend = (
            float(np.sum(weight * np.where(won, win, np.where(drawn, draw, loss))))
            for win, draw, loss in (here, slopes, bends)
        )
        information = sum(float(np.sum(weight * p * s * s)) for p, s in zip(three[1], slopes, strict=True))
        return Sums(value, slope, 0.0, bend, 0.0, 0.0, information, 0.0, 0.0)

    def _ahead(self, h: float) -> float | Floats:
        """The advantage in each game."""
        return self._holds * h if len(self._holds) else h


def _logit(score: Floats) -> Floats:
    least = np.finfo(np.float64).tiny
    return np.log(np.maximum(score, least)) - np.log(np.maximum(1.0 - score, least))


def _curvature(at: Sums) -> tuple[float, float, float]:
    """The observed information of both parameters where it is positive definite, otherwise Fisher's."""
    hh, ht, tt = -at.hh, -at.ht, -at.tt
    return (hh, ht, tt) if hh > 0.0 and hh * tt > ht * ht else (at.fisher_hh, at.fisher_ht, at.fisher_tt)


def _step(at: Sums, t: float, h: float) -> tuple[float, float]:
    """Newton's step of ln nu and of the advantage; of the other one alone where one would leave its limits."""
    hh, ht, tt = _curvature(at)
    if (t <= _LOW and at.t < 0.0) or (t >= _HIGH and at.t > 0.0):
        return 0.0, at.h / (-at.hh if at.hh < 0.0 else at.fisher_hh)
    if abs(h) >= _FARTHEST and at.h * h > 0.0:
        return at.t / (-at.tt if at.tt < 0.0 else at.fisher_tt), 0.0
    det = hh * tt - ht * ht
    return (hh * at.t - ht * at.h) / det, (tt * at.h - ht * at.t) / det
