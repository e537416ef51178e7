"""The columns of a table of games: white, black and result, or winner, loser and draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...common.text import quoted
from ..base import SourceError

KEYS = {
    "white": ("white", "player", "player1"),
    "black": ("black", "opponent", "player2"),
    "result": ("result", "score"),
    "winner": ("winner", "winner_name"),
    "loser": ("loser", "loser_name"),
    "draw": ("draw", "is_draw"),
    "time": ("time_seconds", "time", "timestamp", "utcdate", "date"),
    "clock": ("utctime",),
    "weight": ("weight",),
    "advantage": ("advantage",),
}
"""The meaning of columns, and the names by which they are found, in any case of the letters."""

_OF_SIDES, _OF_WINNERS = ("white", "black", "result"), ("winner", "loser", "draw")


def parse_columns(settings: Sequence[str]) -> dict[str, str]:
    """Names of columns from settings such as ``white=White``; ``ValueError`` for another form, an unknown key, or a key
    twice.
    """
    chosen: dict[str, str] = {}
    for setting in settings:
        key, equals, column = setting.partition("=")
        if not equals or key not in KEYS or key in chosen:
            rule = f"expected KEY=COLUMN, as white=White, with KEY one of {', '.join(KEYS)}, each once"
            raise ValueError(f"column {setting!r}: {rule}")
        chosen[key] = column
    return chosen


def find_columns(present: Sequence[str], chosen: Mapping[str, str], source: str) -> dict[str, str]:
    """The column of each key: the chosen one, or one of the usual names. ``KEY=`` uses no column.

    A table has either ``white``, ``black`` and ``result``, or ``winner`` and ``loser`` and perhaps ``draw``. Raises
    ``SourceError`` if a column is missing, exists twice, or differs from another one in the case of its letters only.
    """
    folded = {name.lower(): name for name in reversed(present)}
    usual = {key: next((folded[name] for name in names if name in folded), "") for key, names in KEYS.items()}
    if chosen.get("time", usual["time"]).lower() != "utcdate":
        usual["clock"] = ""
    found = {**usual, **chosen}
    winners = bool(found["winner"] and found["loser"] and not all(found[key] for key in _OF_SIDES))
    winners |= any(chosen.get(key) for key in _OF_WINNERS)
    for key in _OF_SIDES if winners else _OF_WINNERS:
        if chosen.get(key):
            raise SourceError(f"--column {key}= and a column of {' or '.join(_OF_WINNERS)} exclude each other", source)
        found[key] = ""
    needed = (*(_OF_WINNERS[:2] if winners else _OF_SIDES), "time")
    for key, column in found.items():
        if (column or key in needed) and column not in present:
            have = ", ".join(map(quoted, present[:20]))
            what = f"has no column {quoted(column)} for {key}" if column else f"needs a column for {key}"
            remedy = f"name the column with --column {key}=..."
            if key in _OF_SIDES:
                remedy += ", or columns of winners and losers with --column winner=... --column loser=..."
            raise SourceError(f"{what}; it has {have}; {remedy}", source)
        if present.count(column) > 1:
            raise SourceError(f"there are two columns {quoted(column)}", source)
        alike = [name for name in present if column and name.lower() == column.lower()]
        if len(alike) > 1 and key not in chosen:
            names = " and ".join(map(quoted, alike))
            rule = f"the columns {names} differ in the case of their letters only"
            raise SourceError(f"{rule}; choose one with --column {key}={alike[0]}", source)
    return {key: column for key, column in found.items() if column}
