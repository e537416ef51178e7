"""Groups of players on pages: the tables of an attribute, best first, and choices of active players."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..results.attributes import attribute_names

__all__ = ["ACTIVE", "MOST_GROUPS", "group_sections", "is_active"]

MOST_GROUPS = 300  # of an attribute on the page of groups
_DAY = 86_400
ACTIVE = {"90d": 90 * _DAY, "1y": 31_557_600, "3y": 3 * 31_557_600}  # a year of 365.25 days, as `leaderboard --active`

Address = Callable[[str, str], str]


def group_sections(groups: pa.Table, address: Address) -> list[dict[str, Any]]:
    """For each attribute ``name``, ``n`` groups, and the first ``MOST_GROUPS`` as ``rows`` of the template ``groups``.

    Parameters
    ----------
    groups
        Columns as in ``OF_ATTRIBUTES["groups"]``, in order of attribute and place.
    address
        The page with the players of a group, given its attribute and value.
    """
    of, sections = groups.column("attribute").to_numpy(), []
    for name in attribute_names(groups):
        rows = np.flatnonzero(of == name)
        shown = groups.take(pa.array(rows[:MOST_GROUPS])).to_pylist()
        listed = [row | {"address": address(name, row["value"])} for row in shown]
        sections.append({"name": name, "n": len(rows), "rows": listed})
    return sections


def is_active(board: pa.Table, seconds: int) -> npt.NDArray[np.bool_]:
    """Which players had a contest at most ``seconds`` before the end of the last contest of all."""
    last = board.column("last_time_seconds").to_numpy()
    mask: npt.NDArray[np.bool_] = (last != 0) & (last >= last.max(initial=0) - seconds)  # 0 is unknown
    return mask
