"""Tables of matches to come for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ....common.text import cell, percent
from ..tables import NAME, NUMBER, new_table

if TYPE_CHECKING:
    from ....frames.prediction import Prediction
    from ....matchmaking.balance import Balance
    from ....matchmaking.quality import MatchQuality


def sides_table(prediction: Prediction, quality: MatchQuality) -> Table:
    """The sides of a match, with the chance of each to finish first."""
    table = new_table({"side": NUMBER, "handle": NAME, "rating": NUMBER, "first": NUMBER})
    for number, (name, chance) in enumerate(zip(prediction.players, quality.chances, strict=True), 1):
        rating = prediction.format.rating(prediction.rating_of(name))
        table.add_row(str(number), Text(cell(str(name))), rating, percent(chance))
    return table


def balance_table(prediction: Prediction, found: Balance) -> Table:
    """The players of two teams, with their ratings."""
    table = new_table({"team": NUMBER, "handle": NAME, "rating": NUMBER})
    for number, team in enumerate(found.teams, 1):
        for player in team:
            rating = prediction.format.rating(prediction.rating_of(player))
            table.add_row(str(number), Text(cell(str(player))), rating)
    return table


def match_line(quality: MatchQuality) -> str:
    """The numbers of a match in words."""
    two = len(quality.chances) == 2
    words = [f"chance of the first side {percent(quality.chances[0])}"] if two else []
    if quality.draw is not None:
        words += [f"{name} {getattr(quality, name):.3f}" for name in ("win", "draw", "loss")]
    if quality.quality is not None:
        words.append(f"quality {quality.quality:.3f}")
    return "  ".join(words)
