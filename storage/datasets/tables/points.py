"""Points of participations: a column of standings and of games. More is better, NaN is unknown, None: all are unknown.

Places do not depend on them; systems that use margins of victory do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Points: TypeAlias = npt.NDArray[np.float64] | None


def points_of(column: pa.ChunkedArray) -> Points:
    """The points of a column of a file."""
    return None if column.null_count == len(column) else column.fill_null(np.nan).to_numpy()


def column_of(points: npt.NDArray[np.float64]) -> pa.Array:
    """The column of a file: unknown points are null."""
    return pa.array(points, from_pandas=True)


def join_points(points: Sequence[Points], sizes: Sequence[int]) -> Points:
    """The points of all parts, one part after the other; ``sizes`` are the numbers of their rows."""
    if all(part is None for part in points):
        return None
    given = (np.full(n, np.nan) if part is None else part for part, n in zip(points, sizes, strict=True))
    return np.concatenate(list(given))


def are_known(points: Points) -> bool:
    """Whether any of the points are known."""
    return points is not None and not np.isnan(points).all()


def content_of(points: Points) -> bytes:
    """Bytes that differ for other points, for digests; none if all are unknown."""
    if points is None or not are_known(points):
        return b""
    return b"points" + np.where(np.isnan(points), np.nan, points + 0.0).tobytes()  # one NaN, and no -0.0
