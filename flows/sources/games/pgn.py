"""PGN: the tags of games, without moves. Arrow splits the text into lines and finds the tags, block by block.

Source: Portable Game Notation, Standard and Implementation Guide, 8.1 (tag pairs) and 8.2.6 (results).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from ..base import SourceError
from ..columns import Longs
from ..files.inputs import Input
from .batch import SCHEMA, GamesReport, check_games
from .scores import scores_of
from .text import BLOCK_BYTES, SEPARATOR, faults_of_text

__all__ = ["read_pgn"]

_TAG = r'^\[(?P<tag>[A-Za-z0-9_]+)\s+"(?P<value>.*)"\s*\]\s*$'
_NO_DATE, _NO_NAME = "without a full date", "with an unknown player"


def read_pgn(source: Input, report: GamesReport, block_bytes: int = BLOCK_BYTES) -> Iterator[pa.Table]:
    """Batches of the games of a PGN file, with the columns of :data:`.batch.SCHEMA`, unfinished games included.

    The time of a game is ``UTCDate`` and ``UTCTime``, or ``Date`` at midnight. Games without a full date or with the
    player ``?`` are left out and counted in the report.

    Raises
    ------
    SourceError
        A tag is not UTF-8, a result is unknown, or a name is invalid; names the game.
    """
    rest, n_games = pa.array([], pa.binary()), 0
    for block in _blocks(source, block_bytes):
        lines = pa.concat_arrays([rest, block])
        tags = _Tags.of(lines, source)
        start = tags.last_start
        rest = lines.slice(start)
        if start:
            games = _Tags.of(lines.slice(0, start), source)
            yield _batch(games, source, report, n_games)
            n_games += games.n_games
    games = _Tags.of(rest, source)
    if games.n_games:
        yield _batch(games, source, report, n_games)


def _blocks(source: Input, block_bytes: int) -> Iterator[pa.BinaryArray]:
    """The lines that are not empty, as bytes."""
    read = pacsv.ReadOptions(block_size=block_bytes, column_names=["line"], use_threads=False)
    parse = pacsv.ParseOptions(delimiter=SEPARATOR, quote_char=False)
    convert = pacsv.ConvertOptions(column_types={"line": pa.binary()}, check_utf8=False)
    with faults_of_text(source), pacsv.open_csv(source.open_bytes(), read, parse, convert) as reader:
        for batch in reader:
            yield batch.column(0)


class _Tags:
    """The tags of some lines: the game of each, its name and its value.

    A game begins with the tag ``Event``, or with a tag after a line that is none.
    """

    def __init__(self, game: Longs, starts: Longs, tag: pa.StringArray, value: pa.StringArray) -> None:
        self.game, self.tag, self.value = game, tag, value
        self._starts = starts

    @classmethod
    def of(cls, lines: pa.BinaryArray, source: Input) -> _Tags:
        at = np.flatnonzero(pc.starts_with(lines, b"[").to_numpy(zero_copy_only=False))
        try:
            texts = lines.take(pa.array(at)).cast(pa.string())
        except pa.ArrowInvalid:
            raise SourceError("a tag is not UTF-8", source.name) from None
        found = pc.extract_regex(texts, _TAG)
        tags = found.is_valid().to_numpy(zero_copy_only=False)
        at, found = at[tags], found.filter(pa.array(tags))
        tag, value = found.field("tag"), found.field("value")
        event = pc.equal(tag, "Event").to_numpy(zero_copy_only=False)
        begins = (np.diff(at, prepend=-2) != 1) | event
        return cls(np.cumsum(begins) - 1, at[begins], tag, value)

    @property
    def n_games(self) -> int:
        return len(self._starts)

    @property
    def last_start(self) -> int:
        """Line at which the last game begins; 0 if there is no game before it."""
        return int(self._starts[-1]) if self.n_games > 1 else 0

    def values(self, name: str) -> pa.StringArray:
        """The value of a tag of each game; null without one."""
        rows = np.flatnonzero(pc.equal(self.tag, name).to_numpy(zero_copy_only=False))
        at = np.full(self.n_games, -1)
        at[self.game[rows]] = rows
        found = self.value.take(pa.array(at, mask=at < 0))
        return pc.replace_substring(pc.replace_substring(found, r"\"", '"'), r"\\", "\\")


def _batch(tags: _Tags, source: Input, report: GamesReport, n_before: int) -> pa.Table:
    white, black = tags.values("White"), tags.values("Black")
    utc, clock = tags.values("UTCDate"), tags.values("UTCTime")
    clock = pc.if_else(utc.is_valid(), clock, None).fill_null("00:00:00")
    date = pc.coalesce(utc, tags.values("Date"))
    times = pc.strptime(pc.binary_join_element_wise(date, clock, " "), "%Y.%m.%d %H:%M:%S", "s", error_is_null=True)
    result = tags.values("Result").fill_null("*")
    dated = _same_day(times, date).to_numpy(zero_copy_only=False)
    unknown = [pc.equal(name, "?").fill_null(True).to_numpy(zero_copy_only=False) for name in (white, black)]
    named = ~(unknown[0] | unknown[1])
    report.leave_out(_NO_NAME, int(np.count_nonzero(~named)))
    report.leave_out(_NO_DATE, int(np.count_nonzero(named & ~dated)))
    score = scores_of(pa.chunked_array([result]), source.name, n_before + 1)
    columns = [white, black, pa.array(score), times.cast(pa.int64()), pa.array(np.ones(len(score)))]
    kept = dated & named
    games = pa.Table.from_arrays(columns, schema=SCHEMA).filter(pa.array(kept))
    return check_games(games, source.name, n_before + 1 + np.flatnonzero(kept))


def _same_day(times: pa.TimestampArray, date: pa.StringArray) -> pa.BooleanArray:
    """Whether a date has been read as the day that it names: Arrow reads 31 February as 2 March."""
    day = pc.utf8_ltrim(pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(date), -2), ". 0")
    return pc.equal(pc.day(times).cast(pa.string()), day).fill_null(False)
