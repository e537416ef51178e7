"""The leaderboard: of all players, of a group, of the active ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...answers.leaderboard import Group
from ...answers.run import PublishedRun
from ...common.times import AGES, parse_span
from ...results.attributes import COUNTRY
from ..links import ServerLinks
from ..places import place_columns
from .groups import groups

BOARD_ROWS = 200  # of a page of the leaderboard
ACTIVE = {"90d": "90 days", "1y": "a year", "3y": "3 years"}
"""Choices of the time since the last contest of a player, as for `leaderboard --active`, and their names."""

_BOARD = ("handle", "rating", "sigma", "n_rounds", "max_rating", "last_time_seconds")
_ALL = {"start": 0, "page": -1, "n_pages": 1, "version": "", "total": 0, "heading": "", "chosen": {}, "choices": None}

Columns = Mapping[str, Sequence[Any]]


def board(rows: Columns, **more: Any) -> dict[str, Any]:
    """A page of a leaderboard, by default the first rows of all players; see the template ``leaderboard``."""
    return {"board": rows, **_ALL, **more}


def leaderboard(
    run: PublishedRun, links: ServerLinks, page: int, group: Group | None = None, active: str = ""
) -> dict[str, Any]:
    """Page ``page`` of the leaderboard, from 0.

    ``group``: only players with this value of an attribute.
    ``active``: only players with a contest in this time before the last one, a key of ``ACTIVE``; empty for all.
    """
    start = page * BOARD_ROWS
    found = run.leaderboard(start, BOARD_ROWS, group=group, active=parse_span(active, AGES) if active else None)
    rows = {name: found.rows.column(name).to_pylist() for name in _BOARD} | place_columns(found.rows, run.places)
    if COUNTRY in run.attributes:
        rows["country"] = run.values(COUNTRY, found.rows.column("player"))
    named = [" ".join(group)] if group else []
    heading = ", ".join([*named, f"active within {ACTIVE[active]}"] if active else named)
    chosen = {"group": ":".join(group) if group else "", "active": active}
    best = [row for section in groups(run.groups_table, links)["sections"] for row in section["rows"]]
    choices = {"groups": [f"{row['attribute']}:{row['value']}" for row in best], "active": list(ACTIVE.items())}
    n_pages = -(-found.total // BOARD_ROWS)
    return board(rows, start=start, page=page, n_pages=n_pages, total=found.total, heading=heading, chosen=chosen,
                 choices=choices)  # fmt: skip
