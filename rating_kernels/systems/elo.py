"""Elo, for one-to-one games and for larger rounds as one game between every two players.

Source: "The Math Behind ELO"; Elo's own curve is the normal one; K by tiers is FIDE's. With ``x`` the lead in points,

    E(x) = 1 / (1 + 10^(-x/n))     logistic        E(x) = Phi(x sqrt(2) / n)     normal
    E(x) = 1/2 + x / (2 L)         linear, up to the lead L; or a curve through the points of a table
    R   += K sum_j (S_j - E(R - R_j)) / (N - 1)

over the opponents ``j`` of a round of ``N``, where ``S_j`` is 1 for a win, 1/2 for a tie and 0 for a loss. The division
keeps the meaning of K; for two players it is the classic rule. With a common K the sum of ratings is constant. Both
sums are functions of one variable (:mod:`.field`, :mod:`.pair_field`). Sums of a line or a table (:mod:`.score_curve`)
are direct, and those with margins of victory (:mod:`..core.margins`), where each term counts m_ij times. All ratings in
rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.beliefs import Beliefs, Map, prefetch_next
from ..core.jit import exact, inner_exact
from ..core.limits import POINTS, choice, finite, later, non_negative, positive, table, whole
from ..core.margins import NO_MARGIN, MarginParams, factor_of_rows, margin_rule
from ..core.numerics import exp
from ..core.parts import prior_of
from ..core.standings import Conditions, Floats, Ints, Longs, Rounds
from ..core.system import Outcome, PerformanceLaw, Prior, System, check_limits, check_value
from ..fields.advantages import restore_ratings, to_strengths
from ..fields.direct import direct_sums
from ..fields.field_sums import field_sums
from ..fields.pairs.pair_field import pair_sums
from ..fields.pairs.terms import NORMAL as NORMAL_TERM
from ..fields.pairs.terms import direct_sums as pair_sums_direct
from ..fields.score_curve import (
    IN_PIECES,
    LOGISTIC,
    NORMAL,
    SHAPE_OF_LOGISTIC,
    SHAPE_OF_NORMAL,
    Shape,
    check_points,
    deviation,
    expected_in_pieces,
    expected_of,
    shape_of,
    straight,
    sum_in_pieces,
)
from ..inference.performance import group_starts
from ..inference.resets.ratings import reset_ratings
from ..inference.win_probability import curve_law, logistic, normal

SMALL = 256  # participants up to which summing term by term beats a table

_DEFAULT_K, _DEFAULT_N = 32.0, 400.0
K_LIMITS = non_negative(POINTS)["limits"]
_GAMES, _MASTER = 30.0, 2400.0  # FIDE's tiers: completed games, and a rating once reached
_K_NEW, _K_MASTER, _K_OTHERS = 40.0, 10.0, 20.0
_DIGITS = 12  # decimals of a rating in the thousands in double precision


def k_for(wins: float, n: float = 400.0) -> float:
    """K with which so many wins against equals gain ``n`` points: 2 n / wins.

    A win against an equal gains K / 2. The article takes 53.33 wins for K = 15.

    Parameters
    ----------
    wins
        Number of wins, > 0.
    n
        Rating points, > 0: the lead at which Elo's logistic curve expects 10 points of 11.

    Raises
    ------
    ValueError
        A number is not positive.
    """
    return _even_wins("wins", wins, n)


def wins_for(k: float, n: float = 400.0) -> float:
    """The number of wins against equals that gain ``n`` points with this K: 2 n / k, the inverse of :func:`k_for`.

    Parameters
    ----------
    k
        K of both players, rating points, > 0.
    n
        Rating points, > 0.

    Raises
    ------
    ValueError
        A number is not positive.
    """
    return _even_wins("k", k, n)


def _even_wins(name: str, value: float, n: float) -> float:
    """2 n over one of K and the number of wins gives the other one."""
    check_value(name, value, positive(POINTS if name == "k" else "wins")["limits"])
    check_value("n", n, positive(POINTS)["limits"])
    return 2.0 * n / value


@dataclass(frozen=True, slots=True)
class Elo(MarginParams):
    """Hyperparameters of Elo.

    The attribute ``k`` of a player overrides the rule; a contest's weight multiplies every K.

    Attributes
    ----------
    n : float or None
        Lead, in rating points, at which the favourite wins 10 games of 11 (logistic curve); default 400. For ``cdf``
        "logistic" and "normal" only.
    k : float or None
        K of all players, rating points >= 0; default 32. For ``k_rule`` "fixed" only.
    k_wins : float or None
        In place of ``k``: the number of wins against equals that gain ``n`` points; see :func:`ranklake.k_for`.
    certain_lead : float or None
        Lead, in rating points, at which a win is certain. For ``cdf`` "linear" only.
    cdf_table : tuple of float or None
        Points of the curve for ``cdf`` "table": lead, expected score, lead, expected score and so on, both increasing.
        A CSV file or a frame has them in columns ``lead`` and ``expected``; the numbers are recorded, not the file.
    k_rule : str
        "fixed", or "fide": 40 until 30 games are completed, then 10 permanently after a rating of 2400, else 20. A
        larger round counts as one game with ``pairs`` "mean" and as N - 1 games with "sum".
    cdf : str
        The curve of expected scores: "logistic", "normal", "linear" up to ``certain_lead``, or that of a "table".
    pairs : str
        "mean": a round moves a rating as far as one game; "sum": as far as N - 1 games at the same ratings.
    round_digits : int or None
        Decimals to round to, halves away from zero; None: no rounding.
    round_what : str or None
        "rating" (default if ``round_digits`` is given) or "change"; later games use the rounded rating.
    mu_init : float
        Rating of a newcomer.
    """

    n: float | None = field(default=None, metadata=positive(POINTS))
    k: float | None = field(default=None, metadata=non_negative(POINTS))
    k_rule: str = field(default="fixed", metadata=choice("fixed", "fide"))
    cdf: str = field(default="logistic", metadata=choice("logistic", "normal", "linear", "table"))
    pairs: str = field(default="mean", metadata=choice("mean", "sum"))
    round_digits: int | None = field(default=None, metadata=whole(0, _DIGITS, "decimals"))
    round_what: str | None = field(default=None, metadata=choice("rating", "change"))
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    k_wins: float | None = field(default=None, metadata=later(positive("wins")))
    certain_lead: float | None = field(default=None, metadata=later(positive(POINTS)))
    cdf_table: tuple[float, ...] | None = field(default=None, metadata=later(table("lead", "expected")))
    sigma_init: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_limits(self)
        if self.k_rule == "fide" and self.margin != NO_MARGIN:
            raise ValueError(f"margin goes with k_rule fixed, FIDE's rules have no margins; got {self.margin!r}")
        given = {name: value for name in ("k", "k_wins") if (value := getattr(self, name)) is not None}
        if given and self.k_rule == "fide":
            name, value = given.popitem()
            raise ValueError(f"{name} goes with k_rule fixed, not with FIDE's tiers; got {value}")
        if len(given) == 2:
            raise ValueError(f"k and k_wins are two ways to give K; give one of them, got {self.k} and {self.k_wins}")
        _check_curve(self)
        if self.k_rule == "fixed" and not given:
            object.__setattr__(self, "k", _DEFAULT_K)
        if self.round_digits is None:
            if self.round_what is not None:
                raise ValueError(f"round_what needs round_digits, the decimals to round to; got {self.round_what!r}")
        elif self.round_what is None:
            object.__setattr__(self, "round_what", "rating")


def _check_curve(params: Elo) -> None:
    """Raise ``ValueError`` unless the hyperparameters of a curve are those of ``cdf``; set the default of ``n``."""
    of = {"n": ("logistic", "normal"), "certain_lead": ("linear",), "cdf_table": ("table",)}
    for name, curves in of.items():
        given = getattr(params, name) is not None
        if given and params.cdf not in curves:
            raise ValueError(f"{name} goes with cdf {' and '.join(curves)}, not with {params.cdf}; leave one out")
        if not given and params.cdf in curves:
            if name != "n":
                raise ValueError(f"cdf {params.cdf} needs {name}")
            object.__setattr__(params, "n", _DEFAULT_N)
    if params.cdf_table is not None:
        check_points("cdf_table", params.cdf_table)
        object.__setattr__(params, "cdf_table", tuple(map(float, params.cdf_table)))
    if params.k_wins is not None and params.n is None:
        raise ValueError(f"k_wins counts wins that gain n points, and cdf {params.cdf} has no n; give k instead")


def state(params: Elo, mu: Floats, sigma: Floats) -> dict[str, Floats]:
    """The player's own K (NaN: by the rule), and for FIDE's tiers completed games and highest rating."""
    return {"k": np.full_like(mu, np.nan), "games": np.zeros_like(mu), "peak": mu.copy()}


def win_probability(params: Elo, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """The curve of expected scores; a tie is half a win."""
    (rate, shape), lead = curve(params), one.mu - other.mu
    if shape.kind == IN_PIECES:
        return expected_of(lead, shape)
    return normal(math.sqrt(2.0) * rate * lead) if shape.kind == NORMAL else logistic(rate * lead)


def logistic_rate(params: Elo, conditions: Conditions, one: Prior, other: Prior) -> float | None:
    """Natural units of odds a rating point; None for another curve."""
    rate, shape = curve(params)
    return rate if shape.kind == LOGISTIC else None


def performance_law(params: Elo, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Of the shape and variance of the curve; normal for a line or a table, which no two equal laws have."""
    rate, shape = curve(params)
    if shape.kind == LOGISTIC:
        return curve_law(rate, prior)
    one = 0.5 / rate if shape.kind == NORMAL else deviation(shape) / math.sqrt(2.0)
    return PerformanceLaw("normal", prior.mu, np.full(len(prior.mu), one))  # two have the deviation of the curve


def prior(params: Elo, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: ratings do not change."""
    _read_rows(start, stop, round.player, store(beliefs), prior)


@dataclass(frozen=True, slots=True)
class Expectations:
    """Expected losses (``above``) and wins (``below``) of each participant against all others together."""

    by_row: ClassVar[tuple[str, ...]] = ("above", "below")
    first: Longs
    above: Floats
    below: Floats


def summarise(params: Elo, prior: Prior, round: Rounds, map: Map) -> Expectations:
    """Step 2: the curve summed over all opponents."""
    n, (rate, shape) = round.n_rows, curve(params)
    if shape.kind == IN_PIECES:
        above, ordered = np.empty(n), np.sort(prior.mu)
        map(lambda start, stop: sum_in_pieces(start, stop, prior.mu, ordered, shape, above), n)
        below = n - above
    elif shape.kind == NORMAL:
        (above,) = pair_sums(("normal",), prior.mu, np.full(n, 0.25 / rate**2), map)
        below = n - above
    else:
        above, below, _ = field_sums(prior.mu, np.full(n, rate), np.ones(n), map)
    return Expectations(group_starts(round.lo), above - 0.5, below - 0.5)  # without the term against oneself


def absorb(
    params: Elo, beliefs: Beliefs, round: Rounds, prior: Prior, summary: Expectations, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: K times the score beyond expectation."""
    surplus = np.empty(stop - start)
    _sum_surpluses(
        start, stop, 0, round.columns, summary.first[-1], summary.above[start:stop], summary.below[start:stop], surplus
    )
    _move_rows(start, stop, summary.first[-1], 0, round.columns, surplus, rule(params), store(beliefs), outcome)


def rate_small(params: Elo, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    _rate_small(rounds.columns, *curve(params), rule(params), margin_rule(params), store(beliefs), outcome)


def curve(params: Elo) -> tuple[float, Shape]:
    """Factor on a lead, and the shape of the curve."""
    if params.certain_lead is not None:
        return 1.0, straight(params.certain_lead)
    if params.cdf_table is not None:
        return 1.0, _shape_of(params.cdf_table)
    n = params.n or _DEFAULT_N
    return (1.0 / n, SHAPE_OF_NORMAL) if params.cdf == "normal" else (math.log(10.0) / n, SHAPE_OF_LOGISTIC)


_shape_of = lru_cache(4)(shape_of)  # of a large table: a millisecond


class EloRule(NamedTuple):
    """How a rating moves, for kernels.

    ``k``: K of all players; NaN: by tiers.
    ``scale``: whole multiples of 1 / ``scale`` are rounded to; 0: none.
    ``rounds_change``: whether changes are rounded, not ratings.
    ``mean``: whether a round moves a rating as far as one game.
    """

    k: float
    scale: float
    rounds_change: bool
    mean: bool


def rule(params: Elo) -> EloRule:
    """The rule of hyperparameters."""
    scale = 0.0 if params.round_digits is None else 10.0**params.round_digits
    given = math.nan if params.k is None else params.k
    k = given if params.k_wins is None else k_for(params.k_wins, params.n or _DEFAULT_N)
    return EloRule(k, scale, params.round_what == "change", params.pairs == "mean")


class EloStore(NamedTuple):
    """The columns of beliefs, for kernels."""

    mu: Floats
    k: Floats
    games: Floats
    peak: Floats
    n_rounds: Ints
    last_time: Longs


def store(beliefs: Beliefs) -> EloStore:
    """The columns of a store."""
    return EloStore(*map(beliefs.column, EloStore._fields))


@inner_exact
def expected_score(lead, rate, shape):
    """Expected score at a lead."""
    if shape.kind == IN_PIECES:
        return expected_in_pieces(lead, shape)
    x = lead * rate
    return 0.5 * math.erfc(-x) if shape.kind == NORMAL else 1.0 / (1.0 + exp(-x))


@inner_exact
def surplus_of(above, below, lost, games):
    """Score beyond expectation with ``lost`` of ``games`` points lost, computed from the smaller expectation.

    The smaller one keeps its digits, and the surpluses of two players are exactly opposite.
    """
    return above - lost if above <= below else (games - lost) - below


@inner_exact
def factor_of(row, rule, store):
    """K of a player's next game."""
    if not math.isnan(store.k[row]):
        return store.k[row]
    if not math.isnan(rule.k):
        return rule.k
    if store.games[row] < _GAMES:
        return _K_NEW
    return _K_MASTER if store.peak[row] >= _MASTER else _K_OTHERS


@inner_exact
def _rounded(x, scale):
    """``x`` to whole multiples of 1 / ``scale``, halves away from zero."""
    size = abs(x) * scale
    whole = np.floor(size)
    return math.copysign((whole + 1.0 if size >= whole + 0.5 else whole) / scale, x)


@inner_exact
def move(row, change, played, rule, store):
    """Add a change to a rating."""
    if rule.scale > 0.0 and rule.rounds_change:
        change = _rounded(change, rule.scale)
    moved = store.mu[row] + change
    if rule.scale > 0.0 and not rule.rounds_change:
        moved = _rounded(moved, rule.scale)
    store.mu[row] = moved
    store.peak[row] = max(store.peak[row], moved)
    store.games[row] += played
    store.n_rounds[row] += 1


@exact
def _read_rows(begin, end, player, store, prior):
    for i in range(begin, end):
        row = player[i]
        prior.mu[i], prior.sigma[i], prior.n_before[i] = store.mu[row], 0.0, store.n_rounds[row]


@inner_exact
def _points_lost(i, r, rounds):
    """Points of row ``i`` of round ``r`` that went to its opponents."""
    if len(rounds.score) > 0:
        return rounds.score[r] if rounds.lo[i] > 0 else 1.0 - rounds.score[r]
    return 0.5 * (rounds.lo[i] + rounds.hi[i])


@exact
def _sum_surpluses(begin, end, r, rounds, n, above, below, surplus):
    """Write scores beyond expectation of rows of round ``r`` of ``n``; arrays have an entry a row from ``begin`` on."""
    for i in range(begin, end):
        lost = _points_lost(i, r, rounds)
        surplus[i - begin] = surplus_of(above[i - begin], below[i - begin], lost, n - 1.0)


@inner_exact
def _sum_margins(begin, end, r, rounds, strength, rate, shape, margin, surplus):
    """Write the scores beyond expectation of all rows of round ``r``, where each pair counts as its margin says.

    ``strength`` and ``surplus`` have one entry a row from ``begin`` on. A pair adds opposite numbers to both.
    """
    n, lo = end - begin, rounds.lo
    for a in range(n):
        surplus[a] = 0.0
    for a in range(n):
        for b in range(a + 1, n):
            lead, drawn = strength[a] - strength[b], lo[begin + b] == lo[begin + a]
            won, lost = expected_score(lead, rate, shape), expected_score(-lead, rate, shape)
            counts = factor_of_rows(margin, rounds.points, begin + a, begin + b, drawn, lead)
            given = _points_lost(begin, r, rounds) if n == 2 else 0.5 if drawn else 0.0
            more = counts * surplus_of(lost, won, given, 1.0)
            surplus[a] += more
            surplus[b] -= more


@exact
def _move_rows(begin, end, n, r, rounds, surplus, rule, store, outcome):
    """Move the ratings of rows of round ``r``; ``surplus`` has one entry a row from ``begin`` on."""
    share = max(n - 1.0, 1.0) if rule.mean else 1.0
    played = min(n - 1.0, 1.0) if rule.mean else n - 1.0
    time_seconds, weight = rounds.time_seconds[r], rounds.weight[r]
    for i in range(begin, end):
        row = rounds.player[i]
        # division last: a product could be fused with the sum, here but not in a single game
        change = factor_of(row, rule, store) * weight * surplus[i - begin] / share
        move(row, change, played, rule, store)
        store.last_time[row] = max(store.last_time[row], time_seconds)
        outcome.mu[i], outcome.sigma[i] = store.mu[row], 0.0


@exact
def _rate_small(rounds, rate, shape, rule, margin, store, outcome):
    zero, advantage = np.int64(0), rounds.advantage
    above, below, slope, surplus = np.empty(SMALL), np.empty(SMALL), np.empty(SMALL), np.empty(SMALL)
    rates, ones, variances = np.full(SMALL, rate), np.ones(SMALL), np.full(SMALL, 0.25 / (rate * rate))
    rating, prior = np.empty(SMALL), prior_of(outcome, np.empty(0))
    for r in range(len(rounds.offsets) - 1):
        i, j = rounds.offsets[r], rounds.offsets[r + 1]
        n = j - i
        prefetch_next(i, j, rounds.player, store.mu, store.n_rounds)
        _read_rows(i, j, rounds.player, store, prior)
        field = prior.mu[i:j]
        if len(advantage) > 0:
            to_strengths(i, j, advantage, prior.mu, rating)
        if margin.kind > 0:
            _sum_margins(i, j, r, rounds, field, rate, shape, margin, surplus)
        elif n == 2:
            above[0] = expected_score(field[1] - field[0], rate, shape)
            below[0] = expected_score(field[0] - field[1], rate, shape)
            above[1], below[1] = below[0], above[0]
        else:
            if shape.kind == LOGISTIC:
                direct_sums(zero, n, field, field, rates[:n], ones[:n], above, below, slope)
            else:
                if shape.kind == NORMAL:
                    pair_sums_direct(NORMAL_TERM, zero, n, field, variances, ones, above)
                else:
                    sum_in_pieces(zero, n, field, np.sort(field), shape, above)
                for a in range(n):
                    below[a] = n - above[a]
            for a in range(n):
                above[a], below[a] = above[a] - 0.5, below[a] - 0.5
        if len(advantage) > 0:
            restore_ratings(i, j, rating, prior.mu)
        if margin.kind == 0:
            _sum_surpluses(i, j, r, rounds, n, above, below, surplus)
        _move_rows(i, j, n, r, rounds, surplus, rule, store, outcome)


SYSTEM = System(
    name="elo", performs=False, params=Elo, state=state,
    prior=prior, summarise=summarise, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_ratings, counts=("games",),
    win_probability=win_probability, logistic_rate=logistic_rate, performance_law=performance_law, advantages=True,
    margins="pairs", fractional=True, ignores=("perf_ceiling", "precision"), attributes=(("k", "k", K_LIMITS),),
)  # fmt: skip
