"""Batches of games in the one form of all readers, and which of their games are read, left out or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.limits import TIME_SECONDS, WEIGHT

from ...common.text import count
from ..base import OnError, SourceError
from ..columns import Bools
from ..limits import MAX_HANDLE

SCHEMA = pa.schema(
    [
        ("white", pa.string()),
        ("black", pa.string()),
        ("score", pa.float64()),
        ("time_seconds", pa.int64()),
        ("weight", pa.float64()),
    ]
)
"""Columns of a batch: the players, the score of the first one, UTC seconds and the weight.

A batch may have the further columns ``advantage``: rating points in favour of the first player; ``precision``, null for
1; and ``points`` and ``opponent_points`` of both players, NaN or null where unknown; float64. And ``kept``: the kept
columns of a source as text, see :mod:`ranklake.storage.datasets.tables.kept`; and covariates, see
:mod:`ranklake.storage.datasets.tables.covariates`.
"""

OF_POINTS = ("points", "opponent_points")
LONG_NAME = f"a player's name has at most {MAX_HANDLE} characters"
MOST_REASONS = 20  # of games left out that a report names

_NO_NAME, _ONE_NAME = "with an unknown player", "of a player against itself"
_OTHER = "for other reasons"


@dataclass
class Named:
    """How many there are, and where the first one is."""

    n: int
    first: str


@dataclass
class GamesReport:
    """Counts of games that were read: the rated ones, the others by reason, and other findings, by their name in the
    singular and what became of them.
    """

    games: int = 0
    left_out: dict[str, Named] = field(default_factory=dict)
    notes: dict[tuple[str, str], Named] = field(default_factory=dict)

    @property
    def n_left_out(self) -> int:
        """Number of games that were left out."""
        return sum(named.n for named in self.left_out.values())

    def leave_out(self, reason: str, n: int, where: str) -> None:
        """Count games that are left out."""
        if len(self.left_out) >= MOST_REASONS and reason not in self.left_out:
            reason = _OTHER
        self.left_out.setdefault(reason, Named(0, where)).n += n

    def note(self, noun: str, remark: str, n: int, where: str) -> None:
        """Count findings that are no games: a noun in the singular, and what became of them."""
        self.notes.setdefault((noun, remark), Named(0, where)).n += n

    def lines(self) -> list[str]:
        """The games that were left out, one line a reason, and the other findings."""
        lines = [
            f"left out: {count(named.n, 'game')}, {reason} (first: {named.first})"
            for reason, named in sorted(self.left_out.items())
        ]
        notes = sorted(self.notes.items())
        return lines + [f"{count(named.n, noun)} {remark} (first: {named.first})" for (noun, remark), named in notes]


class Verdicts:
    """Which games of a batch are read. A game that is left out is not refused, and is counted for one reason.

    ``error`` makes the error of a rule and the number of a game, from 0, with its place; under ``on_error="skip"`` a
    refused game is left out.
    """

    def __init__(
        self, n: int, report: GamesReport, error: Callable[[str, int], SourceError], on_error: OnError = "stop"
    ) -> None:
        self.kept: Bools = np.ones(n, bool)
        self.error, self._report, self._on_error = error, report, on_error
        self._refused: list[tuple[Bools, str]] = []
        self._noted: list[tuple[Bools, str]] = []

    def leave_out(self, games: Bools, reason: str) -> None:
        """Leave games out."""
        games = games & self.kept
        if games.any():
            self.kept = self.kept & ~games
            self._report.leave_out(reason, int(np.count_nonzero(games)), self._place(games))

    def refuse(self, games: Bools, rule: str) -> None:
        """Refuse games that break a rule, unless :meth:`close` finds them left out."""
        if games.any():
            self._refused.append((games, rule))

    def note(self, games: Bools, remark: str) -> None:
        """Count games with a remark, unless :meth:`close` finds them left out."""
        self._noted.append((games, remark))

    def close(self, games: pa.Table) -> pa.Table:
        """The games of a batch that are read; ``SourceError`` if one is refused, with its row or line."""
        for broken, rule in self._refused:
            broken = broken & self.kept
            if broken.any() and self._on_error == "stop":
                rule = f"{rule}; --on-error skip leaves such games out"
                raise self.error(rule, int(np.argmax(broken)))
            self.leave_out(broken, rule)
        for noted, remark in self._noted:
            noted = noted & self.kept
            if noted.any():
                self._report.note("game", remark, int(np.count_nonzero(noted)), self._place(noted))
        self._report.games += int(np.count_nonzero(self.kept))
        return games if self.kept.all() else games.filter(pa.array(self.kept))

    def _place(self, games: Bools) -> str:
        return str(self.error("", int(np.argmax(games)))).removesuffix(": ")


def check_games(batch: pa.Table, verdicts: Verdicts) -> None:
    """Judge the players, times and weights of games with the columns of :data:`SCHEMA`; names may be null."""
    white, black = batch.column("white"), batch.column("black")
    for name in (white, black):
        text = pc.utf8_trim_whitespace(name)
        unknown = pc.is_in(text, value_set=pa.array(["", "?", "-", "??"])).to_numpy() | name.is_null().to_numpy()
        verdicts.leave_out(unknown, _NO_NAME)
        verdicts.refuse(pc.greater(pc.utf8_length(name), MAX_HANDLE).fill_null(False).to_numpy(), LONG_NAME)
    verdicts.leave_out(pc.equal(white, black).fill_null(False).to_numpy(), _ONE_NAME)
    time_seconds, weight = (batch.column(name).to_numpy() for name in ("time_seconds", "weight"))
    verdicts.refuse(~TIME_SECONDS.mask(time_seconds), f"a time must be {TIME_SECONDS.rule}")
    verdicts.refuse(~WEIGHT.mask(weight), f"a weight must be {WEIGHT.rule}")
