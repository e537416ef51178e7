"""Columns of tables of problems. Imports no kernel."""

from __future__ import annotations

import pyarrow as pa

from ranklake.storage.lake.schemas import PUBLISHED, RESULTS


def _field(name: str, kind: pa.DataType, meaning: str, unit: str = "") -> pa.Field:
    return pa.field(name, kind, metadata={"meaning": meaning, **({"unit": unit} if unit else {})})


_POINTS = "rating points"
_OF_RESULTS = (("problem", pa.string()), ("share", pa.float64()), ("after", pa.float64()), ("attempts", pa.int32()))
COLUMNS = pa.schema(
    [
        _field("problem", pa.string(), "id of the problem"),
        _field("name", pa.string(), "title; null if unknown"),
        _field("contest", pa.string(), "id of the first contest that used it"),
        _field("contests", pa.int32(), "contests that used it"),
        _field("difficulty", pa.float64(), "the skill that solves it with chance 1/2; null if nobody counts", _POINTS),
        _field("deviation", pa.float64(), "standard deviation of the difficulty; null if nobody counts", _POINTS),
        _field("counted", pa.float64(), "participations that count"),
        _field("solved", pa.float64(), "sum of the shares that they solved"),
        _field("share", pa.float64(), "solved of counted, from 0 to 1; null if nobody counts"),
        _field("bound", pa.string(), "above if nobody solved it, below if everybody did, else null"),
        _field("rating_80", pa.float64(), "the skill that solves it with chance 0.8; null if nobody counts", _POINTS),
        _field("first_solved", pa.float64(), "least time of a full solve, from the start; null if unknown", "seconds"),
        _field("first_solver", pa.string(), "handle of that player; null if unknown"),
    ]
)
"""A problem with its difficulty."""

ABOUT = pa.schema(
    [
        _field("url", pa.string(), "where people read it; null if nowhere"),
        _field("tags", pa.list_(pa.string()), "topics; null if unknown"),
    ]
)
"""What the table of problems says of one, beside its name."""

OF_PROBLEMS = {
    name: pa.schema([field.with_nullable(True) for field in fields])
    for name, fields in {
        "problems": [
            *COLUMNS,
            ABOUT.field("url"),
            _field("tags", pa.string(), "topics, separated by ; null if unknown"),
        ],
        "results": [
            *(PUBLISHED["ratings"].field(name) for name in ("round_index", "contest_id", "player", "handle")),
            *(RESULTS.field(name).with_type(kind) for name, kind in _OF_RESULTS),
        ],
    }.items()
}
"""Further published tables, of runs whose data set has results of problems."""

BAND = 100.0  # rating points, of the bands in which participants are counted
PROBLEM_ROWS = pa.schema(
    [
        *COLUMNS,
        *ABOUT,
        _field("position", pa.int32(), "place in the order of its contests; null if unknown"),
        _field("rounds", pa.list_(pa.int32()), "of the contests that used it, in rated order"),
        _field("band_low", pa.float64(), "rating at entry from which its first band goes; null if nobody counts"),
        _field("band_counted", pa.list_(pa.float64()), "participations that count, in bands of 100 rating points"),
        _field("band_solved", pa.list_(pa.float64()), "sum of the shares that they solved"),
    ]
)
"""The problems of a published index, hardest first."""

SOLVES = pa.schema([("player", pa.int32()), ("problem", pa.int32())])
"""The full solves, sorted: the player, and the row of the problem among :data:`PROBLEM_ROWS`."""
