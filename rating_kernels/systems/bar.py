"""BAR: Bayesian approximation ranking, as published and as in the engine of Elo-MMR's authors.

Source: Weng and Lin, "A Bayesian Approximation Method for Online Ranking" (JMLR 12, 2011), Algorithm 1 (Bradley-Terry,
full pair); Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions"
(arXiv:2101.00400), for the variant in their engine. A belief is a normal law. A round compares every pair's result with
its probability under a logistic law, where c^2 = sigma_i^2 + sigma_q^2 + 2 beta^2 and q runs over n opponents:

    published   mu_i += sigma_i^2 sum_q (s - p) / c                 p = logistic((mu_i - mu_q) / c)
                sigma_i^2 *= 1 - sigma_i^2 sum_q gamma p (1 - p) / c^2
    engine      mu_i += sigma_i^2 / (n + 1) sum_q (s - p) / c       p = logistic(C3 (mu_i - mu_q) / c)
                sigma_i^2 *= 1 - sigma_i^2 / (4 (sigma_i^2 + 2 beta^2))

The skill of a team is the sum of its members' skills, and n counts teams. The change of the team's mean, Omega_i, and
the part of its variance that is removed, Delta_i, are divided by the members' variances:

    mu_k += sigma_k^2 / sigma_i^2 Omega_i                           sigma_k^2 *= 1 - sigma_k^2 / sigma_i^2 Delta_i

The published sums grow with the field: with many opponents a rating overshoots and sigma falls to its lower limit. The
engine's means do not grow, but its sigma does not depend on the opponents. Ratings in the system's own points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.beliefs import Beliefs, Map
from ..core.jit import exact
from ..core.limits import POINTS, choice, finite, fraction, non_negative, positive
from ..core.margins import MarginParams, factor_of_round, margin_rule
from ..core.numerics import C3
from ..core.parts import keep_belief, prior_of, read_belief
from ..core.standings import Conditions, Floats, Longs, Rounds
from ..core.system import Outcome, PerformanceLaw, Prior, System, TeamLaws, check_limits
from ..fields.pairs.pair_field import pair_sums
from ..fields.pairs.terms import LOGISTIC, SPREAD2, SPREAD3, direct_sums
from ..fields.rank_scan import direct_worse_sums, worse_sums
from ..inference.performance import group_starts
from ..inference.resets.ratings import reset_beliefs
from ..inference.teams.laws import add_skills
from ..inference.teams.members import Members
from ..inference.teams.rounds import field_of_teams, fill_summed, has_teams, sum_teams, team_columns, team_space
from ..inference.win_probability import logistic

SMALL = 400  # participants up to which sums term by term are faster than a table
DEFAULTS = {
    "allpairs_mean": {"beta": C3 * 400.0 / math.log(10.0), "sig_drift": 35.0, "mu_init": 1500.0, "sigma_init": 350.0},
    "btfull": {"beta": 25.0 / 6.0, "sig_drift": 0.0, "mu_init": 25.0, "sigma_init": 25.0 / 3.0},
}
GAMMAS = ("sigma_over_c", "one_over_teams", "one")


@dataclass(frozen=True, slots=True)
class BAR(MarginParams):
    """Hyperparameters of BAR.

    Attributes
    ----------
    variant : str
        "allpairs_mean": the engine's, with the mean over all opponents and a sigma that does not depend on them;
        "btfull": the published one, with sums for both.
    beta : float or None
        Standard deviation of a performance around skill, over the root of the round's weight and precision; > 0. None
        is 400 C3 / ln 10 = 315.09 for "allpairs_mean" and 25 / 6 for "btfull".
    sig_drift : float or None
        Standard deviation of the drift of a skill before a round, >= 0. None is 35 for "allpairs_mean", 0 for "btfull".
    kappa : float
        Lower limit of the ratio of the variances after and before a round; between 0 and 1.
    gamma : str
        Factor on an opponent's information in "btfull": "sigma_over_c", "one_over_teams" or "one".
    mu_init : float or None
        Rating of a newcomer. None is 1500 for "allpairs_mean", 25 for "btfull".
    sigma_init : float or None
        Standard deviation of a newcomer's skill. None is 350 for "allpairs_mean", 25 / 3 for "btfull".

    Notes
    -----
    The paper has neither drift nor weights; with "btfull" both act as in the engine. There are no performances, so a
    round's ceiling has no effect.
    """

    variant: str = field(default="allpairs_mean", metadata=choice("allpairs_mean", "btfull"))
    beta: float | None = field(default=None, metadata=positive(POINTS))
    sig_drift: float | None = field(default=None, metadata=non_negative(POINTS))
    kappa: float = field(default=1e-4, metadata=fraction())
    gamma: str = field(default="sigma_over_c", metadata=choice(*GAMMAS))
    mu_init: float | None = field(default=None, metadata=finite(POINTS))
    sigma_init: float | None = field(default=None, metadata=positive(POINTS))

    def __post_init__(self) -> None:
        check_limits(self)
        chosen = {name: getattr(self, name) for name in DEFAULTS[self.variant]}
        settled = DEFAULTS[self.variant] | {name: value for name, value in chosen.items() if value is not None}
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        if self.variant == "allpairs_mean" and self.gamma != GAMMAS[0]:
            raise ValueError(f"gamma goes with the variant btfull, not {self.variant}; got {self.gamma!r}")


def sigma_limit(params: BAR) -> float:
    """Limit of sigma in rounds of weight 1; 0 for "btfull", where it depends on the opponents.

    With y the variance after a drift, the limit of the engine's form has y^2 / (4 (y + 2 beta^2)) = sig_drift^2, or is
    the limit that kappa sets.
    """
    if params.variant == "btfull":
        return 0.0
    beta2, drift2 = float(params.beta or 0.0) ** 2, float(params.sig_drift or 0.0) ** 2
    free = drift2 + 2.0 * math.sqrt(drift2 * (drift2 + 2.0 * beta2))
    return math.sqrt(max(free, params.kappa / (1.0 - params.kappa) * drift2))


def win_probability(params: BAR, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """p of the source: a logistic law of scale c as published, of standard deviation c in the engine."""
    return logistic(
        (1.0 if params.variant == "btfull" else C3) * (one.mu - other.mu) / _scale(params, conditions, one, other)
    )


def logistic_rate(params: BAR, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """Natural units of odds a rating point."""
    return (1.0 if params.variant == "btfull" else C3) / _scale(params, conditions, one, other)


def _scale(params: BAR, conditions: Conditions, one: Prior, other: Prior) -> Floats:
    """c of the source."""
    beta2 = float(params.beta or 0.0) ** 2
    c: Floats = np.sqrt(one.sigma**2 + other.sigma**2 + 2.0 * beta2 / conditions.noise)
    return c


def performance_law(params: BAR, conditions: Conditions, participants: Any, prior: Prior) -> PerformanceLaw:
    """Logistic, of the variance of p's law."""
    spread = np.sqrt(prior.sigma**2 + float(params.beta or 0.0) ** 2 / conditions.noise)
    return PerformanceLaw("logistic", prior.mu, (C3 if params.variant == "btfull" else 1.0) * spread)


def prior(params: BAR, beliefs: Beliefs, round: Rounds, start: int, stop: int, prior: Prior) -> None:
    """Step 1: skills drift."""
    _diffuse_rows(start, stop, round.player, params.sig_drift, beliefs.store, prior)


@dataclass(frozen=True, slots=True)
class PairSums:
    """Sums over the participants of one round, including oneself with s = p = 1/2 and c^2 = 2 (sigma_i^2 + beta^2).

    ``first`` (int64[groups + 1]): first row of each tie group, and the number of rows.
    ``won``, ``lost`` (float64[n]): sums over all participants of s / c and of p / c, in units of the logistic law.
    ``info`` (float64[n]): sum over all participants of p (1 - p) / c^2, or c^3 where gamma is "sigma_over_c"; equal to
    ``lost`` for "allpairs_mean", where it is not used.
    """

    by_row: ClassVar[tuple[str, ...]] = ("won", "lost", "info")
    first: Longs
    won: Floats
    lost: Floats
    info: Floats


def summarise(params: BAR, prior: Prior, round: Rounds, map: Map) -> PairSums:
    """Step 2: the sums over all pairs."""
    unit, power, _, beta2, _ = _rules(params, round.conditions.noise[0])
    first, variance = group_starts(round.lo), np.empty(len(prior.mu))
    _widen(prior.sigma, beta2, unit, variance)
    sums = pair_sums(["logistic", f"spread{power}"] if power else ["logistic"], prior.mu, variance, map)
    return PairSums(first, worse_sums(first, variance, map), sums[0], sums[-1])


def absorb(
    params: BAR, beliefs: Beliefs, round: Rounds, prior: Prior, summary: PairSums, start: int, stop: int,
    outcome: Outcome,
) -> None:  # fmt: skip
    """Step 4: Omega and Delta of Algorithm 1, or the engine's mean and its shrinking of sigma."""
    _absorb_rows(
        start, stop, summary.first[-1], round.player, round.time_seconds[0],
        _rules(params, round.conditions.noise[0]), prior, _sums_of(summary, start, stop), beliefs.store, outcome,
    )  # fmt: skip


def rate_teams(params: BAR, beliefs: Beliefs, round: Rounds, map: Map, outcome: Outcome) -> None:
    """All four steps for a round of teams, which are compared with each other."""
    assert round.teams is not None
    n, bounds, before = round.n_rows, round.teams.offsets, outcome.prior
    rules = _rules(params, round.conditions.noise[0])
    weight, before.beta[:] = np.empty(n), 0.0  # the noise of a team is that of a player
    map(lambda start, stop: prior(params, beliefs, round, start, stop, before), n)
    team = sum_teams(round, before, weight, map)
    summary = summarise(params, team, field_of_teams(round), map)
    laws = TeamLaws(weight, team.mu, team.sigma, team.beta)
    map(
        lambda start, stop: _absorb_members(
            start, stop, len(team.mu), bounds, round.player, round.time_seconds[0], rules, before, laws,
            _sums_of(summary, start, stop), beliefs.store, outcome,
        ),
        len(team.mu),
    )  # fmt: skip


def rate_small(params: BAR, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """All four steps for many small rounds in sequence, in one kernel call."""
    _rate_small(
        rounds.columns,
        margin_rule(params),
        team_columns(rounds),
        params.sig_drift,
        _rules(params),
        beliefs.store,
        outcome,
    )


class BARRules(NamedTuple):
    """The differences between the variants, for kernels.

    ``unit``: units of the logistic law for one rating point.
    ``power``: the power of c in ``info``; 0 if sigma is independent of opponents.
    ``per_team``: whether an opponent's information is divided by their number.
    ``beta2``: beta^2 in a round.
    """

    unit: float
    power: int
    per_team: bool
    beta2: float
    kappa: float


class Sums(NamedTuple):
    """The columns of :class:`PairSums`, for kernels: one entry a row from the first of some rows on."""

    won: Floats
    lost: Floats
    info: Floats


def _sums_of(summary: PairSums, start: int, stop: int) -> Sums:
    return Sums(summary.won[start:stop], summary.lost[start:stop], summary.info[start:stop])


def _rules(params: BAR, noise: float = 1.0) -> BARRules:
    """The rules in a round of this weight times precision."""
    beta2 = float(params.beta or 0.0) ** 2 / noise
    if params.variant == "allpairs_mean":
        return BARRules(1.0 / C3, 0, False, beta2, params.kappa)
    power = 3 if params.gamma == "sigma_over_c" else 2
    return BARRules(1.0, power, params.gamma == "one_over_teams", beta2, params.kappa)


@exact
def _diffuse_rows(begin, end, player, drift, store, prior):
    sigma = store.sigma
    for i in range(begin, end):
        row = player[i]
        sigma[row] = math.sqrt(sigma[row] * sigma[row] + drift * drift)
        read_belief(i, row, store, prior)


@exact
def _widen(sigma, beta2, unit, variance):
    """Each player's part of c^2, in squared units of the logistic law."""
    for i in range(len(sigma)):
        variance[i] = unit * unit * (sigma[i] * sigma[i] + beta2)


@exact
def _absorb_rows(begin, end, n, player, time_seconds, rules, prior, sums, store, outcome):
    unit, power, per_team, beta2, kappa = rules
    won, lost, info = sums
    for i in range(begin, end):
        row, k = player[i], i - begin
        variance = prior.sigma[i] * prior.sigma[i]
        step = variance * unit * (won[k] - lost[k])
        if power == 0:
            step /= n
            known = 0.25 * variance / (variance + 2.0 * beta2)
        else:
            own = 2.0 * (variance + beta2)  # c^2 against oneself
            if power == 2:
                known = variance * (info[k] - 0.25 / own)
            else:
                known = variance * prior.sigma[i] * (info[k] - 0.25 / (own * math.sqrt(own)))
            known = known / n if per_team else known
        mu = prior.mu[i] + step
        sigma = prior.sigma[i] * math.sqrt(max(1.0 - known, kappa))
        keep_belief(i, row, mu, sigma, time_seconds, store, outcome)


@exact
def _absorb_members(start, stop, n, bounds, player, time_seconds, rules, prior, laws, sums, store, outcome):
    """Absorb the results of teams ``start`` to ``stop - 1`` out of ``n``; a team of one is as in ``_absorb_rows``."""
    unit, power, per_team, beta2, kappa = rules
    won, lost, info = sums
    weight = laws.weight
    for t in range(start, stop):
        surplus, information = won[t - start] - lost[t - start], info[t - start]
        variance = laws.sigma[t] * laws.sigma[t]
        own = 2.0 * (variance + beta2)  # c^2 against oneself
        for k in range(bounds[t], bounds[t + 1]):
            row = player[k]
            part = prior.sigma[k] * prior.sigma[k]
            step = part * unit * surplus
            if power == 0:
                step /= n
                known = 0.25 * part / (variance + 2.0 * beta2)
            else:
                if power == 2:
                    known = part * (information - 0.25 / own)
                else:
                    known = part * laws.sigma[t] * (information - 0.25 / (own * math.sqrt(own)))
                known = known / n if per_team else known
            mu = prior.mu[k] + weight[k] * step
            sigma = prior.sigma[k] * math.sqrt(max(1.0 - weight[k] * weight[k] * known, kappa))
            keep_belief(k, row, mu, sigma, time_seconds, store, outcome)


@exact
def _rate_small(rounds, margin, teams, drift, rules, store, outcome):
    zero, player, space = np.int64(0), rounds.player, team_space(teams, SMALL)
    variance, one, won, lost, info = np.empty(SMALL), np.ones(SMALL), np.empty(SMALL), np.empty(SMALL), np.empty(SMALL)
    sums, prior = Sums(won, lost, info), prior_of(outcome, np.empty(0))
    # the noise of a team is that of a player: sigma stands for the noises of the members, whose sum is not read
    members = Members(prior.mu, prior.sigma, prior.sigma)
    for r in range(len(rounds.offsets) - 1):
        i, j, time = rounds.offsets[r], rounds.offsets[r + 1], rounds.time_seconds[r]
        beta2 = rules.beta2 / (rounds.weight[r] * rounds.precision[r])
        _diffuse_rows(i, j, player, drift, store, prior)
        if margin.kind > 0 and j - i == 2 and not has_teams(r, rounds, teams):
            beta2 /= factor_of_round(r, rounds, margin, prior.mu)
        own = BARRules(rules.unit, rules.power, rules.per_team, beta2, rules.kappa)
        field, n = space.field, fill_summed(r, rounds, teams, members, space)
        mu, first = field.mu[:n], group_starts(field.lo[:n])
        _widen(field.sigma[:n], own.beta2, own.unit, variance)
        direct_worse_sums(zero, len(first) - 1, first, variance[:n], won)
        direct_sums(LOGISTIC, zero, n, mu, variance, one, lost)
        if own.power == 2:
            direct_sums(SPREAD2, zero, n, mu, variance, one, info)
        elif own.power == 3:
            direct_sums(SPREAD3, zero, n, mu, variance, one, info)
        if has_teams(r, rounds, teams):
            start, stop = teams.first[r], teams.first[r + 1]
            _absorb_members(start, stop, n, teams.bounds, player, time, own, prior, space.laws, sums, store, outcome)
        else:
            _absorb_rows(i, j, n, player, time, own, prior, sums, store, outcome)


SYSTEM = System(
    name="bar", performs=False, params=BAR, sigma_limit=sigma_limit, uncertainty=1.0,
    prior=prior, summarise=summarise, absorb=absorb, rate_small=rate_small, small=SMALL,
    reset_rows=reset_beliefs, widens=True,
    rate_teams=rate_teams, team_laws=add_skills,
    win_probability=win_probability, logistic_rate=logistic_rate, performance_law=performance_law, margins="games",
    ignores=("perf_ceiling",),
)  # fmt: skip
