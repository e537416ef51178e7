"""Results as a table that any library makes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ranklake.storage import Contest


def frame_of(contests: list[Contest]) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "contest": c.contest_id,
                "player": c.handles.to_pylist(),
                "lo": c.lo,
                "hi": c.hi,
                "time_seconds": c.time_seconds,
                "weight": c.weight,
                "perf_ceiling": c.perf_ceiling,
            }
        )
        for c in contests
    ]
    return pd.concat(parts, ignore_index=True)


def small(**columns: Any) -> pd.DataFrame:
    """Two contests of three players."""
    values = {"contest": [1, 1, 1, 2, 2, 2], "player": list("abcbca"), "rank": [1, 2, 2, 1, 2, 3], **columns}
    return pd.DataFrame({name: value for name, value in values.items() if value is not ...})
