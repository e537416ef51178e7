"""The components of who met whom in a run."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..results.components import Components
from .rated_run import RatedRun

COMPONENTS = pa.schema(
    [
        ("run", pa.string()),
        ("component", pa.int32()),
        ("players", pa.int64()),
        ("large", pa.bool_()),
        ("player", pa.string()),
    ]
)


def component_rows(rated: RatedRun) -> pa.Table:
    """A row for each component, largest first: ``players``, whether it is ``large``, and one ``player``."""
    found = rated.components() or Components(np.empty(0, np.int32), np.empty(0, np.int32))
    numbers = np.arange(len(found.sizes), dtype=np.int32)
    columns = [
        pa.array([rated.name] * len(numbers), pa.string()), numbers, found.sizes, np.isin(numbers, found.large),
        rated.dataset.handles().take(pa.array(found.earliest, pa.int32())),
    ]  # fmt: skip
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, COMPONENTS, strict=True)], COMPONENTS
    )
