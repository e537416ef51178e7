"""Contests that a run skips because of their places alone.

A contest of one participant has no result. A tie of two players is a result, for every system. Larger contests in which
all tie are rated, except by systems whose authors' own program skips them (``System.skips_all_tied``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Rounds, System
from ranklake.storage import Dataset

__all__ = ["ALL_TIED", "ANY_SYSTEM", "ONE_PARTICIPANT", "REASONS", "TWO_TIED", "Skipping", "differ"]

ONE_PARTICIPANT, ALL_TIED, TWO_TIED = 1, 2, 3
REASONS = {
    ONE_PARTICIPANT: "one participant only",
    ALL_TIED: "all participants tied",
    TWO_TIED: "draws of two players, as this run skips them since release 0.1; a new --run rates them",
}

_RECORDED = "draws_are_results"  # of run.json; absent from the runs of release 0.1


@dataclass(frozen=True, slots=True)
class Skipping:
    """Which contests are skipped.

    Attributes
    ----------
    one_participant, all_tied, two_tied : bool
        Contests of one participant; of three or more who all tie; of two who tie.
    """

    one_participant: bool = True
    all_tied: bool = True
    two_tied: bool = False

    @classmethod
    def of(cls, system: System, skip_uninformative: bool | None = None) -> Skipping:
        """The rule of a new run.

        Parameters
        ----------
        skip_uninformative
            True also skips larger contests in which all tie; False skips nothing. None is the system's own rule.
        """
        if skip_uninformative is None:
            return cls(all_tied=system.skips_all_tied)
        return cls() if skip_uninformative else cls(False, False, False)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Skipping:
        """The rule that a ``run.json`` records.

        Raises
        ------
        KeyError
            It records none.
        """
        all_tied = bool(facts["skip_uninformative"])
        return cls(all_tied=all_tied) if facts.get(_RECORDED) else cls(all_tied, all_tied, all_tied)

    def to_json(self) -> dict[str, bool]:
        """What ``run.json`` records; of the rules of release 0.1 what that release recorded."""
        alike = self.one_participant == self.all_tied == self.two_tied
        return {"skip_uninformative": self.all_tied} | ({} if alike else {_RECORDED: True})

    def label(self) -> str:
        """The contests that are skipped, in words."""
        parts = (
            (self.one_participant, "one participant"),
            (self.all_tied, "all tied"),
            (self.two_tied, "draws of two"),
        )
        return " + ".join(text for skipped, text in parts if skipped) or "none"

    def reasons(self, rounds: Rounds) -> npt.NDArray[np.uint8]:
        """The reason why each round is skipped: a key of ``REASONS``, 0 if it is rated."""
        found = np.zeros(len(rounds), dtype=np.uint8)
        sizes, tied = np.diff(rounds.offsets), ~rounds.informative
        if self.one_participant:
            found[sizes == 1] = ONE_PARTICIPANT
        if self.all_tied:
            found[tied & (sizes > 2)] = ALL_TIED
        if self.two_tied:
            found[tied & (sizes == 2)] = TWO_TIED
        return found

    def keep(self, rounds: Rounds) -> npt.NDArray[np.bool_]:
        """Of each round, whether it is rated."""
        kept: npt.NDArray[np.bool_] = self.reasons(rounds) == 0
        return kept


ANY_SYSTEM = Skipping()  # for comparisons of systems: every system rates the other contests


def differ(dataset: Dataset, one: Skipping, other: Skipping) -> bool:
    """Whether two rules skip different contests of a data set; reads all its standings."""
    for part in dataset.standings():
        n = len(part)
        nothing = np.zeros(n)
        rounds = Rounds(
            part.offsets, part.player, part.lo, part.hi, nothing.astype(np.int64), nothing, nothing,
            nothing.astype(np.int64),
        )  # fmt: skip
        if not np.array_equal(one.keep(rounds), other.keep(rounds)):
            return True
    return False
