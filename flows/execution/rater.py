"""What holds the beliefs of a run and rates its rounds: this process, or the workers of a cluster. Its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Beliefs, Outcome, Reset, Rounds, System
from ranklake.rating_kernels.core.beliefs import AnyColumn
from ranklake.rating_kernels.core.ragged import Ragged, Shared

T = TypeVar("T")

BeliefColumns = dict[str, AnyColumn]
_BLOCK = 65_536  # players whose ratings are summed at once
HandOver = Callable[[npt.NDArray[np.int64], BeliefColumns], Any]  # players and their beliefs; can be pickled


@dataclass(frozen=True, slots=True, eq=False)
class BeliefReset:
    """A reset of beliefs between two rounds.

    ``centre``: rating points; None: the mean of all players with a round.
    ``keep``, ``widen``, ``forget``, ``restart_counts``: as in :class:`.Reset`.
    ``active_since``: only players with a round that ended then or later, UTC seconds; None: others, too.
    ``players`` (bool[n]): mask of the players, by row; None: all.
    """

    centre: float | None
    keep: float = 1.0
    widen: float = 0.0
    forget: bool = False
    restart_counts: bool = False
    active_since: int | None = None
    players: npt.NDArray[np.bool_] | None = None

    def around(self, centre: float) -> Reset:
        """The reset of each belief, around a centre."""
        return Reset(centre, self.keep, self.widen, self.forget, self.restart_counts)

    def rows(self, n_rounds: npt.NDArray[np.int32], last_time: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The rows that it acts on, given the rounds of the player in each: players without rounds are not reset."""
        acts = n_rounds > 0
        if self.active_since is not None:
            acts &= last_time >= self.active_since
        if self.players is not None:
            n = min(len(acts), len(self.players))
            acts[:n] &= self.players[:n]
            acts[n:] = False
        return np.flatnonzero(acts)

    def apply(self, system: System, params: Any, beliefs: Beliefs, centre: float) -> None:
        """Reset the beliefs of a store, in place."""
        rows = self.rows(np.asarray(beliefs.n_rounds), np.asarray(beliefs.last_time))
        if len(rows):
            system.reset(params, beliefs, rows, self.around(centre))


def mean_of_rated(mu: npt.NDArray[np.float64], n_rounds: npt.NDArray[np.int32]) -> float:
    """The mean rating of all players with a round, by index; 0 if there are none.

    It is summed in blocks of ``_BLOCK`` players, in their order: so it has the same bits wherever they are held.
    """
    total, n = 0.0, 0
    for start in range(0, len(mu), _BLOCK):
        rated = mu[start : start + _BLOCK][n_rounds[start : start + _BLOCK] > 0]
        total, n = total + float(rated.sum()), n + len(rated)
    return total / n if n else 0.0


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

    def reset(self, reset: BeliefReset) -> float:
        """Reset beliefs between two rounds: to the bit the same for every rater and number of workers.

        Returns float: the centre, rating points.
        Raises ValueError: as :meth:`.System.reset`.
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
