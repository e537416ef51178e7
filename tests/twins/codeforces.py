"""Reference implementation of Codeforces' rule and of its generalisation by Elo-MMR's authors in plain Python.

Sources: Mirzayanov, "Open Codeforces Rating System" (codeforces.com/blog/entry/20762, October 2015), and the program it
links to; the second version of the inflation step is the one in use since round 327. Ebtekar and Liu's engine for what
is called cfsys there. Nothing is shared with the fast kernels: no tables, no arrays, no Newton. Sums are exact
(:func:`math.fsum`), expected places have 60 digits, roots are bisected until no number lies between the ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal

Standing = tuple[str, int, int]  # player, lo, hi

C3 = math.pi / math.sqrt(3.0)  # a logistic law of standard deviation s has scale s / C3
ELO = 400.0 / math.log(10.0)  # scale of the 400-point curve
DIGITS = Context(prec=60)
EQUAL = 1e-13  # of a sum: two that are closer are equal but for rounding
DISPLAY_2020 = (500, 350, 250, 150, 100, 50)


@dataclass(frozen=True)
class Outcome:
    """One participation: places, the rating needed, and the rating after.

    ``slack`` is how far the need moves if sums change by one part in 10^12: rounding. It is large on a flat curve.
    """

    player: str
    rank: float
    seed: float
    mid_rank: float
    need: float
    raw_delta: float
    delta: float
    mu: float
    displayed: float
    slack: float


@dataclass
class CodeforcesTwin:
    """Codeforces and its state. Parameters as in the specification, ratings in points."""

    rule: str = "r327"
    arithmetic: str = "real"
    tie_rank: str = "max"
    need_excludes_self: bool = True
    initial: float = 1500
    display_2020: bool = False
    lone_player: str = "unchanged"
    initial_ratings: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules = {
            "rule must be oct2015, r327 or none": self.rule in ("oct2015", "r327", "none"),
            "arithmetic must be integer or real": self.arithmetic in ("integer", "real"),
            "tie_rank must be max, avg or min": self.tie_rank in ("max", "avg", "min"),
            "lone_player must be unchanged or literal": self.lone_player in ("unchanged", "literal"),
        }
        broken = [rule for rule, holds in rules.items() if not holds]
        if broken:
            raise ValueError(f"{broken[0]}, got {self}")
        self.ratings = dict(self.initial_ratings)
        self.n = dict.fromkeys(self.initial_ratings, 0)

    def rate(self, standings: Sequence[Standing]) -> list[Outcome]:
        """One contest."""
        names = [name for name, _, _ in standings]
        ratings = [float(self.ratings.setdefault(name, self.initial)) for name in names]
        lone = len(names) == 1
        ranks = [
            {"max": hi + 1.0, "avg": (lo + hi) / 2 + 1.0, "min": lo + 1.0}[self.tie_rank] for _, lo, hi in standings
        ]
        seeds = [_seed(ratings, i) for i in range(len(names))]
        mid_ranks = [_mid_rank(rank, seed) for rank, seed in zip(ranks, seeds, strict=True)]
        needs, slacks = zip(*(self._need(ratings, i, mid) for i, mid in enumerate(mid_ranks)), strict=True)
        raw = [self._divide(need - r, 2) for need, r in zip(needs, ratings, strict=True)]
        deltas = [0.0] if lone and self.lone_player == "unchanged" else self._inflate(ratings, raw)
        outcomes = []
        for i, name in enumerate(names):
            self.ratings[name] = ratings[i] + deltas[i]
            self.n[name] = self.n.get(name, 0) + 1
            shown = self.ratings[name]
            if self.display_2020:
                shown += sum(DISPLAY_2020[: self.n[name]]) - sum(DISPLAY_2020)
            outcomes.append(
                Outcome(
                    name,
                    ranks[i],
                    float(seeds[i]),
                    float(mid_ranks[i]),
                    needs[i],
                    raw[i],
                    deltas[i],
                    self.ratings[name],
                    shown,
                    slacks[i],
                )
            )
        return outcomes

    def _need(self, ratings: Sequence[float], i: int, mid_rank: Decimal) -> tuple[float, float]:
        """The rating at which ``mid_rank`` is the expected place, and its slack."""
        field_ = [r for j, r in enumerate(ratings) if j != i or not self.need_excludes_self]
        if len(ratings) == 1:  # no root: nothing to win or lose; the program searches to the end of its range
            return (7999.0 if (self.arithmetic, self.lone_player) == ("integer", "literal") else ratings[i]), 0.0
        target = mid_rank - 1
        if self.arithmetic == "real":
            return _level(field_, ELO, target)
        left, right = 1, 8000
        while right - left > 1:
            mid = (left + right) // 2
            if _sign(field_, ELO, float(mid), target, EQUAL) < 0:
                right = mid
            else:
                left = mid
        return float(left), 0.0

    def _inflate(self, ratings: Sequence[float], raw: Sequence[float]) -> list[float]:
        """Subtract the corrections that keep the sum and the ratings of the strongest from growing."""
        n, deltas = len(ratings), list(raw)
        s = min(n, 4 * math.floor(math.sqrt(n) + 0.5))
        top = sorted(range(n), key=lambda i: -ratings[i])[:s]  # a stable sort: equals in the order of the standings
        if self.rule == "oct2015":
            inc = self._divide(-math.fsum(deltas[i] for i in top), s)
            deltas = [d + inc for d in deltas]
        elif self.rule == "r327":
            inc = self._divide(-math.fsum(deltas), n) - 1.0
            deltas = [d + inc for d in deltas]
            inc = min(max(self._divide(-math.fsum(deltas[i] for i in top), s), -10.0), 0.0)
            deltas = [d + inc for d in deltas]
        return deltas

    def _divide(self, a: float, b: int) -> float:
        """``a / b``; whole numbers are divided as Java does, toward zero."""
        if self.arithmetic == "real":
            return a / b
        return float(math.copysign(abs(int(a)) // b, a))


@dataclass
class CFTwin:
    """The engine's cfsys and its state; ``sigma`` does not change."""

    beta: float = 400.0 * C3 / math.log(10.0)
    weight: float = 1.0
    mu_init: float = 1500.0
    sigma_init: float = 350.0
    initial_ratings: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.beta > 0 and self.weight > 0):
            raise ValueError(f"beta and weight must be > 0, got {self}")
        self.ratings = dict(self.initial_ratings)

    def rate(self, standings: Sequence[Standing], weight: float = 1.0, perf_ceiling: float = math.inf) -> list[Outcome]:
        """One contest; ``need`` is the performance."""
        ratings = [float(self.ratings.setdefault(name, self.mu_init)) for name, _, _ in standings]
        scale, gain = self.beta / math.sqrt(weight) / C3, weight * self.weight
        outcomes = []
        for i, (name, lo, hi) in enumerate(standings):
            actual, expected = (lo + hi + 2) / 2, _seed(ratings, i, scale)  # 1/2 + the sum over all, of which i is 1/2
            mid = _mid_rank(actual, expected)
            level, slack = _level(ratings, scale, mid - Decimal("0.5"))
            perf = min(level, perf_ceiling)
            mu = (ratings[i] + gain * perf) / (1 + gain) if gain < 1e8 else perf + (ratings[i] - perf) / (1 + gain)
            raw, delta = perf - ratings[i], mu - ratings[i]
            outcomes.append(Outcome(name, actual, float(expected), float(mid), perf, raw, delta, mu, mu, slack))
        for outcome in outcomes:
            self.ratings[outcome.player] = outcome.mu
        return outcomes


def invariant_violations(
    before: Sequence[float], after: Sequence[float], standings: Sequence[Standing]
) -> tuple[int, int]:
    """Number of participants for which each of the two consistency conditions of the source is violated.

    The first is violated if a participant with a worse place and a lower prior rating gets a higher posterior rating.
    The second is violated if a participant with a worse place and a higher prior rating gains more.
    """
    overtaken = outgained = 0
    people = list(zip(before, after, standings, strict=True))
    for r_i, new_i, (_, _, hi_i) in people:
        beaten = [(r, new) for r, new, (_, lo, _) in people if lo > hi_i]
        overtaken += any(r_i > r and new_i < new for r, new in beaten)
        outgained += any(r_i < r and new_i - r_i < new - r for r, new in beaten)
    return overtaken, outgained


def _beats(a: float, b: float, scale: float) -> float:
    """Probability that ``a`` beats ``b``; 1 - p is the same with a and b exchanged, and keeps its digits there."""
    z = (a - b) / scale
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def _seed(ratings: Sequence[float], i: int, scale: float = ELO) -> Decimal:
    """Expected place of ``i``: 1 + how many others beat them, or N - how many they beat, whichever has the digits."""
    losses = math.fsum(_beats(r, ratings[i], scale) for j, r in enumerate(ratings) if j != i)
    wins = math.fsum(_beats(ratings[i], r, scale) for j, r in enumerate(ratings) if j != i)
    return DIGITS.add(1, Decimal(losses)) if losses < wins else DIGITS.subtract(len(ratings), Decimal(wins))


def _mid_rank(rank: float, seed: Decimal) -> Decimal:
    return DIGITS.sqrt(DIGITS.multiply(Decimal(rank), seed))


def _sign(field_: Sequence[float], scale: float, x: float, target: Decimal, equal: float = 0.0) -> int:
    """Whether more (1), fewer (-1) or as many as ``target`` of ``field_`` are expected to beat ``x``."""
    losses, wins = float(target), float(DIGITS.subtract(len(field_), target))
    if losses < wins:
        excess = math.fsum([*(_beats(r, x, scale) for r in field_), -losses])
    else:
        excess = -math.fsum([*(_beats(x, r, scale) for r in field_), -wins])
    return 0 if abs(excess) <= equal * min(losses, wins) else (1 if excess > 0 else -1)


def _level(field_: Sequence[float], scale: float, target: Decimal) -> tuple[float, float]:
    """The level that ``target`` of ``field_`` are expected to beat, and its slack."""
    losses, wins = float(target), float(DIGITS.subtract(len(field_), target))
    odds = math.log(losses / wins)
    low, high = min(field_) - scale * (odds + 1e-3), max(field_) - scale * (odds - 1e-3)
    level = _bisect(lambda x: -_sign(field_, scale, x, target), low, high)
    slope = math.fsum(_beats(r, level, scale) * _beats(level, r, scale) for r in field_) / scale
    return level, 1e-12 * min(losses, wins) / slope


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
