"""What a rating system is: a parameter class and pure functions for the four steps of a round.

    prior        each participant's belief diffuses                     player by player
    summarise    what everybody must know about the field               once a round
    perform      the level each tie group showed against that field     rank by rank
    absorb       the performance joins the player's own belief          player by player

Three of them work on ranges, so that a round can be shared among hands; ``summarise`` shares itself. ``rate_small``
does all four for many small rounds in one call: a round of up to ``small`` participants always goes this way and a
larger one never, so that its bits do not depend on its company.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from .beliefs import Beliefs, Map
from .limits import Limits, limits_of
from .standings import Floats, Ints, Longs, Rounds

__all__ = [
    "ConvergenceError",
    "Map",
    "Outcome",
    "Prior",
    "Summary",
    "System",
    "check_limits",
    "check_value",
    "convert_floats",
    "select_rows",
]


class ConvergenceError(ArithmeticError):
    """A root was not found to its tolerance, or a result is no number: the input is beyond double precision.

    Attributes
    ----------
    rule : str
        What went wrong, in words.
    row : int or None
        The participant of the round, from 0 in standings order, where one is known.
    """

    def __init__(self, rule: str, row: int | None = None) -> None:
        # the base class holds what pickle hands back to the constructor in another process
        super().__init__(rule, row)
        self.rule, self.row = rule, row

    def __str__(self) -> str:
        return self.rule


@dataclass(frozen=True, slots=True)
class Prior:
    """What participants bring to a round, after diffusion, in standings order.

    Attributes
    ----------
    mu, sigma, beta : float64[n]
        Belief, and standard deviation of this round's performance around skill (where the system knows one); rating
        points.
    n_before : int32[n]
        Rounds the player has been rated in before.
    """

    mu: Floats
    sigma: Floats
    beta: Floats
    n_before: Ints


class Summary(Protocol):
    """What all systems' summaries have in common.

    Attributes
    ----------
    by_row : tuple of str
        The fields that ``absorb`` reads row by row.
    first : int64[groups + 1]
        First row of each tie group, and the number of rows.
    """

    by_row: ClassVar[tuple[str, ...]]

    @property
    def first(self) -> Longs: ...


S = TypeVar("S", bound=Summary)


def select_rows(summary: S, rows: npt.NDArray[np.integer]) -> S:
    """The summary as ``absorb`` wants it for some participants alone, in standings order."""
    return dataclasses.replace(summary, **{name: getattr(summary, name)[rows] for name in summary.by_row})  # type: ignore[type-var]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What rounds did to their participants: one entry a participation, in the order of the rounds' rows.

    Attributes
    ----------
    perf, mu_prior, sigma_prior, mu, sigma : float64[n]
        Performance (NaN where the system has none), belief before and after; rating points.
    n_before : int32[n]
        Rounds the player had been rated in before.
    """

    perf: Floats
    mu_prior: Floats
    sigma_prior: Floats
    mu: Floats
    sigma: Floats
    n_before: Ints

    @property
    def prior(self) -> Prior:
        """The part that the first step writes, as views."""
        return Prior(self.mu_prior, self.sigma_prior, np.empty(len(self.mu)), self.n_before)

    @classmethod
    def empty(cls, n: int) -> Outcome:
        def nothing() -> Floats:
            return np.full(n, np.nan)

        return cls(nothing(), nothing(), nothing(), nothing(), nothing(), np.zeros(n, dtype=np.int32))

    def part(self, start: int, stop: int) -> Outcome:
        """Rows ``start`` to ``stop - 1``, as views."""
        s = slice(start, stop)
        return Outcome(self.perf[s], self.mu_prior[s], self.sigma_prior[s], self.mu[s], self.sigma[s], self.n_before[s])


@dataclass(frozen=True, slots=True)
class System:
    """A rating system by name.

    Attributes
    ----------
    params : type
        Frozen dataclass of hyperparameters, validated when built.
    state : (params, mu, sigma) -> dict
        The state columns of beliefs of which only ``mu`` and ``sigma`` are known.
    sigma_limit : (params) -> float
        What sigma tends to after many rounds, rating points: the zero of the conservative display rating's penalty.
    prior : (params, beliefs, round, start, stop, prior) -> None
        Diffuses the rows of the store in place that belong to participants ``start`` to ``stop - 1``; writes ``prior``.
    summarise : (params, prior, round, map) -> Summary
        Whatever each player must know about all others.
    perform : (params, summary, start, stop, perf) -> None
        Writes the performances of tie groups ``start`` to ``stop - 1``.
    absorb : (params, beliefs, round, prior, summary, start, stop, outcome) -> None
        Updates the rows of participants ``start`` to ``stop - 1`` in place; writes ``mu`` and ``sigma``. All it is
        given may be of some participants alone (:func:`select_rows`).
    rate_small : (params, beliefs, rounds, outcome) -> None
        All of the above for many rounds of at most ``small`` participants.
    win_probability : (params, weight, one, other) -> float64[...]
        Probability that ``one`` finishes before ``other`` in a round of this weight, a tie counting half, by the
        system's own model. Priors whose arrays broadcast; their ``beta`` is not read.
    performs : bool
        Whether rounds show performances, all of them finite; otherwise every ``perf`` is NaN.
    history : tuple of str
        What beliefs remember of every single round, one number each; empty if nothing.
    deviations : float
        How many sigmas the conservative display rating takes off, by default.
    offset : (params, n_rounds) -> float64[n], or None
        What the display rating adds for the number of rounds played.
    invariants : (rounds, outcome) -> dict of str to int, or None
        Number of violations of each invariant of the system; reported, never raised.
    skips_all_tied : bool
        Whether the authors' own program passes over a contest of three or more in which all tie; the functions here
        rate it. Two players who tie are a result for every system.
    compile_last_steps : (params, beliefs) -> None, or None
        Calls ``absorb`` and then ``perform`` for no participant. While one process compiles ``rate_small``, which needs
        the steps from the first on, another one can begin with the last.
    """

    name: str
    params: type[Any]
    state: Callable[[Any, Floats, Floats], dict[str, Floats]]
    sigma_limit: Callable[[Any], float]
    prior: Callable[[Any, Beliefs, Rounds, int, int, Prior], None]
    summarise: Callable[[Any, Prior, Rounds, Map], Summary]
    perform: Callable[[Any, Any, int, int, Floats], None]
    absorb: Callable[[Any, Beliefs, Rounds, Prior, Any, int, int, Outcome], None]
    rate_small: Callable[[Any, Beliefs, Rounds, Outcome], None]
    small: int
    win_probability: Callable[[Any, Any, Prior, Prior], Floats]
    performs: bool = True
    history: tuple[str, ...] = ()
    deviations: float = 3.0
    offset: Callable[[Any, Ints], Floats] | None = None
    invariants: Callable[[Rounds, Outcome], dict[str, int]] | None = None
    skips_all_tied: bool = False
    compile_last_steps: Callable[[Any, Beliefs], None] | None = None

    def violations(self, rounds: Rounds, outcome: Outcome) -> dict[str, int]:
        """Number of violations of each invariant; empty if the system declares none."""
        return {} if self.invariants is None else self.invariants(rounds, outcome)

    def newcomers(self, params: Any, n_players: int) -> Beliefs:
        """A store in which nobody has been rated: everybody at ``mu_init`` and ``sigma_init``."""
        mu, sigma = float(params.mu_init), float(params.sigma_init)
        state = self.state(params, np.array([mu]), np.array([sigma]))
        fresh = {name: float(column[0]) for name, column in state.items()}
        return Beliefs(n_players, {"mu": mu, "sigma": sigma, **fresh}, self.history)


def check_limits(params: Any) -> None:
    """Raise ``ValueError`` unless every hyperparameter lies within the limits of its field; None lies within any.

    Whole numbers become floats where a float is declared (:func:`convert_floats`).
    """
    convert_floats(params)
    for field in dataclasses.fields(params):
        limits, value = limits_of(field), getattr(params, field.name)
        if isinstance(value, tuple):
            for i, one in enumerate(value):
                check_value(f"{field.name}[{i}]", one, limits)
        elif value is not None:
            check_value(field.name, value, limits)


def check_value(name: str, value: Any, limits: Limits) -> None:
    """Raise ``ValueError`` unless the limits hold a value; the message says its name, the range and the value."""
    if limits.kind == "choice":
        good = value in limits.choices
    elif limits.kind == "switch":
        good = value in (True, False)
    else:
        number: Any = value if isinstance(value, Real) else math.nan
        good = limits.contains(number) and (limits.kind == "number" or number == int(number))
    if not good:
        huge = isinstance(value, int) and abs(value) > 10**18
        shown = "a number of more than 18 digits" if huge else repr(value)
        raise ValueError(f"{name} must be {limits.rule}, got {shown}")


def convert_floats(params: Any) -> None:
    """Make floats of whole numbers in a frozen dataclass: kernels would be compiled again for integers."""
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        if field.type in ("float", "float | None") and isinstance(value, int | np.number):
            with suppress(OverflowError):  # no float is so large, and no limit allows it
                object.__setattr__(params, field.name, float(value))
