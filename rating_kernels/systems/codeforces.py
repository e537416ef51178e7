"""Codeforces' rating, as in the text of its author or as in his program.

Source: Mirzayanov, "Open Codeforces Rating System" (codeforces.com/blog/entry/20762, October 2015), and the program it
links to. A player's needed rating is the one at which the geometric mean of the expected and the actual place would be
expected (:mod:`.needed_rating`). The change is half of the way there, less a correction that keeps the sum of all
ratings and the ratings of the strongest from growing. The performance is the needed rating. There is no uncertainty;
weights and ceilings of rounds have no effect. All ratings in rating points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..core.beliefs import Beliefs, Map
from ..core.jit import exact, inner_exact
from ..core.limits import POINTS, choice, finite, switch
from ..core.standings import Floats, Ints, Longs, Rounds
from ..core.system import ConvergenceError, Outcome, Prior, Reset, System, check_limits
from ..inference.needed_rating import (
    HIGHEST_NEED,
    TIE_SHARE,
    Changes,
    Convention,
    absorb,
    begin_small,
    end_small,
    needed_ratings,
    perform,
)
from ..inference.needed_rating import prior as read_prior
from ..inference.performance import group_starts, without_table
from ..inference.resets.ratings import reset_ratings, rounded
from ..inference.win_probability import one_curve
from ..metrics.invariants import invariant_violations

SMALL = 160  # participants up to which sums term by term are faster than a table
RATE = math.log(10.0) / 400.0  # 400 points are odds of 10 to 1

_BASE = 1.0  # of the conventions of :mod:`.needed_rating`
_RULES = {"none": 0, "oct2015": 1, "r327": 2}
_SHOWN = np.cumsum([0.0, 500.0, 350.0, 250.0, 150.0, 100.0, 50.0])  # of 1400 after so many rounds, entry 77890


@dataclass(frozen=True, slots=True)
class Codeforces:
    """Hyperparameters of Codeforces' rating.

    Attributes
    ----------
    rule : str
        Correction against inflation: "oct2015", "r327" (in use since round 327) or "none".
    arithmetic : str
        "integer": whole numbers, divisions toward zero, and needed ratings from 1 to 7999, as in the site's official
        ratings. "real": no rounding.
    tie_rank : str
        The place of a tie group: its last ("max", the site's), its first ("min") or their mean ("avg").
    need_excludes_self : bool
        Whether the needed rating is computed against the other participants only (the text and the site), or also
        against the player's own prior rating (the program).
    initial : float or None
        Rating of a newcomer; by default 1500, or 1400 with ``display_2020``.
    display_2020 : bool
        Display a reduced rating for newcomers until their sixth round, as the site does since May 2020.
    lone_player : str
        Rule for a single participant: "unchanged", or "literal", which subtracts a point.
    """

    rule: str = field(default="r327", metadata=choice("none", "oct2015", "r327"))
    arithmetic: str = field(default="integer", metadata=choice("integer", "real"))
    tie_rank: str = field(default="max", metadata=choice("max", "min", "avg"))
    need_excludes_self: bool = field(default=True, metadata=switch())
    initial: float | None = field(default=None, metadata=finite(POINTS))
    display_2020: bool = field(default=False, metadata=switch())
    lone_player: str = field(default="unchanged", metadata=choice("unchanged", "literal"))

    sigma_init: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_limits(self)
        if self.whole and not self.mu_init.is_integer():
            raise ValueError(
                f"initial must be a whole number with arithmetic 'integer', got {self.initial}; choose 'real'"
            )

    @property
    def mu_init(self) -> float:
        """Rating of a newcomer."""
        return (1400.0 if self.display_2020 else 1500.0) if self.initial is None else self.initial

    @property
    def whole(self) -> bool:
        """Whether ratings are whole numbers."""
        return self.arithmetic == "integer"

    @property
    def convention(self) -> Convention:
        """See :class:`.needed_rating.Convention`."""
        own = 0.0 if self.need_excludes_self else 1.0
        return Convention(TIE_SHARE[self.tie_rank], RATE, _BASE, own, self.whole)


def offset(params: Codeforces, mu: Floats, n_rounds: Ints) -> Floats:
    """Addend of the displayed rating: with ``display_2020`` -1400 at first, 0 from the sixth round on."""
    missing: Floats = (_SHOWN - _SHOWN[-1])[np.minimum(n_rounds, len(_SHOWN) - 1)]
    return missing if params.display_2020 else np.zeros_like(missing)


win_probability, performance_law = one_curve(RATE)  # the curve of the text: 400 points are odds of 10 to 1


def prior(params: Codeforces, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: beliefs do not change."""
    _check_whole(params, beliefs, round.player[start:stop])
    read_prior(params, beliefs, round, start, stop, prior)


def summarise(params: Codeforces, prior: Prior, round: Rounds, map: Map) -> Changes:
    """Steps 2 and 3: the sum over all opponents, one root a player, and the inflation step."""
    seed, need = needed_ratings(prior.mu, round.lo, round.hi, params.convention, map)
    mu = np.empty_like(need)
    _new_ratings(prior.mu, _RULES[params.rule], params.whole, params.lone_player == "literal", need, mu)
    return Changes(group_starts(round.lo), seed, need, mu)


def rate_small(params: Codeforces, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    _check_whole(params, beliefs, rounds.player)
    failed = _rate_small(
        rounds.columns, params.convention, _RULES[params.rule], params.lone_player == "literal", beliefs.store, outcome
    )
    if failed >= 0:
        raise ConvergenceError("no performance found")


def _check_whole(params: Codeforces, beliefs: Beliefs, player: Ints) -> None:
    if params.whole:
        mu = beliefs.mu[player]
        wrong = np.flatnonzero(mu != np.floor(mu))
        if len(wrong):
            raise ValueError(
                f"player {player[wrong[0]]} comes with rating {mu[wrong[0]]}; arithmetic 'integer' needs whole "
                "numbers: round the beliefs, or choose arithmetic 'real'"
            )


@inner_exact
def _divide(a, b, whole):
    """``a / b``; whole numbers are divided toward zero. Exact: rounding changes a quotient by less than 1 / b."""
    return np.trunc(a / b) if whole else a / b


@inner_exact
def _at_place(values, place):
    """The number that would be at ``place`` if the finite ``values`` were sorted: Hoare's quickselect.

    ``np.partition`` gives the same result but takes eight seconds to compile.
    """
    left = values.copy()
    first, last = 0, len(left) - 1
    while first < last:
        pivot = left[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while left[i] < pivot:
                i += 1
            while left[j] > pivot:
                j -= 1
            if i <= j:
                left[i], left[j] = left[j], left[i]
                i += 1
                j -= 1
        if place <= j:
            last = j
        elif place >= i:
            first = i
        else:
            break
    return left[place]


@exact
def _new_ratings(mu, rule, whole, literal, need, after):
    """Write the new ratings, and the needed rating of a single participant if the rule is literal."""
    n = len(mu)
    if n == 1 and not literal:
        after[0] = mu[0]
        return
    if n == 1 and whole:
        need[0] = HIGHEST_NEED  # the upper end of the program's search
    change = np.empty(n)
    total = 0.0
    for i in range(n):
        change[i] = _divide(need[i] - mu[i], 2.0, whole)
        total += change[i]
    size = min(n, 4 * math.floor(math.sqrt(n) + 0.5))
    least = _at_place(mu, n - size)
    equals = size
    for i in range(n):
        equals -= mu[i] > least
    top = 0.0
    for i in range(n):  # among equals at the edge, the first in the standings
        if mu[i] > least or (mu[i] == least and equals > 0):
            top += change[i]
            equals -= mu[i] == least
    shift = 0.0
    if rule == 1:
        shift = _divide(-top, float(size), whole)
    elif rule == 2:
        shift = _divide(-total, float(n), whole) - 1.0
        shift += min(max(_divide(-(top + size * shift), float(size), whole), -10.0), 0.0)
    for i in range(n):
        after[i] = mu[i] + (change[i] + shift)


@exact
def _rate_small(rounds, convention, rule, literal, store, outcome):
    """Rate all rounds; returns -1, or the round that has no root."""
    seed, empty = np.empty(SMALL), without_table(0.0, 0.0, 0.0, 1.0)
    for r in range(len(rounds.offsets) - 1):
        i, j = rounds.offsets[r], rounds.offsets[r + 1]
        if begin_small(i, j, rounds, convention, empty, store, outcome, seed) >= 0:
            return r
        _new_ratings(outcome.mu_prior[i:j], rule, convention.whole, literal, outcome.perf[i:j], outcome.mu[i:j])
        end_small(i, j, rounds.player, rounds.time_seconds[r], store, outcome)
    return -1


def reset_rows(params: Codeforces, beliefs: Beliefs, rows: Longs, reset: Reset) -> None:
    """Move the ratings; whole ones stay whole, halves away from zero."""
    reset_ratings(params, beliefs, rows, reset)
    if params.whole:
        beliefs.mu[rows] = rounded(beliefs.mu[rows])


SYSTEM = System(
    name="codeforces", params=Codeforces,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_rows,
    summary_ratings=("mu",), is_whole=lambda params: params.whole,
    win_probability=win_probability, logistic_rate=lambda *given: RATE, performance_law=performance_law,
    deviations=0.0, offset=offset, invariants=invariant_violations,
    ignores=("weight", "perf_ceiling", "precision"),
)  # fmt: skip
