"""Reading a run as far as it is committed: its configuration, its segments and their rows, its snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..lake import layout, parquet
from ..lake.access.lake import Lake, digest_of
from ..lake.errors import LakeError, MissingError
from ..lake.json_files import decode
from ..lake.remedies import damaged
from ..lake.schemas import ROUNDS
from ..leases.roots import names_with_root, read_root
from . import components, snapshots
from .entry_ratings import EntryRatings, read_entry_ratings
from .reset_players import read_reset_file, reset_files
from .segments import MANIFEST, Chain, Segment, read_chain, read_newest
from .snapshot_columns import Column
from .snapshots import SNAPSHOT_MANIFEST


class StoredRun:
    """The committed part of a run, read-only. See :class:`ranklake.storage.runs.run.Run`."""

    def __init__(self, lake: Lake, name: str, config: dict[str, Any], version: str = "") -> None:
        self.lake = lake
        self.name = name
        self.config = config
        self._version = version
        self._epoch = int(self.config.pop("epoch", 0))
        self._rounds = layout.rounds_folder(name, self._epoch)

    @classmethod
    def open(cls, lake: Lake, name: str) -> Self:
        """The run called ``name``.

        Raises MissingError: the run does not exist; names the existing runs.
        """
        path = layout.run_file(name)
        data, read = read_root(lake, path)
        if data is None:
            names = cls.names(lake)
            existing = f"there are: {', '.join(names)}" if names else "it has none yet; `ranklake rate` makes one"
            raise MissingError(f"no run {name!r} in {lake.url}; {existing}", path=path)
        config = decode(dict[str, Any], data, path)
        del config["format"]
        return cls(lake, name, config, read)

    @staticmethod
    def names(lake: Lake) -> list[str]:
        """Names of the runs of a lake, sorted."""
        return names_with_root(lake, layout.RUNS, layout.run_file)

    @classmethod
    def names_over_dataset(cls, lake: Lake, dataset: str) -> list[str]:
        """Names of the runs that rate a data set, sorted, as far as their ``run.json`` can be read."""
        names = []
        for name in cls.names(lake):
            with suppress(LakeError):
                if cls.open(lake, name).config.get("dataset") == dataset:
                    names.append(name)
        return names

    def segments(self) -> Chain:
        """The rounds committed so far: the valid prefix, and the manifests beyond it."""
        return read_chain(self.lake, self._rounds)

    def newest_segment(self) -> Segment | None:
        """The segment committed last, without a check of the earlier ones; None if there is none."""
        return read_newest(self.lake, self._rounds)

    def iter_segments(
        self,
        start: int = 0,
        stop: int | None = None,
        columns: Sequence[str] | None = None,
        *,
        verify: bool = False,
        chain: Chain | None = None,
        unrated: bool = False,
    ) -> Iterator[tuple[Segment, pa.Table]]:
        """Committed segments with rounds from ``start`` to ``stop``, each with its rows of those rounds.

        ``verify`` compares each file with the digest in its manifest; with ``chain`` the manifests are not read again.
        Rows of unrated participants are left out, unless ``unrated`` is true.

        Raises DamagedError: a file does not match its manifest.
        """
        chosen = [
            segment
            for segment in (chain or self.segments()).segments
            if max(segment.first_round, start) < (segment.stop_round if stop is None else min(segment.stop_round, stop))
        ]
        for segment, table in zip(chosen, self._read_tables(chosen, columns, verify, unrated), strict=True):
            rows = segment.rows_between(start, stop, unrated)
            yield segment, table.slice(rows.start, rows.stop - rows.start)

    def read_rounds(
        self, start: int = 0, stop: int | None = None, columns: Sequence[str] | None = None, *, verify: bool = False
    ) -> pa.Table:
        """Rows of the committed rounds from ``start`` to ``stop``, in order; as for ``iter_segments``."""
        empty = ROUNDS.empty_table().select(ROUNDS.names if columns is None else list(columns))
        tables = [table for _, table in self.iter_segments(start, stop, columns, verify=verify)]
        return pa.concat_tables([empty, *(table.replace_schema_metadata() for table in tables)])

    def read_segment(self, segment: Segment) -> pa.Table:
        """All rated rows of a segment, compared with its manifest.

        Raises MissingError, DamagedError: the file does not exist, or does not match its manifest.
        """
        return next(self._read_tables([segment], None, verify=True))

    def path_of(self, segment: Segment) -> str:
        """Path of a segment's data, inside the lake."""
        return f"{self._rounds}/{segment.file}"

    def sizes_of(self, groups: Iterable[Sequence[Segment]]) -> list[int]:
        """Size in bytes of each group of segments, data and manifests, from one listing."""
        sizes = self.lake.sizes(self._rounds)
        return [
            sum(
                sizes.get(name, 0)
                for segment in group
                for name in (segment.file, layout.numbered(segment.first_round, MANIFEST))
            )
            for group in groups
        ]

    def path_of_snapshot(self, last_round: int) -> str:
        """Folder of a snapshot, inside the lake."""
        return f"{layout.snapshots_folder(self.name, self._epoch)}/{layout.numbered(last_round)}"

    def read_snapshot(
        self, last_round: int, players: npt.NDArray[np.int64] | None = None
    ) -> tuple[dict[str, Column], str]:
        """The belief about every player, or some, after ``last_round``; see ``snapshots.read_snapshot``."""
        return snapshots.read_snapshot(self.lake, self.path_of_snapshot(last_round), last_round, players)

    def snapshot_digest(self, last_round: int) -> str:
        """Chain digest of the snapshot after ``last_round``; see ``snapshots.read_digest``."""
        return snapshots.read_digest(self.lake, self.path_of_snapshot(last_round))

    def meetings(self, last_round: int, digest: str) -> components.Meetings | None:
        """Who met whom until the snapshot after ``last_round``; see ``components.read_meetings``."""
        return components.read_meetings(self.lake, self.path_of_snapshot(last_round), digest)

    def snapshots(self) -> list[int]:
        """Last rounds of the complete snapshots, ascending."""
        return [number for number, complete in self._snapshot_folders() if complete]

    def entry_ratings(self) -> EntryRatings:
        """The recorded ratings at entry; see ``entry_ratings.read_entry_ratings``."""
        return read_entry_ratings(self.lake, self.entry_folder)

    def reset_players(self) -> dict[int, list[str]]:
        """The recorded players of resets by attributes, by the number of the event; see ``reset_players``."""
        files = reset_files(self.lake, self.entry_folder)
        return {event_id: read_reset_file(self.lake, self.entry_folder, name) for event_id, name in files.items()}

    def round_digests(self, chain: Chain) -> list[str]:
        """A digest for each round of all that its ratings depend on, with the recorded ratings at entry."""
        return self.entry_ratings().with_decisions(chain.contest_ids, chain.digests)

    @property
    def rounds_folder(self) -> str:
        """Folder of the segments, inside the lake."""
        return self._rounds

    @property
    def entry_folder(self) -> str:
        """Folder of the ratings at entry and of the players of resets, inside the lake."""
        return layout.entry_folder(self.name, self._epoch)

    def _path(self, first_round: int, suffix: str) -> str:
        return f"{self._rounds}/{layout.numbered(first_round, suffix)}"

    def _read_tables(
        self, segments: Sequence[Segment], columns: Sequence[str] | None, verify: bool, unrated: bool = False
    ) -> Iterator[pa.Table]:
        for segment, data in self._read_files(segments, verify):
            names = list(ROUNDS.names if columns is None else columns)
            if segment.unrated and "rated" not in names:
                names.append("rated")
            table = parquet.decode(data, "rounds", self.path_of(segment), names)
            n_rows = segment.n_rows + sum(segment.unrated)
            if table.num_rows != n_rows:
                raise damaged(self.path_of(segment), f"has {table.num_rows} rows, its manifest records {n_rows}")
            if segment.unrated and not unrated:
                table = table.filter(table.column("rated").fill_null(True)).drop_columns("rated")
                if table.num_rows != segment.n_rows:
                    rule = f"has {table.num_rows} rated rows, its manifest records {segment.n_rows}"
                    raise damaged(self.path_of(segment), rule)
            yield table

    def _read_files(self, segments: Sequence[Segment], verify: bool = True) -> Iterator[tuple[Segment, bytes]]:
        """Segments with the content of their files, compared with the digests in their manifests."""
        files = self.lake.read_many([self.path_of(segment) for segment in segments])
        for segment, data in zip(segments, files, strict=True):
            if verify and digest_of(data) != segment.file_digest:
                raise damaged(self.path_of(segment), "does not match its manifest")
            yield segment, data

    def _snapshot_folders(self) -> list[tuple[int, bool]]:
        folder = layout.snapshots_folder(self.name, self._epoch)
        numbers = sorted(number for name in self.lake.list(folder) if (number := layout.number_of(name)) is not None)
        return [(n, self.lake.exists(f"{self.path_of_snapshot(n)}/{SNAPSHOT_MANIFEST}")) for n in numbers]
