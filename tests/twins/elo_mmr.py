"""Reference implementation of Elo-MMR(rho) and Elo-MMchi in plain Python: pairwise sums, one player at a time.

Source: Ebtekar and Liu, "An Elo-like System for Massive Multiplayer Competitions" (arXiv:2101.00400), with the
parametrisation by limits, the delays and the drift of the authors' engine. Nothing is shared with the fast kernels: no
tables, no arrays, no Newton. Sums are exact (:func:`math.fsum`) and roots are bisected until no number lies between the
ends, so what the twin says is good to about 1e-14 of the rating scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from twins.teams import Options, team_of

Standing = tuple[str, int, int]  # player, lo, hi
TeamStanding = tuple[int, int, Sequence[str], Sequence[float] | None]  # lo, hi, members, shares

C3 = math.pi / math.sqrt(3.0)  # a logistic law of standard deviation s has scale s / C3


@dataclass
class Player:
    """The belief about one player: a normal factor times logistic ones, oldest first, each [p, w, beta]."""

    mu: float
    sigma: float
    normal_mu: float
    normal_weight: float
    factors: list[list[float]] = field(default_factory=list)
    n: int = 0
    last_time: float | None = None


@dataclass(frozen=True)
class Outcome:
    """One participation: the belief before (diffused) and after, and the performance.

    ``factors`` are the logistic ones after the round, [performance, weight], oldest first; always empty for Elo-MMchi.
    """

    player: str
    performance: float
    mu_prior: float
    sigma_prior: float
    mu: float
    sigma: float
    normal_mu: float
    normal_sigma: float
    factors: list[list[float]]


@dataclass
class Twin:
    """A rating system and its state. Parameters as in the specification, ratings in points.

    ``beta`` and ``gamma`` together replace ``weight_limit`` and ``sig_limit``; the drift belongs to the limits alone,
    and a delay acts as part of the contest's weight either way. ``initial_state`` maps players to
    ``{"mu", "sig", "n"}``: their earlier rounds count for the delay, but were at no known time, so that the next one
    comes 0 days later.
    """

    rho: float = 1.0
    tie_mode: str = "full"
    variant: str = "logistic"
    weight_limit: float = 0.2
    sig_limit: float = 80.0
    beta: float | None = None
    gamma: float | None = None
    noob_delay: Sequence[float] = ()
    drift_per_day: float = 0.0
    history_len: int | None = None
    mu_init: float = 1500.0
    sigma_init: float = 350.0
    ceiling_gaussian: bool = False
    team: str = "mean"
    team_noise: str = "team"
    credit: str = "joint"
    tie_loss: float | None = None
    tie_win: float | None = None
    initial_state: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules = {
            "rho must be >= 0": self.rho >= 0,
            "tie_mode must be full or split": self.tie_mode in ("full", "split"),
            "variant must be logistic or gaussian": self.variant in ("logistic", "gaussian"),
            "weight_limit must be > 0": self.weight_limit > 0,
            "sig_limit and drift_per_day must be >= 0 and not both 0": min(self.sig_limit, self.drift_per_day) >= 0
            and self.sig_limit + self.drift_per_day > 0,
            "beta and gamma go together": (self.beta is None) == (self.gamma is None),
            "beta must be > 0": self.beta is None or self.beta > 0,
            "gamma must be >= 0": self.gamma is None or self.gamma >= 0,
            "drift_per_day needs limits, not beta": self.beta is None or not self.drift_per_day,
            "noob_delay must be > 0": all(factor > 0 for factor in self.noob_delay),
            "history_len must be >= 1": self.history_len is None or self.history_len >= 1,
            "sigma_init must be > 0": self.sigma_init > 0,
            "tie_loss and tie_win go together, without tie_mode": (self.tie_loss is None) == (self.tie_win is None)
            and (self.tie_loss is None or self.tie_mode == "full"),
        }
        broken = [rule for rule, holds in rules.items() if not holds]
        if broken:
            raise ValueError(f"{broken[0]}, got {self}")
        self.players = {
            name: Player(state["mu"], state["sig"], state["mu"], state["sig"] ** -2, n=int(state["n"]))
            for name, state in self.initial_state.items()
        }

    def rate(
        self,
        standings: Sequence[Standing],
        time: float = 0,
        weight: float = 1.0,
        perf_ceiling: float = math.inf,
        advantages: Sequence[float] | None = None,
        precision: float = 1.0,
    ) -> list[Outcome]:
        """One contest, from places: diffuse all participants, solve for performances, update all.

        With ``advantages`` the field has strengths, and each performance is one of strength.
        """
        names = [name for name, _, _ in standings]
        betas = self._diffuse_all(names, time, weight, precision)
        more = dict(zip(names, advantages or [0.0] * len(names), strict=True))
        field_ = [
            (self.players[name].mu + more[name], math.hypot(self.players[name].sigma, betas[name])) for name in names
        ]
        shown: dict[tuple[int, int], float] = {}  # all members of a tie group have one sum and hence one root
        for _, lo, hi in standings:
            if (lo, hi) not in shown:
                shown[lo, hi] = self._performance(field_, lo, hi)
        performances = [(name, shown[lo, hi] - more[name]) for name, lo, hi in standings]
        return self._update_all(performances, betas, time, perf_ceiling)

    def rate_teams(
        self, standings: Sequence[TeamStanding], time: float = 0, weight: float = 1.0, perf_ceiling: float = math.inf
    ) -> tuple[list[Outcome], list[float]]:
        """One contest of teams; also the performance of each team."""
        betas = self._diffuse_all([name for _, _, members, _ in standings for name in members], time, weight)
        options, known = Options(self.team, self.team_noise, self.credit), self.players
        teams = [
            team_of([(known[name].mu, known[name].sigma, betas[name]) for name in members], shares, options)
            for _, _, members, shares in standings
        ]
        field_ = [(team.mu, math.sqrt(team.skill + team.noise)) for team in teams]
        roots = {row[:2]: self._performance(field_, *row[:2]) for row in standings}
        capped = self.variant == "logistic" or self.ceiling_gaussian
        perf = [min(roots[lo, hi], perf_ceiling) if capped else roots[lo, hi] for lo, hi, _, _ in standings]
        outcomes = []
        for (_, _, members, _), team, p in zip(standings, teams, perf, strict=True):
            for k, name in enumerate(members):
                shown, noise = team.of_member(k, p)
                outcomes += self._update_all([(name, shown)], {name: noise}, time, math.inf)
        return outcomes, perf

    def absorb(
        self,
        performances: Sequence[tuple[str, float]],
        time: float = 0,
        weight: float = 1.0,
        perf_ceiling: float = math.inf,
    ) -> list[Outcome]:
        """One contest whose performances are known: diffuse and update only."""
        betas = self._diffuse_all([name for name, _ in performances], time, weight)
        return self._update_all(performances, betas, time, perf_ceiling)

    def reset(self, centre: float, keep: float, widen: float, forget: bool = False) -> None:
        """Map the density of every belief towards ``centre`` and widen it without a change of its shape."""
        for player in self.players.values():
            before = player.sigma**2
            after = min(max(self.sigma_init**2, before), before + widen**2)
            player.sigma = math.sqrt(after)
            if forget or keep == 0:
                player.mu = player.normal_mu = centre + keep * (player.mu - centre)
                player.normal_weight, player.factors = 1 / after, []
                continue
            player.normal_mu = centre + keep * (player.normal_mu - centre)
            player.normal_weight *= before / after
            player.factors = [
                [centre + keep * (p - centre), w * before / after, keep * b] for p, w, b in player.factors
            ]
            centres = [player.normal_mu] + [p_k for p_k, _, _ in player.factors]
            player.mu = _bisect(lambda x: _pull(player, x), min(centres), max(centres))  # noqa: B023

    # --- section 1: parameters of one player's round; section 3: diffusion ---

    def _diffuse_all(
        self, names: Sequence[str], time: float, weight: float, precision: float = 1.0
    ) -> dict[str, float]:
        """Bring every participant's belief to ``time``; return their beta."""
        if not weight > 0:
            raise ValueError(f"weight must be > 0, got {weight}")
        betas = {}
        for name in names:
            fresh = Player(self.mu_init, self.sigma_init, self.mu_init, self.sigma_init**-2)
            player = self.players.setdefault(name, fresh)
            beta2, gamma2 = self._variances(player, time, weight)
            _diffuse(player, gamma2, self.rho)
            betas[name] = math.sqrt(beta2 / precision)
        return betas

    def _variances(self, player: Player, time: float, weight: float) -> tuple[float, float]:
        """beta^2 and gamma^2 of this player in this contest."""
        weight *= self.noob_delay[player.n] if player.n < len(self.noob_delay) else 1.0
        if self.beta is not None and self.gamma is not None:
            return self.beta**2 / weight, self.gamma**2 * weight
        u, s2 = self.weight_limit * weight, self.sig_limit**2
        days = 0.0 if player.last_time is None else max(0.0, time - player.last_time) / 86400
        return (1 + 1 / u) * s2 + self.drift_per_day / u, u * s2 + self.drift_per_day * days

    # --- section 4: performance ---

    def _performance(self, field_: Sequence[tuple[float, float]], lo: int, hi: int) -> float:
        """The zero of Q for the tie group that holds places ``lo`` to ``hi``."""
        split_term = _logistic_terms if self.variant == "logistic" else _gaussian_terms

        def q(p: float) -> float:
            parts: list[float] = []
            for j, (mu, delta) in enumerate(field_):
                loss, draw, win = split_term(p, mu, delta)
                if j < lo:
                    parts += loss
                elif j > hi:
                    parts += win
                elif self.tie_loss is not None and self.tie_win is not None and self.tie_loss + self.tie_win < 2:
                    parts += [self.tie_loss * x for x in loss] + [self.tie_win * x for x in win]
                elif self.tie_mode == "full":
                    parts += draw
                else:
                    parts += [x / 2 for x in loss + win]
            return math.fsum(parts)

        low = min(mu - delta for mu, delta in field_)
        high = max(mu + delta for mu, delta in field_)
        step = high - low
        while q(low) < 0:
            low, step = low - step, 2 * step
        step = high - low
        while q(high) > 0:
            high, step = high + step, 2 * step
        return _bisect(lambda p: -q(p), low, high)

    # --- section 6: update ---

    def _update_all(
        self, shown: Sequence[tuple[str, float]], betas: Mapping[str, float], time: float, perf_ceiling: float
    ) -> list[Outcome]:
        outcomes = []
        for name, p in shown:
            player = self.players[name]
            mu_prior, sigma_prior = player.mu, player.sigma
            capped = self.variant == "logistic" or self.ceiling_gaussian
            performance = min(p, perf_ceiling) if capped else p
            self._update(player, performance, betas[name])
            player.n += 1
            player.last_time = time if player.last_time is None else max(player.last_time, time)
            outcomes.append(
                Outcome(
                    name,
                    performance,
                    mu_prior,
                    sigma_prior,
                    player.mu,
                    player.sigma,
                    player.normal_mu,
                    player.normal_weight**-0.5,
                    [[p, w] for p, w, _ in player.factors],
                )
            )
        return outcomes

    def _update(self, player: Player, p: float, beta: float) -> None:
        """Multiply one performance into a belief."""
        player.sigma = (player.sigma**-2 + beta**-2) ** -0.5
        if self.variant == "gaussian":
            _merge(player, p, beta**-2)
            player.mu = player.normal_mu
            return
        if self.history_len is not None and len(player.factors) >= self.history_len:
            oldest, w, _ = player.factors.pop(0)
            _merge(player, oldest, w)
        player.factors.append([p, beta**-2, beta])
        centres = [player.normal_mu] + [p_k for p_k, _, _ in player.factors]
        player.mu = _bisect(lambda x: _pull(player, x), min(centres), max(centres))


def _diffuse(player: Player, gamma2: float, rho: float) -> None:
    """Let a skill drift with variance ``gamma2``: all factors shrink, a share of each moves into the normal one."""
    sigma2 = player.sigma**2
    if math.isinf(rho):
        player.normal_mu, player.normal_weight, player.factors = player.mu, 1 / (sigma2 + gamma2), []
    else:
        kappa = 1 / (1 + gamma2 / sigma2)
        log_t = -rho * math.log1p(gamma2 / sigma2)
        kept = math.exp(log_t) * player.normal_weight
        moved = -math.expm1(log_t) * math.fsum([player.normal_weight] + [w for _, w, _ in player.factors])
        player.normal_mu = (kept * player.normal_mu + moved * player.mu) / (kept + moved)
        player.normal_weight = kappa * (kept + moved)
        for factor in player.factors:
            factor[1] *= kappa * math.exp(log_t)
    player.sigma = math.sqrt(sigma2 + gamma2)


def _merge(player: Player, p: float, w: float) -> None:
    """Merge a factor into the normal one by weight."""
    total = player.normal_weight + w
    player.normal_mu = (player.normal_weight * player.normal_mu + w * p) / total
    player.normal_weight = total


def _pull(player: Player, x: float) -> float:
    """Minus the slope of the log-belief at ``x``; increasing, zero at the mode."""
    parts = [player.normal_weight * (x - player.normal_mu)]
    for p, w, beta in player.factors:
        scale = beta / C3
        parts.append(w * beta**2 / scale * math.tanh((x - p) / (2 * scale)))
    return math.fsum(parts)


def _logistic_terms(p: float, mu: float, delta: float) -> tuple[list[float], list[float], list[float]]:
    """l, d and v of one opponent, each a list to be summed: its limit and how much is missing to it.

    Kept apart, the limits of opponents above and below cancel exactly, and what is missing decides.
    """
    b = delta / C3
    z = (p - mu) / b
    e = math.exp(-abs(z))
    missing, limit = e / (1 + e) / b, 1 / b
    if z >= 0:
        return [-limit, missing], [-limit, 2 * missing], [missing]
    return [-missing], [limit, -2 * missing], [limit, -missing]


def _gaussian_terms(p: float, mu: float, delta: float) -> tuple[list[float], list[float], list[float]]:
    """l, d and v of one opponent, each a list of one term."""
    z = (p - mu) / delta
    return [-_hazard(z) / delta], [-z / delta], [_hazard(-z) / delta]


def _hazard(x: float) -> float:
    """phi(x) / Phi(-x) of the standard normal law, without an underflow of either in the upper tail."""
    if x < 5:
        return math.sqrt(2 / math.pi) * math.exp(-x * x / 2) / math.erfc(x / math.sqrt(2))
    fraction = x  # Laplace: x + 1/(x + 2/(x + 3/(x + ...))); 100 levels are exact from 5 up
    for k in range(100, 0, -1):
        fraction = x + k / fraction
    return fraction


def _bisect(increasing: Callable[[float], float], low: float, high: float) -> float:
    """The zero of an increasing function between two signs, to the last bit."""
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return middle
        value = increasing(middle)
        if value == 0:
            return middle
        low, high = (middle, high) if value < 0 else (low, middle)
