"""The participants of a preview whom the ratings do not know, and the players who were probably meant."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from ranklake.storage.names.hints import hint

from ..common.brand import UNBRANDED, Brand
from .preview import Preview

MOST_NEAR = 20
"""Unknown participants of a preview for whom players of similar names are searched: the first ones."""
_MOST_LINES = 5
_OF_KNOWN = ("rating_before", "change")


def name_newcomers(
    found: Preview, new: Collection[Any], near: Callable[[str], list[str]], where: str = "", brand: Brand = UNBRANDED
) -> Preview:
    """A preview with the columns ``known`` and ``near``, and a note for each of the first similar names.

    Newcomers have no rating before and no change.

    ``new``: the participants who are not known.
    ``near``: the names of players who were probably meant by a name.
    ``where``: further words of a note, as ``in run r``. ``brand``: with the words for players.
    """
    players = list(found.standings.players)
    known = np.array([player not in new for player in players], np.bool_)
    columns = dict(found.columns)
    for name in _OF_KNOWN:
        columns[name] = np.where(known, columns[name], np.nan)
    suggested: list[list[str]] = [[] for _ in players]
    for row in np.flatnonzero(~known)[:MOST_NEAR].tolist():
        suggested[row] = near(players[row]) if isinstance(players[row], str) else []
    columns |= {"known": known, "near": suggested}
    rows = [row for row, names in enumerate(suggested) if names]
    notes = [_line(brand.player, players[row], suggested[row], where) for row in rows[:_MOST_LINES]]
    if more := len(rows) - len(notes):
        notes.append(f"{more:,} more newcomers have names similar to those of {brand.players}")
    return replace(found, columns=columns, notes=(*notes, *found.notes))


def _line(player: str, name: str, near: list[str], where: str) -> str:
    return " ".join(filter(None, ("no", player, repr(name), where))) + f"{hint(name, near)}, and {name!r} is a newcomer"
