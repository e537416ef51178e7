"""Requests and responses: paths, the run of a path; bodies in every format, compression, validators (ETag, 304)."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from ...answers.handles import NoPlayerError
from ...answers.kept import Kept
from ...answers.run import PublishedRun
from ...common.finite import finite_json, finite_rows
from ...http.server.problems import Problem
from ...publication.export import change_texts

_MAX_AGE = 5  # seconds for which a cache may use an answer without asking
SAFE = {"x-content-type-options": "nosniff", "content-security-policy": "default-src 'none'; frame-ancestors 'none'"}
NOT_KEPT = {"cache-control": "no-store", "vary": "Accept-Encoding"}  # answers to POST


def validators(etag: str, time_seconds: float) -> dict[str, str]:
    """The headers of an answer of a state.

    The ETag is weak, because the answer may be compressed. It is that of the state, the same for all addresses.
    """
    return {
        "etag": f'W/"{etag}"',
        "last-modified": formatdate(int(time_seconds), usegmt=True),
        "cache-control": f"public, max-age={_MAX_AGE}",
        "vary": "Accept-Encoding",
    }


def is_unchanged(headers: Mapping[str, str], etag: str, time_seconds: float) -> bool:
    """Whether the client has the state already, by If-None-Match, or else by If-Modified-Since."""
    if (known := headers.get("if-none-match")) is not None:
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        return "*" in tags or f'"{etag}"' in tags
    if (since := headers.get("if-modified-since")) is not None:
        try:
            return int(time_seconds) <= parsedate_to_datetime(since).timestamp()
        except (ValueError, TypeError, OverflowError):
            return False
    return False


async def respond_if_changed(
    request: Request,
    etag: str,
    time_seconds: float,
    make: Callable[[], Body],
    headers: Mapping[str, str] = SAFE,
    quick: bool = False,
    long: bool = False,
) -> Response:
    """The answer of a state, or 304 if the client has the state; other parameters as for :func:`respond`."""
    headers = validators(etag, time_seconds) | dict(headers)
    if is_unchanged(request.headers, etag, time_seconds):
        return Response(status_code=304, headers=headers)
    return await respond(request, make, headers, quick, long)


async def respond(
    request: Request, make: Callable[[], Body], headers: Mapping[str, str], quick: bool = False, long: bool = False
) -> Response:
    """The answer of ``make``, called in a thread, compressed as the client accepts it.

    ``quick``: ``make`` takes less time than the way to a thread and back: it is called here.
    ``long``: see :meth:`ranklake.flows.serving.state.workers.Workers.run`.
    """
    encoding = encoding_for(request.headers.get("accept-encoding", ""))

    def compressed() -> Body:
        return make().compressed(encoding)

    body = compressed() if quick else await request.app.state.workers.run(compressed, long)
    encoded = {"content-encoding": body.encoding} if body.encoding else {}
    return Response(body.data, headers={**headers, **encoded}, media_type=body.media_type)


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
class ManyRows:
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
        """The body in a content encoding; as it is if it has one already, or is small."""
        if not encoding or self.encoding or len(self.data) < _SMALL:
            return self
        if encoding == "zstd":
            return Body(pa.Codec("zstd", 3).compress(self.data, asbytes=True), self.media_type, encoding)
        return Body(gzip.compress(self.data, 5, mtime=0), self.media_type, encoding)


def render(answer: Any, form: str, about: Mapping[str, Any]) -> Body:
    """The body of an answer of an endpoint; ``about``, the run and its version, is the begin of a JSON document.

    Numbers have full precision, and null if they are not finite. Cells of CSV that a spreadsheet would read as formulas
    are escaped.
    """
    if not isinstance(answer, ManyRows):
        return Body(_ENCODER.encode({**about, **finite_json(answer)}), _TYPES["json"])
    table = finite_rows(answer.table)
    if form == "csv":
        sink = pa.BufferOutputStream()
        csv.write_csv(change_texts(_joined(table), safe=True, terminal=False), sink)
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


def _joined(table: pa.Table) -> pa.Table:
    """The table with lists of texts as texts, with semicolons between them."""
    for at, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            table = table.set_column(at, field.name, pc.binary_join(table.column(at), "; "))
    return table


def encoding_for(accepted: str) -> str:
    """The content encoding for a header ``Accept-Encoding``: zstd, gzip or none (empty)."""
    offered = {}
    for item in accepted.lower().split(","):
        name, _, weight = item.partition(";")
        offered[name.strip()] = weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return next((name for name in ("zstd", "gzip") if offered.get(name, False)), "")


def kept_bodies(most_bytes: int) -> Kept[Any]:
    """The most recently used bodies or answers; one of more than an eighth of ``most_bytes`` is not kept."""
    return Kept(most_bytes, lambda body: len(body.data) + _OVERHEAD, share=1 / 8)


TEXT = "text"
"""A variable of a path that takes any text is written {handle:text}: handles and ids of contests may have slashes and
line ends, and Starlette's own `path` ends at a line end."""


class _Text(Convertor[str]):
    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor(TEXT, _Text())


def path_of(request: Request) -> str:
    """The path of a request below the root path; ``request.url`` would have the header ``Host`` in it."""
    return str(request.scope["path"]).removeprefix(request.scope.get("root_path", ""))


def query_of(request: Request) -> str:
    """The query of a request with its question mark."""
    query = request.scope["query_string"].decode("latin-1")
    return f"?{query}" if query else ""


def run_of(request: Request) -> PublishedRun:
    """The current state of the run that a path names; raises Problem: it is not published."""
    name, runs = request.path_params["run"], request.app.state.served.runs
    if name not in runs:
        command = f"; `ranklake publish --run {name}` publishes a run" if name.isascii() and len(name) < 100 else ""
        raise Problem(404, f"run {name[:100]!r} is not published{command}", runs=list(runs))
    found: PublishedRun = runs[name]
    return found


async def missing_player(request: Request, error: NoPlayerError, run: PublishedRun) -> Problem:
    """The error about a player that a run does not have; without similar handles if too many searches wait."""
    try:
        near = await request.app.state.workers.run(lambda: error.near, long=True)
    except Problem:
        near = []
    return Problem.no_player(error.handle, near, run.name, run.brand.player)


def prefers_html(headers: Mapping[str, str]) -> bool:
    """Whether the header ``Accept`` names HTML, as that of a browser does, and not JSON with a greater weight."""
    weights = {}
    for item in headers.get("accept", "").lower().split(","):
        kind, *parameters = (part.strip() for part in item.split(";"))
        weight = next((part.partition("=")[2] for part in parameters if part.startswith("q=")), "1")
        try:
            weights[kind] = float(weight)
        except ValueError:
            weights[kind] = 0.0
    html = weights.get("text/html", 0.0)
    return html > 0.0 and html >= max(weights.get(f"application/{kind}", 0.0) for kind in ("json", "problem+json"))
