"""A batch of rated contests: what a rating pass yields, and what is counted and committed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import Outcome, Rounds

__all__ = ["RatedBatch"]


@dataclass(frozen=True, slots=True)
class RatedBatch:
    """Consecutive contests ``start`` to ``stop - 1`` of the data set, rated.

    Attributes
    ----------
    informative : bool[stop - start]
        Mask of the rated contests; the others are excluded or skipped.
    reasons : uint8[stop - start]
        Reason for skipping a contest, a key of :data:`.skipping.REASONS`; 0 for rated and excluded contests.
    rounds, outcome
        The informative contests and their outcome.
    entry : pa.Table or None
        New ratings at entry, of the one contest of the batch; see ``schemas.ENTRY``. None if there are none.
    """

    start: int
    stop: int
    informative: npt.NDArray[np.bool_]
    reasons: npt.NDArray[np.uint8]
    rounds: Rounds
    outcome: Outcome
    entry: pa.Table | None = None
