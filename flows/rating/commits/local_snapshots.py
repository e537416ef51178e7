"""Snapshots of beliefs that this process holds."""

from __future__ import annotations

from ranklake.storage.runs.snapshot_columns import PART_PLAYERS
from ranklake.storage.runs.snapshots import EncodedPart, encode_part

from ...execution.rater import BeliefColumns, Rater

__all__ = ["encode_beliefs"]


def encode_beliefs(rater: Rater) -> list[EncodedPart] | None:
    """The parts of a snapshot of the current beliefs; None if workers hold the beliefs.

    The rating waits meanwhile. A copy of all beliefs, for a thread that would encode them later, costs more than the
    rating gains: the system clears its memory before the copy is made. The parts have half of its size.
    """
    return rater.map_columns(PART_PLAYERS, _encode)


def _encode(columns: BeliefColumns) -> EncodedPart:
    return encode_part(columns, 0, len(columns["mu"]))
