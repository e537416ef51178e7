"""Groups of players on pages: the tables of an attribute, best first, and choices of active players."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from ..results.attributes import attribute_names

__all__ = ["ACTIVE", "MOST_GROUPS", "group_sections"]

MOST_GROUPS = 300  # of an attribute on the page of groups
ACTIVE = {"90d": "90 days", "1y": "a year", "3y": "3 years"}
"""Choices of the time since the last contest of a player, as for `leaderboard --active`, and their names."""

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
