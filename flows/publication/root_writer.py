"""Write the root of a published run and the files that it names: only files that have changed, and the root last."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
import pyarrow as pa

from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.layout import TEMPORARY_PREFIX, published_folder
from ranklake.storage.lake.parquet import encode_plain
from ranklake.storage.leases.lease import Lease

from .index_parts import cut, encode_rounds, encode_table
from .root import (
    FOLDER,
    INDEX,
    LATEST,
    OF_EARLIER_RELEASES,
    PLAIN,
    IndexFile,
    IndexManifest,
    PartFile,
    ProblemsFile,
    Root,
    SmoothedFile,
    index_path,
    read_published,
)
from .states import VersionedContent

_VERSION = re.compile(rb'"version":(\d{1,9})\b')


class RootWriter:
    """Writes the plain leaderboard, the index, and the root that names them.

    ``before``: the existing root; None if there is none that this release reads.
    ``rebuild``: compare existing files with their contents, and give readers a new version in any case.
    """

    def __init__(self, lake: Lake, lease: Lease, run_name: str, rebuild: bool = False) -> None:
        self._lake, self._lease, self._run_name, self._folder = lake, lease, run_name, published_folder(run_name)
        self._rebuild = rebuild
        self.before: Root | None = None
        with suppress(LakeError):
            self.before = read_published(lake, run_name)
        entries = lake.entries(self._folder)
        self._stored = entries.get(INDEX, (0, ""))[1]
        self._latest = entries.get(LATEST, (-1, ""))
        self._beside = {name: size for name, (size, _) in entries.items()}
        self._sizes = {name: size for name, size in self._beside.items() if name.startswith(PLAIN)}
        self._sizes |= lake.sizes(f"{self._folder}/{FOLDER}")

    def plain(self, content: VersionedContent, version: int) -> tuple[IndexFile, bool]:
        """Write the leaderboard of a version of its table as one file; returns it, and whether it is another one."""
        before = None if self._rebuild else self.before
        known = None if before is None or before.tables.get("leaderboard") != version else before.plain
        if known is not None and self._is_there(known) and self._latest[0] == known.size:
            return known, False
        data = encode_plain(content.board, ["title"])
        file = self._write(PLAIN.rstrip("-"), data, "parquet")
        self._lease.check()
        self._lease.lake.replace_bytes(f"{self._folder}/{LATEST}", data, self._latest[1])
        return file, True

    def commit(self, content: VersionedContent, tables: Mapping[str, int], plain: IndexFile, index: bool) -> None:
        """Write the index and then the root, unless all is there; then delete the files that no root needs.

        ``tables``: the version of each Delta table.
        ``index``: whether there is an index; False deletes an existing one.
        """
        before, state, facts = self.before, content.state("leaderboard"), content.facts()
        files = self._index(content, state) if index else {}
        root = (IndexManifest if index else Root)(
            version=self._version + 1, content="", time_seconds=time.time(), tables=dict(tables), plain=plain,
            indexed=index, state=state, **files, **facts,
        )  # fmt: skip
        names = [file.name for file in root.files]
        seen = [*names, *(facts[key] for key in ("system", "params", "deviations", "titles", "n_rounds", "places"))]
        seen += [facts[key] for key in ("chances", "brand") if key in facts]
        root = msgspec.structs.replace(root, content=digest_of(msgspec.json.encode(seen, order="sorted")))
        if before is not None:
            previous = tuple(file.name for file in before.files if file.name not in names)
            if before.content == root.content:
                previous = before.previous
                if not self._rebuild:
                    root = msgspec.structs.replace(root, version=before.version, time_seconds=before.time_seconds)
            root = msgspec.structs.replace(root, previous=previous)
        self._replace(root)
        kept = root.previous if index else [name for name in root.previous if name.startswith(PLAIN)]
        for name in self._sizes.keys() - {*names, *kept}:
            with suppress(LakeError):  # Windows refuses while a reader maps the file; the next publish deletes it
                self._lease.lake.delete(index_path(self._run_name, name))
        for name in self._beside:
            if name in OF_EARLIER_RELEASES or name.startswith(TEMPORARY_PREFIX):  # the latter left by a crash
                self._lease.lake.delete(f"{self._folder}/{name}")

    def rename_tables(self, tables: Mapping[str, int]) -> None:
        """Name other versions of the tables, which have the same rows."""
        assert self.before is not None
        self._replace(msgspec.structs.replace(self.before, tables=dict(tables)))

    def _replace(self, root: Root) -> None:
        if root != self.before:
            self._lease.check()
            self._stored = self._lease.lake.replace_bytes(
                index_path(self._run_name), msgspec.json.encode(root), self._stored
            )
            self.before = root

    def _index(self, content: VersionedContent, state: Mapping[str, Any]) -> dict[str, Any]:
        """Write the files of the index; returns the values that an :class:`IndexManifest` has beyond a root."""
        before = self.before if isinstance(self.before, IndexManifest) and not self._rebuild else None
        parts = self._parts(content, before)
        components = before.components if before is not None and before.state == state else None
        if before is not None and components is not None and self._is_there(before.leaderboard):
            leaderboard = before.leaderboard
        else:
            leaderboard, components = self._table("leaderboard", content.board), content.components.sizes
        files = {"leaderboard": leaderboard}
        for name, rows in (("contests", content.contests), ("aliases", content.aliases)):
            files[name] = self._table(name, rows)
        if content.attributes.num_rows:
            files["attributes"] = attributes = self._table("attributes", content.attributes)
            groups = None
            if before is not None and (before.leaderboard, before.attributes) == (leaderboard, attributes):
                groups = before.groups
            kept = groups is not None and self._is_there(groups)
            files["groups"] = groups if groups is not None and kept else self._table("groups", content.groups)
        rows = content.unrated()
        if rows.num_rows:
            files["unrated"] = self._table("unrated", rows)
        if content.has("seasons"):
            files["seasons"] = self._table("seasons", content.seasons)
        if (smoothed := self._smoothed(content, before)) is not None:
            files["smoothed"] = smoothed
        if (problems := self._problems(content, before)) is not None:
            files["problems"] = problems
        return {"parts": parts, "components": components, **files}

    def _smoothed(self, content: VersionedContent, before: IndexManifest | None) -> SmoothedFile | None:
        smoothing, known = content.smoothing, None if before is None else before.smoothed
        if smoothing.digest is None:
            return None
        if known is not None and known.smoothing == smoothing.digest and self._is_there(known):
            return known
        rows = content.smoothed_rows()
        if rows is None:
            return None
        file = self._table("smoothed", rows)
        return SmoothedFile(file.name, file.size, file.digest, smoothing.digest, dict(smoothing.params))

    def _problems(self, content: VersionedContent, before: IndexManifest | None) -> ProblemsFile | None:
        inputs, known = content.problem_inputs, None if before is None else before.problems
        if not inputs:
            return None
        if known is not None and known.inputs == inputs and self._is_there(known) and self._is_there(known.solves):
            return known
        found = content.problem_tables
        file, solves = self._table("problems", found.problems), self._table("solves", found.solves)
        numbers = found.scale, found.uncertainty, found.left_out
        return ProblemsFile(file.name, file.size, file.digest, solves, inputs, *numbers)

    def _parts(self, content: VersionedContent, before: IndexManifest | None) -> tuple[PartFile, ...]:
        kept, _ = content.kept("leaderboard", None if before is None else before.state)
        parts: list[PartFile] = []
        for part in () if before is None else before.parts:
            of_teams = content.has_teams(part.start, part.stop)
            if part.stop > kept or not self._is_there(part) or part.teams != of_teams:
                break
            parts.append(part)
        known, most = [(part.start, part.stop, part.rows) for part in parts], self._lake.limits.index_rows
        stay, cuts = cut(known, content.rows_of_rounds, most)
        return (*parts[:stay], *(self._part(content, start, stop) for start, stop in cuts))

    def _part(self, content: VersionedContent, start: int, stop: int) -> PartFile:
        file = self._write("rounds", encode_rounds(content.rounds(start, stop)))
        rows, teams = sum(content.rows_of_rounds[start:stop]), content.has_teams(start, stop)
        return PartFile(file.name, file.size, file.digest, start, stop, rows, teams)

    def _table(self, name: str, table: pa.Table) -> IndexFile:
        return self._write(name, encode_table(table))

    def _write(self, kind: str, data: pa.Buffer, suffix: str = "arrow") -> IndexFile:
        digest = digest_of(data)
        file = IndexFile(f"{kind}-{digest}.{suffix}", data.size, digest)
        if not self._is_there(file):
            self._lease.check()
            self._lease.lake.write_bytes(index_path(self._run_name, file.name), data)
            self._sizes[file.name] = file.size
        return file

    def _is_there(self, file: IndexFile) -> bool:
        if self._sizes.get(file.name) != file.size:
            return False
        path = index_path(self._run_name, file.name)
        return not self._rebuild or digest_of(self._lake.read_bytes(path)) == file.digest

    @property
    def _version(self) -> int:
        """The version of the existing root, also of one that is damaged behind it or of another format; 0 without."""
        if self.before is not None:
            return self.before.version
        with suppress(LakeError):
            found = _VERSION.search(self._lake.read_bytes(index_path(self._run_name)))
            return int(found[1]) if found else 0
        return 0
