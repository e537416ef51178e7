"""Bring published tables from their stored states to the content of a run, with as few rows written as possible.

Ratings before the first changed round stay, and later ones are replaced; without a change, new ones are appended.
Players and contests come before the ratings that refer to them, so that joins are complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from ranklake.storage.lake.schemas import OF_ATTRIBUTES

from .content import Content

__all__ = ["Changes", "Target", "update"]

State = Mapping[str, Any]


class Target(Protocol):
    """Tables of one run, each with the state that was stored with its rows."""

    def state(self, name: str) -> State | None:
        """The state of a table; None if there is none, or another program has changed the rows."""

    def has(self, name: str) -> bool:
        """Whether a table exists."""

    def rows(self, name: str) -> pa.Table:
        """All rows of a table, in any order; the columns may be those of another release."""

    def append(self, name: str, rows: Iterable[pa.RecordBatch], state: State, start_round: int | None = None) -> None:
        """Add rows; first remove those of the rounds from ``start_round`` on, if it is given."""

    def replace(self, name: str, rows: pa.Table, state: State) -> None:
        """Make a table equal to ``rows``."""


class Changes(NamedTuple):
    """Rounds whose ratings were already published; written rows of ratings; tables that have new rows."""

    kept: int
    added: int
    tables: tuple[str, ...]


def update(content: Content, target: Target) -> Changes:
    """Write what differs."""
    changed = [name for name in ("players", "contests") if _update_list(content, target, name)]
    kept, published = _before(content, target, "ratings")
    added = 0
    if not kept == published == content.n_rounds:

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal added
            for batch in content.ratings(kept):
                added += batch.num_rows
                yield batch

        target.append("ratings", rows(), content.state("ratings"), None if kept == published > 0 else kept)
        changed.append("ratings")
    if _update_leaderboard(content, target):
        changed.append("leaderboard")
    for name in OF_ATTRIBUTES:
        state = content.attribute_state(name)
        if target.state(name) != state and (target.has(name) or content.attributes.num_rows):
            target.replace(name, getattr(content, name), state)
            changed.append(name)
    return Changes(kept, added, tuple(changed))


def _update_list(content: Content, target: Target, name: str) -> bool:
    """Append new players or contests, or replace all if a published row has changed."""
    rows, before = getattr(content, name), target.state(name) or {}
    state = content.list_state(name)
    if before == state:
        return False
    published = int(before.get("rows", 0))
    if 0 < published < rows.num_rows and content.list_state(name, published) == before:
        target.append(name, rows.slice(published).to_batches(), state)
    else:
        target.replace(name, rows, state)
    return True


def _update_leaderboard(content: Content, target: Target) -> bool:
    kept, published = _before(content, target, "leaderboard")
    if kept == published == content.n_rounds and content.same_titles(target.state("leaderboard")):
        return False
    extends = kept == published > 0
    board = content.leaderboard(target.rows("leaderboard"), published) if extends else content.leaderboard()
    target.replace("leaderboard", board, content.state("leaderboard"))
    return True


def _before(content: Content, target: Target, name: str) -> tuple[int, int]:
    """The unchanged rounds of a table, and all its rounds."""
    state = target.state(name)
    return (0, 0) if state is None else (content.kept(name, state), int(state.get("rows", 0)))
