"""Write the index of a published run: only the parts whose rounds have changed, and the manifest last."""

from __future__ import annotations

import time
from contextlib import suppress

import msgspec
import pyarrow as pa

from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.access.lake import digest_of
from ranklake.storage.lake.layout import published_folder
from ranklake.storage.leases.lease import Lease

from .content import Content
from .index_manifest import FOLDER, INDEX, IndexFile, IndexManifest, PartFile, index_path, read_manifest
from .index_parts import cut, encode_part, encode_table

__all__ = ["IndexWriter", "delete_index"]


class IndexWriter:
    """Writes the index of the current state of a run."""

    def __init__(self, lake: Lake, lease: Lease, run_name: str, content: Content) -> None:
        self._lake, self._lease, self._run_name, self._content = lake, lease, run_name, content
        self._stored = lake.entries(published_folder(run_name)).get(INDEX, (0, ""))[1]
        self._sizes = lake.sizes(f"{published_folder(run_name)}/{FOLDER}")

    def publish(self, board: pa.Table | None) -> None:
        """Bring the index up to date; ``board`` is the leaderboard if it was computed."""
        before = self._before()
        state = self._content.state("leaderboard")
        parts = self._parts(before)
        if before is not None and before.state == state and self._is_there(before.leaderboard):
            leaderboard = before.leaderboard
        else:
            leaderboard = self._table("leaderboard", self._content.leaderboard() if board is None else board)
        contests, aliases = (
            self._table("contests", self._content.contests),
            self._table("aliases", self._content.aliases),
        )
        of_attributes = self._attributes(before, leaderboard, board)
        attributes, groups = of_attributes or (None, None)
        rows = self._content.unrated()
        unrated = self._table("unrated", rows) if rows.num_rows else None
        further = () if unrated is None else (unrated,)
        facts = self._content.facts()
        names = [file.name for file in (*parts, leaderboard, contests, aliases, *(of_attributes or ()), *further)]
        seen = [*names, *(facts[key] for key in ("system", "params", "deviations", "titles", "n_rounds"))]
        content = digest_of(msgspec.json.encode(seen, order="sorted"))
        if before is not None and before.content == content:
            if before.source == facts["source"] and before.state == state:
                return
            version, time_seconds, previous = before.version, before.time_seconds, before.previous
        else:
            version, time_seconds = 1 if before is None else before.version + 1, time.time()
            previous = tuple(file.name for file in before.files if file.name not in names) if before else ()
        manifest = IndexManifest(
            version=version, content=content, time_seconds=time_seconds, parts=parts, leaderboard=leaderboard,
            contests=contests, aliases=aliases, state=state, previous=previous, attributes=attributes,
            groups=groups, unrated=unrated, pools=self._content.pools(), **facts,
        )  # fmt: skip
        self._lease.check()
        self._lease.replace_bytes(index_path(self._run_name), msgspec.json.encode(manifest), self._stored)
        self._clean({*names, *previous})

    def _before(self) -> IndexManifest | None:
        """The existing manifest; None if there is none that this release reads."""
        with suppress(LakeError):
            return read_manifest(self._lake, self._run_name)
        return None

    def _parts(self, before: IndexManifest | None) -> tuple[PartFile, ...]:
        kept = 0 if before is None else self._content.kept("leaderboard", before.state)
        parts: list[PartFile] = []
        for part in () if before is None else before.parts:
            of_teams = self._content.has_teams(part.start, part.stop)
            if part.stop > kept or not self._is_there(part) or part.teams != of_teams:
                break
            parts.append(part)
        stay, cuts = cut([(part.start, part.stop, part.rows) for part in parts], self._content.rows_of_rounds)
        return (*parts[:stay], *(self._part(start, stop) for start, stop in cuts))

    def _attributes(
        self, before: IndexManifest | None, leaderboard: IndexFile, board: pa.Table | None
    ) -> tuple[IndexFile, IndexFile] | None:
        """The files of attributes and groups; None without attributes."""
        if not self._content.attributes.num_rows:
            return None
        attributes = self._table("attributes", self._content.attributes)
        same = before is not None and (before.leaderboard, before.attributes) == (leaderboard, attributes)
        if same and before is not None and before.groups is not None and self._is_there(before.groups):
            return attributes, before.groups
        groups = self._content.groups(self._content.leaderboard() if board is None else board)
        return attributes, self._table("groups", groups)

    def _part(self, start: int, stop: int) -> PartFile:
        data = encode_part(self._content.rounds(start, stop))
        rows = sum(self._content.rows_of_rounds[start:stop])
        file = self._write("rounds", data)
        teams = self._content.has_teams(start, stop)
        return PartFile(
            name=file.name, size=file.size, digest=file.digest, start=start, stop=stop, rows=rows, teams=teams
        )

    def _table(self, name: str, table: pa.Table) -> IndexFile:
        return self._write(name, encode_table(table))

    def _write(self, kind: str, data: pa.Buffer) -> IndexFile:
        digest = digest_of(data)
        file = IndexFile(f"{kind}-{digest}.arrow", data.size, digest)
        if not self._is_there(file):
            self._lease.check()
            self._lease.write_bytes(index_path(self._run_name, file.name), data)
        return file

    def _is_there(self, file: IndexFile) -> bool:
        return self._sizes.get(file.name) == file.size

    def _clean(self, needed: set[str]) -> None:
        """Delete the files that neither this manifest nor the one before has."""
        for name in self._sizes.keys() - needed:
            with suppress(LakeError):  # Windows refuses while a reader maps the file; the next publish deletes it
                self._lease.delete(index_path(self._run_name, name))


def delete_index(lake: Lake, run_name: str, lease: Lease) -> None:
    """Delete the index of a run; does nothing if there is none."""
    lease.delete(index_path(run_name))
    for name in lake.list(f"{published_folder(run_name)}/{FOLDER}"):
        lease.delete(index_path(run_name, name))
