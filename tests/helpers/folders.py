"""Folders of contests in the reference format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ranklake.storage import Contest


def reference(one: Contest) -> dict[str, Any]:
    rows = zip(one.handles.to_pylist(), one.lo.tolist(), one.hi.tolist(), strict=True)
    return {"name": one.name, "time_seconds": one.time_seconds, "standings": [list(row) for row in rows]}


def write_folder(path: Path, contests: list[Contest]) -> Path:
    path.mkdir()
    for one in contests:
        (path / f"{one.contest_id}.json").write_text(json.dumps(reference(one)), encoding="utf-8")
    return path
