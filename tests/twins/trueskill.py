"""Reference implementation of TrueSkill in plain Python: a factor graph of objects, one message at a time.

Source: Herbrich, Minka and Graepel, "TrueSkill: A Bayesian Skill Rating System" (NIPS 2006), figure 1 and table 1, with
the draw margin of its section 2; for levels Nikolenko and Sirotkin, "Extensions of the TrueSkill rating system" (2010).
Nothing is shared with the fast kernels: every message is kept at its factor, every product is formed anew from all its
parts, and the moments of truncated laws are integrals done by quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Standing = tuple[str, int, int]  # player, lo, hi
TeamStanding = tuple[int, int, Sequence[str], Sequence[float] | None]  # lo, hi, members, shares
SETTLED, SWEEPS, UNDAMPED = 1e-13, 1000, 60


@dataclass(frozen=True)
class Normal:
    """A normal law or message: precision pi = 1 / variance and tau = precision * mean; zeros mean no information."""

    pi: float = 0.0
    tau: float = 0.0

    @classmethod
    def of(cls, mean: float, variance: float) -> Normal:
        return cls(1.0 / variance, mean / variance)

    def plus(self, other: Normal, sign: float = 1.0) -> Normal:
        """The law of x + sign * y."""
        if self.pi == 0.0 or other.pi == 0.0:
            return Normal()
        mean = self.tau / self.pi + sign * other.tau / other.pi
        return Normal.of(mean, 1.0 / self.pi + 1.0 / other.pi)


class Variable:
    """A node that collects messages; ``without`` is the product of all but one."""

    def __init__(self) -> None:
        self.messages: dict[object, Normal] = {}

    def without(self, factor: object) -> Normal:
        others = [message for source, message in self.messages.items() if source is not factor]
        return Normal(math.fsum(m.pi for m in others), math.fsum(m.tau for m in others))


@dataclass(eq=False)
class Comparison:
    """The factors around d = upper - lower: d lies in (low, high)."""

    upper: Variable
    lower: Variable
    low: float
    high: float
    sharpen: float
    message: Normal = field(default_factory=Normal)  # the truncation's message to d

    def pass_messages(self, step: float) -> float:
        """Update all messages once; returns the movement of the law of the difference."""
        upper, lower = self.upper.without(self), self.lower.without(self)
        d = upper.plus(lower, -1.0)
        if d.pi == 0.0 and math.isinf(self.high):
            return math.inf  # the level below has no messages from its members yet
        mean, variance = truncated(d, self.low, self.high, self.sharpen)
        message = Normal(max(1.0 / variance - d.pi, 0.0), mean / variance - d.tau)
        far = abs((message.tau - self.message.tau) - mean * (message.pi - self.message.pi)) * variance
        wide = math.inf if d.pi == 0.0 else abs(d.tau / d.pi) + d.pi**-0.5
        moved = max(far / wide, abs(message.pi - self.message.pi) * variance)
        self.message = Normal(
            self.message.pi + step * (message.pi - self.message.pi),
            self.message.tau + step * (message.tau - self.message.tau),
        )
        self.upper.messages[self] = lower.plus(self.message)
        self.lower.messages[self] = upper.plus(self.message, -1.0)
        return moved


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
    """A rating system and its state; parameters as in the specification, None for the model's default."""

    model: str = "adjacent"
    convention: str = "exact"
    mu_init: float | None = None
    sigma_init: float | None = None
    beta: float | None = None
    tau: float | None = None
    p_draw: float | None = None
    eps: float | None = None
    initial_state: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model == "adjacent":
            defaults = {"mu_init": 25.0, "sigma_init": 25.0 / 3.0, "p_draw": 0.1}
        else:
            defaults = {"mu_init": 1500.0, "sigma_init": 350.0, "beta": 175.0, "tau": 35.0, "eps": 1.0}
        for name, value in defaults.items():
            if getattr(self, name) is None:
                setattr(self, name, value)
        self.beta = self.sigma_init / 2.0 if self.beta is None else self.beta
        self.tau = self.sigma_init / 100.0 if self.tau is None else self.tau
        if self.model == "adjacent":
            self.eps = _quantile(self.p_draw) * math.sqrt(2.0) * self.beta
        self.sharpen = 2.0 if self.convention == "half_variance" else 1.0
        self.players = {
            name: Player(known["mu"], known["sig"], int(known.get("n", 0)))
            for name, known in self.initial_state.items()
        }

    def rate(self, standings: Sequence[Standing], time: float = 0, weight: float = 1.0) -> list[Outcome]:
        """One contest. Time alone changes nothing; a weight divides the variance of performances."""
        before = [self.players.setdefault(name, Player(self.mu_init, self.sigma_init)) for name, _, _ in standings]
        noise = self.beta**2 / weight
        skills = [Normal.of(p.mu, p.sigma**2 + self.tau**2) for p in before]
        performances = [Variable() for _ in standings]
        for skill, performance in zip(skills, performances, strict=True):
            performance.messages["skill"] = skill.plus(Normal.of(0.0, noise))
        self._settle(performances, standings, [1] * len(standings))
        outcomes = []
        for (name, _, _), player, skill, performance in zip(standings, before, skills, performances, strict=True):
            shown = performance.without("skill").plus(Normal.of(0.0, noise))  # what the places say about the skill
            after = Normal(skill.pi + shown.pi, skill.tau + shown.tau)
            prior = player.mu, skill.pi**-0.5
            player.mu, player.sigma, player.n = after.tau / after.pi, after.pi**-0.5, player.n + 1
            outcomes.append(Outcome(name, *prior, player.mu, player.sigma))
        return outcomes

    def rate_teams(
        self, standings: Sequence[TeamStanding], time: float = 0, weight: float = 1.0, perf_ceiling: float = math.inf
    ) -> list[Outcome]:
        """One contest of teams: a team's performance is the sum of its members', times size and share of each."""
        noise, teams, performances = self.beta**2 / weight, [], []
        for _, _, members, shares in standings:
            given = [1.0] * len(members) if shares is None else shares
            factors = [len(members) * share / math.fsum(given) for share in given]
            before = [self.players.setdefault(name, Player(self.mu_init, self.sigma_init)) for name in members]
            skills = [Normal.of(p.mu, p.sigma**2 + self.tau**2) for p in before]
            parts = [
                Normal.of(f * s.tau / s.pi, f * f * (1 / s.pi + noise)) for f, s in zip(factors, skills, strict=True)
            ]
            team = Variable()
            team.messages["members"] = _sum(parts)
            performances.append(team)
            teams.append((members, before, factors, skills, parts))
        sizes = [len(members) for _, _, members, _ in standings]
        self._settle(performances, [("", lo, hi) for lo, hi, *_ in standings], sizes)
        outcomes = []
        for (members, before, factors, skills, parts), team in zip(teams, performances, strict=True):
            for k, name in enumerate(members):
                shown = team.without("members")
                if len(members) > 1:
                    shown = shown.plus(_sum([part for j, part in enumerate(parts) if j != k]), -1.0)
                shown = Normal(shown.pi * factors[k] ** 2, shown.tau * factors[k]).plus(Normal.of(0.0, noise))
                after = Normal(skills[k].pi + shown.pi, skills[k].tau + shown.tau)
                prior = before[k].mu, skills[k].pi ** -0.5
                before[k].mu, before[k].sigma, before[k].n = after.tau / after.pi, after.pi**-0.5, before[k].n + 1
                outcomes.append(Outcome(name, *prior, before[k].mu, before[k].sigma))
        return outcomes

    def _settle(self, performances: Sequence[Variable], standings: Sequence[Standing], sizes: Sequence[int]) -> None:
        """Sweep down and up until convergence."""
        chain = (
            self._adjacent(performances, standings, sizes)
            if self.model == "adjacent"
            else self._levels(performances, standings)
        )
        for sweep in range(SWEEPS):
            step = 1.0 if sweep < UNDAMPED else 0.25
            moved = [c.pass_messages(step) for c in chain] + [c.pass_messages(step) for c in reversed(chain)]
            if all(m <= SETTLED * 10 ** (sweep // UNDAMPED) for m in moved) or not moved:
                return
        raise ArithmeticError(f"messages still move by {max(moved)} after {SWEEPS} sweeps")

    def _adjacent(
        self, performances: Sequence[Variable], standings: Sequence[Standing], sizes: Sequence[int]
    ) -> list[Comparison]:
        """Neighbours in the standings: a tie is |d| <= eps, a win d > eps; eps grows with the number of players."""
        chain = []
        for i in range(len(standings) - 1):
            tied = standings[i][1] == standings[i + 1][1]
            eps = self.eps * math.sqrt((sizes[i] + sizes[i + 1]) / 2)
            low, high = (-eps, eps) if tied else (eps, math.inf)
            chain.append(Comparison(performances[i], performances[i + 1], low, high, self.sharpen))
        return chain

    def _levels(self, performances: Sequence[Variable], standings: Sequence[Standing]) -> list[Comparison]:
        """Members are within eps of their place's level; levels differ by more than 2 eps."""
        chain: list[Comparison] = []
        levels: list[Variable] = []
        for i, (_, lo, _) in enumerate(standings):
            if lo == i:
                levels.append(Variable())
                if i > 0:
                    chain.append(Comparison(levels[-2], levels[-1], 2.0 * self.eps, math.inf, self.sharpen))
            chain.append(Comparison(levels[-1], performances[i], -self.eps, self.eps, self.sharpen))
        return chain


def _sum(laws: Sequence[Normal]) -> Normal:
    """The law of a sum of independent numbers."""
    return Normal.of(math.fsum(law.tau / law.pi for law in laws), math.fsum(1.0 / law.pi for law in laws))


def truncated(law: Normal, low: float, high: float, sharpen: float = 1.0) -> tuple[float, float]:
    """Mean and variance of a law cut to (low, high); under the engine's convention the law is narrower.

    The density is integrated from the end of the interval where it is largest, over all that matters to 17 digits.
    """
    if law.pi == 0.0:
        return 0.5 * (low + high), (high - low) ** 2 / 12.0
    mean, deviation = law.tau / law.pi, (sharpen * law.pi) ** -0.5
    if math.isfinite(high) and abs(high - mean) < abs(low - mean):
        m, v = truncated(Normal(law.pi, -law.tau), -high, -low, sharpen)
        return -m, v
    a, width = (low - mean) / deviation, (high - low) / deviation
    # y = z - a has density exp(-a y - y^2 / 2) on (0, width)
    begin = max(0.0, -a - 9.0)
    end = min(width, -a + 9.0 if a < 0.0 else 82.0 / (a + math.sqrt(a * a + 82.0)))
    half, centre = 0.5 * (end - begin), 0.5 * (end + begin)
    points = [(centre + half * x, w) for x, w in _LEGENDRE]
    top = max(-a * y - 0.5 * y * y for y, _ in points)
    masses = [w * math.exp(-a * y - 0.5 * y * y - top) for y, w in points]
    total = math.fsum(masses)
    y0 = math.fsum(m * y for m, (y, _) in zip(masses, points, strict=True)) / total
    spread = math.fsum(m * (y - y0) ** 2 for m, (y, _) in zip(masses, points, strict=True)) / total
    return low + deviation * y0, deviation**2 * spread


def _gauss_legendre(n: int) -> list[tuple[float, float]]:
    """Nodes and weights on (-1, 1), by Newton's method on the Legendre polynomial."""
    rule = []
    for i in range(n):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(20):
            p, q = 1.0, 0.0
            for k in range(n):
                p, q = ((2 * k + 1) * x * p - k * q) / (k + 1), p
            slope = n * (x * p - q) / (x * x - 1.0)
            x -= p / slope
        rule.append((x, 2.0 / ((1.0 - x * x) * slope * slope)))
    return rule


_LEGENDRE = _gauss_legendre(48)


def _quantile(p_draw: float) -> float:
    """Phi^-1((1 + p_draw) / 2), by bisection."""
    low, high = 0.0, 40.0
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if math.erf(middle / math.sqrt(2.0)) < p_draw else (low, middle)
    return high
