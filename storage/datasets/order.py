"""The rated order of contests when more come in: in the source's order, amid others that keep their places."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["merge_order", "n_moved"]


def merge_order(known: Sequence[str], source: Sequence[str]) -> list[str]:
    """The contests ``known`` in rated order, and those of a source, so that the latter stand in the source's order.

    Contests that the source does not have keep their places. Known ones change places among each other. A new one comes
    right after its predecessor in the source; those before the first known one right before that; if there is no known
    one, all come at the end.
    """
    place = {contest: i for i, contest in enumerate(known)}
    ours = [contest for contest in source if contest in place]
    merged = list(known)
    for slot, contest in zip(sorted(place[contest] for contest in ours), ours, strict=True):
        merged[slot] = contest
    if not ours:
        return [*merged, *source]
    followers: dict[str, list[str]] = {contest: [] for contest in ours}
    leading: list[str] = []
    latest = leading
    for contest in source:
        if contest in place:
            latest = followers[contest]
        else:
            latest.append(contest)
    ordered: list[str] = []
    for contest in merged:
        if contest == ours[0]:
            ordered += leading
        ordered.append(contest)
        ordered += followers.get(contest, ())
    return ordered


def n_moved(before: Sequence[str], after: Sequence[str]) -> int:
    """How many contests at least must be put elsewhere to get the common ones from one order to the other."""
    place = {contest: i for i, contest in enumerate(before)}
    common = [place[contest] for contest in after if contest in place]
    ends: list[int] = []  # the longest rising subsequence stays where it is; its possible ends by length
    for position in common:
        at = bisect_left(ends, position)
        ends[at : at + 1] = [position]
    return len(common) - len(ends)
