"""What a system of rated periods cannot rate, refused before the first period: in the words of every door."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ranklake.rating_kernels import Rounds, System
from ranklake.rating_kernels.core.standings import Longs

DAY = 86_400  # seconds


class Remedies(NamedTuple):
    """What a door offers for each fault: no player with a rating, two periods that end on one day, advantages."""

    ratings: str
    length: str
    advantages: str


@dataclass(frozen=True, slots=True)
class GivenPeriods:
    """Periods of games, as a door has them.

    ``where``: what has them, as "data set chess".
    ``ends`` (int64[p]): the end of each period, UTC seconds, ascending.
    ``name``: the name of a period, given its number.
    ``some_rated``: whether a player has a rating in the beginning, besides that of all newcomers.
    ``first_ahead``: the first period that has a game with an advantage; None without one.
    """

    where: str
    ends: Longs
    name: Callable[[int], str]
    some_rated: bool
    first_ahead: int | None
    remedies: Remedies


def check_periods(system: System, mu_init: float, given: GivenPeriods) -> None:
    """Refuse periods that a system of rated periods cannot rate: nobody has a rating in the beginning, two of them end
    on one day, in UTC, or a game has an advantage. A system that explains all games at once can rate all.
    """
    if not system.periods or system.all_games is not None:
        return
    remedies = given.remedies
    if not (given.some_rated or mu_init):
        raise ValueError(
            f"{system.name} rates games against rated players, and no player of {given.where} has a rating; "
            f"{remedies.ratings}"
        )
    same = np.flatnonzero(np.diff(given.ends // DAY) == 0)
    if len(same):
        one, other = (given.name(int(same[0]) + i) for i in (0, 1))
        raise ValueError(
            f"{system.name} rates periods of a day or longer, and the periods {one} and {other} end on one day; "
            f"{remedies.length}"
        )
    if given.first_ahead is not None:
        raise ValueError(
            f"{system.name} has no rule for advantages, and period {given.name(given.first_ahead)} of {given.where} "
            f"has a game with one; {remedies.advantages}"
        )


def first_period_ahead(rounds: Rounds, starts: Longs) -> int | None:
    """The first period that has a game with an advantage, given the first game of each period."""
    games = np.flatnonzero(rounds.with_advantages)
    return int(np.searchsorted(starts, games[0], "right")) - 1 if len(games) else None
