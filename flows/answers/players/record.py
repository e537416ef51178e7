"""What the games of one player say: wins, draws and losses, the longest run of wins, and the form of late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

FORM_GAMES = 10
"""Games that are the form of a player, the latest ones."""
WIN, DRAW, LOSS = "win", "draw", "loss"
POINTS = {WIN: "1", DRAW: "½", LOSS: "0"}
_REVERSED = {WIN: LOSS, DRAW: DRAW, LOSS: WIN}
SCORES = {one: f"{POINTS[one]}–{POINTS[other]}" for one, other in _REVERSED.items()}
"""The points of the player, then of the opponent, by the result of the player."""


@dataclass(frozen=True, slots=True)
class Record:
    """The results of a player's games.

    ``wins``, ``draws``, ``losses``: their numbers.
    ``streak``: the most wins in a row.
    ``form``: the results of the last ``FORM_GAMES`` games, oldest first: ``win``, ``draw`` or ``loss``.
    """

    wins: int
    draws: int
    losses: int
    streak: int
    form: tuple[str, ...]


def places_of(lo: int, hi: int) -> tuple[int, int]:
    """The places of a player of a game and of the opponent, from 1; ``lo``, ``hi``: the first and the last place, from
    0, that the player shares.
    """
    return lo + 1, 1 if lo < hi else 2 - lo


def result_of(place: int, other: int) -> str:
    """The result of a player of a game, from the places of both players."""
    if place == other:
        return DRAW
    return WIN if place < other else LOSS


@dataclass(frozen=True, slots=True)
class Game:
    """A game of a player: the handle of the ``opponent``, the ``result`` of the player, and the ``rating`` of the
    opponent before the game, None of a newcomer.
    """

    opponent: str
    result: str
    rating: float | None


def best_win(games: Sequence[Game]) -> int | None:
    """The win against the highest rating, of equal ones the first; None without a win against a rated opponent."""
    wins = [(game.rating, -at) for at, game in enumerate(games) if game.result == WIN and game.rating is not None]
    return -max(wins)[1] if wins else None


def record(results: Sequence[str]) -> Record:
    """The record of a player, from the result of each game, oldest first."""
    wins, draws, losses = (results.count(one) for one in (WIN, DRAW, LOSS))
    streak = max((len(list(games)) for one, games in groupby(results) if one == WIN), default=0)
    return Record(wins, draws, losses, streak, tuple(results[-FORM_GAMES:]))
