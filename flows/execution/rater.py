"""What holds the beliefs of a run and rates its rounds: this process, or the workers of a cluster. Its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome, Rounds, System
from ranklake.rating_kernels.core.beliefs import AnyColumn
from ranklake.rating_kernels.core.ragged import Ragged, Shared

T = TypeVar("T")

BeliefColumns = dict[str, AnyColumn]
HandOver = Callable[[npt.NDArray[np.int64], BeliefColumns], Any]  # players and their beliefs; can be pickled


class Rater(Protocol):
    """Holds the beliefs about all players, and rates rounds.

    ``workers``, ``left_out``: workers that hold the beliefs, none if this process does; and those that were asked to
    hold some and do not, each with the reason.
    ``phases``: seconds and number of times, by phase; empty where they are not measured.
    """

    workers: list[str]
    left_out: Mapping[str, str]
    phases: dict[str, tuple[float, int]]

    def rate_batches(self, batches: Iterable[Rounds]) -> Iterator[Outcome]:
        """Rate batches of rounds, the next of the history; yields the outcome of each.

        A rater may read some batches in advance, and begin to rate them. Between the first outcome and the last one,
        no other method but :meth:`close` may be called.

        Raises RoundError: a round of the batch after the last outcome cannot be rated.
        """

    def columns(self) -> BeliefColumns:
        """The beliefs about all players, as arrays to be stored."""

    def hand_over(self, take: HandOver) -> list[Any]:
        """Have each worker call a function with the beliefs that it holds; returns the results, worker by worker."""

    def restore(self, columns: BeliefColumns) -> None:
        """Take stored beliefs; players beyond them are newcomers."""

    def close(self) -> None:
        """Release the workers. The rater cannot be used afterwards."""


def select_beliefs(system: System, params: Any, columns: BeliefColumns, rows: npt.NDArray[np.int64]) -> BeliefColumns:
    """The beliefs in some rows of the columns; row -1, and any beyond the last, is a newcomer."""
    known = (rows >= 0) & (rows < len(columns["mu"]))
    if known.all():
        return {name: column.take(rows) for name, column in columns.items()}
    selected = system.newcomers(params, len(rows)).columns()
    at = rows[known]
    for name, column in columns.items():
        newcomers = selected[name]
        if isinstance(column, Shared):
            selected[name] = column
        elif isinstance(column, Ragged) and isinstance(newcomers, Ragged):
            selected[name] = newcomers.put(np.flatnonzero(known), column.take(at))
        else:
            newcomers[known] = column[at]  # type: ignore[index]
    return selected
