"""The rated order of contests after an ingest: the source's order, between contests that keep their places."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def merge_order(known: Sequence[str], source: Sequence[str]) -> list[str]:
    """Merge the contests of a ``source`` into the ``known`` ones, which are in rated order.

    The contests of the source are then in the source's order. Contests that the source does not have keep their places.
    Known contests of the source exchange places. A new contest is put right after its predecessor in the source. New
    contests before the first known one are put right before it; if no contest is known, all are put at the end.
    """
    place = {contest: i for i, contest in enumerate(known)}
    shared = [contest for contest in source if contest in place]
    merged = list(known)
    for slot, contest in zip(sorted(place[contest] for contest in shared), shared, strict=True):
        merged[slot] = contest
    if not shared:
        return [*merged, *source]
    followers: dict[str, list[str]] = {contest: [] for contest in shared}
    leading: list[str] = []
    latest = leading
    for contest in source:
        if contest in place:
            latest = followers[contest]
        else:
            latest.append(contest)
    ordered: list[str] = []
    for contest in merged:
        if contest == shared[0]:
            ordered += leading
        ordered.append(contest)
        ordered += followers.get(contest, ())
    return ordered


def n_moved(before: Sequence[str], after: Sequence[str]) -> int:
    """Minimum number of contests to move so that the common contests are in the other order."""
    place = {contest: i for i, contest in enumerate(before)}
    common = [place[contest] for contest in after if contest in place]
    ends: list[int] = []  # of rising subsequences, by length; the contests of the longest one need no move
    for position in common:
        at = bisect_left(ends, position)
        ends[at : at + 1] = [position]
    return len(common) - len(ends)
