"""The published files of a run, as they are: Parquet and the logs of the Delta tables, by byte ranges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path

from starlette.responses import FileResponse, Response

from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, OF_SEASONS, OF_STRENGTHS, PUBLISHED

from ...answers.run import PublishedRun
from ...http.server.problems import Problem
from ...problems.columns import OF_PROBLEMS
from ...publication.root import INDEX, LATEST, plain_path
from .responses import is_unchanged

_TABLES = (*PUBLISHED, *OF_ATTRIBUTES, *OF_PROBLEMS, *OF_STRENGTHS, *OF_SEASONS)
_RULE = f"must be {INDEX}, {LATEST} or a file of {', '.join(_TABLES)}"
_PLAIN = re.compile(r"latest-[0-9a-f]+\.parquet")  # a leaderboard that a root names
MOST_RANGES = 16  # of a request; each is a part of the answer
_RANGE = re.compile("([0-9]{1,18})-([0-9]{0,18})|-[0-9]{1,18}")
_PART = re.compile(r"[A-Za-z0-9_=][A-Za-z0-9_=.-]*")  # a folder or file of a Delta table


def data_file(lake: Lake, run: PublishedRun, path: str, headers: Mapping[str, str]) -> Response:
    """A file of a published run, by byte ranges: the root, which names the versions, or one of :data:`_RULE`.

    ``latest.parquet`` is the leaderboard of the state that the server has. There are no listings.

    ``headers``: of the request. Raises Problem: there is no such file, the ranges are invalid, or it is not on a disk.
    """
    parts = path.split("/")
    known = path in (INDEX, LATEST) or _PLAIN.fullmatch(path) or (parts[0] in _TABLES and len(parts) > 1)
    if not (known and all(map(_PART.fullmatch, parts))):
        raise Problem(404, f"{path[:200]!r} is not a published file: a path {_RULE}", rule=_RULE)
    folder = layout.published_folder(run.name)
    if not lake.local:
        raise Problem(404, f"the lake is in an object store: read the tables there, at {lake.uri(folder)}")
    stored = plain_path(run.name, run.manifest) if path == LATEST else f"{folder}/{path}"
    root, file = Path(lake.uri(folder)).resolve(), Path(lake.uri(stored))
    if not file.is_file() or root not in file.resolve().parents:
        raise Problem(404, f"{path[:200]!r} is not a published file of run {run.name}")
    is_json = path.endswith((".json", "_last_checkpoint"))
    media_type = "application/json" if is_json else "application/vnd.apache.parquet"
    stat = file.stat()
    etag = f"{stat.st_mtime_ns:x}-{stat.st_size:x}"
    validators = {
        "etag": f'"{etag}"',
        "last-modified": formatdate(int(stat.st_mtime), usegmt=True),
        "cache-control": "no-cache",
    }
    if is_unchanged(headers, etag, stat.st_mtime):
        return Response(status_code=304, headers=validators)
    if (ranges := headers.get("range")) is not None:
        _check_ranges(ranges)
    return FileResponse(file, media_type=media_type, headers=validators, stat_result=stat)


def _check_ranges(text: str) -> None:
    parts = [_RANGE.fullmatch(part.strip()) for part in text.removeprefix("bytes=").split(",")]
    valid = text.startswith("bytes=") and len(parts) <= MOST_RANGES
    if not valid or any(part is None or (part[2] and int(part[1]) > int(part[2])) for part in parts):
        rule = f"must be bytes=FIRST-LAST, at most {MOST_RANGES} such ranges with commas between them"
        raise Problem.of_parameter("Range", text, rule)
