"""Reference implementation of Elo-MMS in plain Python: pairwise sums and bisection, one player at a time.

Nothing is shared with the kernels: no tables, no arrays, no Newton. Sums are exact (:func:`math.fsum`), and roots are
bisected until no number lies between the ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from twins.learnt_drift import Cell, Drifts, cell_of
from twins.teams import Options, team_of

Standing = tuple[str, int, int]  # player, lo, hi
TeamStanding = tuple[int, int, Sequence[str], Sequence[float] | None]  # lo, hi, members, shares

C3 = math.pi / math.sqrt(3.0)  # a logistic law of standard deviation s has scale s / C3


@dataclass
class Player:
    """The belief about one player: mean and deviation of a normal law, rounds so far, and the time of the last."""

    mu: float
    sigma: float
    n: int = 0
    last_time: float | None = None


@dataclass(frozen=True)
class Outcome:
    """One participation: the belief before (after practice and drift) and after, and the performance."""

    player: str
    performance: float
    mu_prior: float
    sigma_prior: float
    mu: float
    sigma: float


@dataclass(frozen=True)
class Law:
    """The noise of performances in one round: deviations of both sides, the skew's share, the lower side's law, and the
    squared correlation of performance and place.
    """

    upper: float
    lower: float
    share: float
    logistic: bool
    rho: float = 1.0

    @property
    def shift(self) -> float:
        """The distance of the mean below the skill."""
        return self.share * math.sqrt(2.0 / math.pi) * (self.lower - self.upper)

    @property
    def variance(self) -> float:
        """Of a two-piece normal law, to the skew's share."""
        wide, narrow = self.lower, self.upper
        skewed = wide * narrow + (1.0 - 2.0 / math.pi) * (wide - narrow) ** 2
        return (1.0 - self.share) * narrow**2 + self.share * skewed

    def pull(self, y: float) -> float:
        """Minus the slope of the logarithm of the density of a performance ``y`` below the skill (y >= 0)."""
        if self.logistic:
            scale = self.lower / C3
            skewed = math.tanh(y / (2.0 * scale)) / scale
        else:
            skewed = y / self.lower**2
        return (1.0 - self.share) * y / self.upper**2 + self.share * skewed


@dataclass
class Twin:
    """The system and its state. ``initial_state`` maps players to ``{"mu", "sig", "n"}``, rated at no known time."""

    beta: float = 130.0
    skew: float = 1.4
    lower: str = "logistic"
    duel: float = 2.0
    resolution: str = "rank"
    gamma: float = 12.0
    drift_per_day: float = 12.0
    practice: float = 8.0
    practice_rounds: float = 20.0
    tie_mode: str = "full"
    mu_init: float = 1500.0
    sigma_init: float = 350.0
    team: str = "mean"
    team_noise: str = "team"
    credit: str = "joint"
    learnt_drift: bool = False
    initial_state: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules = {
            "skew must be >= 1": self.skew >= 1,
            "practice must be >= 0": self.practice >= 0,
            "practice_rounds must be > 0": self.practice_rounds > 0,
            "lower must be logistic or normal": self.lower in ("logistic", "normal"),
            "duel must be 1 to 10": 1 <= self.duel <= 10,
            "resolution must be rank or exact": self.resolution in ("rank", "exact"),
            "tie_mode must be full or split": self.tie_mode in ("full", "split"),
        }
        broken = [rule for rule, holds in rules.items() if not holds]
        if broken:
            raise ValueError(f"{broken[0]}, got {self}")
        self.drifts = Drifts()
        self.players = {
            name: Player(state["mu"], state["sig"], int(state["n"])) for name, state in self.initial_state.items()
        }

    def rate(
        self, standings: Sequence[Standing], time: float = 0, weight: float = 1.0, perf_ceiling: float = math.inf
    ) -> list[Outcome]:
        """One contest."""
        return self.rate_teams([(lo, hi, [name], None) for name, lo, hi in standings], time, weight, perf_ceiling)

    def rate_teams(
        self, standings: Sequence[TeamStanding], time: float = 0, weight: float = 1.0, perf_ceiling: float = math.inf
    ) -> list[Outcome]:
        """One contest of teams."""
        law = self.law(len(standings), weight)
        options, alone = Options(self.team, self.team_noise, self.credit), math.sqrt(law.variance)
        teams = []
        learns, cells = self.learnt_drift and law.share > 0, dict[str, Cell | None]()
        for _, _, members, shares in standings:
            known = [self.players.setdefault(name, Player(self.mu_init, self.sigma_init)) for name in members]
            for name, player in zip(members, known, strict=True):
                cells[name] = cell_of(player.n, self._days(player, time)) if player.n and learns else None
                self._diffuse(player, time, weight, law.share, cells[name])
            teams.append(team_of([(player.mu, player.sigma, alone) for player in known], shares, options))
        field_ = [(team.mu, math.sqrt(team.skill + team.noise)) for team in teams]
        full = self.tie_mode == "full"
        roots = {lo: _performance(field_, lo, hi, full) for lo, hi in {row[:2] for row in standings}}
        outcomes = []
        for (lo, _, members, _), team in zip(standings, teams, strict=True):
            for k, name in enumerate(members):
                shown, noise = team.of_member(k, min(roots[lo] - law.shift, perf_ceiling))
                wider = noise / alone
                own = replace(law, upper=law.upper * wider, lower=law.lower * wider)
                player = self.players[name]
                mu, sigma = _update(player.mu, player.sigma, shown, own)
                outcomes.append(Outcome(name, shown, player.mu, player.sigma, mu, sigma))
        self.drifts.learn(
            (cell, outcome.performance - (outcome.mu_prior - law.shift))
            for outcome in outcomes
            if (cell := cells[outcome.player]) is not None
        )
        for outcome in outcomes:
            player = self.players[outcome.player]
            player.mu, player.sigma, player.n = outcome.mu, outcome.sigma, player.n + 1
            player.last_time = time if player.last_time is None else max(time, player.last_time)
        return outcomes

    def law(self, participants: int, weight: float = 1.0) -> Law:
        """The noise in a round of so many players or teams."""
        n = participants
        upper = self.beta * (1.0 + (self.duel - 1.0) * 2.0 / n) / math.sqrt(weight)
        rho = (n - 1.0) / (n + 1.0) if self.resolution == "rank" else 1.0
        return Law(upper, self.skew * upper, max(0.0, 1.0 - 2.0 / n), self.lower == "logistic", rho)

    def _days(self, player: Player, time: float) -> float:
        """Days since the player's last round."""
        return 0.0 if player.last_time is None else max(0.0, time - player.last_time) / 86400

    def _diffuse(self, player: Player, time: float, weight: float, share: float, cell: Cell | None) -> None:
        """Practice and drift before a round that is not the first."""
        if player.n == 0:
            return
        days = self._days(player, time)
        if cell is not None:
            player.mu += share * self.drifts.gain(cell)
        player.mu += share * self.practice / (1.0 + player.n / self.practice_rounds)
        player.sigma = math.sqrt(player.sigma**2 + self.gamma**2 * weight + self.drift_per_day * days)


def _update(mu: float, sigma: float, shown: float, law: Law) -> tuple[float, float]:
    """The mode of the belief times the law of the performance, and the new deviation."""
    if shown >= mu:
        after = mu + sigma**2 / (sigma**2 + law.upper**2) * (shown - mu)
    else:
        after = _bisect(lambda x: (x - mu) / sigma**2 + law.pull(x - shown), shown, mu)
    v, noise = sigma**2, law.variance
    return after, math.sqrt(v * (noise + (1.0 - law.rho) * v) / (v + noise))


def _performance(field_: Sequence[tuple[float, float]], lo: int, hi: int, full: bool) -> float:
    """The zero of Q (arXiv:2101.00400, section 3.1) for the tie group that holds places ``lo`` to ``hi``."""

    def q(p: float) -> float:
        parts: list[float] = []
        for j, (mu, delta) in enumerate(field_):
            loss, win = _terms(p, mu, delta)
            if j < lo:
                parts += loss
            elif j > hi:
                parts += win
            else:
                parts += loss + win if full else [0.5 * x for x in loss + win]
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


def _terms(p: float, mu: float, delta: float) -> tuple[list[float], list[float]]:
    """Terms of a loss against one opponent and of a win: the limit of each, and the deviation from it."""
    b = delta / C3
    z = (p - mu) / b
    e = math.exp(-abs(z))
    missing, limit = e / (1 + e) / b, 1 / b
    return ([-limit, missing], [missing]) if z >= 0 else ([-missing], [limit, -missing])


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
