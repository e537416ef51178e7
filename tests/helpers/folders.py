"""Folders and archives of contests in the reference format."""

from __future__ import annotations

import io
import json
import math
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from ranklake.storage import Contest


def reference(one: Contest) -> dict[str, Any]:
    """A contest in the reference format."""
    rows = [list(row) for row in zip(one.handles.to_pylist(), one.lo.tolist(), one.hi.tolist(), strict=True)]
    facts = {"name": one.name, "time_seconds": one.time_seconds, "weight": one.weight, "standings": rows}
    for name in ("perf_ceiling", "rated_above", "rated_below"):
        facts |= {name: getattr(one, name)} if math.isfinite(getattr(one, name)) else {}
    facts |= {"field_includes_unrated": True} if one.field_includes_unrated else {}
    return facts | ({} if one.rated is None else {"unrated": one.handles.filter(pa.array(~one.rated)).to_pylist()})


def write_folder(path: Path, contests: list[Contest]) -> Path:
    path.mkdir(parents=True)
    for one in contests:
        (path / f"{one.contest_id}.json").write_text(json.dumps(reference(one)), encoding="utf-8")
    return path


def write_tar(path: Path, files: list[tuple[str, bytes]]) -> Path:
    """A tar of files, packed as the name of its path says."""
    mode = {".gz": "w:gz", ".xz": "w:xz", ".tar": "w"}[path.suffix]
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, raw in files:
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
    return path


def write_zip(path: Path, files: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, raw in files:
            archive.writestr(name, raw)
    return path
