"""PGN: the games of a file by their tags, without moves.

Source: Portable Game Notation, Standard and Implementation Guide, 8.1 (tag pairs) and 8.2.6 (results). Files are
read by its import format: tags in any order, several in a line, with comments between them. Its character set is ISO
8859-1, but most files of today are UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from ...common.text import quoted
from ..archives.arrow_csv import CsvBatches
from ..base import SourceError
from ..columns import Bools, Longs, valid_texts
from ..files.inputs import Input
from ..files.text_head import encoding_remedy, read_head, undecodable
from ..files.text_tables import BLOCK_BYTES
from .batch import SCHEMA, GamesReport, Verdicts, check_games
from .dates import NO_DATE, clocks_of, days_of
from .options import GamesOptions
from .pgn_lines import PgnLines, Tags
from .scores import judge_results

_READ = (b"White", b"Black", b"Result", b"Date", b"UTCDate", b"UTCTime")
_ROSTER = (*_READ[:4], b"Event", b"Site", b"Round")  # every game has these
_NAMES = (*_READ, b"Event", b"Site", b"Round")
MAX_TAGS = 1_000  # of these in one game, which is in memory as a whole
_SEPARATOR = "\x01"  # of the only column of the text
_FAULTS = {
    "straddling object": f"a line is longer than {BLOCK_BYTES // 2**20} MiB",
    "Empty CSV file": "the file is empty",
    "Expected 1 columns": "the file is no PGN text: a line has the control character 0x01",
}
_REPEATABLE = np.array([name in _ROSTER for name in _NAMES] + [False])  # the last one: any other name


def read_pgn(
    source: Input, options: GamesOptions, report: GamesReport, block_bytes: int = BLOCK_BYTES
) -> Iterator[pa.Table]:
    """Batches of the games of a PGN file, with the columns of :data:`.batch.SCHEMA`.

    A game begins with a tag after moves or a result, or with a tag of the seven that every game has if the game before
    has this tag and both players. The time of a game is ``UTCDate`` and ``UTCTime``, or ``Date`` at midnight.

    Raises SourceError: a result is unknown, or a name is invalid, unless faults are skipped; names the line of the
    game.
    """
    options.check_pgn(source.name)
    read_head(source, options.encoding)  # refuses UTF-16
    lines, waiting = PgnLines(report, source.name), _Games.empty()
    for block in _blocks(source, block_bytes, options.encoding):
        games, waiting = waiting.join(lines.read(block), report, source.name).split()
        if games.n:
            yield _batch(games, source, options, report)
    lines.finish()
    if waiting.n:
        yield _batch(waiting, source, options, report)


def _blocks(source: Input, block_bytes: int, encoding: str) -> Iterator[pa.BinaryArray]:
    """The lines, as bytes in UTF-8 or in what else the file has."""
    read = pacsv.ReadOptions(block_size=block_bytes, column_names=["line"], use_threads=False)
    parse = pacsv.ParseOptions(delimiter=_SEPARATOR, quote_char=False, ignore_empty_lines=False)
    convert = pacsv.ConvertOptions(column_types={"line": pa.binary()}, check_utf8=False)
    try:
        with CsvBatches(source.open_bytes(), encoding, "strict", read, parse, convert) as batches:
            for batch in batches:
                if batch.num_rows:
                    yield batch.column(0)
    except UnicodeError as error:
        raise undecodable(error, encoding, source.name) from None
    except pa.ArrowInvalid as error:
        for words, fault in _FAULTS.items():
            if words in str(error):
                raise SourceError(fault, source.name) from None
        raise


class _Games(NamedTuple):
    """Tags by game: for each tag the number of its name, its value, its line, and whether a game begins with it."""

    code: npt.NDArray[np.int8]
    value: pa.BinaryArray
    line: Longs
    begins: Bools

    @classmethod
    def empty(cls) -> _Games:
        return cls(np.empty(0, np.int8), pa.array([], pa.binary()), np.empty(0, np.int64), np.empty(0, bool))

    def join(self, tags: Tags, report: GamesReport, source: str) -> _Games:
        """These tags and the next ones, divided into games. Counts tags that a game has twice."""
        known = pc.index_in(tags.name, value_set=pa.array(_NAMES, pa.binary())).fill_null(len(_NAMES))
        code = np.concatenate([self.code, known.to_numpy().astype(np.int8)])
        begins = np.concatenate([self.begins, tags.after_moves])
        value = pa.concat_arrays([self.value, tags.value])
        line = np.concatenate([self.line, tags.line])
        begins[:1] = True
        used = (code < len(_NAMES)) | begins
        games = _Games(code[used], value.filter(pa.array(used)), line[used], begins[used])
        if games._repeated().any():
            games._divide()
            again = games._repeated() & (games.code < len(_READ))
            again[: len(self.code)] = False  # counted before
            if again.any():
                where = f"{source}, line {int(games.line[np.argmax(again)])}"
                report.note("tag", "that a game has twice; the last one counts", int(np.count_nonzero(again)), where)
        games._check_sizes(source)
        return games

    def _check_sizes(self, source: str) -> None:
        sizes = np.diff(np.flatnonzero(self.begins), append=len(self.begins))
        if (sizes > MAX_TAGS).any():
            line = int(self.lines()[np.argmax(sizes > MAX_TAGS)])
            raise SourceError(f"the game has more than {MAX_TAGS:,} tags, the limit; is it PGN?", source, lines=[line])

    @property
    def n(self) -> int:
        return int(np.count_nonzero(self.begins))

    def split(self) -> tuple[_Games, _Games]:
        """All games but the last one, which may go on, and the last one."""
        at = int(np.flatnonzero(self.begins)[-1]) if self.n else 0
        both = (slice(0, at), slice(at, None))
        before, last = (_Games(self.code[one], self.value[one], self.line[one], self.begins[one]) for one in both)
        return before, last

    def lines(self) -> Longs:
        """The line at which each game begins."""
        return self.line[self.begins]

    def values(self, name: bytes) -> pa.BinaryArray:
        """The value of a tag of each game; null without one."""
        rows = np.flatnonzero(self.code == _NAMES.index(name))
        at = np.full(self.n, -1)
        at[np.cumsum(self.begins)[rows] - 1] = rows
        return self.value.take(pa.array(at, mask=at < 0))

    def _repeated(self) -> Bools:
        """Tags whose game has the same tag before."""
        key = np.cumsum(self.begins) * (len(_NAMES) + 1) + self.code
        first = np.zeros(len(key), bool)
        first[np.unique(key, return_index=True)[1]] = True
        return ~first & (self.code < len(_NAMES))

    def _divide(self) -> None:
        """Begin a game at a tag of the roster that a complete game has already: games without moves or result."""
        suspect = np.isin(np.cumsum(self.begins), np.unique(np.cumsum(self.begins)[self._repeated()]))
        seen: set[int] = set()
        players = {_NAMES.index(b"White"), _NAMES.index(b"Black")}
        for tag in np.flatnonzero(suspect).tolist():
            code = int(self.code[tag])
            if self.begins[tag] or (code in seen and _REPEATABLE[code] and players <= seen):
                self.begins[tag] = True
                seen = set()
            seen.add(code)


def _batch(games: _Games, source: Input, options: GamesOptions, report: GamesReport) -> pa.Table:
    line = games.lines()

    def error(rule: str, game: int) -> SourceError:
        return SourceError(rule, source.name, lines=[int(line[game])])

    verdicts = Verdicts(games.n, report, error, options.on_error)
    texts = {name: _texts(games.values(name), name.decode(), verdicts, options.encoding) for name in _READ}
    times = _times(texts, verdicts, report, source.name, line, options.time_format)
    score = judge_results(pa.chunked_array([texts[b"Result"]]), verdicts)
    columns = [texts[b"White"], texts[b"Black"], pa.array(score), pa.array(times), pa.array(np.ones(games.n))]
    batch = pa.Table.from_arrays(columns, schema=SCHEMA)
    check_games(batch, verdicts)
    return verdicts.close(batch)


def _times(
    texts: dict[bytes, pa.StringArray],
    verdicts: Verdicts,
    report: GamesReport,
    source: str,
    lines: Longs,
    time_format: str,
) -> Longs:
    """UTC seconds: the date and the clock of ``UTCDate``, or else the date alone. An unknown clock is midnight."""
    utc, no_utc, bad_utc = days_of(texts[b"UTCDate"], "auto")
    day, unknown, bad = utc, no_utc, bad_utc
    if (lacking := no_utc | bad_utc).any():
        other, no_other, bad_other = days_of(texts[b"Date"], time_format)
        day = np.where(lacking, other, utc)
        unknown, bad = lacking & no_other & ~bad_utc, lacking & (bad_other | no_other & bad_utc)
    verdicts.leave_out(unknown, NO_DATE)
    verdicts.leave_out(bad, "with a date that is none")
    clock = texts[b"UTCTime"]
    seconds = clocks_of(clock)
    broken = (clock.is_valid().to_numpy(False)) & seconds.is_null().to_numpy(False) & ~lacking
    broken &= ~pc.match_substring_regex(clock, r"^\s*$|\?").fill_null(True).to_numpy(False)
    if broken.any():
        first = int(np.argmax(broken))
        where = f"{source}, line {int(lines[first])}: {quoted(clock[first].as_py())}"
        report.note("UTCTime", "that is no time of day; midnight is used", int(np.count_nonzero(broken)), where)
    of_day: Longs = seconds.fill_null(0).to_numpy()
    return day + np.where(lacking, 0, of_day)


def _texts(values: pa.BinaryArray, name: str, verdicts: Verdicts, encoding: str) -> pa.StringArray:
    """Values as text; those that are none are refused, and null."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        pass
    texts, wrong = valid_texts(values.cast(pa.string(), safe=False))
    broken = np.zeros(len(values), bool)
    broken[list(wrong)] = True
    raw, byte = next(iter(wrong.values()))
    verdicts.refuse(broken, f"{name} {raw!r} is not UTF-8, byte 0x{byte:02x}; {encoding_remedy(encoding)}")
    return pc.if_else(pa.array(broken), "\ufffd", texts)
