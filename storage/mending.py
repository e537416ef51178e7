"""The way out: which command mends what is wrong with a file, by its place in the lake."""

from __future__ import annotations

import re

from storage.errors import DamagedError
from storage.layout import PUBLISHED, RAW, RUNS, raw_index

__all__ = ["damaged", "way_out"]

_RESTORE = "restore it or make it again"


def way_out(path: str) -> str:
    """What to do when the file or folder at ``path`` inside the lake is missing or not as it must be."""
    top, name, *more = [*path.split("/"), "", ""]
    if path.rpartition("/")[2].startswith("lease-"):
        return "delete it if nobody is at work there"
    if top == RUNS and name:
        return _of_run(name, *more)
    if top == PUBLISHED and name:
        return f"`ranklake publish --run {name} --afresh` makes it again"
    if top == RAW and name:
        index = raw_index(name)
        return "delete it, it is made again" if path == index else f"delete it and {index}, and it is asked for again"
    if name == "sources":
        return "delete it, and `ranklake normalise` makes it again"
    if name == "standings":
        return f"restore it, or ingest {top} again with --rewrite"
    if name in ("contests", "players", "log"):
        return f"restore it, or `ranklake delete --dataset {top} --with-runs` and ingest again"
    return _RESTORE


def damaged(path: str, what: str) -> DamagedError:
    """The error that says ``what`` is wrong with ``path``, and what mends it."""
    return DamagedError(f"{path}: {what}; {way_out(path)}", path=path)


def _of_run(run: str, kind: str = "", file: str = "", *_: str) -> str:
    if kind == "run.json":
        return f"`ranklake delete --run {run}` and rate again"
    if kind == "rounds" and (number := re.match("[0-9]+", file)):
        return f"`ranklake rate --run {run} --from {int(number[0])}` rates it again"
    if kind == "snapshots":
        return f"`ranklake compact --run {run}` removes it, and an older one serves"
    return _RESTORE
