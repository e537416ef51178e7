"""Tables and contests as JSON: an object a line, or one array of objects, each a participation or a contest."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from ...common.text import quoted
from ..archives.members import Member, Spool, contest_named
from ..base import IngestReport, SourceError
from ..columns import EXACT_FLOAT, Batches
from ..limits import MAX_COLUMNS
from ..options import ReadOptions
from .inputs import Input
from .json_items import Item, items_of
from .parts import Reading, TablePart
from .scoreboards import as_reference, events_of_year, refuse_other

MAX_KEYS = 2_000_000  # of a record with all that it holds, and values of a row; each takes up to 240 bytes
CHUNK_ROWS = 2**16  # rows whose values are Python objects at a time
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VALUES = msgspec.json.Decoder(dict[str, Any])
_VALUE: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_IDS = ("contest_id", "contest", "id")  # of a contest of the reference format, the first that it has

T = TypeVar("T")


def contests_in(source: Input, options: ReadOptions, report: IngestReport) -> list[Member] | None:
    """The contests of the reference format that a file holds; None if it holds rows of a table.

    The id of a contest is its ``contest_id``, ``contest`` or ``id``, else its line or its number in the array, from 1.
    A contest alone in a file has the name of the file.
    """
    # Left out records are reported only if the file holds contests; otherwise the reader of tables reports them.
    draft = IngestReport()
    reading, spool = Reading(options, draft), Spool(source.name)
    members: list[Member] = []
    for item in items_of(source, reading):
        try:
            value = _decode_with(_OBJECT, item.raw, item)
            events = events_of_year(value)
            if events is not None:
                return [Member(source.name, spool.add(event), called) for called, event in events.items()]
            called = contest_named(source.stem, source.folder) if item.number == 0 else ""
            board = as_reference(item.raw, called, source.name, absent=options.absent)
            if "standings" not in value and board is None:
                if not members:
                    refuse_other(value, source.name)
                    return None
                raise item.fault("has no standings, the contests before it do")
            called = called if board is not None else source.stem if item.number == 0 else ""
            called = called or _id_of(value, item)
        except SourceError as error:
            reading.leave_out(error)
            continue
        if len(members) >= options.limits.members:
            rule = f"more than {options.limits.members:,} contests, the limit"
            raise SourceError(f"{rule}; --limit members=... allows more", source.name)
        members.append(Member(item.place or source.name, spool.add(board or item.raw), called))
    if members:
        report.left_out += draft.left_out
    return members or None


class JsonTable:
    """A table in JSON: its columns, and the batches of them, as text.

    ``names``: all keys of its rows, in order of their first appearance.
    ``faults``: of rows of the batches so far, from 0, that hold other values than text and numbers; filled if such rows
    are skipped.

    A row that is no object, and a value that is neither text nor a number, is an error unless these are skipped.
    """

    def __init__(self, source: Input, reading: Reading) -> None:
        self._source, self._reading = source, reading
        self.names, self._bad = self._read_names()
        self.faults: dict[int, str] = {}
        self._lines = array("q")

    def batches(self, used: Sequence[str]) -> Batches:
        """Some columns, at least one batch."""
        rows: list[list[str | None]] = []
        for item in items_of(self._source, Reading(self._reading.options, IngestReport())):
            if item.number in self._bad:
                continue
            rows.append(self._cells(item, used))
            self._lines.append(item.number)
            if len(rows) == CHUNK_ROWS:
                yield _chunk(rows, used)
                rows = []
        yield _chunk(rows, used)

    def lines(self, rows: Sequence[int]) -> list[int]:
        """Lines of the file of rows of the table, both from 1; empty if the file has one array."""
        return [self._lines[row - 1] for row in rows] if self._source.form == "jsonl" else []

    def _read_names(self) -> tuple[list[str], set[int]]:
        present: dict[str, None] = {}
        bad: set[int] = set()
        for item in items_of(self._source, self._reading):
            if item.number == 0 and not self._reading.skips:
                _decode_with(_OBJECT, item.raw, item)
            if item.number == 0:
                rule = "must be an array of objects, one a row (orient='records' in pandas)"
                raise SourceError(rule, self._source.name)
            try:
                present |= dict.fromkeys(_decode(item))
            except SourceError as error:
                self._reading.leave_out(error)
                bad.add(item.number)
            if len(present) > MAX_COLUMNS:
                raise item.fault(f"more than {MAX_COLUMNS:,} different keys, which are no columns")
        return list(present), bad

    def _cells(self, item: Item, used: Sequence[str]) -> list[str | None]:
        value, cells = _decode(item), list[str | None]()
        for key in used:
            try:
                cells.append(_text(value.get(key), key, item))
            except SourceError as error:
                if not self._reading.skips:
                    raise
                self.faults.setdefault(len(self._lines), error.rule)
                cells.append(None)
        return cells


def read_json(source: Input, reading: Reading) -> TablePart:
    """The used columns of a table in JSON, as text; see :func:`ranklake.flows.sources.files.text_tables.read_text`."""
    table, parts = JsonTable(source, reading), list[pa.RecordBatch]()
    if not table.names:
        raise SourceError("no contests: the table has no rows", source.name)
    columns, used = reading.find(table.names, source)
    for part in table.batches(used):
        parts.append(part)
        reading.count(source.name, part.num_rows, part.nbytes)
    return TablePart(pa.Table.from_batches(parts), columns, table.names, table.lines, faults=table.faults)


def _id_of(value: dict[str, msgspec.Raw], item: Item) -> str:
    """The id of a contest in a file with several contests."""
    encoded = next((value[key] for key in _IDS if key in value), None)
    if encoded is None:
        return str(item.number)
    contest_id: Any = _decode_with(_VALUE, bytes(encoded), item)
    if isinstance(contest_id, bool) or not isinstance(contest_id, str | int) or contest_id == "":
        raise item.fault(f"a contest's id must be text or a whole number, got {quoted(contest_id)}")
    return str(contest_id)


def _chunk(rows: list[list[str | None]], used: Sequence[str]) -> pa.RecordBatch:
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(used))]
    return pa.RecordBatch.from_arrays(columns, names=list(used))


def _decode(item: Item) -> dict[str, Any]:
    """The values of a row, also those that are not used."""
    if item.raw.count(b",") > MAX_KEYS:
        raise item.fault(f"a row of more than {MAX_KEYS:,} values, the limit")
    return _decode_with(_VALUES, item.raw, item)


def _decode_with(decoder: msgspec.json.Decoder[T], raw: bytes, item: Item) -> T:
    if raw.count(b":") > MAX_KEYS:
        raise item.fault(f"an object of more than {MAX_KEYS:,} keys, the limit")
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        raise item.fault("must be an object with a key a column") from None
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        rule = f"the text is not UTF-8: byte {byte}; name its encoding, for example with --encoding latin-1"
        raise item.fault(rule) from None
    except RecursionError:
        raise item.fault("not JSON that can be read: nested too deeply") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise item.fault(f"not JSON: {error}") from None


def _text(value: object, key: str, item: Item) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        whole = isinstance(value, float) and value.is_integer() and abs(value) <= EXACT_FLOAT
        return str(int(value)) if whole else repr(value)
    raise item.fault(f"column {key!r} must be text or a number, got {quoted(value)}")
