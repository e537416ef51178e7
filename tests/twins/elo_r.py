"""Reference implementation of Elo-R in plain Python: pairwise sums, one player at a time.

Source: "Elo-R Competition Rating System" (2015, revised 2020), with all standard deviations in its barred units.
Nothing is shared with the fast kernels: no tables, no arrays, no series, no Newton. Sums are exact (:func:`math.fsum`)
and roots are bisected until no number lies between the ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Standing = tuple[str, int, int]  # player, lo, hi
Factor = tuple[float, float]  # centre and width: mu_k, tau_k


@dataclass
class Player:
    """The belief about one player: a queue of factors, the first normal, the others logistic, oldest first."""

    r: float
    sigma: float
    queue: list[Factor]
    n: int = 0
    last_time: float | None = None


@dataclass(frozen=True)
class Outcome:
    """One participation: the belief before (with noise) and after, and the performance."""

    player: str
    performance: float
    mu_prior: float
    sigma_prior: float
    mu: float
    sigma: float
    public: float
    kappa2: float
    factors: list[Factor]


@dataclass
class Twin:
    """The rating system and its state. Parameters as in the specification, ratings in points.

    A contest of weight w has the gamma that widens gamma^2 - sigma*^2 by 1/w, so that its noise eta^2 is w times the
    usual one and sigma* stays the fixed point. ``gammas`` are those of single players, whose noise eta^2 is the same.
    ``initial_state`` maps players to ``{"factors": [[mu, tau], ...]}`` or to ``{"mu", "sig"}``, either with ``"n"``
    rounds behind them, at no known time.
    """

    gamma: float = 250.0
    sigma_star: float = 100.0
    noise: str = "exact"
    tie_mode: str = "half"
    max_len: int | None = None
    mu_init: float = 1500.0
    sigma_init: float = 350.0
    drift_per_day: float = 0.0
    gammas: Mapping[str, float] = field(default_factory=dict)
    initial_state: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules = {
            "gamma must be > sigma_star": self.gamma > self.sigma_star,
            "sigma_star must be >= 0": self.sigma_star >= 0,
            "noise must be exact or simple": self.noise in ("exact", "simple"),
            "tie_mode must be half or full": self.tie_mode in ("half", "full"),
            "max_len must be >= 2": self.max_len is None or self.max_len >= 2,
            "sigma_init must be > 0": self.sigma_init > 0,
            "drift_per_day must be >= 0": self.drift_per_day >= 0,
        }
        broken = [rule for rule, holds in rules.items() if not holds]
        if broken:
            raise ValueError(f"{broken[0]}, got {self}")
        self.players: dict[str, Player] = {}
        for name, state in self.initial_state.items():
            queue = [(float(mu), float(tau)) for mu, tau in state.get("factors") or [[state["mu"], state["sig"]]]]
            self.players[name] = Player(_mode(queue), _sigma(queue), queue, int(state.get("n", 0)))

    def rate(
        self,
        standings: Sequence[Standing],
        weight: float = 1.0,
        perf_ceiling: float = math.inf,
        time: float | None = None,
    ) -> list[Outcome]:
        """One contest, from places: noise for all participants, solve for performances, update all."""
        kappas = self._noise_all([name for name, _, _ in standings], weight, time)
        field_ = [
            (self.players[name].r, math.hypot(self.players[name].sigma, self.contest_gamma(weight, name)))
            for name, _, _ in standings
        ]
        shown = [(name, self._performance(field_, i, lo, hi)) for i, (name, lo, hi) in enumerate(standings)]
        return self._update_all(shown, kappas, weight, perf_ceiling)

    def absorb(
        self,
        performances: Sequence[tuple[str, float]],
        weight: float = 1.0,
        perf_ceiling: float = math.inf,
        time: float | None = None,
    ) -> list[Outcome]:
        """One contest whose performances are known: noise and update only."""
        kappas = self._noise_all([name for name, _ in performances], weight, time)
        return self._update_all(performances, kappas, weight, perf_ceiling)

    def contest_gamma(self, weight: float, name: str) -> float:
        """What a performance of a player in a contest of this weight may be off the skill."""
        gamma, star2 = self.gamma, self.sigma_star**2
        if name in self.gammas:
            gamma, eta2 = self.gammas[name], self.sigma_star**4 / (self.gamma**2 - self.sigma_star**2)
            star2 = (math.sqrt(eta2**2 + 4 * eta2 * gamma**2) - eta2) / 2
        return math.sqrt(star2 + (gamma**2 - star2) / weight)

    # --- 1: noise ---

    def _noise_all(self, names: Sequence[str], weight: float, time: float | None) -> dict[str, float]:
        """Let all skills drift, by the round and by the days since the last one; returns kappa^2 of each."""
        if not weight > 0:
            raise ValueError(f"weight must be > 0, got {weight}")
        # 1 / (1 / sigma*^2 - 1 / gamma^2) - sigma*^2 with the contest's gamma, multiplied out
        of_round = weight * self.sigma_star**4 / (self.gamma**2 - self.sigma_star**2)
        kappas = {}
        for name in names:
            newcomer = Player(self.mu_init, self.sigma_init, [(self.mu_init, self.sigma_init)])
            player = self.players.setdefault(name, newcomer)
            days = 0.0
            if time is not None:
                days = 0.0 if player.last_time is None else max(0.0, time - player.last_time) / 86400
                player.last_time = time if player.last_time is None else max(player.last_time, time)
            variance, eta2 = player.sigma**2, of_round + self.drift_per_day * days
            if self.noise == "simple":
                kappas[name] = (variance + eta2) / variance
                player.queue = [(mu, tau * math.sqrt(kappas[name])) for mu, tau in player.queue]
                player.r = _mode(player.queue)
            else:
                kappas[name], player.queue = _exact_noise(player.queue, player.r, 1 / (variance + eta2))
            player.sigma = math.sqrt(variance + eta2)
        return kappas

    # --- 3: performance ---

    def _performance(self, field_: Sequence[tuple[float, float]], i: int, lo: int, hi: int) -> float:
        """The zero of Q for row ``i``, whose tie group holds places ``lo`` to ``hi``."""

        def q(p: float) -> float:
            parts: list[float] = []
            for j, (r, delta) in enumerate(field_):
                win, loss, tie = _tanh_terms(p, r, delta)
                if j < lo:
                    parts += loss
                elif j > hi:
                    parts += win
                elif j == i or self.tie_mode == "full":
                    parts += win + loss
                else:
                    parts += tie
            return math.fsum(parts)

        low = min(r - delta for r, delta in field_)
        high = max(r + delta for r, delta in field_)
        step = high - low
        while q(low) > 0:
            low, step = low - step, 2 * step
        step = high - low
        while q(high) < 0:
            high, step = high + step, 2 * step
        return _bisect(q, low, high)

    # --- 4 and 5: update ---

    def _update_all(
        self, shown: Sequence[tuple[str, float]], kappas: Mapping[str, float], weight: float, perf_ceiling: float
    ) -> list[Outcome]:
        outcomes = []
        for name, p in shown:
            player = self.players[name]
            r_prior, sigma_prior = player.r, player.sigma
            performance = min(p, perf_ceiling)
            if self.max_len is not None and len(player.queue) >= self.max_len:
                player.queue[:2] = [_merge(player.queue[0], player.queue[1], player.r)]
            player.queue.append((performance, self.contest_gamma(weight, name)))
            player.r, player.sigma = _mode(player.queue), _sigma(player.queue)
            player.n += 1
            outcomes.append(
                Outcome(
                    name,
                    performance,
                    r_prior,
                    sigma_prior,
                    player.r,
                    player.sigma,
                    player.r - 2 * (player.sigma - self.sigma_star),
                    kappas[name],
                    player.queue[:],
                )
            )
        return outcomes


def _exact_noise(queue: Sequence[Factor], r: float, target: float) -> tuple[float, list[Factor]]:
    """kappa^2 and the wider queue of which sum 1 / tau^2 is ``target``; the mode stays ``r``."""

    def widened(kappa2: float) -> list[Factor]:
        (mu_0, tau_0), *logistic = queue
        return [(mu_0, tau_0 * math.sqrt(kappa2)), *((mu, _wider(abs(r - mu), tau, kappa2)) for mu, tau in logistic)]

    ratio = math.fsum(tau**-2 for _, tau in queue) / target
    kappa2 = _bisect(lambda k2: target - math.fsum(tau**-2 for _, tau in widened(k2)), math.sqrt(ratio), ratio)
    return kappa2, widened(kappa2)


def _wider(a: float, tau: float, kappa2: float) -> float:
    """The tau' with tanh(a / tau') / tau' = tanh(a / tau) / tau / kappa^2, or its limit for a = 0."""
    if a == 0:
        return tau * math.sqrt(kappa2)
    pull = math.tanh(a / tau) / tau / kappa2
    return 1 / _bisect(lambda y: y * math.tanh(a * y) - pull, 1 / tau / kappa2, 1 / tau / math.sqrt(kappa2))


def _merge(normal: Factor, logistic: Factor, r: float) -> Factor:
    """One normal factor that pulls ``r`` as both do."""
    a, tau = abs(r - logistic[0]), logistic[1]
    w_0, w_1 = normal[1] ** -2, math.tanh(a / tau) / (a * tau) if a > 0 else tau**-2
    return (w_0 * normal[0] + w_1 * logistic[0]) / (w_0 + w_1), (w_0 + w_1) ** -0.5


def _sigma(queue: Sequence[Factor]) -> float:
    return math.fsum(tau**-2 for _, tau in queue) ** -0.5


def _mode(queue: Sequence[Factor]) -> float:
    """The zero of the sum of the factors' pulls."""
    (mu_0, tau_0), *logistic = queue
    centres = [mu for mu, _ in queue]

    def pull(s: float) -> float:
        return math.fsum([(s - mu_0) / tau_0**2, *(math.tanh((s - mu) / tau) / tau for mu, tau in logistic)])

    return _bisect(pull, min(centres), max(centres))


def _tanh_terms(p: float, r: float, delta: float) -> tuple[list[float], list[float], list[float]]:
    """(tanh - 1) / delta, (tanh + 1) / delta and tanh / delta of one opponent, each a list to be summed.

    Kept apart, the limits of opponents above and below cancel exactly, and what is missing to them decides.
    """
    z = (p - r) / delta
    e = math.exp(-2 * abs(z))
    missing, limit = 2 * e / (1 + e) / delta, 1 / delta
    if z >= 0:
        return [-missing], [limit, limit, -missing], [limit, -missing]
    return [-limit, -limit, missing], [missing], [-limit, missing]


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
