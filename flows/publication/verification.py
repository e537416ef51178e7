"""Verify the published tables of a run: their files, and whether they are up to date."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ranklake.storage import Lake, LakeError, MissingError
from ranklake.storage.lake import layout
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.errors import UnreachableError
from ranklake.storage.lake.remedies import damaged
from ranklake.storage.lake.schemas import PUBLISHED

from ..common.extras import MissingExtraError, need
from .delta_store import newest_version
from .root import INDEX, LATEST, LATEST_OF, IndexFile, IndexManifest, Root, index_path, read_published
from .states import FURTHER, VersionedContent

_OPTIONS = {"rule": "--places", "min_rounds": "--min-rounds", "max_sigma": "--max-sigma"}

if TYPE_CHECKING:
    from .delta_table import PublishedTable


def verify_published(
    lake: Lake, run_name: str, notes: list[str], on_file: Callable[[], None] = lambda: None
) -> Iterator[str]:
    """The faults of the published tables of a run: a line each, with the file and the remedy.

    Each file of a Delta table, at the version that the root names, must have the size in its log, and the other files
    the recorded digest. Three states are not faults and are added to ``notes``: tables of an earlier state of the run,
    a first publish that was interrupted, and a missing Delta library, without which no Delta table is checked. If the
    store does not answer, there is only this line. ``on_file`` is called before each table and each file.
    """
    folder = layout.published_folder(run_name)
    try:
        root, names = read_published(lake, run_name), lake.sizes(folder)
    except LakeError as error:
        yield str(error)
        return
    if root is None and LATEST_OF not in names:
        completes = shlex.join(["ranklake", "publish", "--run", run_name, "--lake", lake.url])
        notes.append(f"{folder}: its first publish was interrupted; `{completes}` completes it")
        return
    versions: dict[str, int | None] = dict(root.tables) if root is not None else {}
    if not versions:  # of an earlier release
        versions = dict.fromkeys(PUBLISHED)
        versions |= {name: None for name in FURTHER if newest_version(lake, f"{folder}/{name}") >= 0}
    tables: dict[str, PublishedTable] = {}
    try:
        need("deltalake", "publish", f"{folder}: checking its tables")
        for name, version in versions.items():
            on_file()
            try:
                tables[name] = _open(lake, f"{folder}/{name}", name, version)
            except UnreachableError as error:
                yield str(error)
                return  # the other tables are in the same store
            except LakeError as error:
                yield str(error)
    except MissingExtraError as error:
        notes.append(str(error))
    for file in () if root is None else root.files:
        on_file()
        yield from _verify_file(lake, index_path(run_name, file.name), file, INDEX)
    if root is None or root.plain is None:
        yield from _verify_latest(lake, folder)
    elif newest_version(lake, f"{folder}/leaderboard") == versions["leaderboard"]:  # or a later publish was cut off
        yield from _verify_file(lake, f"{folder}/{LATEST}", root.plain, INDEX)
    if len(tables) < len(versions):
        return
    try:
        current = _is_current(lake, run_name, tables, root)
    except LakeError:
        return  # a fault of the run, which its own verification reports
    if not current:
        command = ["ranklake", "publish", "--run", run_name, *_options(tables), "--lake", lake.url]
        notes.append(f"{folder}: has an earlier state of the run; `{shlex.join(command)}` brings it up to date")


def _open(lake: Lake, folder: str, name: str, version: int | None) -> PublishedTable:
    from .delta_table import PublishedTable

    table = PublishedTable(lake, folder, (PUBLISHED | FURTHER)[name], version=version)
    if table.version < 0:
        raise damaged(folder, "there is no such table")
    return table


def _verify_file(lake: Lake, path: str, file: IndexFile, record: str) -> Iterator[str]:
    try:
        data = lake.read_bytes(path)
    except MissingError as error:
        yield str(error)
        return
    if len(data) != file.size:
        yield str(damaged(path, f"has {len(data)} bytes, not {file.size} as in {record}"))
    elif digest_of(data) != file.digest:
        yield str(damaged(path, f"does not match {record}"))


def _verify_latest(lake: Lake, folder: str) -> Iterator[str]:
    """The faults of the plain leaderboard of an earlier release, with its own record."""
    try:
        recorded = dict(json.loads(lake.read_bytes(f"{folder}/{LATEST_OF}")))
        file = IndexFile(LATEST, recorded["size"], recorded.get("digest", ""))
    except (MissingError, ValueError, TypeError, KeyError):
        yield str(damaged(f"{folder}/{LATEST_OF}", f"has no version of {LATEST}"))
        return
    for fault in _verify_file(lake, f"{folder}/{LATEST}", file, LATEST_OF):
        if file.digest or "does not match" not in fault:  # 0.1 stored none
            yield fault


def _is_current(lake: Lake, run_name: str, tables: dict[str, PublishedTable], root: Root | None) -> bool:
    """Whether a publish would change nothing now."""
    states = {name: table.state or {} for name, table in tables.items()}
    chosen = states["leaderboard"].get("chosen_places")
    content = VersionedContent(lake, run_name, states["ratings"].get("deviations"), places=chosen)
    known = [name for name in (*PUBLISHED, *FURTHER) if name in tables or content.has(name)]
    if isinstance(root, IndexManifest):
        inputs = "" if root.problems is None else root.problems.inputs
        if inputs != content.problem_inputs:
            return False
    return all(content.is_current(name, states.get(name), titles=False) for name in known)


def _options(tables: dict[str, PublishedTable]) -> list[str]:
    """The options that repeat the choices of the last publish."""
    deviations = (tables["ratings"].state or {}).get("deviations")
    chosen = {} if deviations is None else {"deviations": deviations}
    chosen |= (tables["leaderboard"].state or {}).get("chosen_places") or {}
    return [text for name, value in chosen.items() for text in (_OPTIONS.get(name, f"--{name}"), str(value))]
