"""How sure a place is: intervals of places by two rules, tiers, and provisional players. Imports no kernel.

A skill is within ``mu`` +- z deviations. The rule "separated" counts the players whose whole interval is above or below
that of a player: nobody else can be told from the player. It is much wider than an interval of the same probability for
the place, which the rule "own" gives: the places that the bounds of a player would have among the ratings of all
others. Bounds that touch do not separate.

Source: places by separated intervals are those of arenas of language models.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from statistics import NormalDist
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.core.limits import POINTS, Limits
from ranklake.rating_kernels.core.system import check_value
from ranklake.storage import DamagedError, Run
from ranklake.storage.lake.layout import run_file

Z = 1.96  # deviations on each side of a rating, by default
RULES = ("separated", "own")
OF_UNCERTAINTY = frozenset(("max_sigma", "interval", "rule"))  # options of systems that have one
RECORDED = "places"  # the key of the options in the display of ``run.json``
_LIMITS = {
    "min_rounds": Limits("whole number", "rounds", 0, 2**31 - 1, "both"),
    "max_sigma": Limits("number", POINTS, 0.0, 1e10, infinite=True),
    "interval": Limits("number", "", 0.0, 1.0),
    "rule": Limits("choice", choices=RULES),
}
_NOISE = 1e-7  # of a whole number of hundredths of a percent, after a product
_Z = Limits("number", "deviations", 0.0, 10.0, "both")

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Groups = npt.NDArray[np.integer[Any]] | None


@dataclass(frozen=True, slots=True)
class PlaceOptions:
    """Who has a place, and how wide its interval is.

    ``min_rounds``, ``max_sigma``: players with fewer rounds or a larger sigma are provisional.
    ``interval``: the probability that a skill is within its bounds.
    ``rule``: one of :data:`RULES`.
    Raises ``ValueError``, which names the limits.
    """

    min_rounds: int = 0
    max_sigma: float = math.inf
    interval: float = 0.95
    rule: str = "separated"

    def __post_init__(self) -> None:
        for name, limits in _LIMITS.items():
            check_value(name, getattr(self, name), limits)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """The options with the values of ``facts``, which has some of them by name, and the defaults of the others."""
        if unknown := sorted(set(facts) - set(_LIMITS)):
            raise ValueError(f"there is no option {unknown[0]!r} of places, only {', '.join(_LIMITS)}")
        return cls(**facts)

    @classmethod
    def of_run(cls, run: Run) -> Self:
        """The options in ``run.json``; raises ``DamagedError`` if they are invalid."""
        try:
            return cls.from_json(dict(run.config.get("display", {})).get(RECORDED, {}))
        except (TypeError, ValueError) as error:
            path = run_file(run.name)
            raise DamagedError(f"{path}: the display of places is invalid: {error}", path=path) from error

    def to_json(self) -> dict[str, Any]:
        """The options that are not the default; the opposite of :meth:`from_json`."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    def changed(self, **options: Any) -> Self:
        """The same with some other options; those that are None stay."""
        return replace(self, **{name: value for name, value in options.items() if value is not None})

    @property
    def label(self) -> str:
        """The rule and the probability in a few characters."""
        return f"{self.rule} {100.0 * self.interval:.12g}%"

    @property
    def z(self) -> float:
        """Deviations on each side of a rating."""
        return Z if self.interval == 0.95 else -NormalDist().inv_cdf(0.5 * (1.0 - self.interval))

    def provisional(self, n_rounds: npt.NDArray[np.integer[Any]], sigma: Floats) -> npt.NDArray[np.bool_]:
        """Which players are provisional."""
        return (n_rounds < self.min_rounds) | (sigma > self.max_sigma)


def places(rating: Floats, group: Groups = None) -> Longs:
    """The place of each rating in its group, in any order, from 1; equal ratings share one."""
    return 1 + _number_above(rating, rating, group)


def percentiles(rating: Floats, group: Groups = None) -> Floats:
    """The percentage of the other ratings of its group that are lower than each, in any order; 100 without others.

    A single best one has 100. Equal ratings are not lower: two of four who share the first place have 66.7.
    """
    return share_lower(_number_below(rating, rating, group), _sizes(rating, group) - np.ones(len(rating)))


def share_lower(lower: npt.ArrayLike, others: npt.ArrayLike) -> Floats:
    """The percentage of so many others that are lower; 100 without others."""
    shares: Floats = 100.0 * np.asarray(lower) / np.maximum(others, 1)
    return np.where(np.asarray(others) > 0, shares, 100.0)


def rounded_down(percentage: Any) -> Any:
    """Percentages for people, rounded down to hundredths: 100.00 is said of everybody alone.

    ``percentage``: a number or an array.
    """
    return np.floor(percentage * 100.0 + _NOISE) / 100.0


def intervals(
    mu: Floats, deviation: Floats, z: float = Z, rule: str = "separated", group: Groups = None
) -> tuple[Longs, Longs]:
    """The best and the worst place by skill that each player may have, in O(n log n).

    ``deviation`` (float64[n]): of each skill around ``mu``.
    ``group`` (int[n]): players of different groups do not compare; places are those in the group. By default there is
    one.
    Raises ``ValueError``: z is out of range, the rule is none, or a number is NaN; the message names the row.
    """
    low, high = _bounds(mu, deviation, z)
    check_value("rule", rule, _LIMITS["rule"])
    surely_above, surely_below = (low, high) if rule == "separated" else (mu, mu)
    best = 1 + _number_above(surely_above, high, group)
    return best, _sizes(mu, group) - _number_below(surely_below, low, group)


def tiers(mu: Floats, deviation: Floats, z: float = Z, group: Groups = None) -> Longs:
    """The tier of each player, from 1, by the rule that the first one in order of ``mu`` leads the first tier.

    A player whose upper bound is below the lower bound of the leader leads the next tier, all others join. Of equal
    ratings the more certain one is first. Arguments and errors as of :func:`intervals`.
    """
    low, high = _bounds(mu, deviation, z)
    order = np.argsort(_keys(deviation, -mu)) if group is None else np.lexsort((deviation, -mu, group))
    of = [0] * len(mu) if group is None else group[order].tolist()
    found, tier, least, last = [], 0, math.inf, None
    for upper, lower, member in zip(high[order].tolist(), low[order].tolist(), of, strict=True):
        if member != last:
            tier, least, last = 1, lower, member
        elif upper < least:
            tier, least = tier + 1, lower
        found.append(tier)
    result = np.empty(len(mu), np.int64)
    result[order] = found
    return result


def _bounds(mu: Floats, deviation: Floats, z: float) -> tuple[Floats, Floats]:
    check_value("z", z, _Z)
    for name, values in (("mu", mu), ("sigma", deviation)):
        if (wrong := np.isnan(values)).any():
            raise ValueError(f"row {int(np.argmax(wrong))}: {name} is NaN, and no place follows from it")
    return mu - z * deviation, mu + z * deviation


def _number_above(values: Floats, bounds: Floats, group: Groups) -> Longs:
    """How many of the ``values`` of its group are above each of the ``bounds``."""
    above: Longs = _ends(values, group) - _ranks(values, bounds, group, "right")
    return above


def _number_below(values: Floats, bounds: Floats, group: Groups) -> Longs:
    """How many of the ``values`` of its group are below each of the ``bounds``."""
    below: Longs = _ranks(values, bounds, group, "left") - _ends(values, group) + _sizes(values, group)
    return below


def _ranks(values: Floats, bounds: Floats, group: Groups, side: Literal["left", "right"]) -> Longs:
    """Where each of the ``bounds`` would be among the sorted ``values``; found in order, as memory is read in order."""
    keys = _keys(bounds, group)
    order = np.argsort(keys)
    ranks = np.empty(len(bounds), np.int64)
    ranks[order] = np.searchsorted(np.sort(_keys(values, group)), keys[order], side)
    return ranks


def _keys(values: Floats, group: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """Numbers in the order of groups and of the values within: complex ones are ordered by their real part first."""
    if group is None:
        return values
    keys = np.empty(len(values), np.complex128)
    keys.real, keys.imag = group, values
    return keys


def _ends(values: Floats, group: Groups) -> Any:
    """The number of players of each player's group and of those before."""
    return len(values) if group is None else np.searchsorted(np.sort(group), group, "right")


def _sizes(values: Floats, group: Groups) -> Any:
    """The number of players of each player's group."""
    if group is None:
        return len(values)
    return _ends(values, group) - np.searchsorted(np.sort(group), group)
