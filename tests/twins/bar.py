"""Reference implementation of BAR in plain Python: pairwise sums, one player at a time.

Source: Weng and Lin, "A Bayesian Approximation Method for Online Ranking" (JMLR 12, 2011), Algorithm 1 (Bradley-Terry,
full pair) with one player a team, and the variant of it in the engine of the authors of Elo-MMR (arXiv:2101.00400).
Nothing is shared with the fast kernels: no tables, no arrays. Sums are exact (:func:`math.fsum`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Standing = tuple[str, int, int]  # player, lo, hi
TeamStanding = tuple[int, int, Sequence[str], Sequence[float] | None]  # lo, hi, members, shares

C3 = math.pi / math.sqrt(3.0)  # a logistic law of standard deviation s has scale s / C3
DEFAULTS = {
    "allpairs_mean": {"beta": C3 * 400 / math.log(10), "sig_drift": 35.0, "mu_init": 1500.0, "sigma_init": 350.0},
    "btfull": {"beta": 25 / 6, "sig_drift": 0.0, "mu_init": 25.0, "sigma_init": 25 / 3},
}


@dataclass
class Player:
    """The belief about one player."""

    mu: float
    sigma: float
    n: int = 0


@dataclass(frozen=True)
class Outcome:
    """One participation: the belief before (diffused) and after."""

    player: str
    mu_prior: float
    sigma_prior: float
    mu: float
    sigma: float


@dataclass
class Twin:
    """The system and its state. Parameters as in the specification; None is the variant's default.

    ``initial_state`` maps players to ``[mu, sigma, n]``.
    """

    variant: str = "allpairs_mean"
    beta: float | None = None
    sig_drift: float | None = None
    kappa: float = 1e-4
    gamma: str = "sigma_over_c"
    mu_init: float | None = None
    sigma_init: float | None = None
    initial_state: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in DEFAULTS[self.variant].items():
            if getattr(self, name) is None:
                setattr(self, name, value)
        self.players = {name: Player(mu, sigma, int(n)) for name, (mu, sigma, n) in self.initial_state.items()}

    def rate(self, standings: Sequence[Standing], time: float = 0, weight: float = 1.0) -> list[Outcome]:
        """One contest; time has no effect."""
        assert self.mu_init is not None
        assert self.sigma_init is not None
        assert self.beta is not None
        assert self.sig_drift is not None
        before = []
        for name, _, _ in standings:
            player = self.players.setdefault(name, Player(self.mu_init, self.sigma_init))
            before.append(Player(player.mu, math.hypot(player.sigma, self.sig_drift), player.n))
        changes = self._engine if self.variant == "allpairs_mean" else self._paper
        outcomes = []
        for i, (name, lo, hi) in enumerate(standings):
            one = before[i]
            rest = [(1.0 if hi < q else 0.0 if q < lo else 0.5, other) for q, other in enumerate(before) if q != i]
            omega, delta = changes(one, rest, self.beta**2 / weight)
            sigma = one.sigma * math.sqrt(max(1 - delta, self.kappa))
            outcomes.append(Outcome(name, one.mu, one.sigma, one.mu + omega, sigma))
        for outcome in outcomes:
            self.players[outcome.player] = Player(outcome.mu, outcome.sigma, self.players[outcome.player].n + 1)
        return outcomes

    def rate_teams(
        self, standings: Sequence[TeamStanding], time: float = 0, weight: float = 1.0, perf_ceiling: float = math.inf
    ) -> list[Outcome]:
        """One contest of teams: the change of a player who is the team, times the member's part of its variance."""
        teams = []
        for _, _, members, shares in standings:
            given = [1.0] * len(members) if shares is None else shares
            parts = [len(members) * share / math.fsum(given) for share in given]
            before = [self.players.setdefault(name, Player(self.mu_init, self.sigma_init)) for name in members]
            before = [Player(one.mu, math.hypot(one.sigma, self.sig_drift), one.n) for one in before]
            mu = math.fsum(w * one.mu for w, one in zip(parts, before, strict=True))
            sigma = math.sqrt(math.fsum((w * one.sigma) ** 2 for w, one in zip(parts, before, strict=True)))
            teams.append((Player(mu, sigma), members, before, parts))
        changes = self._engine if self.variant == "allpairs_mean" else self._paper
        outcomes = []
        for i, (lo, hi, *_) in enumerate(standings):
            team, members, before, parts = teams[i]
            rest = [(1.0 if hi < q else 0.0 if q < lo else 0.5, other[0]) for q, other in enumerate(teams) if q != i]
            omega, delta = changes(team, rest, self.beta**2 / weight)
            for name, one, part in zip(members, before, parts, strict=True):
                share = (one.sigma / team.sigma) ** 2
                mu, factor = one.mu + part * share * omega, max(1 - part**2 * share * delta, self.kappa)
                outcomes.append(Outcome(name, one.mu, one.sigma, mu, one.sigma * math.sqrt(factor)))
        for outcome in outcomes:
            self.players[outcome.player] = Player(outcome.mu, outcome.sigma, self.players[outcome.player].n + 1)
        return outcomes

    def _paper(self, one: Player, rest: Sequence[tuple[float, Player]], beta2: float) -> tuple[float, float]:
        """Omega and Delta of Algorithm 1, equations 40 to 44; ``rest`` are the results 1, 1/2, 0 against all others."""
        gammas: dict[str, Callable[[float], float]] = {
            "sigma_over_c": lambda c: one.sigma / c,
            "one_over_teams": lambda c: 1 / (len(rest) + 1),
            "one": lambda c: 1.0,
        }
        gamma, omega, delta = gammas[self.gamma], [], []
        for s, other in rest:
            c = math.sqrt(one.sigma**2 + other.sigma**2 + 2 * beta2)
            p = logistic((one.mu - other.mu) / c)
            omega.append(one.sigma**2 / c * surprise(s, (one.mu - other.mu) / c))
            delta.append(gamma(c) * (one.sigma / c) ** 2 * p * logistic((other.mu - one.mu) / c))
        return math.fsum(omega), math.fsum(delta)

    def _engine(self, one: Player, rest: Sequence[tuple[float, Player]], beta2: float) -> tuple[float, float]:
        """The mean over all participants, including oneself; the opponents' information about sigma is not used."""
        omega = []
        for s, other in rest:
            c = math.sqrt(one.sigma**2 + other.sigma**2 + 2 * beta2)
            omega.append(surprise(s, C3 * (one.mu - other.mu) / c) / c)
        s2 = one.sigma**2
        return s2 * math.fsum(omega) / (len(rest) + 1), s2 / 4 / (s2 + 2 * beta2)


def logistic(x: float) -> float:
    """1 / (1 + e^-x), without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def surprise(s: float, x: float) -> float:
    """s - logistic(x), without cancellation when a result was expected."""
    return logistic(-x) if s == 1 else -logistic(x) if s == 0 else -0.5 * math.tanh(0.5 * x)
