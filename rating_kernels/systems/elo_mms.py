"""Elo-MMR with skewed performances and practice.

Source: this project, not a paper; the performances are those of Ebtekar and Liu, "An Elo-like System for Massive
Multiplayer Competitions" (arXiv:2101.00400). A belief is one normal law, so a player has no history. Taking part raises
a skill, most in the first rounds; skills drift with rounds and days; a bad performance is weaker evidence than a good
one (:mod:`.skewed`). The field is that of Elo-MMR around each player's mean performance. All ratings in rating points.

A better place never lowers a later rating, but for the table of ``learnt_drift`` (:mod:`..inference.learnt_drift`): one
result reaches a cell of it by at most 60 kappa / (C + n + 1500) points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.beliefs import Beliefs, Map, prefetch_next
from ..core.jit import exact
from ..core.learning import Learning, SharedArrays
from ..core.limits import POINTS, at_least, choice, finite, later, non_negative, positive, switch, within
from ..core.margins import MarginParams, margin_rule, sharpen_game
from ..core.parts import prior_of
from ..core.standings import Conditions, Floats, Longs, Rounds
from ..core.system import ConvergenceError, Outcome, PerformanceLaw, Prior, System, check_limits
from ..fields.advantages import perform_in_rating
from ..inference.game_performance import end_of_games, solve_games
from ..inference.learnt_drift import CELLS, NO_TABLE, Table, learn_rows, move_rows, observe_rows
from ..inference.logistic_field import FieldSummary, empty_field, solve_field, solve_small, summarise_field
from ..inference.performance import ties_of
from ..inference.resets.ratings import reset_beliefs
from ..inference.skewed import (
    Growth,
    Law,
    RoundLaw,
    absorb_rows,
    diffuse_rows,
    in_round,
    law_of_round,
    mean_shift,
    noise_variance,
    shift_of_mean,
)
from ..inference.teams.laws import weigh_members
from ..inference.teams.members import Members
from ..inference.teams.rounds import (
    credit_round,
    fill_field,
    has_teams,
    rate_team_round,
    team_columns,
    team_rules,
    team_space,
)
from ..inference.win_probability import normal_win_probability

SMALL = 1024  # participants up to which one thread is faster


@dataclass(frozen=True, slots=True)
class EloMMS(MarginParams):
    """Hyperparameters of Elo-MMS.

    Attributes
    ----------
    beta : float
        Standard deviation of good performances above the skill.
    skew : float
        How many times wider performances spread below the skill than above it; 1 is symmetric.
    lower : str
        The law below the skill. "logistic": the influence of a bad performance is bounded; "normal": it is not.
    duel : float
        How many times wider performances spread in a duel than in a large round; 1 is the same in all rounds. With n
        participants they spread 1 + (duel - 1) 2 / n times as wide.
    resolution : str
        What a place shows of a performance. "rank": as much as ranks of n equal participants do, the share
        (n - 1) / (n + 1) of its variance; "exact": all of it, so that sigma shrinks faster in small rounds.
    gamma : float
        Standard deviation of the drift of a skill from round to round.
    drift_per_day : float
        Variance added by each day since the last round, squared points.
    practice : float
        Points that a skill gains by a round in the limit of few rounds; 0 for data without learning.
    practice_rounds : float
        Number of rounds after which the gain has halved.
    tie_mode : str
        "full": ties are exact coincidences of performance; "split": half a win and half a loss.
    mu_init : float
        Rating of a newcomer.
    sigma_init : float
        Standard deviation of a newcomer's skill around ``mu_init``.
    team : str
        Level of a team. "mean": of its members, by their shares; "best": the level that beats all members at once half
        of the time, so that the strong ones matter most and shares do not.
    team_noise : str
        "team": a team has one noise, as a player has; "members": each member has a noise, and in a team they average.
    credit : str
        How members take part in a team's surprise. "joint": as the joint posterior of their skills has it; "own": as if
        each had shown the team's performance alone.
    learnt_drift : bool
        Whether the run learns how skills change, by rounds played and days away, and moves ratings by it.
    """

    beta: float = field(default=130.0, metadata=positive(POINTS))
    skew: float = field(default=1.4, metadata=at_least(1.0))
    lower: str = field(default="logistic", metadata=choice("logistic", "normal"))
    duel: float = field(default=2.0, metadata=later(within(1.0, 10.0), before=1.0))
    resolution: str = field(default="rank", metadata=later(choice("rank", "exact"), before="exact"))
    gamma: float = field(default=12.0, metadata=non_negative(POINTS))
    drift_per_day: float = field(default=12.0, metadata=non_negative("squared rating points a day"))
    practice: float = field(default=8.0, metadata=non_negative(POINTS))
    practice_rounds: float = field(default=20.0, metadata=positive("rounds"))
    tie_mode: str = field(default="full", metadata=choice("full", "split"))
    mu_init: float = field(default=1500.0, metadata=finite(POINTS))
    sigma_init: float = field(default=350.0, metadata=positive(POINTS))
    team: str = field(default="mean", metadata=later(choice("mean", "best")))
    team_noise: str = field(default="team", metadata=later(choice("team", "members")))
    credit: str = field(default="joint", metadata=later(choice("joint", "own")))
    learnt_drift: bool = field(default=False, metadata=later(switch()))

    def __post_init__(self) -> None:
        check_limits(self)


def sigma_limit(params: EloMMS) -> float:
    """Limit of sigma after many large rounds of weight 1 without idle time."""
    gamma2, noise = params.gamma**2, noise_variance(_law(params, math.inf), 1.0)
    return math.sqrt((math.sqrt(gamma2 * gamma2 + 4.0 * noise * gamma2) - gamma2) / 2.0)


def win_probability(params: EloMMS, conditions: Conditions, one: Prior, other: Prior, participants: Any = 2) -> Floats:
    """The difference of two performances, approximated by a normal law of the same mean and variance.

    The difference of two skewed noises is symmetric. With the default skew and lower side the probability is within
    0.013 of the exact integral in rounds of any size, and within 0.0075 in large ones. In duels it is exact: they have
    no skew.
    """
    laws = (performance_law(params, conditions, participants, prior) for prior in (one, other))
    return normal_win_probability(one.mu - other.mu, *(law.deviation for law in laws))


def performance_law(params: EloMMS, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """A normal law with the mean and the variance of the skewed one."""
    noise = _law(params, np.asarray(participants)), np.asarray(conditions.noise)
    return PerformanceLaw("normal", prior.mu - mean_shift(*noise), np.sqrt(prior.sigma**2 + noise_variance(*noise)))


def prior(params: EloMMS, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: add practice and drift to the participants' beliefs in place."""
    law = _law(params, round.participants[0])
    if beliefs.shared and law.tau > 0.0:
        move_rows(start, stop, round.player, round.time_seconds[0], law.tau, _table(beliefs.shared), beliefs.store)
    diffuse_rows(
        start, stop, round.player, round.time_seconds[0], round.conditions.take(0), law, _growth(params),
        beliefs.store, prior,
    )  # fmt: skip


def summarise(params: EloMMS, prior: Prior, round: Rounds, map: Map) -> FieldSummary:
    """Step 2: tabulate the sum over all opponents, around their mean performances."""
    shift = mean_shift(_law(params, round.participants[0]), round.conditions.noise[0])
    return summarise_field(prior.mu - shift, prior.sigma, prior.beta, round, ties_of(params), map)


def perform(params: EloMMS, summary: FieldSummary, start: int, stop: int, perf: Floats) -> None:
    """Step 3: one root for each tie group."""
    solve_field(summary, ties_of(params), start, stop, perf)


def absorb(
    params: EloMMS, beliefs: Beliefs, round: Rounds, prior: Prior, summary: FieldSummary, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: the mode of the belief times the law of the performance."""
    failed = absorb_rows(
        start, stop, round.player, round.time_seconds[0], round.conditions.noise[0],
        _law(params, round.participants[0]), round.teams is not None, prior, beliefs.store, outcome,
    )  # fmt: skip
    if failed >= 0:
        raise ConvergenceError("no rating found", int(failed))


def rate_small(params: EloMMS, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    failed = _rate_small(
        rounds.columns, margin_rule(params), team_columns(rounds), team_rules(params), _noise(params), _growth(params),
        ties_of(params), _table(beliefs.shared), beliefs.store, outcome,
    )  # fmt: skip
    if failed >= 0:
        raise ConvergenceError("no performance or no rating found")


def observe(
    params: EloMMS, beliefs: Beliefs, round: Rounds, prior: Prior, start: int, stop: int, perf: Floats, sums: Longs
) -> None:
    """Add the surprises of participants to the sums by which the table of drifts changes."""
    shift = mean_shift(_law(params, round.participants[0]), round.conditions.noise[0])
    observe_rows(start, stop, round.player, round.time_seconds[0], shift, prior, perf, beliefs.store, sums)


def learn(params: EloMMS, arrays: SharedArrays, sums: Longs) -> None:
    """Change the table of drifts after a round."""
    learn_rows(_table(arrays), sums)


def _table(arrays: SharedArrays) -> Table:
    return Table(*(arrays[f"learnt_{name}"] for name in Table._fields)) if arrays else NO_TABLE


def _noise(params: EloMMS) -> Law:
    return Law(params.beta, params.skew, params.lower == "normal", params.duel, params.resolution == "rank")


def _law(params: EloMMS, participants: Any) -> RoundLaw:
    law: RoundLaw = law_of_round(_noise(params), participants)
    return law


def _growth(params: EloMMS) -> Growth:
    return Growth(params.practice, params.practice_rounds, params.gamma, params.drift_per_day)


@exact
def _rate_small(rounds, margin, teams, team_rules, noise, growth, ties, table, store, outcome):
    """Rate all rounds; returns -1, or the round that has no root.

    The roots of consecutive games of two without a common player are searched together
    (:mod:`..inference.game_performance`). The results are those of one game after the other.
    """
    zero, r, offsets, noises = np.int64(0), np.int64(0), rounds.offsets, rounds.weight * rounds.precision
    player, advantage = rounds.player, rounds.advantage
    omega, space, centre = np.empty(SMALL), team_space(teams, SMALL), np.empty(len(player))
    prior = prior_of(outcome, np.empty(len(player)))
    members = Members(prior.mu, prior.sigma, prior.beta)
    learns, sums = len(table.drift) > 0, np.zeros((2, *CELLS), dtype=np.int64)
    while r < len(offsets) - 1:
        stop = end_of_games(r, offsets, player, teams.first)
        i, j, teamed = offsets[r], offsets[stop], has_teams(r, rounds, teams)
        prefetch_next(i, j, player, store.mu, store.n_rounds)
        for one in range(r, stop):
            first, last, law = offsets[one], offsets[one + 1], in_round(noise, float(rounds.participants[one]))
            if learns and law.tau > 0.0:
                move_rows(first, last, player, rounds.time_seconds[one], law.tau, table, store)
            conditions = Conditions(rounds.weight[one], rounds.precision[one])
            diffuse_rows(first, last, player, rounds.time_seconds[one], conditions, law, growth, store, prior)
            shift = shift_of_mean(law, noises[one])
            for k in range(first, last):
                centre[k] = prior.mu[k] - shift
        if len(advantage) > 0:
            for k in range(i, j):
                centre[k] += advantage[k]
        if offsets[r + 1] - i == 2 and not teamed:
            if margin.kind > 0:
                for one in range(r, stop):
                    noises[one] *= sharpen_game(one, rounds, margin, centre, prior.beta)
            failed = solve_games(r, stop, rounds, centre, prior.sigma, prior.beta, ties, outcome.perf)
        else:
            field, n = space.field, fill_field(r, rounds, teams, team_rules, members, space)
            for k in range(n):
                field.mu[k] = field.mu[k] - shift if teamed else centre[i + k]
            failed = solve_small(field, n, ties, rounds.perf_ceiling[r], omega)
            credit_round(r, rounds, teams, team_rules, members, outcome.perf, space)
            failed = min(failed, zero)  # the round, instead of the group
        if len(advantage) > 0:
            perform_in_rating(i, j, advantage, outcome.perf)
        if failed >= 0:
            stop = r + failed  # the games before it are complete
        for one in range(r, stop):
            first, last, law = offsets[one], offsets[one + 1], in_round(noise, float(rounds.participants[one]))
            if learns and law.tau > 0.0:
                shift, time = shift_of_mean(law, noises[one]), rounds.time_seconds[one]
                observe_rows(first, last, player, time, shift, prior, outcome.perf, store, sums)
                learn_rows(table, sums)
            absorbed = absorb_rows(
                first, last, player, rounds.time_seconds[one], noises[one], law, teamed, prior, store, outcome
            )  # fmt: skip
            if absorbed >= 0:
                return one
        if failed >= 0:
            return stop
        r = stop
    return -1


SYSTEM: System = System(
    name="elo-mms", params=EloMMS, sigma_limit=sigma_limit, uncertainty=1.0,
    prior=prior, summarise=summarise, perform=perform, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_beliefs, widens=True,
    rate_teams=lambda *given: rate_team_round(SYSTEM, *given), team_laws=weigh_members,
    win_probability=win_probability, sized=True, performance_law=performance_law, advantages=True, margins="games",
    empty_summary=empty_field,
    learning=Learning(
        "learnt_drift", {f"learnt_{name}": CELLS for name in Table._fields}, (2, *CELLS),
        lambda params, participants: participants > 2, observe, learn,
    ),
)  # fmt: skip
