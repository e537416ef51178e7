"""The groups of players by attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ...results.attributes import attribute_names
from ..links import Links

MOST_GROUPS = 300  # of an attribute on the page of groups


def groups(groups: pa.Table, links: Links) -> dict[str, Any]:
    """The first ``MOST_GROUPS`` groups of each attribute; ``groups`` has the columns of ``OF_ATTRIBUTES["groups"]``."""
    of, sections = groups.column("attribute").to_numpy(), []
    for name in attribute_names(groups):
        rows = np.flatnonzero(of == name)
        shown = groups.take(pa.array(rows[:MOST_GROUPS])).to_pylist()
        listed = [row | {"address": links.group(name, row["value"])} for row in shown]
        sections.append({"name": name, "n": len(rows), "rows": listed})
    return {"sections": sections}
