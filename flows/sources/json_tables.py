"""Tables and contests as JSON: an object a line, or one array of objects, each a participation or a contest."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

from flows.sources.archives import Member
from flows.sources.base import SourceError, shown
from flows.sources.inputs import Input
from flows.sources.options import ReadOptions

__all__ = ["JsonLines", "contests_in", "read_json"]

CHUNK_ROWS = 2**16  # rows whose values are Python objects at a time
EXACT_FLOAT = 2**53
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_VALUES = msgspec.json.Decoder(dict[str, Any])
_IDS = ("contest_id", "contest", "id")  # of a contest of the reference format, the first that it has


class JsonLines:
    """The line of the file for each row; none in an array."""

    def __init__(self, lines: Sequence[int]) -> None:
        self._lines = lines

    def __call__(self, rows: Sequence[int]) -> list[int]:
        return [self._lines[row - 1] for row in rows] if self._lines else []


def contests_in(source: Input, options: ReadOptions) -> list[Member] | None:
    """The contests of the reference format that a file holds; None if it holds rows of a table.

    A contest is called as its ``contest_id``, ``contest`` or ``id`` has it, else by its line or its number in the
    array, from 1; one that is a file of its own by the name of the file.

    Raises
    ------
    SourceError
        The file is not JSON.
    """
    members: list[Member] = []
    for number, raw in _items(source, options):
        value = _keys(raw, number, source)
        if "standings" not in value:
            if not members:
                return None
            raise _fault("has no standings, the contests before it do", number, source)
        alone = number == 0
        given = next((value[key] for key in _IDS if key in value), None)
        called = source.stem if alone else str(number)
        if given is not None and not alone:
            known = msgspec.json.decode(given)
            if isinstance(known, bool) or not isinstance(known, str | int) or known == "":
                raise _fault(f"a contest's id must be text or a whole number, got {shown(known)}", number, source)
            called = str(known)
        members.append(Member(source.name if alone else _place(number, source), partial(bytes, raw), called))
    return members or None


def read_json(source: Input, options: ReadOptions) -> tuple[pa.Table, dict[str, str], list[str], JsonLines, str]:
    """The columns of a table in JSON that are used, as text; see :func:`flows.sources.text_tables.read_text`.

    Raises
    ------
    SourceError
        The file is not JSON, a row is no object, or a value that is used is neither text nor a number.
    """
    present: dict[str, None] = {}
    for number, raw in _items(source, options):
        value = _keys(raw, number, source)
        if number == 0:
            raise SourceError(
                "must be an array of objects, one a participation (orient='records' in pandas)", source.name
            )
        present |= dict.fromkeys(value)
    if not present:
        raise SourceError("no contests: the table has no rows", source.name)
    found = options.columns.find(list(present), source.name)
    used = sorted(set(found.values()))
    parts, lines, rows = [], [], []
    for number, raw in _items(source, options):
        lines.append(number)
        value = _VALUES.decode(raw)
        rows.append([_text(value.get(key), key, number, source) for key in used])
        if len(rows) == CHUNK_ROWS:
            parts.append(_chunk(rows, used))
            rows = []
    parts.append(_chunk(rows, used))
    return pa.concat_tables(parts), found, list(present), JsonLines(lines if source.form == "jsonl" else ()), ""


def _chunk(rows: list[list[str | None]], used: list[str]) -> pa.Table:
    return pa.table({key: pa.array([row[i] for row in rows], pa.string()) for i, key in enumerate(used)})


def _items(source: Input, options: ReadOptions) -> Iterator[tuple[int, bytes]]:
    """The objects of a file as bytes, with the line or the number in the array, from 1; 0 for an object alone."""
    utf8 = options.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    with io.BufferedReader(source.open_bytes()) as file:
        if source.form == "jsonl":
            text = file if utf8 else io.TextIOWrapper(file, options.encoding)
            for number, line in enumerate(_decoded(text, source, options), 1):
                raw = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if raw.strip():
                    yield number, raw
            return
        whole = file.read().removeprefix(b"\xef\xbb\xbf")
    if not utf8:
        (whole,) = _decoded([whole.decode(options.encoding)], source, options)
    if whole.lstrip()[:1] != b"[":
        yield 0, whole
        return
    try:
        values = _ARRAY.decode(whole)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(f"not JSON: {error}", source.name) from None
    for number, value in enumerate(values, 1):
        yield number, bytes(value)


def _decoded(lines: Any, source: Input, options: ReadOptions) -> Iterator[bytes]:
    try:
        for line in lines:
            yield line.encode() if isinstance(line, str) else line
    except UnicodeDecodeError as error:
        rule = f"the text is not {options.encoding}: byte 0x{error.object[error.start]:02x}; another --encoding?"
        raise SourceError(rule, source.name) from None


def _keys(raw: bytes, number: int, source: Input) -> dict[str, msgspec.Raw]:
    try:
        return _OBJECT.decode(raw)
    except msgspec.ValidationError:
        raise _fault("must be an object with a key a column", number, source) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _fault(f"not JSON: {error}", number, source) from None
    except UnicodeDecodeError as error:
        rule = f"the text is not UTF-8: byte 0x{error.object[error.start]:02x}; --encoding says what it is, as latin-1"
        raise _fault(rule, number, source) from None


def _text(value: object, key: str, number: int, source: Input) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        whole = isinstance(value, float) and value.is_integer() and abs(value) <= EXACT_FLOAT
        return str(int(value)) if whole else repr(value)
    raise _fault(f"column {key!r} must be text or a number, got {shown(value)}", number, source)


def _place(number: int, source: Input) -> str:
    return f"line {number}" if source.form == "jsonl" else f"item {number}"


def _fault(rule: str, number: int, source: Input) -> SourceError:
    return SourceError(rule, source.name, member=_place(number, source) if number else "")
