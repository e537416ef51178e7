"""Components of who met whom and the contests that join two groups, by the plainest rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def closure(contests: Iterable[Iterable[int]]) -> list[list[int]]:
    """The players of each component, the largest first, of equal ones that with the least player."""
    components: list[set[int]] = []
    for one in map(set, contests):
        apart = [component for component in components if component.isdisjoint(one)]
        joined = one.union(*(component for component in components if not component.isdisjoint(one)))
        components = [*apart, joined]
    return sorted(map(sorted, components), key=lambda players: (-len(players), players[0]))


def groups_without(contests: Sequence[Sequence[int]], number: int) -> list[list[int]]:
    """The groups of the players of the component of a contest if it had not been, the largest first."""
    (whole,) = (set(one) for one in closure(contests) if set(contests[number]) <= set(one))
    others = [one for at, one in enumerate(contests) if at != number and set(one) <= whole]
    return closure([*others, *([player] for player in whole)])
