"""Rounds computed again: how they differ from the record, and whether another kind of machine explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranklake.storage import LakeError, Run, Segment
from ranklake.storage.lake.remedies import remedy_for

from ..engines.environment import machine

ROUNDING = 1e-6  # rating points: far above what rounding adds up to, far below what a person or a title can notice


@dataclass(frozen=True, slots=True)
class Difference:
    """A column of a segment that is not the same to the bit.

    ``points``: the largest difference; infinite if only one of two numbers is NaN.
    ``elsewhere``: the other kinds of machine that are recorded for this segment or replayed ones before it.
    """

    segment: Segment
    column: str
    points: float
    elsewhere: Sequence[str]

    @property
    def is_rounding(self) -> bool:
        """Whether rounding explains the difference."""
        return self.points <= ROUNDING

    @property
    def cause(self) -> str:
        """The likely cause, in words."""
        if self.elsewhere:
            return f"they were rated on {' and '.join(self.elsewhere)}, and this machine is {machine()}"
        return "another release or kind of machine wrote them"

    def within(self, start: int, stop: int) -> str:
        """The rounds of the segment from ``start`` to ``stop - 1``, in words."""
        return f"rounds {max(start, self.segment.first_round)}-{min(stop, self.segment.stop_round) - 1}"

    def error(self, run: Run, start: int, stop: int) -> LakeError:
        """The error of a run that cannot continue from rounds ``start`` to ``stop - 1``, with the remedies."""
        path = run.path_of(self.segment)
        accept = f"`ranklake rate --run {run.name} --accept-rounding` continues from them, " if self.is_rounding else ""
        return LakeError(
            f"{path}: {self.within(start, stop)}, computed again, have another {self.column} than stored, by up to "
            f"{self.points:.1g}; {self.cause}: {accept}{remedy_for(path)}, or use another --run",
            path=path,
        )


def largest(differences: Sequence[Difference]) -> str:
    """The largest of some differences, with its cause, in words; empty if there are none."""
    if not differences:
        return ""
    worst = max(differences, key=lambda difference: difference.points)
    return f"differ by up to {worst.points:.1g} in {worst.column}: {worst.cause}"


def machines_elsewhere(segment: Segment, before: Sequence[str]) -> list[str]:
    """The other kinds of machine that rated a segment, after those ``before`` it."""
    return list(dict.fromkeys([*before, *(kind for kind in segment.machines if kind != machine())]))


def largest_difference(again: npt.NDArray[np.float64], stored: npt.NDArray[np.float64]) -> float | None:
    """The largest difference of two columns; None if they are the same to the bit, where all NaN are the same."""
    both_nan = np.isnan(again) & np.isnan(stored)
    differ = (again.view(np.int64) != stored.view(np.int64)) & ~both_nan
    points = np.abs(again[differ] - stored[differ])
    return float(np.nan_to_num(points, nan=np.inf).max()) if differ.any() else None
