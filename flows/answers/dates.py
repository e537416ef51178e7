"""The difference of a player's skill between two dates, from the smoothed history of all contests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels.core.standings import Longs
from ranklake.rating_kernels.smoothing.dates import Moment, Path, chance_higher, difference, mean_at
from ranklake.rating_kernels.smoothing.params import Smoothing

from ..common.times import spelled

_DAY = 86_400


class SmoothedPlayer(NamedTuple):
    """The smoothed rounds of a player.

    ``time_seconds``: ends of the rounds, UTC seconds; 0 if unknown.
    ``participants``: of each round, players or teams.
    ``params``: hyperparameters of the smoothing.
    """

    path: Path
    time_seconds: Longs
    participants: Longs
    params: Smoothing


@dataclass(frozen=True, slots=True)
class DatesDifference:
    """The difference of a skill between two dates.

    ``start_seconds``, ``end_seconds``: the dates, UTC seconds.
    ``start_mu``, ``end_mu``: the skills there, given all contests; rating points.
    ``difference``, ``deviation``: their difference and its standard deviation, rating points.
    ``chance_higher``: the chance that the skill was the higher one at the later date.
    """

    handle: Any
    start_seconds: int
    end_seconds: int
    start_mu: float
    end_mu: float
    difference: float
    deviation: float
    chance_higher: float

    def line(self, decimals: int = 0) -> str:
        """The difference in one line."""
        apart, deviation = (round(value, decimals) + 0.0 for value in (self.difference, self.deviation))
        chance = _percent(self.chance_higher)
        return f"{apart:+,.{decimals}f} +- {deviation:,.{decimals}f} points, chance of progress {chance}"

    def to_json(self) -> dict[str, Any]:
        """All values by name."""
        return asdict(self)


def difference_between(handle: Any, player: SmoothedPlayer, start: int, end: int) -> DatesDifference:
    """The difference between two dates, UTC seconds; of a date, the rounds until then are those that had ended.

    Between two rounds time adds variance, and the skill is that between both; after the last one it keeps its mean.

    Raises ``ValueError``: the dates are equal or exchanged, the first one is before the first round, or no round has a
    known time.
    """
    check_dates(start, end)
    known = player.time_seconds[player.time_seconds != 0]
    if not len(known):
        raise ValueError(f"the contests of {handle!r} have no times, so that no date can be found among them")
    latest = np.maximum.accumulate(np.where(player.time_seconds == 0, known.min(), player.time_seconds))
    if start < latest[0]:
        raise ValueError(
            f"{handle!r} had no rated contest until {spelled(start)}; the first one ended at {spelled(int(latest[0]))}"
        )
    first, last = (_moment(player, latest, time) for time in (start, end))
    mean, deviation = difference(player.path, first, last)
    mus = mean_at(player.path, first), mean_at(player.path, last)
    numbers = map(float, (*mus, mean, deviation, chance_higher(mean, deviation)))  # numpy's have no JSON
    return DatesDifference(handle, start, end, *numbers)


def check_dates(start: int, end: int) -> None:
    """Raise ``ValueError`` if two dates are equal or exchanged."""
    if start == end:
        raise ValueError(f"the two dates must differ, got {spelled(start)} twice")
    if start > end:
        raise ValueError(f"the earlier date comes first, got {spelled(start)} before {spelled(end)}")


def _moment(player: SmoothedPlayer, latest: Longs, time: int) -> Moment:
    row = int(np.searchsorted(latest, time, "right")) - 1
    following = min(row + 1, len(latest) - 1)
    days = (time - int(latest[row])) / _DAY
    return Moment.after(row, days, int(player.participants[following]), player.params)


def _percent(chance: float) -> str:
    """A chance in percent; near 0 and 1 with three decimals, and never one of them."""
    percent = min(max(100.0 * chance, 0.001), 99.999)
    return f"{percent:.1f} %" if 0.1 <= percent <= 99.9 else f"{percent:.3f} %"
