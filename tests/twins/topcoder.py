"""Reference implementation of TopCoder's rule in plain Python: pairwise sums, one player at a time.

Source: "Algorithm Competition Rating System" as TopCoder publishes it, and the form that the authors of Elo-MMR
(arXiv:2101.00400) give it in their engine: contest weights, a ceiling, two weights as parameters. Nothing is shared
with the fast kernels: no tables, no arrays, no Newton. Sums are exact (:func:`math.fsum`) and quantiles are bisected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Standing = tuple[str, int, int]  # player, lo, hi


@dataclass
class Player:
    """The belief about one player: rating, volatility, rated events."""

    mu: float
    sigma: float
    n: int = 0


@dataclass(frozen=True)
class Outcome:
    """One participation, with all intermediate values of the rule."""

    player: str
    performance: float
    mu_prior: float
    sigma_prior: float
    mu: float
    sigma: float
    expected_rank: float
    weight: float
    cap: float
    competition_factor: float


@dataclass
class Twin:
    """The rule and its state. Parameters as in the specification, ratings in points.

    ``initial_state`` maps players to ``[mu, sigma, n]``.
    """

    weight_noob: float = 0.6
    weight_limit: float = 0.18
    weight_multiplier: float = 1.0
    vol_after_cap: bool = False
    two_phase: bool = False
    published_constants: bool = False
    mu_init: float | None = None
    sigma_init: float | None = None
    initial_state: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mu_init is None:
            self.mu_init = 1200.0 if self.published_constants else 1500.0
        if self.sigma_init is None:
            self.sigma_init = 515.0 if self.published_constants else 350.0
        self.players = {name: Player(mu, sigma, int(n)) for name, (mu, sigma, n) in self.initial_state.items()}

    def rate(
        self, standings: Sequence[Standing], time: float = 0, weight: float = 1.0, perf_ceiling: float = math.inf
    ) -> list[Outcome]:
        """One contest; time has no effect."""
        if not weight > 0:
            raise ValueError(f"weight must be > 0, got {weight}")
        assert self.mu_init is not None
        assert self.sigma_init is not None
        for name, _, _ in standings:
            self.players.setdefault(name, Player(self.mu_init, self.sigma_init))
        new = {name for name, _, _ in standings if self.players[name].n == 0}
        outcomes: dict[str, Outcome] = {}
        if self.two_phase:
            # TopCoder: coders who had been rated before are re-rated among themselves, as if the newcomers had not
            # been there; then the newcomers are rated against everyone. Both start from ratings before the contest.
            veterans = places_among(standings, {name for name, _, _ in standings} - new)
            outcomes |= self._rate_among(veterans, [name for name, _, _ in veterans], weight, perf_ceiling)
            outcomes |= self._rate_among(standings, sorted(new), weight, perf_ceiling)
        else:
            outcomes |= self._rate_among(standings, [name for name, _, _ in standings], weight, perf_ceiling)
        for name, outcome in outcomes.items():
            self.players[name] = Player(outcome.mu, outcome.sigma, self.players[name].n + 1)
        return [outcomes[name] for name, _, _ in standings]

    def _rate_among(
        self, standings: Sequence[Standing], names: Iterable[str], weight: float, perf_ceiling: float
    ) -> dict[str, Outcome]:
        """Results of ``names``, from ratings before the contest, with ``standings`` only."""
        place = {name: (lo, hi) for name, lo, hi in standings}
        coders = [self.players[name] for name in place]
        factor = competition_factor(coders) if coders else math.nan
        return {name: self._rate_one(name, *place[name], coders, factor, weight, perf_ceiling) for name in names}

    def _rate_one(
        self, name: str, lo: int, hi: int, coders: Sequence[Player], factor: float, w: float, perf_ceiling: float
    ) -> Outcome:
        me, n = self.players[name], len(coders)
        better = [win_probability(one, me, w) for one in coders]
        worse = [win_probability(me, one, w) for one in coders]
        e_rank = 0.5 + math.fsum(better)  # counts the coder too, with 1/2
        a_rank = 1 + (lo + hi) / 2
        e_perf = -normal_quantile_above(math.fsum(worse) / n, math.fsum(better) / n)
        a_perf = -normal_quantile_above((n + 0.5 - a_rank) / n, (a_rank - 0.5) / n)
        perf_as = min(me.mu + factor * (a_perf - e_perf), perf_ceiling)
        t = me.n + 1
        share = self.weight_limit + (self.weight_noob - self.weight_limit) / t
        weight = w * share / (1 - share) * self.weight_multiplier * self._steadiness(me.mu)
        cap = (150 + 1500 / (t + 1)) * math.sqrt(w) * share / (0.18 + 0.42 / t)
        # (mu + weight * perf_as) / (1 + weight), as a step from mu: a light contest must not round the rating away
        step = weight / (1 + weight) * (perf_as - me.mu)
        capped = min(max(step, -cap), cap)
        moved = capped if self.vol_after_cap else step
        sigma = math.sqrt(moved**2 / weight + me.sigma**2 / (1 + weight))
        return Outcome(name, perf_as, me.mu, me.sigma, me.mu + capped, sigma, e_rank, weight, cap, factor)

    def _steadiness(self, mu: float) -> float:
        """High ratings move less."""
        if self.published_constants:  # "between 2000 and 2500 is decreased 10%", "over 2500 is decreased 20%"
            return 0.8 if mu > 2500 else 0.9 if mu >= 2000 else 1.0
        return 0.8 if mu >= 2500 else 0.9 if mu >= 2000 else 1.0


def places_among(standings: Sequence[Standing], names: set[str]) -> list[Standing]:
    """The standings of ``names`` without the other participants."""
    left = [(name, lo) for name, lo, _ in standings if name in names]
    los = [lo for _, lo in left]
    return [(name, los.index(lo), len(los) - 1 - los[::-1].index(lo)) for name, lo in left]


def competition_factor(coders: Sequence[Player]) -> float:
    """Spread of the ratings in the contest."""
    n = len(coders)
    mean = math.fsum(one.mu for one in coders) / n
    between = math.fsum((one.mu - mean) ** 2 for one in coders) / (n - 1) if n > 1 else 0.0
    return math.sqrt(math.fsum(one.sigma**2 for one in coders) / n + between)


def win_probability(one: Player, other: Player, w: float) -> float:
    """That ``one`` beats ``other``, 1/2 against oneself."""
    return normal_above(math.sqrt(w) * (other.mu - one.mu) / math.hypot(one.sigma, other.sigma))


def normal_above(x: float) -> float:
    """1 - Phi(x)."""
    return 0.5 * math.erfc(x / math.sqrt(2))


def normal_quantile_above(p: float, q: float) -> float:
    """The x with 1 - Phi(x) = p and Phi(x) = q, from the smaller of the two."""
    if p > q:
        return -normal_quantile_above(q, p)
    low, high = 0.0, 40.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if normal_above(middle) > p else (low, middle)
    return middle
