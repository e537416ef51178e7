"""Components of players who met in rated contests, directly or through others: ratings of two do not compare.

A component is large if it has more than two players and more than a hundredth of those who count. Small ones are
players who have not met the others yet; two large ones are histories that nothing joins. Imports no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import Chain, Dataset, Run
from ranklake.storage.runs.components import Meetings

from ..common.text import count
from .meetings import meetings_of
from .places import PlaceOptions

Ints = npt.NDArray[np.int32]
LARGE_PLAYERS, LARGE_SHARE = 2, 0.01
"""A large component has more players than this, and more than this share of them."""

_MOST_SHOWN = 3  # sizes of components in a line


@dataclass(frozen=True, eq=False)
class Components:
    """The component of each player.

    ``of`` (int32[n]): its number, 0 for the one with the most players, of equal ones the one with the least index; -1
    for players without a rated round.
    ``n_rounds`` (int32[n]): rated rounds of each player.
    ``min_rounds``: players with fewer rounds do not count for the size from which a component is large.
    """

    of: Ints
    n_rounds: Ints
    min_rounds: int = 0

    @classmethod
    def numbered(cls, found: Meetings, min_rounds: int = 0) -> Self:
        """The components of who met whom."""
        of = np.full(len(found.roots), -1, np.int32)
        rated = np.flatnonzero(found.n_rounds)
        roots, at, sizes = np.unique(found.roots[rated], return_inverse=True, return_counts=True)
        earliest = np.full(len(roots), len(of))
        np.minimum.at(earliest, at, rated)
        number = np.empty(len(roots), np.int32)
        number[np.lexsort((earliest, -sizes))] = np.arange(len(roots))
        of[rated] = number[at]
        return cls(of, found.n_rounds, min_rounds)

    @classmethod
    def of_run(cls, run: Run, dataset: Dataset, chain: Chain | None = None, stop: int | None = None) -> Self:
        """The components of a run, or of its first ``stop`` rounds; see :func:`meetings_of`."""
        return cls.numbered(
            meetings_of(run, dataset, chain or run.segments(), stop), PlaceOptions.of_run(run).min_rounds
        )

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of players of each component, largest first."""
        return tuple(np.bincount(self.of[self.of >= 0]).tolist())

    @cached_property
    def earliest(self) -> tuple[int, ...]:
        """The least index of the players of each component."""
        numbers, rows = np.unique(self.of, return_index=True)
        return tuple(rows[numbers >= 0].tolist())

    @cached_property
    def large(self) -> tuple[int, ...]:
        """The numbers of the large components."""
        return large(self.of, self.n_rounds, self.min_rounds)

    def line(self, names: Callable[[Sequence[int]], Sequence[Any]], remedy: str = "", players: str = "players") -> str:
        """A line about two or more large components, else empty.

        ``names``: the names of players, given their indices.
        ``remedy``: what lists the components, a sentence. ``players``: the word for them.
        """
        found = self.large
        if len(found) < 2:
            return ""
        shown, more = found[:_MOST_SHOWN], len(found) - _MOST_SHOWN
        sizes = [f"{self.sizes[number]:,}" for number in shown]
        last = count(more, "smaller group") if more > 0 else f"{sizes.pop()} {players}"
        such = [repr(name) for name in names([self.earliest[number] for number in shown])]
        about = f"{', '.join(sizes)} and {last}, such as {', '.join(such[:-1])} and {such[-1]}"
        line = f"{count(len(found), 'group')} of {players} never met ({about}): their ratings cannot be compared"
        return f"{line}. {remedy}" if remedy else line

    def line_in(self, dataset: Dataset, remedy: str = "") -> str:
        """As :meth:`line`, with the names that a data set has."""
        return self.line(lambda rows: dataset.handles().take(pa.array(rows, pa.int32())).to_pylist(), remedy)

    def numbers(self, players: Sequence[int]) -> list[int]:
        """The number of the component of each player, given their indices; -1 for players without a rated round."""
        return [int(self.of[player]) if 0 <= player < len(self.of) else -1 for player in players]


def large(component: Ints, n_rounds: Ints, min_rounds: int) -> tuple[int, ...]:
    """The numbers of the large components, given that of each player, -1 for none; of players with enough rounds."""
    counts = np.bincount(component[(component >= 0) & (n_rounds >= min_rounds)])
    least = max(LARGE_PLAYERS, LARGE_SHARE * counts.sum())
    return tuple(np.flatnonzero(counts > least).tolist())


def compared_in(board: pa.Table, min_rounds: int = 0) -> Ints | None:
    """The component of each row of a leaderboard if two of them are large: places are within it; else None."""
    if "component" not in board.column_names or board.column("component").null_count:
        return None
    component, n_rounds = (board.column(name).to_numpy() for name in ("component", "n_rounds"))
    return component if len(large(component, n_rounds, min_rounds)) > 1 else None


def with_large(board: pa.Table, min_rounds: int = 0) -> pa.Table:
    """A leaderboard without the column ``component``, unless two components are large."""
    return board.drop_columns("component") if compared_in(board, min_rounds) is None else board


def groups_in(board: pa.Table) -> Ints | None:
    """The component of each row of a leaderboard of :func:`with_large`; None if no two are large."""
    found: Ints | None = board.column("component").to_numpy() if "component" in board.column_names else None
    return found


def in_component(board: pa.Table, number: int) -> npt.NDArray[np.bool_]:
    """Mask of the players of a component; raises ``ValueError`` if there is none of this number."""
    component = board.column("component").fill_null(0).to_numpy()
    last = int(component.max(initial=0))
    if not 0 <= number <= last:
        raise ValueError(
            f"there is no component {number}; {f'they are 0 to {last}' if last else 'all players are of 0'}"
        )
    return np.asarray(component == number)


def apart(numbers: Sequence[int], names: Sequence[Any]) -> str:
    """A line if some players are of different components, given their numbers, -1 for newcomers; else empty."""
    met = [(number, name) for number, name in zip(numbers, names, strict=True) if number >= 0]
    other = next((name for number, name in met if number != met[0][0]), None)
    if other is None:
        return ""
    return f"{met[0][1]!r} and {other!r} never met, not even through others: their ratings cannot be compared"
