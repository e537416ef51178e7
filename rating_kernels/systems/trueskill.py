"""TrueSkill: skills inferred from places by expectation propagation.

Source: model "adjacent" is Herbrich, Minka and Graepel, "TrueSkill: A Bayesian Skill Rating System" (NIPS 2006); model
"place" is Nikolenko and Sirotkin, "Extensions of the TrueSkill rating system" (2010), as implemented in the engine of
Ebtekar and Liu (arXiv:2101.00400), with the engine's default hyperparameters. A performance is normal around the skill;
places bound differences of performances. A team's performance is the sum of its members' performances. All messages of
a round pass along one chain of neighbours (:mod:`.message_chain`), so that no sum over opponents is needed and a sweep
costs O(n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from ..core.beliefs import Beliefs, Map
from ..core.jit import exact
from ..core.limits import POINTS, choice, finite, fraction, non_negative, positive
from ..core.margins import MarginParams, margin_rule, sharpen_game
from ..core.parts import keep_belief, prior_of, read_belief
from ..core.standings import Conditions, Floats, Longs, Rounds
from ..core.system import ConvergenceError, Outcome, PerformanceLaw, Prior, System, TeamLaws, check_limits
from ..fields.advantages import restore_ratings, to_strengths
from ..inference.message_chain import propagate
from ..inference.performance import group_starts
from ..inference.resets.ratings import reset_beliefs
from ..inference.teams.laws import add_members
from ..inference.teams.members import Members, write_noises
from ..inference.teams.rounds import field_of_teams, fill_summed, has_teams, sum_teams, team_columns, team_space
from ..inference.win_probability import normal, normal_between

_LEAST_BETA = 1e-9  # the range of a deviation begins here
SMALL = 1024  # participants up to which one thread is faster


@dataclass(frozen=True, slots=True)
class TrueSkill(MarginParams):
    """Hyperparameters of TrueSkill. At construction None is replaced by the default of the model.

    Attributes
    ----------
    model : str
        "adjacent" (2006): neighbours in the standings differ by more than eps, or by at most eps if they tie; players
        of one tie group form a chain in their listed order. "place" (2010): all players of a place perform within eps
        of its level, and neighbouring levels differ by more than 2 eps.
    convention : str
        "exact", or "half_variance" (for "place" only): truncated laws are assumed sqrt(2) times narrower than they are,
        which reproduces the over-confidence of the engine. Its messages sometimes converge very slowly; the iteration
        then stops after 512 sweeps, far below the engine's tolerance of 1e-4.
    mu_init : float or None
        Rating of a newcomer, rating points: 25, or 1500 for "place".
    sigma_init : float or None
        Standard deviation of a newcomer's skill, rating points: 25/3, or 350 for "place".
    beta : float or None
        Standard deviation of a performance, rating points: sigma_init / 2, or 175; in a round of weight w: beta /
        sqrt(w), and a precision acts alike.
    tau : float or None
        Standard deviation of a skill's drift from round to round, rating points: sigma_init / 100, or 35.
    p_draw : float or None
        "adjacent" only: probability that two equal players tie, 0.1; eps is the quantile (1 + p_draw) / 2 of a
        difference of two performances.
    eps : float or None
        "place" only: half-width of a place, 1 rating point.
    """

    model: str = field(default="adjacent", metadata=choice("adjacent", "place"))
    convention: str = field(default="exact", metadata=choice("exact", "half_variance"))
    mu_init: float | None = field(default=None, metadata=finite(POINTS))
    sigma_init: float | None = field(default=None, metadata=positive(POINTS))
    beta: float | None = field(default=None, metadata=positive(POINTS))
    tau: float | None = field(default=None, metadata=non_negative(POINTS))
    p_draw: float | None = field(default=None, metadata=fraction())
    eps: float | None = field(default=None, metadata=positive(POINTS))

    def __post_init__(self) -> None:
        check_limits(self)
        place = self.model == "place"
        if self.convention == "half_variance" and not place:
            raise ValueError("convention half_variance goes with model place, got model adjacent")
        for name, model in (("p_draw", "adjacent"), ("eps", "place")):
            if getattr(self, name) is not None and model != self.model:
                raise ValueError(f"{name} goes with model {model}, got {name}={getattr(self, name)}")
        self._set_default("mu_init", 1500.0 if place else 25.0)
        sigma = self._set_default("sigma_init", 350.0 if place else 25.0 / 3.0)
        self._set_default("beta", 175.0 if place else max(sigma / 2.0, _LEAST_BETA))
        self._set_default("tau", 35.0 if place else sigma / 100.0)
        if place:
            self._set_default("eps", 1.0)
        else:
            self._set_default("p_draw", 0.1)

    def _set_default(self, name: str, default: float) -> float:
        """Replace None by the default; returns the value."""
        value = getattr(self, name)
        chosen: float = default if value is None else value
        object.__setattr__(self, name, chosen)
        return chosen


def margin(params: TrueSkill) -> float:
    """Largest difference of two tied performances, eps in rating points."""
    if params.p_draw is None:
        return _given(params.eps)
    normal = NormalDist()
    x = -normal.inv_cdf(0.5 * (1.0 - params.p_draw))
    if x < 0.5:  # small quantiles lose digits
        x += (params.p_draw - math.erf(x / math.sqrt(2.0))) / (2.0 * normal.pdf(x))
    return x * math.sqrt(2.0) * _given(params.beta)


def win_probability(params: TrueSkill, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Two normal performances that tie within the margin, twice that in model "place"; a tie is half a win."""
    tie = _tie(params)
    spread = np.sqrt(2.0 * _given(params.beta) ** 2 / conditions.noise + one.sigma**2 + other.sigma**2)
    gap = one.mu - other.mu
    probability: Floats = 0.5 * (normal((gap - tie) / spread) + normal((gap + tie) / spread))
    return probability


def three_way(params: TrueSkill, conditions: Conditions, one: Prior, other: Prior) -> tuple[Floats, Floats, Floats]:
    """Of two normal performances: the first one is larger by more than the margin, within it, smaller by more."""
    variance = 2.0 * _given(params.beta) ** 2 / conditions.noise + (one.sigma**2 + other.sigma**2)
    spread = np.sqrt(variance)
    tie, gap = _tie(params) / spread, (one.mu - other.mu) / spread
    return normal(gap - tie), normal_between(np.abs(gap), tie), normal(-gap - tie)


def _tie(params: TrueSkill) -> float:
    """Largest difference of the performances of two who tie."""
    return margin(params) * (2.0 if params.model == "place" else 1.0)


def performance_law(params: TrueSkill, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Normal around the prior rating."""
    return PerformanceLaw("normal", prior.mu, np.sqrt(_given(params.beta) ** 2 / conditions.noise + prior.sigma**2))


def prior(params: TrueSkill, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: variance grows by tau^2."""
    _diffuse_rows(start, stop, round.player, round.conditions.noise[0], *_noise(params), beliefs.store, prior)


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages from the places of one round to each performance.

    ``first`` (int64[groups + 1]): first row of each tie group, and the number of rows.
    ``precision``, ``pull`` (float64[n]): as :func:`.message_chain.propagate` gives them.
    ``sweeps``: number of passes down and up the chain.
    """

    by_row: ClassVar[tuple[str, ...]] = ("precision", "pull")
    first: Longs
    precision: Floats
    pull: Floats
    sweeps: int


def summarise(params: TrueSkill, prior: Prior, round: Rounds, map: Map) -> Messages:
    """Steps 2 and 3: the whole inference, along the ranks and therefore on one thread.

    Raises
    ------
    ConvergenceError
        If the messages do not settle.
    """
    return _messages(params, prior, round, np.arange(len(prior.mu) + 1))


def _messages(params: TrueSkill, prior: Prior, round: Rounds, bounds: Longs) -> Messages:
    """The messages to the performances of teams, whose members are given by ``bounds``."""
    n, first, (window, gap, sharpen) = len(prior.mu), group_starts(round.lo), _bounds(params)
    precision, pull, gaps = np.empty(n), np.empty(n), np.empty(n)
    _widen_gaps(0, n, bounds, window, gap, gaps)
    sweeps = _infer(prior.mu, prior.sigma, prior.beta, round.lo, first, window, gaps, sharpen, precision, pull)
    if sweeps < 0 and params.convention == "exact":
        raise ConvergenceError("messages do not settle")
    return Messages(first, precision, pull, abs(sweeps))


def absorb(
    params: TrueSkill, beliefs: Beliefs, round: Rounds, prior: Prior, summary: Messages, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: multiply the message to the performance, widened by beta, into the belief about the skill."""
    _absorb_rows(
        start, stop, round.player, round.time_seconds[0], prior, summary.precision[start:stop],
        summary.pull[start:stop], beliefs.store, outcome,
    )  # fmt: skip


def rate_teams(params: TrueSkill, beliefs: Beliefs, round: Rounds, map: Map, outcome: Outcome) -> None:
    """All four steps for a round of teams: messages pass along the teams, and from each team to its members.

    Raises
    ------
    ConvergenceError
        If the messages do not settle.
    """
    assert round.teams is not None
    n, bounds, before = round.n_rows, round.teams.offsets, outcome.prior
    weight, members = np.empty(n), (np.empty(n), np.empty(n))
    map(lambda start, stop: prior(params, beliefs, round, start, stop, before), n)
    team = sum_teams(round, before, weight, map)
    found = _messages(params, team, field_of_teams(round), bounds)
    laws = TeamLaws(weight, team.mu, team.sigma, team.beta)

    def share(start: int, stop: int) -> None:
        precision, pull = (message[bounds[start] : bounds[stop]] for message in members)
        _share_messages(
            start, stop, bounds, laws, before, found.precision[start:stop], found.pull[start:stop], precision, pull
        )

    map(share, len(team.mu))
    messages = replace(found, precision=members[0], pull=members[1])
    map(lambda start, stop: absorb(params, beliefs, round, before, messages, start, stop, outcome), n)


def rate_small(params: TrueSkill, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    failed = _rate_small(
        rounds.columns,
        margin_rule(params),
        team_columns(rounds),
        *_noise(params),
        *_bounds(params),
        beliefs.store,
        outcome,
    )
    if failed >= 0:
        raise ConvergenceError("messages do not settle")


def _noise(params: TrueSkill) -> tuple[float, float]:
    """tau^2 and beta."""
    return _given(params.tau) ** 2, _given(params.beta)


def _bounds(params: TrueSkill) -> tuple[float, float, float]:
    """Window, gap of two players, and sharpening of the chain (:func:`.message_chain.propagate`)."""
    eps, sharpen = margin(params), 2.0 if params.convention == "half_variance" else 1.0
    return (eps, 2.0 * eps, sharpen) if params.model == "place" else (0.0, eps, sharpen)


def _given(value: float | None) -> float:
    assert value is not None  # set at construction
    return value


@exact
def _diffuse_rows(begin, end, player, noise, tau2, beta, store, prior):
    sigma = store.sigma
    for i in range(begin, end):
        row = player[i]
        sigma[row] = math.sqrt(sigma[row] * sigma[row] + tau2)
        prior.beta[i] = beta / math.sqrt(noise)
        read_belief(i, row, store, prior)


@exact
def _infer(mu, sigma, noise, lo, first, window, gap, sharpen, precision, pull):
    """Write the messages to each performance; returns sweeps as :func:`.message_chain.propagate`."""
    n = len(mu)
    variance = np.empty(n)
    for i in range(n):
        variance[i] = sigma[i] * sigma[i] + noise[i] * noise[i]
    levels = first if window > 0.0 else np.arange(n + 1)
    return propagate(mu, variance, lo, levels, window, gap, sharpen, precision, pull)


@exact
def _widen_gaps(start, stop, bounds, window, gap, gaps):
    """Write the gap after each of teams ``start`` to ``stop - 1``.

    Without a window it grows with the root of the number of members on both sides, as the deviation of the difference.
    """
    for t in range(start, stop):
        wider = 1.0
        if window == 0.0 and t < stop - 1:
            wider = math.sqrt(0.5 * (bounds[t + 2] - bounds[t]))
        gaps[t - start] = gap * wider


@exact
def _share_messages(start, stop, bounds, laws, prior, team_precision, team_pull, precision, pull):
    """Write the message of each member of teams ``start`` to ``stop - 1``, and to ``prior.beta`` the noise it meets.

    The messages have one entry a team, or a member, from the first one on.
    """
    weight, begin = laws.weight, bounds[start]
    for t in range(start, stop):
        i, j = bounds[t], bounds[t + 1]
        if j - i > 1:
            write_noises(i, j, weight, prior.sigma, laws.beta[t], precision[i - begin : j - begin], prior.beta)
        for k in range(i, j):
            precision[k - begin] = team_precision[t - start] * weight[k] * weight[k]
            pull[k - begin] = team_pull[t - start] * weight[k]


@exact
def _absorb_rows(begin, end, player, time_seconds, prior, precision, pull, store, outcome):
    """The messages have one entry a row from ``begin`` on."""
    for i in range(begin, end):
        row, message = player[i], precision[i - begin]
        variance = prior.sigma[i] * prior.sigma[i]
        # variance to the skill over variance to the performance
        wider = 1.0 + message * (prior.beta[i] * prior.beta[i])
        variance /= 1.0 + variance * message / wider
        mu = prior.mu[i] + variance * pull[i - begin] / wider
        sigma = math.sqrt(variance)
        keep_belief(i, row, mu, sigma, time_seconds, store, outcome)


@exact
def _rate_small(rounds, margin, teams, tau2, beta, window, gap, sharpen, store, outcome):
    """Rate all rounds; returns -1, or the round whose messages do not settle."""
    player, advantage = rounds.player, rounds.advantage
    rating, precision, pull, gaps = np.empty(SMALL), np.empty(SMALL), np.empty(SMALL), np.full(SMALL, gap)
    shown, tug, space = np.empty(SMALL), np.empty(SMALL), team_space(teams, SMALL)
    prior = prior_of(outcome, np.empty(len(player)))
    members = Members(prior.mu, prior.sigma, prior.beta)
    for r in range(len(rounds.offsets) - 1):
        i, j = rounds.offsets[r], rounds.offsets[r + 1]
        _diffuse_rows(i, j, player, rounds.weight[r] * rounds.precision[r], tau2, beta, store, prior)
        if len(advantage) > 0:
            to_strengths(i, j, advantage, prior.mu, rating)
        if margin.kind > 0 and j - i == 2 and not has_teams(r, rounds, teams):
            sharpen_game(r, rounds, margin, prior.mu, prior.beta)
        field, n = space.field, fill_summed(r, rounds, teams, members, space)
        if len(teams.bounds) > 0:
            _widen_gaps(teams.first[r], teams.first[r + 1], teams.bounds, window, gap, gaps)
        first = group_starts(field.lo[:n])
        sweeps = _infer(field.mu[:n], field.sigma, field.beta, field.lo, first, window, gaps, sharpen, precision, pull)
        if len(advantage) > 0:
            restore_ratings(i, j, rating, prior.mu)
        if sweeps < 0 and sharpen == 1.0:
            return r
        if has_teams(r, rounds, teams):
            start, stop = teams.first[r], teams.first[r + 1]
            _share_messages(start, stop, teams.bounds, space.laws, prior, precision, pull, shown, tug)
            _absorb_rows(i, j, player, rounds.time_seconds[r], prior, shown, tug, store, outcome)
        else:
            _absorb_rows(i, j, player, rounds.time_seconds[r], prior, precision, pull, store, outcome)
    return -1


SYSTEM = System(
    name="trueskill", performs=False, params=TrueSkill, uncertainty=1.0,
    prior=prior, summarise=summarise, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_beliefs, widens=True,
    rate_teams=rate_teams, team_laws=add_members,
    win_probability=win_probability, three_way=three_way, performance_law=performance_law, advantages=True,
    margins="games", ignores=("perf_ceiling",),
)  # fmt: skip
