"""EloSRM: an Elo system for rounds of many participants, designed for TopCoder's single round matches.

Source: "An Elo-based rating system for TopCoder SRM", text, appendix and Table 5. For a player at place ``r`` (average
of tied places) of a division, with ``w_j`` the logistic probability that ``j`` finishes before the player,

    rhat = 1 + sum_{j not tied} w_j + (number tied with) / 2          the expected place (``ties`` "half")
    P    = log2(rhat / r)                                             the surprise, in doublings of the place
    P'   = (1 + sum_j w_j (1 - w_j)) / (1 + sum_j w_j)                how fast rhat changes with the rating
    dR   = K Q / (Wt (1 + C P')),   Q = Pb / (1 + |Pb| / M),   Pb = P + B P' / K0

where ``Wt`` is the number of rounds including this one to the power ``alpha``, a root by default. Divisions of one
event are separate rounds; the initial rating grows by N / 100 an event. The sums of ``w_j`` and of ``w_j (1 - w_j)``
are the field's table and its slope (:mod:`.field`). The sum over a tie group, which is subtracted in ``rhat``, is that
of a small field.

Section 2.3 names other accounts of ties. With ``ties`` "expected" and "mid" the expected place does not know who tied,
``rhat = 1 + sum_j w_j``, and each player tied with counts in ``r`` as in ``rhat``, ``w_j``, or half. All ratings in
rating points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.beliefs import Beliefs, Map, serial_map
from ..core.jit import exact
from ..core.limits import POINTS, choice, finite, in_place_of, later, non_negative, positive, switch, within
from ..core.parts import prior_of
from ..core.standings import Floats, Longs, Rounds
from ..core.system import Outcome, Prior, System, check_limits
from ..fields.blocks import BLOCK
from ..fields.direct import direct_sums
from ..fields.field_sums import field_sums
from ..fields.tie_field import sum_ties, tied_sums
from ..inference.performance import group_starts
from ..inference.resets.ratings import reset_ratings
from ..inference.win_probability import one_curve

SMALL = 256  # participants up to which one thread is faster

K0 = 400.0 * math.log10(2.0)
_RATE = math.log(10.0) / 400.0  # of the logistic curve, per rating point

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "initial": {"k": K0, "c": 0.0, "m": math.inf, "b": 0.0, "n_inflation": 0.0, "alpha": 0.0},
        "K": {"k": 65.0, "c": 0.0, "m": math.inf, "b": 0.0, "n_inflation": 0.0, "alpha": 0.0},
        "W": {"k": 182.0, "c": 0.0, "m": math.inf, "b": 0.0, "n_inflation": 0.0, "alpha": 0.5},
        "C": {"k": 415.0, "c": 4.0, "m": math.inf, "b": 0.0, "n_inflation": 0.0, "alpha": 0.5},
        "Elo": {"k": 600.0, "c": 4.0, "m": 6.75, "b": 0.0, "n_inflation": 0.0, "alpha": 0.5},
        "B": {"k": 600.0, "c": 4.0, "m": 6.75, "b": 6.0, "n_inflation": 0.0, "alpha": 0.5},
        "Elo2": {"k": 600.0, "c": 4.0, "m": 6.75, "b": 27.0, "n_inflation": 63.0, "alpha": 0.5},
    }
)
"""The rows of Table 5: each adds a refinement, with K tuned for it."""

_ROOT = 0.5  # alpha of the document's weight
_WEIGHTS = {True: _ROOT, False: 0.0}  # alpha by use_weight
_TIES = ("half", "expected", "mid")
_HALF, _EXPECTED = 0, 1
_FINAL = "Elo2"
_PLAIN: Mapping[str, Any] = PRESETS["W"]  # without refinements; its K is never used


@dataclass(frozen=True, slots=True)
class EloSRM:
    """Hyperparameters of EloSRM.

    Defaults come from a row of Table 5: from ``preset``, or from the final row, Elo2, if no preset is given. K is tuned
    for the refinements of its row. Therefore, if ``k`` is given without a preset, the defaults are a row without
    refinements: ``c``, ``b`` and ``n_inflation`` 0, ``m`` infinite, ``alpha`` 1/2. After construction every attribute
    except ``preset`` and ``use_weight`` has a value. The weight of a contest has no effect.

    Attributes
    ----------
    preset : str or None
        "initial", "K", "W", "C", "Elo", "B" or "Elo2".
    k : float
        Rating points for a doubling of the place, >= 0.
    c : float
        Damping of changes for players with many near rivals, >= 0.
    m : float
        Bound of the surprise, > 0; infinite for none.
    b : float
        Bonus for participation, rating points times K / K0; a malus below 0.
    n_inflation : float
        Growth of the initial rating, hundredths of a point an event.
    use_weight : bool or None
        Another way to give ``alpha``: true for 1/2, false for 0.
    mu_init : float
        Rating of a newcomer in the first event.
    alpha : float
        Changes are divided by this power of the number of rounds played: 0 for equal changes, 1/2 for the root.
    ties : str
        How players tied with count: "half" in the place and in the expected place; "expected", by their chances in
        both; "mid", half in the place, by their chances in the expected place.
    """

    preset: str | None = field(default=None, metadata=choice("initial", "K", "W", "C", "Elo", "B", "Elo2"))
    k: float | None = field(default=None, metadata=non_negative(POINTS))
    c: float | None = field(default=None, metadata=non_negative())
    m: float | None = field(default=None, metadata=positive(infinite=True))
    b: float | None = field(default=None, metadata=finite(POINTS))
    n_inflation: float | None = field(default=None, metadata=finite("hundredths of a rating point an event"))
    use_weight: bool | None = field(default=None, metadata=switch())
    mu_init: float = field(default=1200.0, metadata=finite(POINTS))
    alpha: float | None = field(default=None, metadata=in_place_of("use_weight", _WEIGHTS, within(0.0, 2.0)))
    ties: str = field(default="half", metadata=later(choice(*_TIES)))
    sigma_init: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_limits(self)
        if self.use_weight is not None:
            alpha = _WEIGHTS[self.use_weight]
            if self.alpha is not None:
                raise ValueError(
                    f"use_weight = {str(self.use_weight).lower()} is alpha = {alpha:g}: give one of them, "
                    f"got alpha = {self.alpha:g} too"
                )
            object.__setattr__(self, "alpha", alpha)
            object.__setattr__(self, "use_weight", None)
        if self.preset is None and self.k is None:
            object.__setattr__(self, "preset", _FINAL)
        for name, value in (_PLAIN if self.preset is None else PRESETS[self.preset]).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)


def newcomer(params: EloSRM, event: int) -> float:
    """Rating of a newcomer after so many events."""
    return params.mu_init + float(params.n_inflation or 0.0) / 100.0 * event


win_probability, performance_law = one_curve(_RATE)  # w_j of the document: 400 points are odds of 10 to 1


def prior(params: EloSRM, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: players without a round and at ``mu_init`` are newcomers of this event."""
    fresh = newcomer(params, int(round.event[0]))
    _read_rows(start, stop, round.player, params.mu_init, fresh, beliefs.store, prior)


@dataclass(frozen=True, slots=True)
class Surprises:
    """Columns of the document's tables for one division, one entry a participant."""

    by_row: ClassVar[tuple[str, ...]] = ("p", "p_prime")
    first: Longs
    expected_rank: Floats
    actual_rank: Floats
    p: Floats
    p_prime: Floats


def summarise(params: EloSRM, prior: Prior, round: Rounds, map: Map) -> Surprises:
    """Steps 2 and 3: sums over the field and over each tie group, and the surprise of each participant."""
    n, mu, first = round.n_rows, prior.mu, group_starts(round.lo)
    rate, ones = np.full(n, _RATE), np.ones(n)
    map = map if n > BLOCK else serial_map  # one thread is faster for small rounds
    above, _, slope = field_sums(mu, rate, ones, map)
    tied = tied_sums(mu, rate, ones, first, map)
    surprises = Surprises(first, np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    ties = _TIES.index(params.ties)

    def surprise(start: int, stop: int) -> None:
        _surprise_rows(
            start, stop, n, ties, round.lo, round.hi, above, slope, tied,
            surprises.expected_rank, surprises.actual_rank, surprises.p, surprises.p_prime,
        )  # fmt: skip

    map(surprise, n)
    return surprises


def absorb(
    params: EloSRM, beliefs: Beliefs, round: Rounds, prior: Prior, summary: Surprises, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: change ratings by the bounded surprise."""
    _move_rows(
        start, stop, round.player, round.time_seconds[0], _rule(params), prior, summary.p[start:stop],
        summary.p_prime[start:stop], beliefs.store, outcome,
    )  # fmt: skip


def rate_small(params: EloSRM, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    fresh = np.array([newcomer(params, event) for event in rounds.event.tolist()])
    ties = _TIES.index(params.ties)
    _rate_small(rounds.columns, params.mu_init, fresh, ties, _rule(params), beliefs.store, outcome)


class SRMRule(NamedTuple):
    """Hyperparameters of a change, for kernels; as in :class:`EloSRM`."""

    k: float
    c: float
    m: float
    b: float
    alpha: float


def _rule(params: EloSRM) -> SRMRule:
    return SRMRule(*(getattr(params, name) for name in SRMRule._fields))


@exact
def _read_rows(begin, end, player, mu_init, fresh, store, prior):
    for i in range(begin, end):
        row = player[i]
        if store.n_rounds[row] == 0 and store.mu[row] == mu_init:
            store.mu[row] = fresh
        prior.mu[i], prior.sigma[i], prior.n_before[i] = store.mu[row], 0.0, store.n_rounds[row]


@exact
def _surprise_rows(start, stop, n, ties, lo, hi, above, slope, tied, expected_rank, actual_rank, p, p_prime):
    for i in range(start, stop):
        half, all_tie = 0.5 * (hi[i] - lo[i]), hi[i] - lo[i] == n - 1
        apart = above[i] - tied[i] if not all_tie else 0.0  # exactly 0 if all tie
        within = tied[i] - 0.5  # without the player's own term
        expected_rank[i] = 1.0 + apart + (half if ties == _HALF else within)
        actual_rank[i] = 1.0 + lo[i] + (within if ties == _EXPECTED else half)
        p[i] = math.log2(expected_rank[i] / actual_rank[i])
        # without the player's own terms, w = 1/2 and w (1 - w) = 1/4
        p_prime[i] = (0.75 - slope[i] / _RATE) / (0.5 + above[i])


@exact
def _move_rows(begin, end, player, time_seconds, rule, prior, p, p_prime, store, outcome):
    """``p`` and ``p_prime`` have one entry a row from ``begin`` on."""
    for i in range(begin, end):
        row, slope = player[i], p_prime[i - begin]
        raised = p[i - begin] + rule.b / K0 * slope
        bounded = raised / (1.0 + abs(raised) / rule.m)
        played = store.n_rounds[row] + 1.0
        experience = math.sqrt(played) if rule.alpha == _ROOT else played**rule.alpha
        store.mu[row] = prior.mu[i] + rule.k * bounded / (experience * (1.0 + rule.c * slope))
        store.n_rounds[row] += 1
        store.last_time[row] = max(store.last_time[row], time_seconds)
        outcome.mu[i], outcome.sigma[i] = store.mu[row], 0.0


@exact
def _rate_small(rounds, mu_init, fresh, ties, rule, store, outcome):
    zero, prior = np.int64(0), prior_of(outcome, np.empty(0))
    above, below, slope, tied = np.empty(SMALL), np.empty(SMALL), np.empty(SMALL), np.empty(SMALL)
    rate, weight, scratch = np.full(SMALL, _RATE), np.ones(SMALL), np.empty(SMALL)
    expected_rank, actual_rank, p, p_prime = np.empty(SMALL), np.empty(SMALL), np.empty(SMALL), np.empty(SMALL)
    for r in range(len(rounds.offsets) - 1):
        i, j = rounds.offsets[r], rounds.offsets[r + 1]
        n, lo, field = j - i, rounds.lo[i:j], prior.mu[i:j]
        _read_rows(i, j, rounds.player, mu_init, fresh[r], store, prior)
        direct_sums(zero, n, field, field, rate[:n], weight[:n], above, below, slope)
        first = group_starts(lo)
        for g in range(len(first) - 1):
            sum_ties(first[g], first[g + 1], field, rate, weight, tied, below, scratch)
        _surprise_rows(zero, n, n, ties, lo, rounds.hi[i:j], above, slope, tied, expected_rank, actual_rank, p, p_prime)
        _move_rows(i, j, rounds.player, rounds.time_seconds[r], rule, prior, p, p_prime, store, outcome)


SYSTEM = System(
    name="elo-srm", performs=False, params=EloSRM,
    prior=prior, summarise=summarise, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_ratings,
    win_probability=win_probability, logistic_rate=lambda *given: _RATE, performance_law=performance_law,
    ignores=("weight", "perf_ceiling", "precision"),
)  # fmt: skip
