"""Changing a data set: new files are written first, then the replacement of one file commits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..lake import layout, parquet
from ..lake.access.lake import Lake
from ..lake.parquet import EVENTS, metadata_of
from ..leases.lease import Lease
from ..leases.roots import begin_epoch, epoch_of
from ..names.hints import alike_note
from .correction_editor import CorrectionEditor
from .garbage import METADATA_KEYS, collect_garbage, commit, discard, referenced, replaced
from .order import merge_order, n_moved
from .tables.contests import Contest
from .tables.events import Events
from .tables.log import Log
from .tables.player_index import PlayerIndex
from .tables.players import encode_handles, parts_that_stay
from .tables.points import column_of, join_points
from .tables.rows import Row, rows_of, table_of
from .tables.shards import write_shards
from .tables.standings import standings_name
from .tables.teams import Teams

IngestOrder: TypeAlias = Literal["source", "time"]


class Ingest(CorrectionEditor):
    """The body of ``with Dataset.ingest(lake, name) as ingest``; commits at its end.

    The commit is the replacement of the table of contests. Until then readers see the old state exactly. Files left by
    an exception or a crash are deleted at once or by the next ingest that commits.

    Attributes
    ----------
    removed, recomputed, kind
        See :class:`CorrectionEditor`.
    moved : int
        Number of contests that changed their place among the previous ones; set at the end.
    """

    def __init__(
        self,
        lake: Lake,
        name: str,
        contests: pa.Table | None = None,
        handles: pa.StringArray | None = None,
        log: Log | None = None,
        events: Events | None = None,
        *,
        order: IngestOrder = "source",
        mirror: bool = False,
        rewrite: bool = False,
        create: bool = False,
        lease: Lease | None = None,
        version: str = "",
    ) -> None:
        self._contests_before = contests
        contests = table_of([]) if contests is None else contests
        handles = pa.array([], pa.string()) if handles is None else handles
        rows, players = rows_of(contests), PlayerIndex(handles)
        super().__init__(
            lake if lease is None else lease.lake,
            layout.check_dataset_name(name),
            rows,
            players,
            () if log is None else log.entries,
            () if events is None else events.rows,
        )
        self.moved = 0
        self._order, self._mirror, self._rewrite = order, mirror, rewrite
        self._create = create and self._contests_before is None  # even without a contest
        self._version = version
        metadata = self._metadata_before = metadata_of(contests.schema)
        self._epoch = begin_epoch(lease, epoch_of(metadata))
        self._order_before = list(rows)  # rated order
        self._files_before = referenced(name, (row.file for row in rows.values()), metadata)
        self._parts = metadata.get("player_parts", "").split()
        self._n_players_before = len(players)
        self._kept: set[str] = set()
        self._pending: list[tuple[Contest, Row]] = []
        self._pending_rows = 0
        self._written: list[str] = []
        self._records: dict[str, tuple[bytes, str]] = {}

    def __enter__(self) -> Ingest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            discard(self._lake, self._name, self._written)
            return
        try:
            self._flush()
            self._arrange()
            self._recompute()
            kept = self._commit() if self._changed or self._create else None
        except BaseException:
            discard(self._lake, self._name, self._written)
            raise
        for path, (data, version) in self._records.items():
            self._lake.replace_bytes(path, data, version)
        if kept is not None:
            collect_garbage(self._lake, self._name, kept | self._files_before)

    def add(self, contest: Any) -> Literal["new", "corrected", "unchanged"]:
        """Add a contest (:class:`.Contest`) of a source, in the source's order; see ``order.merge_order``.

        A contest whose content changed is replaced; recorded corrections still apply to it.

        Raises
        ------
        ValueError
            The contest was already added in this ingest.
        """
        contest_id = contest.contest_id
        if contest_id in self._added:
            raise ValueError(f"contest {contest_id} is twice in one ingest into {self._name}; leave one of them out")
        digest = contest.content_digest
        self._added[contest_id] = None
        url = contest.url or None
        known = self._rows.get(contest_id)
        if known is not None and known.source_digest == digest:
            if (known.name, known.url) != (contest.name, url):
                known.name, known.url = contest.name, url
                self._changed = True
            if not self._rewrite:
                return "unchanged"

        if max(len(contest), self._pending_rows) >= self._file_rows:
            self._flush()
        row = self._rows[contest_id] = self._row(contest, digest)
        self._changed = True
        if contest_id in self._log.disqualified:
            self._touched.setdefault(contest_id, [])
        self._pending.append((contest, row))
        self._pending_rows += len(contest)
        if self._pending_rows >= self._file_rows:
            self._flush()
        if known is None:
            return "new"
        return "unchanged" if known.source_digest == digest else "corrected"

    def confirm(self, contest_id: str) -> bool:
        """Count an unchanged contest of the source as added, in its place, without reading it again.

        Returns
        -------
        bool
            Whether the data set has the contest; if not, it must be added.
        """
        known = contest_id in self._rows
        if known:
            self._added[contest_id] = None
        return known

    def record(self, path: str, data: bytes, version: str) -> None:
        """Replace a ``version`` of the record of a source in the data set, once this ingest is committed.

        The record is written under the lease of the ingest. So the last of two ingests also writes the last record.
        """
        self._records[path] = data, version

    def keep(self, contest_id: str) -> None:
        """Keep a contest that the source has but that could not be read: a mirror does not remove it."""
        self._kept.add(contest_id)

    def remove(self, contest_id: str, why: str = "") -> None:
        """Remove a contest; see :meth:`CorrectionEditor.remove`.

        Raises
        ------
        ValueError
            The contest was added in this ingest.
        """
        if contest_id in self._added:
            raise ValueError(f"contest {contest_id} was added to {self._name} in this ingest; leave it out instead")
        super().remove(contest_id, why)

    def alike_players(self) -> str:
        """A line about new players with names nearly equal to those of others; empty without any."""
        if len(self._players) == self._n_players_before:
            return ""
        return alike_note(self._players.since(0).to_pylist(), self._n_players_before)

    def _flush(self) -> None:
        """Write the pending contests as one standings file. They stay pending if that fails."""
        if not self._pending:
            return
        contests = [contest for contest, _ in self._pending]
        rows = [row for _, row in self._pending]
        data = self._encode(contests, rows)
        file = standings_name(data, self._epoch)
        self._write(layout.dataset_file(self._name, "standings", file), data)
        sizes = np.array([row.n_rows for row in rows], np.int64)
        for row, row_start in zip(rows, (np.cumsum(sizes) - sizes).tolist(), strict=True):
            row.file, row.row_start = file, row_start
        if self._log.aliases:
            for index in self._aliased(contests, pa.array(self._log.aliases, pa.string())):
                self._touched.setdefault(rows[index].contest_id, [])
        self._pending.clear()
        self._pending_rows = 0

    @property
    def _file_rows(self) -> int:
        return self._lake.limits.file_rows

    def _row(self, contest: Contest, digest: str) -> Row:
        """The row of a contest as its source gives it."""
        return Row.of(contest, digest)

    def _encode(self, contests: Sequence[Contest], rows: Sequence[Row]) -> pa.Buffer:
        """The file of some contests, with their players numbered."""
        sizes = np.array([row.n_rows for row in rows], np.int64)
        handles = pa.concat_arrays([contest.handles for contest in contests])
        ids = pa.array([row.contest_id for row in rows], pa.string())
        of_row = np.repeat(np.arange(len(rows)), sizes)
        teams = Teams.concat([contest.teams for contest in contests], sizes.tolist())
        table = pa.table(
            {
                "contest_id": ids.take(pa.array(of_row)),
                "player": self._players.rows(handles),
                "handle": handles,
                "lo": np.concatenate([contest.lo for contest in contests], dtype=np.int32),
                "hi": np.concatenate([contest.hi for contest in contests], dtype=np.int32),
                **({} if teams is None else teams.columns),
            }
        )
        if any(contest.rated is not None for contest in contests):
            rated = [np.ones(len(one), np.bool_) if one.rated is None else one.rated for one in contests]
            table = table.append_column("rated", pa.array(np.concatenate(rated)))
        points = join_points([contest.points for contest in contests], sizes.tolist())
        if points is not None:
            table = table.append_column("points", column_of(points))
        return parquet.encode(table, "standings")

    def _aliased(self, contests: Sequence[Contest], aliases: pa.StringArray) -> list[int]:
        """Numbers of the contests with any handle that has an alias."""
        handles = pa.concat_arrays([contest.handles for contest in contests])
        of_row = np.repeat(np.arange(len(contests)), [len(contest) for contest in contests])
        aliased = pc.is_in(handles, value_set=aliases).to_numpy(zero_copy_only=False)
        numbers: list[int] = np.unique(of_row[aliased]).tolist()
        return numbers

    def _arrange(self) -> None:
        """Remove contests that a mirrored source does not have, and sort the others."""
        if self._mirror:
            if not self._added:
                raise ValueError(
                    f"the source has no contests: a mirror of it would remove all {len(self._rows):,} from data set "
                    f"{self._name}; `ranklake remove` removes single ones"
                )
            for contest_id in [known for known in self._rows if known not in self._added.keys() | self._kept]:
                self.remove(contest_id, "mirror")
        ordered = merge_order([known for known in self._order_before if known in self._rows], list(self._added))
        if self._order == "time":
            ordered.sort(key=lambda contest_id: self._rows[contest_id].time_seconds)
        if ordered != self._order_before:
            self._changed = True
            self.moved = n_moved(self._order_before, ordered)
        self._rows = {contest_id: self._rows[contest_id] for contest_id in ordered}

    def _write(self, path: str, data: pa.Buffer) -> None:
        self._written.append(path)
        self._lake.write_bytes(path, data)

    def _commit(self) -> set[str] | None:
        """Commit; returns the files of the data set, None if nothing has changed."""
        parts = self._parts
        if len(self._players) > self._n_players_before:
            parts, first = parts_that_stay(parts, self._n_players_before, self._lake.limits.part_players)
            file, data = encode_handles(first, self._players.since(first), self._epoch)
            self._write(layout.dataset_file(self._name, "players", file), data)
            parts = [*parts, file]
        metadata = {"player_parts": " ".join(parts), "n_players": str(len(self._players))}
        if self.kind:
            metadata["kind"] = self.kind
        if self._epoch:
            metadata["epoch"] = str(self._epoch)
        if self._log.entries:
            metadata["log"] = self._log.file(self._epoch)
            path = layout.dataset_file(self._name, "log", metadata["log"])
            if path not in self._files_before:
                self._write(path, parquet.encode(self._log.table, "log"))
        if self._events.rows:
            metadata[EVENTS] = self._events.file(self._epoch)
            path = layout.dataset_file(self._name, "events", metadata[EVENTS])
            if path not in self._files_before:
                self._write(path, parquet.encode(self._events.table, "events"))
        rows = self._rows.values()
        table = table_of(rows)
        if self._is_as_before(table, metadata):
            self._lake.flush()
            return None
        before, limits = self._contests_before, self._lake.limits
        root, shards = write_shards(self._name, table, before, self._epoch, limits, self._write)
        metadata |= shards
        files = referenced(self._name, (row.file for row in rows), metadata)
        metadata |= replaced(self._files_before, files)
        commit(self._lake, self._name, root, metadata, self._version)
        return files

    def _is_as_before(self, table: pa.Table, metadata: Mapping[str, str]) -> bool:
        """Whether the table is the one that was read: contests were written again, but have not changed."""
        known = self._contests_before is not None and table.equals(self._contests_before)
        return known and all(metadata.get(key) == self._metadata_before.get(key) for key in METADATA_KEYS)
