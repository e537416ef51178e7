"""Answers as bytes: JSON, CSV, JSON Lines or Arrow, compressed, and a cache of them."""

from __future__ import annotations

import gzip
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec
import pyarrow as pa
from pyarrow import csv

from ...common.finite import finite_json, finite_rows
from ...publication.export import change_texts

__all__ = ["FORMATS", "Body", "BodyCache", "Rows", "encoding_for", "render"]

_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
}
FORMATS = tuple(_TYPES)
_OVERHEAD = 3072  # bytes of the key, the headers and the objects of an answer in a cache
_SMALL = 512  # bytes; smaller bodies are not compressed
_ENCODER = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Rows:
    """An answer of many rows, in any of ``FORMATS``; in JSON they are the member ``rows`` beside the ``facts``."""

    table: pa.Table
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of an answer, their media type and their content encoding (empty without)."""

    data: bytes
    media_type: str
    encoding: str = ""

    def compressed(self, encoding: str) -> Body:
        """The body in a content encoding; as it is if it is small."""
        if not encoding or len(self.data) < _SMALL:
            return self
        if encoding == "zstd":
            return Body(pa.Codec("zstd", 3).compress(self.data, asbytes=True), self.media_type, encoding)
        return Body(gzip.compress(self.data, 5, mtime=0), self.media_type, encoding)


def render(answer: Any, form: str, about: Mapping[str, Any]) -> Body:
    """The body of an answer of an endpoint.

    Parameters
    ----------
    about
        Members of a JSON document before those of the answer: the run and its version.

    Notes
    -----
    Numbers have full precision, and null if they are not finite. Cells of CSV that a spreadsheet would read as formulas
    are escaped.
    """
    if not isinstance(answer, Rows):
        return Body(_ENCODER.encode({**about, **finite_json(answer)}), _TYPES["json"])
    table = finite_rows(answer.table)
    if form == "csv":
        sink = pa.BufferOutputStream()
        csv.write_csv(change_texts(table, safe=True, terminal=False), sink)
        data = sink.getvalue().to_pybytes()
    elif form == "arrow":
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data = sink.getvalue().to_pybytes()
    elif form == "ndjson":
        data = _ENCODER.encode_lines(table.to_pylist())
    else:
        data = _ENCODER.encode({**about, **finite_json(dict(answer.facts)), "rows": table.to_pylist()})
    return Body(data, _TYPES[form])


def encoding_for(accepted: str) -> str:
    """The content encoding for a header ``Accept-Encoding``: zstd, gzip or none (empty)."""
    offered = {}
    for item in accepted.lower().split(","):
        name, _, weight = item.partition(";")
        offered[name.strip()] = weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return next((name for name in ("zstd", "gzip") if offered.get(name, False)), "")


class _Sized(Protocol):
    @property
    def data(self) -> bytes: ...


T = TypeVar("T", bound=_Sized)


class BodyCache(Generic[T]):
    """The most recently used answers, of limited size; safe for threads."""

    def __init__(self, most_bytes: int) -> None:
        self._bodies: OrderedDict[Hashable, T] = OrderedDict()
        self._most, self._size, self._lock = most_bytes, 0, threading.Lock()
        self.hits = self.misses = 0

    def get(self, key: Hashable) -> T | None:
        """The answer, if it is there."""
        with self._lock:
            body = self._bodies.get(key)
            if body is None:
                self.misses += 1
            else:
                self.hits += 1
                self._bodies.move_to_end(key)
            return body

    def put(self, key: Hashable, body: T) -> None:
        """Add an answer, and remove the least recently used ones beyond the limit."""
        if len(body.data) * 8 > self._most:
            return
        with self._lock:
            if (old := self._bodies.pop(key, None)) is not None:
                self._size -= _size(old)
            self._bodies[key] = body
            self._size += _size(body)
            while self._size > self._most:
                _, removed = self._bodies.popitem(last=False)
                self._size -= _size(removed)

    def clear(self) -> None:
        """Remove all answers."""
        with self._lock:
            self._bodies.clear()
            self._size = 0


def _size(body: _Sized) -> int:
    return len(body.data) + _OVERHEAD
