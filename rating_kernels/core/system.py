"""Interface of a rating system: a parameter class and pure functions for the four steps of a round.

    prior        diffuse each participant's belief                          player by player
    summarise    compute the statistics of the whole field                  once a round
    perform      compute the performance of each tie group                  rank by rank
    absorb       update each player's belief with the performance           player by player

Three of them work on ranges, so that a round can be divided among workers; ``summarise`` divides its work with a map.
``rate_small`` does all four for many small rounds in one call. A round of up to ``small`` participants is always rated
by ``rate_small`` and a larger one never, so that the bits of a result do not depend on the batch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from .beliefs import Beliefs, Map
from .learning import Learning
from .limits import POINTS, Limits, finite, limits_of, non_negative, within
from .ragged import Ragged
from .standings import Conditions, Floats, Ints, Longs, Rounds


class ConvergenceError(ArithmeticError):
    """A root was not found to its tolerance, or a result is not finite: the input exceeds double precision.

    Attributes
    ----------
    rule : str
        Description of the failure.
    row : int or None
        Row of the participant, from 0 in standings order, if known.
    """

    def __init__(self, rule: str, row: int | None = None) -> None:
        # pickle passes the arguments of the base class to the constructor in another process
        super().__init__(rule, row)
        self.rule, self.row = rule, row

    def __str__(self) -> str:
        return self.rule


class Prior(NamedTuple):
    """The participants' beliefs before a round, after diffusion, in standings order.

    Attributes
    ----------
    mu, sigma, beta : float64[n]
        Belief, and standard deviation of this round's performance around skill; rating points. A system without the
        last one may write another number of each participant that its ``summarise`` needs.
    n_before : int32[n]
        Number of rounds of the player before.
    """

    mu: Floats
    sigma: Floats
    beta: Floats
    n_before: Ints


@dataclass(frozen=True, slots=True)
class PerformanceLaw:
    """The distributions of performances in a round, as a system's model has them before it.

    ``shape``: the same for all.
    ``mean``, ``deviation`` (float64[n]): rating points: the prior ``mu``, unless the noise is skewed; uncertainty of
    the skill and noise together.
    """

    shape: Literal["logistic", "normal"]
    mean: Floats
    deviation: Floats

    def take(self, rows: npt.NDArray[np.integer]) -> PerformanceLaw:
        """The laws of some rows."""
        return PerformanceLaw(self.shape, self.mean[rows], self.deviation[rows])


class TeamLaws(NamedTuple):
    """The law of each team before a round.

    ``weight`` (float64[members]): weight of each member; all add up to 1, or to the number of members where skills are
    added up.
    ``mu``, ``sigma``, ``beta`` (float64[teams]): mean and deviation of the team's skill; deviation of its performance
    around it.
    """

    weight: Floats
    mu: Floats
    sigma: Floats
    beta: Floats


class Summary(Protocol):
    """Common interface of all systems' summaries.

    ``by_row``: the fields that ``absorb`` reads row by row.
    ``first`` (int64[groups + 1]): first row of each tie group, and the number of rows.
    """

    by_row: ClassVar[tuple[str, ...]]

    @property
    def first(self) -> Longs: ...


S = TypeVar("S", bound=Summary)


def select_rows(summary: S, rows: npt.NDArray[np.integer]) -> S:
    """The summary for some participants only, in standings order, as ``absorb`` takes it."""
    return dataclasses.replace(summary, **{name: getattr(summary, name)[rows] for name in summary.by_row})  # type: ignore[type-var]


class Outcome(NamedTuple):
    """Results of rounds: one entry a participation, in the order of the rounds' rows.

    Attributes
    ----------
    perf, mu_prior, sigma_prior, mu, sigma : float64[n]
        Performance (NaN if the system has none), belief before and after; rating points.
    n_before : int32[n]
        Number of rounds of the player before.
    """

    perf: Floats
    mu_prior: Floats
    sigma_prior: Floats
    mu: Floats
    sigma: Floats
    n_before: Ints

    @property
    def prior(self) -> Prior:
        """The columns that the first step writes, as views."""
        return Prior(self.mu_prior, self.sigma_prior, np.empty(len(self.mu)), self.n_before)

    @classmethod
    def empty(cls, n: int) -> Outcome:
        def nothing() -> Floats:
            return np.full(n, np.nan)

        return cls(nothing(), nothing(), nothing(), nothing(), nothing(), np.zeros(n, dtype=np.int32))

    def select(self, rows: npt.NDArray[np.bool_]) -> Outcome:
        """The rows of a mask, as copies."""
        return Outcome._make(column[rows] for column in self)

    def part(self, start: int, stop: int) -> Outcome:
        """Rows ``start`` to ``stop - 1``, as views."""
        return Outcome._make(column[start:stop] for column in self)


@dataclass(frozen=True, slots=True)
class Reset:
    """A soft reset: ratings move towards a centre, and uncertainty grows.

        mu' = centre + keep (mu - centre)
        sigma'^2 = min(max(sigma_init^2, sigma^2), sigma^2 + widen^2)

    Attributes
    ----------
    centre : float
        Rating points.
    keep : float
        Share of the distance from the centre that is left, 0 to 1.
    widen : float
        Deviation of what skills may have changed by, rating points >= 0.
    forget : bool
        Whether a belief becomes normal, without separate past performances; so it does with ``keep`` 0.
    restart_counts : bool
        Whether the games that the system's own rule counts are counted from now on. The rounds of a player are not.
    """

    centre: float = dataclasses.field(metadata=finite(POINTS))
    keep: float = dataclasses.field(default=1.0, metadata=within(0.0, 1.0))
    widen: float = dataclasses.field(default=0.0, metadata=non_negative(POINTS))
    forget: bool = False
    restart_counts: bool = False

    def __post_init__(self) -> None:
        convert_floats(self)
        for name, limits in self.ranges().items():
            check_value(name, getattr(self, name), limits)

    @classmethod
    def ranges(cls) -> dict[str, Limits]:
        """The permitted values of each number."""
        return {field.name: limits_of(field) for field in dataclasses.fields(cls) if field.metadata}

    @property
    def is_normal(self) -> bool:
        """Whether beliefs become normal."""
        return self.forget or self.keep == 0.0

    def move(self, ratings: Floats) -> Floats:
        """Ratings, or past performances, after the reset; with ``keep`` 1 they are the same numbers."""
        return ratings if self.keep == 1.0 else self.centre + self.keep * (ratings - self.centre)

    def spread(self, sigma: Floats, sigma_init: float) -> Floats:
        """Uncertainties after the reset: none falls, and none grows beyond that of a newcomer."""
        if self.widen == 0.0:
            return sigma
        most: Floats = np.maximum(sigma, sigma_init)
        return np.minimum(most, np.sqrt(sigma * sigma + self.widen * self.widen))


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A rating system by name.

    Attributes
    ----------
    params : type
        Frozen dataclass of hyperparameters, validated at construction.
    state : (params, mu, sigma) -> dict
        State columns of beliefs that are given by ``mu`` and ``sigma``; none by default.
    sigma_limit : (params) -> float
        Limit of sigma after many rounds, rating points. The conservative display rating subtracts nothing there. By
        default 0: the system has no uncertainty, or its sigma has no limit.
    uncertainty : float
        Standard deviation of a skill, divided by ``sigma``. 0: ``sigma`` is no uncertainty of the skill.
    prior : (params, beliefs, round, start, stop, prior) -> None
        Diffuses the beliefs of participants ``start`` to ``stop - 1`` in place; writes ``prior``.
    summarise : (params, prior, round, map) -> Summary
        Statistics of the field that the following steps need.
    perform : (params, summary, start, stop, perf) -> None
        Writes the performances of tie groups ``start`` to ``stop - 1``; by default none.
    absorb : (params, beliefs, round, prior, summary, start, stop, outcome) -> None
        Updates the beliefs of participants ``start`` to ``stop - 1`` in place; writes ``mu`` and ``sigma``. The
        arguments may have some participants only (:func:`select_rows`).
    rate_small : (params, beliefs, rounds, outcome) -> None
        All four steps for many rounds of at most ``small`` participants, members of teams included.
    win_probability : (params, conditions, one, other) -> float64[...]
        Probability that ``one`` finishes before ``other`` in a round of these conditions, a tie counting half, by the
        system's own model. The arrays of the priors broadcast; ``beta`` is not read.
    performance_law : (params, conditions, participants, prior) -> PerformanceLaw, or None
        Distributions of performances in a round of these conditions and size, consistent with ``win_probability``;
        ``beta`` is not read. None: the system has no model of performances, neither rank information nor rank
        likelihood.
    three_way : (params, conditions, one, other) -> (float64[...], float64[...], float64[...]), or None
        Chances that ``one`` wins, draws and loses a game, by the system's own model of draws; ``beta`` is not read.
        None: from the expected score (:mod:`ranklake.rating_kernels.chances.three_way`).
    logistic_rate : (params, conditions, one, other) -> float64[...], or None
        Natural units of odds a rating point, if ``win_probability`` of these hyperparameters is the logistic function
        of that many times the difference of ``mu``; otherwise None.
    sized : bool
        Whether ``win_probability`` takes the number of participants as a fifth argument; see :meth:`beats`.
    performs : bool
        Whether the system has performances, all finite; otherwise every ``perf`` is NaN, or a figure beside the ratings
        that some participants have.
    figures : bool
        Whether it has that figure.
    history : tuple of str
        Names of the numbers that beliefs store for every round; empty if none.
    deviations : float
        Number of sigmas that the conservative display rating subtracts by default.
    offset : (params, mu, n_rounds) -> float64[n], or None
        Addend of the display rating that depends on the rating and the number of rounds.
    invariants : (rounds, outcome) -> dict of str to int, or None
        Number of violations of each invariant of the system; reported, never raised.
    rate_teams : (params, beliefs, round, map, outcome) -> None, or None
        All four steps for one round of teams with more than ``small`` members, with work divided by the map. None: the
        system has no rule for teams.
    team_laws : (params, teams, mu, sigma, beta) -> TeamLaws, or None
        The rule for teams: their laws before a round, from the beliefs about the members, ``mu`` and ``sigma``, and the
        deviations of the members' performances, ``beta``. A team of one has the law of its member, to the bit. Every
        system with ``rate_teams`` has it.
    skips_all_tied : bool
        Whether the authors' program skips contests of three or more participants in which all tie. The functions here
        rate them. A tie of two players is a result for every system.
    advantages : bool
        Whether ``rate_small`` reads the advantages of rounds. Otherwise a round with advantages is rated by the steps.
    field_ratings, summary_ratings : tuple of str
        The ratings among the columns of the prior that ``summarise`` reads: advantages are added to them. The ratings
        among the columns of the summary that ``absorb`` reads: advantages are subtracted.
    is_whole : (params) -> bool, or None
        Whether ratings or performances are whole numbers; advantages then are, too.
    periods : bool
        Whether the system rates games of two only, all games of a period at the same time: ``rate_small`` takes the
        games of whole periods, and rounds of other sizes and advantages are refused.
    attributes : tuple of (str, str, Limits)
        Columns of a newcomer's beliefs that attributes of the players of a data set replace, ``mu`` among them perhaps,
        or a player's own value of a hyperparameter (NaN: that of the run): column, attribute, and permitted values.
    above : (params) -> dict
        Columns of ``attributes`` whose values must exceed a hyperparameter, and its value.
    ignores : tuple of str
        The columns ``weight``, ``perf_ceiling`` and ``precision`` of rounds that no rating depends on.
    margins : str
        What counts as its margin of victory says, by hyperparameters of :class:`.margins.MarginParams`: "games" of two
        only, or all "pairs" of a round of at most ``small`` participants, and larger ones are refused; empty: nothing.
    fractional : bool
        Whether it rates games with any score from 0 to 1; others rate wins, draws and losses only.
    learning : Learning, or None
        The state of the run that belongs to no player, and how rounds change it.
    all_games : (params, n_players) -> games, or None
        An empty collection of rounds of two: ``add(rounds)`` adds some, ``n_games`` is their number, ``copy()`` a copy,
        and ``explain(map)`` finds the ratings of all players that explain all of them at once. Rounds change no rating
        of such a system: ``rate_small`` writes the beliefs as they are. None: one round after the other changes them.
    reset_rows : (params, beliefs, rows, reset) -> None, or str
        Applies a reset to the beliefs in distinct rows (int64), in place; :meth:`reset` checks it first. Or why there
        is no rule for it, as the end of a sentence.
    widens : bool
        Whether a reset can widen beliefs: they have an uncertainty.
    counts : tuple of str
        State columns with the games that a rule of the system counts.
    empty_summary : () -> Summary, or None
        A summary with which ``absorb`` and then ``perform`` can be called for zero participants, to compile them: while
        one process compiles ``rate_small``, whose steps come from the first on, another can begin with the last.
    """

    name: str
    params: type[Any]
    prior: Callable[[Any, Beliefs, Rounds, int, int, Prior], None]
    summarise: Callable[[Any, Prior, Rounds, Map], Summary]
    absorb: Callable[[Any, Beliefs, Rounds, Prior, Any, int, int, Outcome], None]
    rate_small: Callable[[Any, Beliefs, Rounds, Outcome], None]
    small: int
    win_probability: Callable[..., Floats]
    state: Callable[[Any, Floats, Floats], dict[str, Floats]] = lambda params, mu, sigma: {}
    sigma_limit: Callable[[Any], float] = lambda params: 0.0
    uncertainty: float = 0.0
    perform: Callable[[Any, Any, int, int, Floats], None] = lambda params, summary, start, stop, perf: None
    performance_law: Callable[[Any, Any, Any, Prior], PerformanceLaw] | None = None
    three_way: Callable[[Any, Conditions, Prior, Prior], tuple[Floats, Floats, Floats]] | None = None
    logistic_rate: Callable[[Any, Conditions, Prior, Prior], Any] = lambda params, conditions, one, other: None
    sized: bool = False
    performs: bool = True
    figures: bool = False
    history: tuple[str, ...] = ()
    deviations: float = 3.0
    offset: Callable[[Any, Floats, Ints], Floats] | None = None
    invariants: Callable[[Rounds, Outcome], dict[str, int]] | None = None
    rate_teams: Callable[[Any, Beliefs, Rounds, Map, Outcome], None] | None = None
    team_laws: Callable[[Any, Ragged, Floats, Floats, Floats], TeamLaws] | None = None
    skips_all_tied: bool = False
    advantages: bool = False
    field_ratings: tuple[str, ...] = ("mu",)
    summary_ratings: tuple[str, ...] = ()
    is_whole: Callable[[Any], bool] | None = None
    periods: bool = False
    attributes: tuple[tuple[str, str, Limits], ...] = ()
    above: Callable[[Any], dict[str, float]] = lambda params: {}
    ignores: tuple[Literal["weight", "perf_ceiling", "precision"], ...] = ()
    margins: Literal["", "games", "pairs"] = ""
    fractional: bool = False
    learning: Learning | None = None
    all_games: Callable[[Any, int], Any] | None = None
    reset_rows: Callable[[Any, Beliefs, Longs, Reset], None] | str = "it has no rule for that"
    widens: bool = False
    counts: tuple[str, ...] = ()
    empty_summary: Callable[[], Summary] | None = None

    @property
    def has_performance(self) -> bool:
        """Whether any participant has a ``perf``: a performance, or a figure beside the rating."""
        return self.performs or self.figures

    def violations(self, rounds: Rounds, outcome: Outcome) -> dict[str, int]:
        """Number of violations of each invariant; empty if the system declares none."""
        return {} if self.invariants is None else self.invariants(rounds, outcome)

    def permitted(self, params: Any) -> dict[str, Limits]:
        """The permitted values of each column of ``attributes``, given hyperparameters."""
        above = self.above(params)
        return {
            column: dataclasses.replace(limits, low=above[column], closed="") if column in above else limits
            for column, _, limits in self.attributes
        }

    def beats(self, params: Any, conditions: Conditions, participants: Any, one: Prior, other: Prior) -> Floats:
        """``win_probability`` in a round of so many participants, which matters to some systems only."""
        size = (participants,) if self.sized else ()
        return self.win_probability(params, conditions, one, other, *size)

    def field_of(self, prior: Prior, advantage: Floats) -> Prior:
        """The prior with strengths, rating plus advantage, for ``summarise``; the same one if there are none."""
        if not advantage.any():
            return prior
        return prior._replace(**{name: getattr(prior, name) + advantage for name in self.field_ratings})

    def in_rating(self, summary: S, advantage: Floats) -> S:
        """The summary of a field of strengths, for ``absorb`` with the prior; the same one if there are none."""
        if not (self.summary_ratings and advantage.any()):
            return summary
        shifted = {name: getattr(summary, name) - advantage for name in self.summary_ratings}
        return dataclasses.replace(summary, **shifted)  # type: ignore[type-var]

    def newcomers(self, params: Any, n_players: int) -> Beliefs:
        """A store of unrated players, all at ``mu_init`` and ``sigma_init``."""
        mu, sigma = float(params.mu_init), float(params.sigma_init)
        state = self.state(params, np.array([mu]), np.array([sigma]))
        initial = {name: float(column[0]) for name, column in state.items()}
        shared = None if self.learning is None else self.learning.shapes_of(params)
        return Beliefs(n_players, {"mu": mu, "sigma": sigma, **initial}, self.history, shared)

    def check_reset(self, params: Any, reset: Reset) -> None:
        """Raise ``ValueError`` if the system has no rule for a reset, or none for one of its values."""
        if isinstance(self.reset_rows, str):
            raise ValueError(f"the ratings of {self.name} cannot be reset: {self.reset_rows}")
        if reset.widen > 0.0 and not self.widens:
            raise ValueError(f"widen must be 0 with {self.name}, which has no uncertainty to widen, got {reset.widen}")
        if reset.restart_counts and not self.counts:
            raise ValueError(
                f"restart_counts has no effect with {self.name}: it counts the rounds of a player, which a reset keeps"
            )
        ratings = self.permitted(params).get("mu")
        if ratings is not None and reset.keep < 1.0:
            check_value("centre", reset.centre, dataclasses.replace(ratings, kind="number"))

    def reset(self, params: Any, beliefs: Beliefs, players: npt.NDArray[np.integer], reset: Reset) -> None:
        """Apply a reset to the beliefs about distinct ``players``, in place; a division of the players changes no bit.

        Newcomers, who have no round yet, stay as they are. So do the numbers and times of rounds, the own values of
        players and, by default, the counts of games.

        Raises
        ------
        ValueError
            By :meth:`check_reset`, or if past performances would become too narrow.
        """
        self.check_reset(params, reset)
        rows = np.asarray(players, dtype=np.int64)
        rows = rows[beliefs.n_rounds[rows] > 0]
        if reset.keep != 1.0 or reset.widen != 0.0 or reset.forget:
            assert callable(self.reset_rows)
            self.reset_rows(params, beliefs, rows, reset)
        for name in self.counts if reset.restart_counts else ():
            beliefs.state[name][rows] = 0.0


def check_limits(params: Any) -> None:
    """Raise ``ValueError`` unless every hyperparameter is None or within the limits of its field.

    Whole numbers become floats where a float is declared (:func:`convert_floats`).
    """
    convert_floats(params)
    for field in dataclasses.fields(params):
        limits, value = limits_of(field), getattr(params, field.name)
        if isinstance(value, tuple):
            for i, item in enumerate(value):
                check_value(f"{field.name}[{i}]", item, limits)
        elif value is not None:
            check_value(field.name, value, limits)


def check_value(name: str, value: Any, limits: Limits) -> None:
    """Raise ``ValueError`` unless a value is within limits; the message has name, range and value."""
    if limits.kind == "choice":
        good = value in limits.choices
    elif limits.kind == "switch":
        good = value in (True, False)
    elif limits.kind == "names":
        good = isinstance(value, str) and bool(value)
    else:
        number: Any = value if isinstance(value, Real) else math.nan
        good = limits.contains(number) and (limits.kind != "whole number" or number == int(number))
    if not good:
        huge = isinstance(value, int) and abs(value) > 10**18
        shown = "a number of more than 18 digits" if huge else repr(value)
        raise ValueError(f"{name} must be {limits.rule}, got {shown}")


def convert_floats(params: Any) -> None:
    """Convert integers to float in float fields: kernels would be compiled again for integers."""
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        if field.type in ("float", "float | None") and isinstance(value, int | np.number):
            with suppress(OverflowError):  # larger than any float: beyond every limit
                object.__setattr__(params, field.name, float(value))
