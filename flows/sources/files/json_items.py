"""Iteration over the objects of a JSON file: an object a line, or one array of objects."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ..base import SourceError
from ..limits import byte_count
from ..options import ReadOptions
from .inputs import Input, damage_of
from .parts import Reading

MAX_AT_ONCE = 10**7  # commas in an array that is decoded at once; each may separate two items of 60 bytes of memory
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
# Finds where an item ends; numbers stay text, which is faster and has no bound on digits.
_SCAN = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_BLANKS = b" \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]*")
_BOM = b"\xef\xbb\xbf"


class Item(NamedTuple):
    """An object of a file: its bytes, and its line or its number in the array, from 1; 0 for a single object."""

    raw: bytes
    number: int
    source: Input

    @property
    def place(self) -> str:
        """The position in the file, for messages; empty for a single object."""
        return _place(self.number, self.source)

    def fault(self, rule: str) -> SourceError:
        """The fault of this object."""
        return _fault(self.number, self.source, rule)


def items_of(source: Input, reading: Reading) -> Iterator[Item]:
    """The objects of a file."""
    with damage_of(source.name), io.BufferedReader(source.open_bytes()) as file:
        if source.form == "jsonl":
            yield from _lines(file, source, reading)
            return
        most = reading.limits.document
        whole = file.read(most + 1).removeprefix(_BOM)
        if len(whole) > most:
            remedy = "use JSON Lines (.jsonl), which are read line by line, or allow more with --limit document=..."
            raise SourceError(f"a JSON document of more than {byte_count(most)}, the limit; {remedy}", source.name)
    if not _is_utf8(reading.options):
        try:
            whole = _encode(whole.decode(reading.options.encoding), 0, source)
        except UnicodeError as error:
            rule = _wrong_text(error, reading.options)
            raise SourceError(f"{rule}; another --encoding?", source.name) from None
    if whole.lstrip(_BLANKS)[:1] != b"[":
        yield Item(whole, 0, source)
    elif whole.count(b",") <= MAX_AT_ONCE:
        try:
            values = _ARRAY.decode(whole)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SourceError(f"not JSON: {error}", source.name) from None
        for number, value in enumerate(values, 1):
            yield Item(bytes(value), number, source)
    else:
        yield from _array_items(whole, source, reading)


def _lines(file: io.BufferedReader, source: Input, reading: Reading) -> Iterator[Item]:
    most = reading.limits.document
    utf8 = _is_utf8(reading.options)
    text: Any = file if utf8 else io.TextIOWrapper(file, reading.options.encoding, newline="")
    number = 0
    while True:
        number += 1
        try:
            line = text.readline(most + 1)
        except UnicodeError as error:
            raise _fault(number, source, f"{_wrong_text(error, reading.options)}; another --encoding?") from None
        if not line:
            return
        raw = line if utf8 else _encode(line, number, source)
        if len(line) > most and line[-1:] not in (b"\n", "\n"):
            while line and line[-1:] not in (b"\n", "\n"):
                line = text.readline(2**20)
            rule = f"a line of more than {byte_count(most)}, the limit; --limit document=... allows more"
            reading.leave_out(_fault(number, source, rule))
            continue
        raw = raw.removeprefix(_BOM) if number == 1 else raw
        if raw.strip():
            yield Item(raw, number, source)


def _array_items(whole: bytes, source: Input, reading: Reading) -> Iterator[Item]:
    """The items of a long array, decoded one by one: a list of all may take fifty times the memory of the text."""
    try:
        text = whole.decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"not JSON: {error}", source.name) from None
    at = _SPACES.match(text, text.index("[") + 1).end()  # type: ignore[union-attr]
    number, more = 0, True
    while more:
        number += 1
        if number > reading.limits.rows:
            reading.count(source.name, number, 0)
        try:
            _, end = _SCAN.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _fault(number, source, f"not JSON: {error}") from None
        yield Item(text[at:end].encode(), number, source)
        at = _SPACES.match(text, end).end()  # type: ignore[union-attr]
        more = text[at : at + 1] == ","
        if more:
            at = _SPACES.match(text, at + 1).end()  # type: ignore[union-attr]
    if text[at : at + 1] != "]" or _SPACES.fullmatch(text, at + 1) is None:
        raise _fault(number, source, "not JSON: neither a comma nor the end of the array and the file follows")


def _is_utf8(options: ReadOptions) -> bool:
    return codecs.lookup(options.encoding).name == "utf-8"


def _encode(line: str, number: int, source: Input) -> bytes:
    try:
        return line.encode()
    except UnicodeEncodeError:  # half a character, as UTF-16 may have
        raise _fault(number, source, "the text is not valid Unicode") from None


def _wrong_text(error: UnicodeError, options: ReadOptions) -> str:
    byte = f": byte 0x{error.object[error.start]:02x}" if isinstance(error, UnicodeDecodeError) else ""
    return f"the text is not {options.encoding}{byte}"


def _fault(number: int, source: Input, rule: str) -> SourceError:
    return SourceError(rule, source.name, member=_place(number, source))


def _place(number: int, source: Input) -> str:
    return f"{'line' if source.form == 'jsonl' else 'item'} {number}" if number else ""
