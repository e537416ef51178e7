"""What the pages say about places: their intervals, the rule of these, and what provisional players lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..common.text import count
from ..results.places import PlaceOptions

_RULES = {
    "separated": "{players} whose μ ± {width:.3g} σ overlap are not told apart",
    "own": "those of μ ± {width:.3g} σ among the μ of all others",
}


def places_line(options: PlaceOptions, uncertainty: float, players: str = "players") -> str:
    """The legend of the places of a leaderboard: the rule of their intervals, unless the system has no uncertainty.

    ``players``: the word for them.
    """
    rule = _RULES[options.rule].format(width=options.z * uncertainty, players=players)
    named = f"{rule} (rule {options.rule}, {100 * options.interval:g} %)"
    shown = [f"In brackets are the places that the skill may have: {named}."] if uncertainty else []
    few = [f"fewer than {count(options.min_rounds, 'round')}"] if options.min_rounds else []
    wide = [f"σ above {options.max_sigma:g}"] if options.max_sigma < float("inf") else []
    return " ".join(shown + ([f"? is provisional: {' or '.join(few + wide)}."] if few + wide else []))


def missing(options: PlaceOptions, n_rounds: int, sigma: float) -> str:
    """What a provisional player lacks for a place, as "2 more rounds"."""
    more = options.min_rounds - n_rounds
    lacks = [count(more, "more round")] if more > 0 else []
    lacks += [f"σ of at most {options.max_sigma:g}"] if sigma > options.max_sigma else []
    return " and ".join(lacks)


def place_columns(board: pa.Table, options: PlaceOptions) -> dict[str, list[Any]]:
    """The columns of a leaderboard about places, as lists: intervals, and what is ``missing``, where there are any."""
    found: dict[str, list[Any]] = {"place": board.column("place").to_pylist()}
    for name in ("place_high", "place_low"):
        if name in board.column_names and board.column(name).null_count < board.num_rows:
            found[name] = board.column(name).to_pylist()
    if pc.any(provisional := board.column("provisional")).as_py():
        rows = zip(
            *(board.column(name).to_pylist() for name in ("n_rounds", "sigma")), provisional.to_pylist(), strict=True
        )
        found["missing"] = [missing(options, n_rounds, sigma) if lacks else None for n_rounds, sigma, lacks in rows]
    return found


def place_text(player: Mapping[str, Any]) -> str:
    """The place of a player with its interval, as ``12 (9-17)``; a dash for a provisional player."""
    place, high, low = (player.get(name) for name in ("place", "place_high", "place_low"))
    if place is None:
        return "–"
    return f"{place:,}" if high is None else f"{place:,} ({high:,}-{low:,})"
