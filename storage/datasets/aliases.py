"""Whose a handle was at a time: old names lead to the name that counts, over any number of renamings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

__all__ = ["NEVER", "Alias", "canonical", "check_alias", "turning_point"]

NEVER = int(np.iinfo(np.int64).max)  # later than any contest


class Alias(NamedTuple):
    """What became of an old handle.

    ``new`` is the handle that counts instead. Under the old one it was the same player before ``since_seconds``; from
    then on it is whoever took it next. None: always the same player.
    """

    new: str
    since_seconds: int | None = None


def canonical(aliases: Mapping[str, Alias], handle: str, time_seconds: int) -> str:
    """The handle that counts for who was called ``handle`` at a time.

    Who gave up a name at some time bore the new one from that time on: the next link is followed as of then. So
    names that were swapped, or taken back later, find their player.
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
    """The time before which ``handle`` was one player and from which it is another, and their handles that count.

    There is one such time at most; ``NEVER`` if there is none, and the two are then the same.
    """
    while (alias := aliases.get(handle)) is not None and alias.since_seconds is None:
        handle = alias.new
    if alias is None or alias.since_seconds is None:
        return NEVER, handle, handle
    return alias.since_seconds, canonical(aliases, alias.new, alias.since_seconds), handle


def check_alias(aliases: Mapping[str, Alias], old: str, alias: Alias) -> None:
    """Refuse an alias that leads nowhere.

    Raises
    ------
    ValueError
        It is a name's own, or closes a cycle that is not parted by times.
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
            f"{' -> '.join(map(repr, path))} is a cycle; take one of them back with `ranklake unalias`, "
            "or say for each --since when the name was given up"
        )
