"""Reference implementation of Glicko and the engine's all-pairs variant in plain Python: one game at a time.

Sources: Glickman, "The Glicko system" (glicko.net/glicko/glicko.pdf), steps 1 and 2; for :class:`AllPairs` the Glicko
of the engine published with Ebtekar and Liu, arXiv:2101.00400. Sums are exact (:func:`math.fsum`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Standing = tuple[str, int, int]  # player, lo, hi
Game = tuple[str, str, float]  # two players and the first one's score
Played = list[tuple[str, float]]  # one player's opponents and scores against them

Q = math.log(10) / 400
DAY = 86400


@dataclass
class Player:
    """The belief about one player, number of contests and time of the last one."""

    mu: float
    sigma: float
    n: int = 0
    last_time: float | None = None


@dataclass(frozen=True)
class Outcome:
    """One participation: the belief before (diffused) and after."""

    player: str
    mu_prior: float
    sigma_prior: float
    mu: float
    sigma: float


def games_of(standings: Sequence[Standing]) -> dict[str, Played]:
    """Every pair of a contest as one game, from both sides; a tie is half a win."""
    return {
        name: [(other, 1.0 if lo < at else 0.0 if lo > at else 0.5) for other, at, _ in standings if other != name]
        for name, lo, _ in standings
    }


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


@dataclass
class Glicko:
    """The state of the 1995 system. Ratings in points; ``initial_state`` maps players to mu, sigma and n."""

    sig_drift: float = 35.0
    max_rd: float = 350.0
    period_days: float | None = None
    mu_init: float = 1500.0
    sigma_init: float = 350.0
    initial_state: Mapping[str, tuple[float, float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.players = {name: Player(*known) for name, known in self.initial_state.items()}

    def rate(self, standings: Sequence[Standing], time: float = 0, weight: float = 1.0) -> list[Outcome]:
        """One contest, from places."""
        return self.rate_period(games_of(standings), time, weight)

    def rate_games(self, games: Sequence[Game], time: float | None = None) -> list[Outcome]:
        """One rating period, from single games."""
        played: dict[str, Played] = {}
        for one, other, score in games:
            played.setdefault(one, []).append((other, score))
            played.setdefault(other, []).append((one, 1 - score))
        return self.rate_period(played, time)

    def sit_out(self, name: str, periods: float = 1.0) -> Player:
        """Step 1 only, for periods without games."""
        player = self.players[name]
        player.sigma = min(math.sqrt(player.sigma**2 + self.sig_drift**2 * periods), self.max_rd)
        return player

    def rate_period(self, played: Mapping[str, Played], time: float | None, weight: float = 1.0) -> list[Outcome]:
        before = {name: self.begin(name, time) for name in played}
        outcomes = []
        for name, games in played.items():
            mu, sigma = before[name]
            player = self.players[name]
            opponents = [(*before[other], score) for other, score in games]
            player.mu, player.sigma = self.update(name, mu, sigma, opponents, weight)
            player.n += 1
            if time is not None:
                player.last_time = time if player.last_time is None else max(player.last_time, time)
            outcomes.append(Outcome(name, mu, sigma, player.mu, player.sigma))
        return outcomes

    def begin(self, name: str, time: float | None) -> tuple[float, float]:
        """Step 1: the belief at the onset of the period."""
        player = self.players.setdefault(name, Player(self.mu_init, self.sigma_init))
        t = self.periods(player, time)
        return player.mu, min(math.sqrt(player.sigma**2 + self.sig_drift**2 * t), self.max_rd)

    def periods(self, player: Player, time: float | None) -> float:
        """Periods since the player's last one; 0 for newcomers."""
        if self.period_days is None:
            return 1.0 if player.n > 0 else 0.0
        if player.last_time is None:
            return 0.0
        assert time is not None
        return max(time - player.last_time, 0) / DAY / self.period_days

    def update(
        self, name: str, mu: float, sigma: float, opponents: Sequence[tuple[float, float, float]], weight: float
    ) -> tuple[float, float]:
        """Step 2: the new rating and RD."""
        informations, surprises = [], []
        for mu_j, sigma_j, score in opponents:
            g = 1 / math.sqrt(1 + 3 * Q**2 * sigma_j**2 / math.pi**2)
            expected = logistic(g * (mu - mu_j) * Q)
            informations.append(g**2 * expected * logistic(-g * (mu - mu_j) * Q))
            surprises += [g * score, -g * expected]
        precision = 1 / sigma**2 + Q**2 * math.fsum(informations)
        return mu + Q / precision * math.fsum(surprises), precision**-0.5


@dataclass
class AllPairs(Glicko):
    """The engine's variant: the mean over all participants, including oneself, counts as one game at even odds."""

    beta: float = 400 * math.pi / math.sqrt(3) / math.log(10)
    max_rd: float = math.inf

    def periods(self, player: Player, time: float | None) -> float:
        return 1.0 if self.period_days is None else super().periods(player, time)

    def update(
        self, name: str, mu: float, sigma: float, opponents: Sequence[tuple[float, float, float]], weight: float
    ) -> tuple[float, float]:
        b = self.beta / math.sqrt(weight)
        q = math.pi / math.sqrt(3) / b
        surprises = []
        for mu_j, sigma_j, score in opponents:
            g = 1 / math.sqrt(1 + sigma_j**2 / b**2)
            surprises += [g * score, -g * logistic(q * g * (mu - mu_j))]
        variance = 1 / (1 / sigma**2 + q**2 / 4)
        return mu + q * variance * math.fsum(surprises) / (len(opponents) + 1), math.sqrt(variance)
