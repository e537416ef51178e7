"""Reference implementation of Glicko-2 in plain Python: one game at a time, volatility by the paper's procedure.

Source: Glickman, "Example of the Glicko-2 system" (2012, glicko.net/glicko/glicko2.pdf), steps 1 to 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from twins.glicko import DAY, Game, Played, Standing, games_of, logistic

SCALES = {"printed": 173.7178, "exact": 400 / math.log(10)}


@dataclass
class Player:
    """The belief about one player, number of contests and time of the last one."""

    mu: float
    sigma: float
    vol: float
    n: int = 0
    last_time: float | None = None


@dataclass(frozen=True)
class Outcome:
    """One participation: the belief before and after; ``v`` and ``delta`` as the paper names them."""

    player: str
    mu_prior: float
    sigma_prior: float
    mu: float
    sigma: float
    vol: float
    v: float
    delta: float


@dataclass
class Glicko2:
    """The state of the system. Ratings in points; ``initial_state`` maps players to mu, sigma, vol and n."""

    tau: float = 0.5
    scale: str = "printed"
    period_days: float | None = None
    mu_init: float = 1500.0
    sigma_init: float = 350.0
    vol_init: float = 0.06
    initial_state: Mapping[str, tuple[float, float, float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.points = SCALES[self.scale]  # a unit of the Glicko-2 scale
        self.players = {name: Player(*known) for name, known in self.initial_state.items()}

    def rate(self, standings: Sequence[Standing], time: float = 0, weight: float = 1.0) -> list[Outcome]:
        """One contest, from places; weights have no part in it."""
        return self.rate_period(games_of(standings), time)

    def rate_games(self, games: Sequence[Game], time: float | None = None) -> list[Outcome]:
        """One rating period, from single games."""
        played: dict[str, Played] = {}
        for one, other, score in games:
            played.setdefault(one, []).append((other, score))
            played.setdefault(other, []).append((one, 1 - score))
        return self.rate_period(played, time)

    def sit_out(self, name: str, periods: float = 1.0) -> Player:
        """Step 6 only, for each period without games."""
        player = self.players[name]
        player.sigma = self.points * math.sqrt((player.sigma / self.points) ** 2 + player.vol**2 * periods)
        return player

    def rate_period(self, played: Mapping[str, Played], time: float | None) -> list[Outcome]:
        for name in played:
            player = self.players.setdefault(name, Player(self.mu_init, self.sigma_init, self.vol_init))
            if self.period_days is not None and player.last_time is not None:
                assert time is not None
                idle = max(time - player.last_time, 0) / DAY / self.period_days - 1
                self.sit_out(name, max(idle, 0.0))
        before = {name: (self.players[name].mu, self.players[name].sigma) for name in played}
        outcomes = []
        for name, games in played.items():
            opponents = [(*before[other], score) for other, score in games]
            v, delta = self.update(self.players[name], opponents)
            player = self.players[name]
            player.n += 1
            if time is not None:
                player.last_time = time if player.last_time is None else max(player.last_time, time)
            outcomes.append(Outcome(name, *before[name], player.mu, player.sigma, player.vol, v, delta))
        return outcomes

    def update(self, player: Player, opponents: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
        """Steps 2 to 8; returns v and delta."""
        m, f = (player.mu - 1500) / self.points, player.sigma / self.points
        inverse, gain = [], []
        for mu_j, sigma_j, score in opponents:
            m_j, f_j = (mu_j - 1500) / self.points, sigma_j / self.points
            g = 1 / math.sqrt(1 + 3 * f_j**2 / math.pi**2)
            expected = logistic(g * (m - m_j))
            inverse.append(g**2 * expected * logistic(-g * (m - m_j)))
            gain += [g * score, -g * expected]
        v = 1 / math.fsum(inverse) if opponents else math.inf
        delta = v * math.fsum(gain) if opponents else 0.0
        if opponents:
            player.vol = new_volatility(delta, f, v, player.vol, self.tau)
        f_star = math.hypot(f, player.vol)
        f_new = 1 / math.sqrt(1 / f_star**2 + 1 / v)
        player.mu += self.points * f_new**2 * math.fsum(gain)
        player.sigma = self.points * f_new
        return v, delta


def new_volatility(delta: float, f: float, v: float, vol: float, tau: float) -> float:
    """Step 5, to the last digits."""
    a = math.log(vol**2)

    def function(x: float) -> float:
        e = math.exp(x)
        return e * (delta**2 - f**2 - v - e) / (2 * (f**2 + v + e) ** 2) - (x - a) / tau**2

    left = a
    if delta**2 > f**2 + v:
        right = math.log(delta**2 - f**2 - v)
    else:
        k = 1
        while function(a - k * tau) < 0:
            k += 1
        right = a - k * tau
    f_left, f_right = function(left), function(right)
    for _ in range(500):
        if abs(right - left) <= 1e-15 * max(1.0, abs(a)) or f_left == f_right:
            break
        middle = left + (left - right) * f_left / (f_right - f_left)
        f_middle = function(middle)
        if f_middle * f_right <= 0:
            left, f_left = right, f_right
        else:
            f_left /= 2
        right, f_right = middle, f_middle
    return math.exp((left if f_left == 0 else right) / 2)
