"""Frames with a winner and a loser in each row, as frames with a row for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels.core.limits import SCORED

from ..common.text import quoted
from ..sources.base import SourceError
from ..sources.columns import as_flags, as_numbers, is_blank
from .kinds import Frame, free_name

_OF_POINTS = ("points", "opponent_points")
OF_WINNERS = ("winner", "loser", "draw", *_OF_POINTS)
"""The keys of the columns of such a frame; the points of the winner, then of the loser, come in a pair."""


def double_winners(frame: Frame, columns: dict[str, str], first: int) -> tuple[Frame, dict[str, str]]:
    """A frame of winners and losers with a row for each of them, and its columns by key; any other frame as it is.

    It is one if its columns are named, or if it has ``winner`` and ``loser`` and no ``player``.

    ``columns``: names of columns by key. In the result, players, ranks and contests take the place of winners, losers
    and draws.
    ``first``: number of the first game, if there is no column of contests.
    """
    named = {key: columns[key] for key in OF_WINNERS if columns.get(key)}
    folded: dict[str, list[str]] = {}
    for name in dict.fromkeys(frame.names):
        folded.setdefault(name.strip().casefold(), []).append(name)
    usual = {key: folded[key] for key in OF_WINNERS if key in folded and key not in columns}
    found = {key: key if key in names else names[0] for key, names in usual.items()} | named
    if not all(found.get(key) for key in _OF_POINTS):
        found = {key: name for key, name in found.items() if key in named or key not in _OF_POINTS}
    columns = {key: name for key, name in columns.items() if key not in OF_WINNERS}
    if not named and ("player" in (*folded, *columns) or not {"winner", "loser"} <= found.keys()):
        return frame, columns
    for key, names in usual.items():
        if len(names) > 1:
            alike = " and ".join(map(repr, names))
            raise SourceError(
                f"the columns {alike} differ in case only; name one with columns={{{key!r}: ...}}", "results"
            )
    for key in ("winner", "loser", *found, *(_OF_POINTS if set(_OF_POINTS) & found.keys() else ())):
        if frame.names.count(found.get(key, "")) != 1:
            fault = "there are two columns" if found.get(key) in frame.names else "there is no column"
            listed = ", ".join(map(repr, frame.names))
            remedy = f"name it with columns={{{key!r}: ...}}"
            raise SourceError(
                f"{fault} {found.get(key, key)!r} ({key}) among the columns {listed}; {remedy}", "results"
            )
    table = frame.arrow(list(found.values())).rename_columns(list(found))
    rank = np.tile([1, 2], len(table))
    if "draw" in found:
        rank[np.repeat(_drawn(table.column("draw")), 2)] = 1
    wanted = ("player", "rank") if _has_contests(frame, columns) else ("player", "rank", "contest")
    added = {key: free_name(key, frame.names) for key in wanted}
    values: dict[str, npt.NDArray[Any]] = {added["rank"]: rank}
    if _OF_POINTS[0] in found:
        added["score"] = free_name("score", frame.names)
        values[added["score"]] = _points(table, rank[1::2] == 1)
    if "contest" in added:
        values[added["contest"]] = np.repeat(np.arange(first, first + len(table)), 2)
    return frame.doubled(added["player"], (found["winner"], found["loser"]), values), columns | added


def _has_contests(frame: Frame, columns: Mapping[str, str]) -> bool:
    """Whether a frame of winners and losers has a column of contests, in which each row has one of its own."""
    name = columns.get("contest", "contest")
    if name not in frame.names:
        return False
    contests = frame.arrow([name]).column(0)
    again = contests.to_pandas().duplicated().to_numpy()
    if again.any():
        row = int(np.argmax(again))
        rule = f"{name} {quoted(contests[row].as_py())} is in two rows, and a row with winner and loser is a contest"
        raise SourceError(f"{rule}; leave the column out with columns={{'contest': ''}}", "results", rows=[row + 1])
    return True


def _points(table: pa.Table, drawn: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """The points of both players of each game in turn, NaN where unknown; refuses those that say another result."""
    points = []
    for key in _OF_POINTS:
        numbers, missing = as_numbers(table.column(key), key, "results")
        bad = np.flatnonzero(~is_blank(table.column(key)) & (missing | ~SCORED.mask(numbers)))
        if len(bad):
            got = quoted(str(table.column(key)[int(bad[0])].as_py()))
            raise SourceError(f"{key} must be a number {SCORED.rule}, got {got}", "results", rows=[int(bad[0]) + 1])
        points.append(np.where(missing, np.nan, numbers))
    ahead = points[0] - points[1]
    wrong = np.flatnonzero(~np.isnan(ahead) & (np.sign(ahead) != ~drawn))
    if len(wrong):
        one, other = (side[wrong[0]] for side in points)
        rule = f"the points {one:.15g} of the winner and {other:.15g} of the loser contradict the result"
        raise SourceError(f"{rule}; leave them empty in such games", "results", rows=[int(wrong[0]) + 1])
    return np.column_stack(points).ravel()


def _drawn(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Which games are draws; blank is none."""
    flags, bad = as_flags(column, "draw", "results")
    if bad.any():
        row = int(np.argmax(bad))
        raise SourceError(f"draw must be true or false, got {quoted(column[row].as_py())}", "results", rows=[row + 1])
    drawn: npt.NDArray[np.bool_] = flags & ~is_blank(column)
    return drawn
