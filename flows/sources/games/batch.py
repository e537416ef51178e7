"""Batches of games in the one form of all readers, and the checks of their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.limits import TIME_SECONDS, WEIGHT

from ...common.text import count, quoted
from ..base import SourceError
from ..columns import Bools, Longs
from ..limits import MAX_HANDLE

__all__ = ["LONG_NAME", "SCHEMA", "GamesReport", "check_games", "drop_unfinished"]

SCHEMA = pa.schema(
    [
        ("white", pa.string()),
        ("black", pa.string()),
        ("score", pa.float64()),
        ("time_seconds", pa.int64()),
        ("weight", pa.float64()),
    ]
)
"""Columns of a batch: the players, the score of the first one (NaN: unfinished), UTC seconds and the weight.

A batch may have the further column ``advantage``: rating points in favour of the first player, float64.
"""

LONG_NAME = f"a player's name has at most {MAX_HANDLE} characters"


@dataclass
class GamesReport:
    """Counts of games that were read.

    Attributes
    ----------
    games : int
        Games with a result.
    left_out : dict of str to int
        Games without a result, by reason.
    """

    games: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, reason: str, n: int) -> None:
        """Count games that are left out."""
        if n:
            self.left_out[reason] = self.left_out.get(reason, 0) + n

    def lines(self) -> list[str]:
        """The games that were left out, one line a reason."""
        return [f"left out: {count(n, 'game')}, {reason}" for reason, n in sorted(self.left_out.items())]


def drop_unfinished(batch: pa.Table, report: GamesReport) -> pa.Table:
    """The games of a batch with a result; the report counts them, and the others."""
    score = batch.column("score").to_numpy()
    done = ~np.isnan(score)
    report.leave_out("unfinished", int(np.count_nonzero(~done)))
    report.games += int(np.count_nonzero(done))
    return batch if done.all() else batch.filter(pa.array(done))


def check_games(batch: pa.Table, source: str, rows: Longs) -> pa.Table:
    """The same batch, after checks of its players, times and weights.

    Parameters
    ----------
    source
        The file, for messages.
    rows : int64[m]
        The number of each game in the file, from 1.

    Raises
    ------
    SourceError
        A value is invalid; names the row.
    """
    for broken, rule in _faults(batch):
        if broken.any():
            raise SourceError(rule, source, rows=[int(rows[np.argmax(broken)])])
    return batch


def _faults(batch: pa.Table) -> Iterator[tuple[Bools, str]]:
    for name in ("white", "black"):
        column = batch.column(name)
        blank = pc.equal(pc.utf8_trim_whitespace(column), "").fill_null(True)
        yield blank.to_numpy(), f"a game needs both players; {name} is empty"
        long = pc.greater(pc.utf8_length(column), MAX_HANDLE)
        yield long.to_numpy(), LONG_NAME
    same = pc.equal(batch.column("white"), batch.column("black")).to_numpy()
    if same.any():
        yield same, f"both players are {quoted(batch.column('white')[int(np.argmax(same))].as_py())}"
    time_seconds, weight = (batch.column(name).to_numpy() for name in ("time_seconds", "weight"))
    yield ~TIME_SECONDS.mask(time_seconds), f"a time must be {TIME_SECONDS.rule}"
    yield ~WEIGHT.mask(weight), f"a weight must be {WEIGHT.rule}"
