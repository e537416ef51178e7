"""What messages say about a name that nobody has: names that are nearly equal to it, or else similar ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from .folding import are_alike
from .search import Search

_MOST_SHOWN = 3  # names in a message
_MOST_LINES = 5


def near_names(name: str, known: Sequence[str], limit: int = 5) -> list[str]:
    """Known names near ``name``, the nearest first; 350,000 names take 0.2 s."""
    return [known[row] for row in Search(known).near(name, limit)]


def hint(name: str, near: Iterable[str]) -> str:
    """The end of a message about an unknown name, with names near it; empty without any.

    ``; there is 'ann'`` for names that are nearly equal, as ``'Ann'``; else ``; did you mean 'anna'?``
    """
    near = list(near)
    if alike := [other for other in near if are_alike(name, other)]:
        return f"; there is {', '.join(_distinct(name, other) for other in alike[:_MOST_SHOWN])}"
    return f"; did you mean {' or '.join(map(repr, near[:_MOST_SHOWN]))}?" if near else ""


def alike_lines(names: Iterable[str], search: Search, where: str = "", effect: str = "") -> list[str]:
    """A line for each new name that is nearly equal to a known one: probably it is the same player.

    ``where``, ``effect``: further words, as ``in data set games`` and ``a newcomer``.
    """
    alike = search.alike(names)
    lines = [
        " ".join(filter(None, ("no player", repr(name), where)))
        + hint(name, (search.texts[row] for row in rows))
        + (f", and {name!r} is {effect}" if effect else "")
        for name, rows in list(alike.items())[:_MOST_LINES]
    ]
    more = len(alike) - len(lines)
    return [*lines, *([f"{more:,} more names are nearly equal to those of players"] if more else [])]


def alike_note(names: Sequence[str], n_known: int) -> str:
    """A line about the names from ``n_known`` on that are nearly equal to an earlier one; empty without any."""
    search = Search(names)
    new = {names[row]: row for row in (np.flatnonzero(search.repeated()[n_known:]) + n_known).tolist()}
    found = search.alike(new) if new else {}
    pairs = [(name, names[rows[0]]) for name, rows in found.items() if rows[0] < new[name]]
    if not pairs:
        return ""
    shown = ", ".join(f"{name!r} beside {_distinct(name, other)}" for name, other in pairs[:_MOST_SHOWN])
    more = f" and {len(pairs) - _MOST_SHOWN:,} more" if len(pairs) > _MOST_SHOWN else ""
    return f"new players with names nearly equal to others: {shown}{more}; `ranklake alias` joins two of one player"


def unknown_names(names: Sequence[Any], known: Collection[Any]) -> str:
    """Unknown names in a message, the first ones with names near them: ``'Ann' (there is 'ann') and 2 more``."""
    texts = [other for other in known if isinstance(other, str)]
    search = Search(texts) if any(isinstance(name, str) for name in names) else None
    shown = []
    for name in names[:_MOST_SHOWN]:
        near = search.near(name) if search is not None and isinstance(name, str) else []
        about = hint(name, [texts[row] for row in near])[2:]
        shown.append(repr(name) + (f" ({about})" if about else ""))
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _distinct(name: str, other: str) -> str:
    """A nearly equal name, with the difference if the letters do not show it."""
    same = unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", other)
    return repr(other) + (" in another Unicode form" if same else "")
