"""Aliases: the current name of the player who had a handle at a time, through any number of renamings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

NEVER = int(np.iinfo(np.int64).max)  # later than any contest


class Alias(NamedTuple):
    """The new name of an old handle.

    Before ``since_seconds`` the old handle belonged to the player ``new``. From that time on it belongs to another
    player. None: it always belongs to the player ``new``.
    """

    new: str
    since_seconds: int | None = None


def canonical(aliases: Mapping[str, Alias], handle: str, time_seconds: int) -> str:
    """The current handle of the player who had ``handle`` at a time.

    A player has the new name from the time of the renaming on, so the next alias is looked up as of that time. This
    resolves names that were swapped or taken back later.
    """
    while (alias := aliases.get(handle)) is not None:
        new, since = alias
        if since is None:
            handle = new
        elif time_seconds < since:
            handle, time_seconds = new, since
        else:
            break
    return handle


def turning_point(aliases: Mapping[str, Alias], handle: str) -> tuple[int, str, str]:
    """The time at which ``handle`` passed from one player to another, and the current handles of both.

    There is at most one such time. ``NEVER`` if there is none; the two handles are then equal.
    """
    while (alias := aliases.get(handle)) is not None and alias.since_seconds is None:
        handle = alias.new
    if alias is None or alias.since_seconds is None:
        return NEVER, handle, handle
    return alias.since_seconds, canonical(aliases, alias.new, alias.since_seconds), handle


def check_alias(aliases: Mapping[str, Alias], old: str, alias: Alias) -> None:
    """Refuse an alias that cannot be resolved.

    Raises ValueError: both names are the same, or the alias closes a cycle in which an alias has no time.
    """
    if old == alias.new:
        raise ValueError(f"an alias needs two names, got {old!r} twice")
    path, link = [old], alias
    timeless = False
    while link is not None and link.new not in path[1:]:
        timeless |= link.since_seconds is None
        path.append(link.new)
        if link.new == old:
            break
        link = aliases.get(link.new)  # type: ignore[assignment]
    if path[-1] == old and timeless:
        raise ValueError(
            f"{' -> '.join(map(repr, path))} is a cycle; undo one of them with `ranklake unalias`, "
            "or give each alias the time from which it holds"
        )
