"""Adding contests to a data set: everything is written aside, then one replaced file makes it count."""

from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Literal

import numpy as np
import pyarrow as pa

from storage import layout
from storage.contests import Contest
from storage.errors import LakeError, MissingError
from storage.lake import Lake
from storage.parquet import metadata_of
from storage.players import PlayerIndex, write_handles
from storage.schemas import CONTESTS

__all__ = ["Ingest"]

# Consecutive contests share a standings file until it has this many rows: a million small games are few files.
_FILE_ROWS = 2_000


class Ingest:
    """The body of ``with Dataset.ingest(lake, name) as ingest``; commits at its end.

    The commit is the replacement of the table of contests. Until then the old state reads back exactly, and whatever
    an exception or a crash leaves behind is swept now or by the next ingest that commits.
    """

    def __init__(
        self, lake: Lake, name: str, contests: pa.Table | None = None, handles: pa.StringArray | None = None
    ) -> None:
        contests = CONTESTS.empty_table() if contests is None else contests.select(CONTESTS.names)
        columns = [column.to_pylist() for column in contests.columns]
        self._rows = {row.contest_id: row for row in map(_Row, *columns)}  # in rated order
        self._lake = lake
        self._name = layout.check_dataset_name(name)
        self._files_before = frozenset(row.file for row in self._rows.values())
        self._players = PlayerIndex(pa.array([], pa.string()) if handles is None else handles)
        self._n_players_before = len(self._players)
        self._n_parts = int(metadata_of(contests.schema).get("player_parts", 0))
        self._added: set[str] = set()
        self._pending: list[tuple[Contest, _Row]] = []
        self._pending_rows = 0
        self._written: list[str] = []
        self._changed = False

    def __enter__(self) -> Ingest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._discard()
            return
        try:
            self._flush()
            if self._changed:
                self._commit()
        except BaseException:
            self._discard()
            raise
        if self._changed:
            self._sweep()

    def add(self, contest: Contest) -> Literal["new", "corrected", "unchanged"]:
        """Take in one contest, after those there are; one whose content changed is replaced in its place.

        Raises
        ------
        ValueError
            The contest was already added in this ingest.
        """
        contest_id = contest.contest_id
        if contest_id in self._added:
            raise ValueError(f"contest {contest_id} comes twice in one ingest into {self._name}; leave one of them out")
        digest = contest.content_digest
        self._added.add(contest_id)
        url = contest.url or None
        known = self._rows.get(contest_id)
        if known is not None and known.content_digest == digest:
            if (known.name, known.url) != (contest.name, url):
                known.name, known.url = contest.name, url
                self._changed = True
            return "unchanged"

        n_players = len(contest)
        if max(n_players, self._pending_rows) >= _FILE_ROWS:
            self._flush()
        ceiling = None if contest.perf_ceiling == math.inf else contest.perf_ceiling
        row = _Row(
            contest_id, contest.name, url, contest.time_seconds, contest.weight, ceiling, n_players, digest, "", 0
        )
        self._rows[contest_id] = row
        self._changed = True
        self._pending.append((contest, row))
        self._pending_rows += n_players
        if self._pending_rows >= _FILE_ROWS:
            self._flush()
        return "new" if known is None else "corrected"

    def _flush(self) -> None:
        """Write the pending contests as one standings file. They stay pending if that fails."""
        if not self._pending:
            return
        contests = [contest for contest, _ in self._pending]
        rows = [row for _, row in self._pending]
        sizes = np.array([row.n_players for row in rows], np.int64)
        handles = pa.concat_arrays([contest.handles for contest in contests])
        ids = pa.array([row.contest_id for row in rows], pa.string())
        table = pa.table(
            {
                "contest_id": ids.take(pa.array(np.repeat(np.arange(len(rows)), sizes))),
                "player": self._players.rows(handles),
                "handle": handles,
                "lo": np.concatenate([contest.lo for contest in contests], dtype=np.int32),
                "hi": np.concatenate([contest.hi for contest in contests], dtype=np.int32),
            }
        )
        members = "".join(row.content_digest for row in rows)
        file = f"{hashlib.blake2b(members.encode(), digest_size=16).hexdigest()}.parquet"
        path = layout.standings_file(self._name, file)
        # Never skipped when there is such a file: a crashed ingest may have given its players other indices.
        self._written.append(path)
        self._lake.write_table(path, table, "standings")
        for row, row_start in zip(rows, (np.cumsum(sizes) - sizes).tolist(), strict=True):
            row.file, row.row_start = file, row_start
        self._pending.clear()
        self._pending_rows = 0

    def _commit(self) -> None:
        n_parts = self._n_parts
        if len(self._players) > self._n_players_before:
            self._written.append(layout.players_file(self._name, n_parts))
            handles = self._players.since(self._n_players_before)
            write_handles(self._lake, self._name, n_parts, self._n_players_before, handles)
            n_parts += 1
        rows = self._rows.values()
        columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in CONTESTS]
        facts = {"player_parts": str(n_parts), "n_players": str(len(self._players))}
        table = pa.Table.from_arrays(columns, schema=CONTESTS)
        self._lake.write_table(layout.contests_file(self._name), table, "contests", metadata=facts)
        self._n_parts = n_parts

    def _discard(self) -> None:
        """Remove what this ingest wrote, save what counts after all: a commit may succeed and yet raise."""
        # What cannot be read or removed now is harmless, and the next ingest sweeps it.
        with suppress(LakeError):
            committed = self._committed()
            for path in reversed(self._written):
                if path not in committed:
                    self._lake.delete(path)

    def _committed(self) -> set[str]:
        try:
            table = self._lake.read_table(layout.contests_file(self._name), "contests", ["file"])
        except MissingError:
            return set()
        paths = {layout.standings_file(self._name, file) for file in table.column("file").unique().to_pylist()}
        n_parts = int(metadata_of(table.schema)["player_parts"])
        return paths | {layout.players_file(self._name, part) for part in range(n_parts)}

    def _sweep(self) -> None:
        """Remove what crashed ingests left behind, and files that neither this state nor the one before refers to."""
        files = self._files_before | {row.file for row in self._rows.values()}
        parts = {layout.numbered(part, ".parquet") for part in range(self._n_parts)}
        contests = layout.contests_folder(self._name)
        kept = {
            layout.standings_folder(self._name): files,
            layout.players_folder(self._name): parts,
            contests: {layout.contests_file(self._name).removeprefix(f"{contests}/")},
        }
        # The data are committed: failing to tidy up is no failure.
        with suppress(LakeError):
            for folder, names in kept.items():
                for name in self._lake.list(folder):
                    if name not in names:
                        self._lake.delete(f"{folder}/{name}")


@dataclass(slots=True)
class _Row:
    """One row of the table of contests, columns in its order."""

    contest_id: str
    name: str
    url: str | None
    time_seconds: int
    weight: float
    perf_ceiling: float | None
    n_players: int
    content_digest: str
    file: str
    row_start: int


assert [field.name for field in fields(_Row)] == CONTESTS.names
