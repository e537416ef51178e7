"""Teams in the tables of pages: the members of a team have adjacent rows with its name."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["first_rows", "whole_teams"]


def first_rows(team: Sequence[str | None]) -> list[int]:
    """The first row of each participant: of each team, and of each individual, whose team is None."""
    return [i for i, name in enumerate(team) if name is None or i == 0 or name != team[i - 1]]


def whole_teams(team: Sequence[str | None], n: int) -> int:
    """The least number of rows, at least ``n``, that divides no team."""
    while 0 < n < len(team) and team[n] is not None and team[n] == team[n - 1]:
        n += 1
    return n
