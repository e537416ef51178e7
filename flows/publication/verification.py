"""Verify the published tables of a run: their files, and whether they are up to date."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ranklake.storage import Lake, LakeError, MissingError
from ranklake.storage.lake import layout
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.errors import UnreachableError
from ranklake.storage.lake.remedies import damaged
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, PUBLISHED

from ..common.extras import MissingExtraError, need
from .content import Content
from .files import LATEST, LATEST_OF, WRITTEN
from .index_manifest import index_path, read_manifest

if TYPE_CHECKING:
    from .delta_table import PublishedTable

__all__ = ["verify_published"]


def verify_published(
    lake: Lake, run_name: str, notes: list[str], on_file: Callable[[], None] = lambda: None
) -> Iterator[str]:
    """The faults of the published tables of a run: a line each, with the file and the remedy.

    Each live file of a Delta table must have the size in its log, and the plain leaderboard the recorded digest.
    Three states are not faults and are added to ``notes``: tables of an earlier state of the run, a first publish that
    was interrupted, and a missing Delta library, without which only the plain leaderboard is checked. If the store does
    not answer, there is only this line. ``on_file`` is called before each table and each file of the index.
    """
    folder = layout.published_folder(run_name)
    there = _there(lake, folder)
    interrupted = _is_interrupted(there)
    further = {name: schema for name, schema in OF_ATTRIBUTES.items() if _has_versions(lake, f"{folder}/{name}")}
    schemas = PUBLISHED | further
    try:
        need("deltalake", "publish", f"{folder}: checking its tables")
    except MissingExtraError as error:
        notes.append(str(error))
        tables = None
    else:
        tables = {}
        for name, schema in schemas.items():
            if interrupted and not there.get(name):
                continue
            on_file()
            try:
                tables[name] = _open(lake, f"{folder}/{name}", schema)
            except UnreachableError as error:
                yield str(error)
                return  # the other tables are in the same store
            except LakeError as error:
                yield str(error)
    if interrupted:
        completes = shlex.join(["ranklake", "publish", "--run", run_name, "--lake", lake.url])
        notes.append(f"{folder}: its first publish was interrupted; `{completes}` completes it")
        return
    yield from _verify_index(lake, run_name, on_file)
    recorded = _read_json(lake, f"{folder}/{LATEST_OF}")
    if not tables or "leaderboard" not in tables or _is_latest(recorded, tables["leaderboard"]):
        yield from _verify_latest(lake, folder, recorded)
    if tables is None or len(tables) < len(schemas):
        return
    try:
        current = _is_current(lake, run_name, tables) and _is_latest(recorded, tables["leaderboard"])
    except LakeError:
        return  # a fault of the run, which its own verification reports
    if not current:
        command = ["ranklake", "publish", "--run", run_name, *_deviations(tables), "--lake", lake.url]
        notes.append(f"{folder}: has an earlier state of the run; `{shlex.join(command)}` brings it up to date")


def _there(lake: Lake, folder: str) -> dict[str, bool]:
    """Whether each part that a publish writes exists, in the order of writing."""
    files = lake.sizes(folder)
    return {name: _has_versions(lake, f"{folder}/{name}") if name in PUBLISHED else name in files for name in WRITTEN}


def _has_versions(lake: Lake, table: str) -> bool:
    """Whether the log of a Delta table has a version; a failed commit may leave other files."""
    return any(name.partition(".")[0].isdigit() for name in lake.list(f"{table}/_delta_log"))


def _is_interrupted(there: dict[str, bool]) -> bool:
    """Whether only the parts written last are missing, as after a first publish that was killed."""
    parts = list(there.values())
    return not all(parts) and parts == sorted(parts, reverse=True)


def _open(lake: Lake, folder: str, schema: Any) -> PublishedTable:
    from .delta_table import PublishedTable

    table = PublishedTable(lake, folder, schema)
    if table.version < 0:
        raise damaged(folder, "there is no such table")
    return table


def _verify_latest(lake: Lake, folder: str, recorded: dict[str, Any]) -> Iterator[str]:
    path = f"{folder}/{LATEST}"
    try:
        data = lake.read_bytes(path)
    except MissingError as error:
        yield str(error)
        return
    if not recorded:
        yield str(damaged(f"{folder}/{LATEST_OF}", f"has no version of {LATEST}"))
    elif len(data) != recorded.get("size"):
        yield str(damaged(path, f"has {len(data)} bytes, not {recorded.get('size')} as in {LATEST_OF}"))
    elif digest_of(data) != recorded.get("digest", digest_of(data)):  # 0.1 stored none
        yield str(damaged(path, f"does not match {LATEST_OF}"))


def _verify_index(lake: Lake, run_name: str, on_file: Callable[[], None]) -> Iterator[str]:
    """The faults of the index; a run published by an early release, or without the index, has none."""
    try:
        manifest = read_manifest(lake, run_name)
    except LakeError as error:
        yield str(error)
        return
    for file in () if manifest is None else manifest.files:
        path = index_path(run_name, file.name)
        on_file()
        try:
            data = lake.read_bytes(path)
        except MissingError as error:
            yield str(error)
            continue
        if digest_of(data) != file.digest:
            yield str(damaged(path, "does not match its manifest"))


def _read_json(lake: Lake, path: str) -> dict[str, Any]:
    """The content of a JSON file; empty if it cannot be read."""
    try:
        return dict(json.loads(lake.read_bytes(path)))
    except (MissingError, ValueError, TypeError):
        return {}


def _is_current(lake: Lake, run_name: str, tables: dict[str, PublishedTable]) -> bool:
    """Whether a publish would change nothing now."""
    states = {name: table.state or {} for name, table in tables.items()}
    content = Content(lake, run_name, states["ratings"].get("deviations"))
    for name in ("players", "contests"):
        n_rows = getattr(content, name).num_rows
        if states[name] != {"rows": n_rows, "digest": content.digest(name, n_rows)}:
            return False
    for name in OF_ATTRIBUTES:
        if (name in tables or content.attributes.num_rows) and states.get(name) != content.attribute_state(name):
            return False
    whole = content.n_rounds
    return all(
        content.kept(name, states[name]) == states[name].get("rows") == whole for name in ("ratings", "leaderboard")
    )


def _is_latest(recorded: dict[str, Any], leaderboard: PublishedTable) -> bool:
    """Whether the plain leaderboard has the newest version of the table."""
    version = recorded.get("version")
    return not recorded or (isinstance(version, int) and leaderboard.reads_as(version))


def _deviations(tables: dict[str, PublishedTable]) -> list[str]:
    """The option that repeats the deviations of the last publish, if they were given."""
    chosen = (tables["ratings"].state or {}).get("deviations")
    return [] if chosen is None else ["--deviations", str(chosen)]
