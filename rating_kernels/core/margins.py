"""Margins of victory: a clear result of a game is stronger evidence than a narrow one.

With ``d`` the winner's points less the loser's, in units and capped, and ``x`` the winner's strength less the loser's
before the game in rating points, a game counts ``m`` times:

    log           ln(1 + d) / ln 2
    log_lead      2.2 ln(1 + d) / (2.2 + 0.001 x)
    goals         1, 3/2 and (11 + d)/8 for d of 1, 2 and from 3 on, linear in between
    linear        1 + slope (d - 1)
    power_lead    (d + 3)^0.8 / (7.5 + 0.006 x)

A win by less than 1 is one by 1, or it could be worth less than a draw. A draw has m = 1; with log_lead and power_lead,
which are published without the ln 2, that of d = 1 and of d = 0 at x = 0.

Source: log_lead and power_lead are the published rules of FiveThirtyEight's ratings of American football (2014) and of
basketball (2015), whose poles the bounds of x exclude; goals is the index of the World Football Elo Ratings; log and
linear are of the multiplicative kind of Kovalchik, "Extension of the Elo rating system to margin of victory" (2020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from .jit import exact, inner_exact
from .limits import at_least, choice, later, non_negative, positive

NO_MARGIN = "none"
MARGINS = (NO_MARGIN, "log", "log_lead", "goals", "linear", "power_lead")
_NONE, _LOG, _LOG_LEAD, _GOALS, _LINEAR, _POWER_LEAD = range(len(MARGINS))
_MOST_LEAD = 1100.0  # rating points: the divisor of log_lead is between half of and one and a half times that at 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginParams:
    """Hyperparameters of systems with margins of victory.

    Attributes
    ----------
    margin : str
        How far a clear result of a game counts more than a narrow one: "none", or "log", "log_lead", "goals", "linear"
        or "power_lead" of the difference of points.
    margin_unit : float
        Difference of points of a usual close game: differences are divided by it.
    margin_cap : float or None
        Largest difference that counts, in units, at least 1; None: no limit.
    margin_slope : float
        Growth of "linear" with each unit beyond the first.
    """

    margin: str = field(default=NO_MARGIN, metadata=later(choice(*MARGINS)))
    margin_unit: float = field(default=1.0, metadata=later(positive()))
    margin_cap: float | None = field(default=None, metadata=later(at_least(1.0)))
    margin_slope: float = field(default=0.25, metadata=later(non_negative()))


class MarginRule(NamedTuple):
    """The hyperparameters of :class:`MarginParams`, for kernels; ``kind`` is a place in :data:`MARGINS`."""

    kind: int
    unit: float
    cap: float
    slope: float


NO_RULE = MarginRule(_NONE, 1.0, math.inf, 0.0)


def margin_rule(params: MarginParams) -> MarginRule:
    """The rule of hyperparameters."""
    cap = math.inf if params.margin_cap is None else params.margin_cap
    return MarginRule(MARGINS.index(params.margin), params.margin_unit, cap, params.margin_slope)


@inner_exact
def counted(rule, difference, drawn):
    """d of a game: its difference of points in units, as far as it counts."""
    return 0.0 if drawn else max(min(difference / rule.unit, rule.cap), 1.0)


@inner_exact
def factor(rule, d, x):
    """m of a game won by d units, or drawn with d = 0, by the winner with the lead x."""
    if d == 0.0:
        x = 0.0
    x = min(max(x, -_MOST_LEAD), _MOST_LEAD)
    if rule.kind == _LOG:
        return math.log(1.0 + d) / math.log(2.0) if d > 1.0 else 1.0
    if rule.kind == _LOG_LEAD:
        return math.log(1.0 + max(d, 1.0)) * 2.2 / (0.001 * x + 2.2)
    if rule.kind == _GOALS:
        if d <= 2.0:
            return max(0.5 + 0.5 * d, 1.0)
        return 1.0 + 0.25 * d if d <= 3.0 else (11.0 + d) / 8.0
    if rule.kind == _LINEAR:
        return 1.0 + rule.slope * max(d - 1.0, 0.0)
    if rule.kind == _POWER_LEAD:
        return (d + 3.0) ** 0.8 / (7.5 + 0.006 * x)
    return 1.0


@inner_exact
def factor_of_game(rule, difference, score, lead):
    """m of a game by the score of its first player, and the excess of its points and strength over the other one."""
    if rule.kind == _NONE or math.isnan(difference):  # NaN: a game without points
        return 1.0
    if score < 0.5:
        difference, lead = -difference, -lead
    return factor(rule, counted(rule, difference, score == 0.5), lead)


@inner_exact
def factor_of_rows(rule, points, better, other, drawn, lead):
    """m of a game between two rows, the better one first, whose strength exceeds the other one's by ``lead``."""
    if len(points) == 0:
        return 1.0
    return factor_of_game(rule, points[better] - points[other], 0.5 if drawn else 1.0, lead)


@inner_exact
def factor_of_round(r, rounds, margin, mu):
    """m of round ``r`` of two; ``mu`` are strengths."""
    i = rounds.offsets[r]
    return factor_of_rows(margin, rounds.points, i, i + 1, rounds.lo[i + 1] == 0, mu[i] - mu[i + 1])


@inner_exact
def sharpen_game(r, rounds, margin, mu, beta):
    """Divide the variances of performances in round ``r`` of two by m, and return it; ``mu`` are strengths."""
    m = factor_of_round(r, rounds, margin, mu)
    narrower = math.sqrt(m)
    for i in range(rounds.offsets[r], rounds.offsets[r + 1]):
        beta[i] /= narrower
    return m


@exact
def factors_of_games(rule, points, drawn, lead, factor):
    """Write m of each game of two rows, the winner's first, whose strength exceeds the other one's by ``lead``."""
    for game in range(len(factor)):
        factor[game] = factor_of_rows(rule, points, 2 * game, 2 * game + 1, drawn[game], lead[game])
