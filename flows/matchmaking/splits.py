"""Splits of parties in two teams: those of given sizes, all of them, and those that an exchange makes of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice, product

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.core.standings import Floats, Longs

from ..common.text import listed

Split = npt.NDArray[np.bool_]
"""For each party, whether it is in the first team."""


def team_sizes(n_players: int, sizes: Sequence[int] | None) -> tuple[int, int]:
    """The sizes of the two teams, by default equal ones.

    Raises ValueError: fewer than two players, an odd number of them without sizes, or sizes that do not add up.
    """
    if n_players < 2:
        raise ValueError(f"two teams need at least two players, got {n_players}")
    if sizes is None:
        if n_players % 2:
            half = n_players // 2
            raise ValueError(
                f"{n_players} players make no two teams of equal size; give the sizes, as {half + 1} and {half}"
            )
        return n_players // 2, n_players // 2
    if len(sizes) != 2 or min(sizes) < 1 or sum(sizes) != n_players:
        got = " and ".join(map(str, sizes))
        raise ValueError(f"sizes must be two numbers >= 1 that add up to the {n_players} players, got {got}")
    return sizes[0], sizes[1]


def check_possible(parties: Longs, size: int) -> None:
    """Raise ``ValueError`` unless some of the parties, by their numbers of players, fill the first team."""
    reached = _reachable(parties)[0]
    n = int(parties.sum())
    if reached[size]:
        return
    possible = [f"{one} and {n - one}" for one in range(1, n // 2 + 1) if reached[one]]
    remedy = f"possible are teams of {', '.join(possible)}" if possible else "one party has all players"
    raise ValueError(
        f"no teams of {size} and {n - size} keep parties of {listed(list(map(str, parties)))} together: {remedy}"
    )


def every_split(parties: Longs, size: int) -> Split:
    """All splits in which the first team has ``size`` players: bool[splits, parties], in the order of the parties.

    Of two equal teams, the first one has the first party. O(2^parties) time and memory.
    """
    n = len(parties)
    numbers = np.arange(1 << n)[::-1, None]  # the first party is the highest bit: it is in the first team first
    splits: Split = (numbers >> np.arange(n)[::-1]) & 1 == 1
    kept = splits @ parties == size
    if 2 * size == parties.sum():
        kept &= splits[:, 0]
    kept_splits: Split = splits[kept]
    return kept_splits


def even_split(parties: Longs, strengths: Floats, size: int) -> Split:
    """A split in which the first team has ``size`` players: the largest and the strongest parties choose first, each
    the weaker team so far, where the others can still fill the teams.

    ``strengths`` (float64[parties]): sums over the players, relative to the mean of all.
    """
    order = np.lexsort((np.arange(len(parties)), -strengths, -parties))
    reachable = _reachable(parties[order])
    split, left, ahead = np.zeros(len(parties), np.bool_), size, 0.0
    for at, party in enumerate(order):
        rest = left - int(parties[party])
        first = rest >= 0 and bool(reachable[at + 1][rest])
        second = bool(reachable[at + 1][left])
        split[party] = first and (ahead <= 0.0 or not second)
        left = rest if split[party] else left
        ahead += strengths[party] if split[party] else -strengths[party]
    return split


def exchanges(split: Split, parties: Longs, block: int, limit: int) -> Iterator[Split]:
    """The splits that exchange some parties for others of as many players together, in blocks: bool[block, parties].

    First one party for another, then up to two for up to two, ``limit`` splits of these at most.
    """
    mine, others = (np.flatnonzero(side) for side in (split, ~split))
    one, other = np.nonzero(parties[mine][:, None] == parties[others])
    singles = zip(mine[one, None].tolist(), others[other, None].tolist(), strict=True)
    yield from _blocks(split, singles, block)
    some = ([*combinations(side.tolist(), 1), *combinations(side.tolist(), 2)] for side in (mine, others))
    sets = (
        (list(a), list(b))
        for a, b in product(*some)
        if len(a) + len(b) > 2 and sum(parties[i] for i in a) == sum(parties[i] for i in b)
    )
    yield from _blocks(split, islice(sets, limit), block)


def _blocks(split: Split, moves: Iterator[tuple[list[int], list[int]]], block: int) -> Iterator[Split]:
    while some := list(islice(moves, block)):
        changed = np.repeat(split[None], len(some), axis=0)
        row = np.repeat(np.arange(len(some)), [len(a) + len(b) for a, b in some])
        changed[row, list(chain.from_iterable(a + b for a, b in some))] ^= True
        yield changed


def _reachable(parties: Longs) -> list[Split]:
    """For the parties from each one on, and for none, which numbers of players some of them have together."""
    n = int(parties.sum())
    reached = [np.arange(n + 1) == 0]
    for size in parties[::-1].tolist():
        later = reached[-1]
        reached.append(later | np.concatenate((np.zeros(size, np.bool_), later[: n + 1 - size])))
    return reached[::-1]
