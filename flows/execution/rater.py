"""Who holds the beliefs of a run and rates its rounds: this process, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ranklake.rating_kernels import Outcome, Rounds
from ranklake.rating_kernels.core.beliefs import Column, Ragged

__all__ = ["BeliefColumns", "Rater"]

BeliefColumns = dict[str, Column | Ragged]


class Rater(Protocol):
    """Holds what is believed of every player, and rates rounds.

    Attributes
    ----------
    ahead : int
        How many of the next calls it makes use of knowing.
    phases : dict of str to (float, int)
        Where time went: seconds and how often, by phase; empty where it is not told.
    """

    @property
    def ahead(self) -> int: ...

    @property
    def phases(self) -> Mapping[str, tuple[float, int]]: ...

    def rate(self, rounds: Rounds, ahead: Sequence[Rounds] = ()) -> Outcome:
        """Rate rounds, the next of the history, in order.

        Parameters
        ----------
        ahead
            What will be given in the next calls, as far as it is known and there will be no other call in between:
            work on it may begin.
        """

    def columns(self) -> BeliefColumns:
        """What is believed of everybody, as arrays to be stored."""

    def restore(self, columns: BeliefColumns) -> None:
        """Believe what was stored; players beyond are newcomers."""

    def close(self) -> None:
        """Nobody will ask any more."""
