"""Bring published tables from their stored states to the content of a run, with as few rows written as possible.

Ratings before the first changed round stay, and later ones are replaced; without a change, new ones are appended.
Players and contests come before the ratings that refer to them, so that joins are complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import pyarrow as pa

from ranklake.storage.lake.schemas import OF_ATTRIBUTES, PUBLISHED

from .states import State, VersionedContent


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


def update(content: VersionedContent, target: Target) -> Changes:
    """Write what differs."""
    changed = [name for name in (*PUBLISHED, *OF_ATTRIBUTES) if not content.is_current(name, target.state(name))]
    if not content.attributes.num_rows:
        changed = [name for name in changed if name in PUBLISHED or target.has(name)]
    n_kept, added = content.kept("ratings", target.state("ratings"))[0], 0

    def ratings() -> Iterator[pa.RecordBatch]:
        nonlocal added
        for batch in content.ratings(n_kept):
            added += batch.num_rows
            yield batch

    for name in changed:
        state = content.state(name)
        kept, published = content.kept(name, target.state(name)) if name not in OF_ATTRIBUTES else (0, 0)
        grows = kept == published > 0
        if name == "ratings":
            target.append(name, ratings(), state, None if grows else kept)
        elif name == "leaderboard":
            rows = content.leaderboard(target.rows(name), published) if grows else content.leaderboard()
            target.replace(name, rows, state)
        elif grows:
            target.append(name, getattr(content, name).slice(published).to_batches(), state)
        else:
            target.replace(name, getattr(content, name), state)
    return Changes(n_kept, added, tuple(changed))
