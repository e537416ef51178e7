"""Rosters of the reference format: rows of standings that list the members of a team."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels.core.limits import SHARE
from ranklake.storage.datasets.tables.teams import Teams

from ...common.text import count, quoted
from ..base import SourceError

__all__ = ["Rosters"]


class RosterRow(Protocol):
    """A row of the standings; without members it is a participant."""

    @property
    def handle(self) -> str: ...
    @property
    def members(self) -> list[str] | None: ...
    @property
    def shares(self) -> list[float] | None: ...


class Rosters:
    """The members of all rows of a contest, and their teams.

    Attributes
    ----------
    members : list of str
        Members of the teams, row by row; a participant without a team is a row's only one.
    sizes : int64[n]
        Number of members of each row.
    teams : Teams
        The team and the share of each member.

    Raises
    ------
    SourceError
        A team without a name or without members, two teams with one name, or shares that are no shares of the members.
    """

    def __init__(self, rows: Sequence[RosterRow], fault: Callable[..., SourceError]) -> None:
        first: dict[str, int] = {}
        for i, row in enumerate(rows):
            if row.members is None:
                if row.shares is not None:
                    raise fault(f"{quoted(row.handle)} has shares and no members", i)
                continue
            if not row.handle:
                raise fault("a team needs a name, got an empty one", i)
            if not row.members:
                raise fault(f"team {quoted(row.handle)} has no members", i)
            if first.setdefault(row.handle, i) != i:
                raise fault(f"team {quoted(row.handle)} is listed twice", first[row.handle], i)
            _check_shares(row, i, fault)
        each = [[row.handle] if row.members is None else row.members for row in rows]
        self.members = list(chain.from_iterable(each))
        self.sizes: npt.NDArray[np.int64] = np.array([len(members) for members in each])
        names = pa.array([None if row.members is None else row.handle for row in rows], pa.string())
        shares = chain.from_iterable(
            row.shares or repeat(1.0, n) for row, n in zip(rows, self.sizes.tolist(), strict=True)
        )
        of_row = pa.array(np.repeat(np.arange(len(rows)), self.sizes))
        self.teams = Teams(names.take(of_row), np.fromiter(shares, np.float64, len(self.members)))

    def rows_of(self, *members: int) -> list[int]:
        """The row of each of these members, given by their numbers."""
        at: list[int] = np.searchsorted(np.cumsum(self.sizes), members, side="right").tolist()
        return at


def _check_shares(row: RosterRow, at: int, fault: Callable[..., SourceError]) -> None:
    if row.shares is None:
        return
    assert row.members is not None
    if len(row.shares) != len(row.members):
        counts = f"{count(len(row.shares), 'share')} and {count(len(row.members), 'member')}"
        raise fault(f"team {quoted(row.handle)} has {counts}; all members have a share or none", at)
    for share in row.shares:
        if not SHARE.contains(share):
            raise fault(f"team {quoted(row.handle)}: a share must be {SHARE.rule}, got {share}", at)
