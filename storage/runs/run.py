"""Changing a run: rounds are committed by segments, data first and manifest last, always a valid prefix."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..lake import layout
from ..lake.access.lake import Lake
from ..lake.errors import DamagedError, LakeError, MissingError
from ..lake.schemas import FORMAT_VERSION
from ..leases.lease import Lease
from ..leases.roots import begin_epoch, delete_root, read_root
from . import components, snapshots
from .chances import chances_path
from .entry_ratings import merge_entry_ratings, write_entry_ratings
from .reset_players import write_reset_file
from .segments import DATA, MANIFEST, Chain, RoundEntry, Segment, merged_file
from .snapshot_columns import Column
from .snapshots import EncodedPart, Part
from .stored_run import StoredRun
from .worker_parts import WriteParts, write_parts

Longs = npt.NDArray[np.int64]


def concatenate_rounds(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of rounds as one, some of which have the column ``rated``."""
    table = pa.concat_tables(tables, promote_options="default")
    if "rated" not in table.column_names:
        return table
    at = table.column_names.index("rated")
    return table.set_column(at, "rated", table.column(at).fill_null(True))


class Run(StoredRun):
    """One system's ratings of one data set, round by round; one writer at a time. Made by ``Run.create``, ``Run.open``.

    Attributes
    ----------
    config : dict
        The configuration, as in ``run.json``.
    lease : Lease or None
        The lease of the writer; after its loss nothing is committed.
    """

    def __init__(
        self, lake: Lake, name: str, config: dict[str, Any], version: str = "", lease: Lease | None = None
    ) -> None:
        super().__init__(lake, name, config, version)
        self.lease = lease

    @classmethod
    def create(cls, lake: Lake, name: str, config: Mapping[str, Any], lease: Lease | None = None) -> Run:
        """A new run without rounds, under the lease of its writer if other processes may write.

        Raises
        ------
        LakeError
            A run of that name exists.
        ValueError
            JSON cannot hold ``config`` (spell infinity "inf"), or it has a key ``format``.
        """
        path = layout.run_file(name)
        data, version = read_root(lake, path)
        if data is not None:
            raise LakeError(f"run {name!r} exists already in {lake.url}; choose another name", path=path)
        run = cls(lake, name, {"epoch": begin_epoch(lease, 0)}, version, lease)
        run.truncate(0)  # files of a run whose deletion was interrupted
        run.remove_entry_ratings()
        run.configure(config)
        return run

    @classmethod
    def take_over(cls, lake: Lake, name: str, lease: Lease) -> None:
        """Begin an epoch of a run in an object store if an old writer may come back.

        The rounds, what they have taught of draws, the newest valid snapshot, the ratings at entry and the players of
        resets are copied to folders in which that writer does not write; see ``ranklake.storage.leases.roots``.

        Raises
        ------
        DamagedError
            A file does not match its manifest.
        """
        if lease.predecessor < 0:
            return
        try:
            old = cls.open(lake, name)
        except MissingError:
            return  # the creation of the run begins an epoch
        epoch = begin_epoch(lease, old._epoch)
        if epoch == old._epoch:
            return
        new = cls(lake, name, {**old.config, "epoch": epoch}, old._version, lease)
        chain = old.segments()
        for segment, data in old._read_files(chain.segments):
            lease.lake.write_bytes(new.path_of(segment), data)
            lease.lake.commit_bytes(new._path(segment.first_round, MANIFEST), segment.to_json())
        for last_round in [number for number in reversed(old.snapshots()) if number < chain.stop_round]:
            with suppress(DamagedError, MissingError):  # an older one serves
                new.write_snapshot(last_round, *old.read_snapshot(last_round))
                break
        with suppress(MissingError):
            lease.lake.write_bytes(chances_path(new), lake.read_bytes(chances_path(old)))
        for name in lake.list(old.entry_folder):
            lease.lake.write_bytes(f"{new.entry_folder}/{name}", lake.read_bytes(f"{old.entry_folder}/{name}"))
        new.configure(new.config)
        new._remove_folders(lambda folder: not folder.endswith((layout.epoch_suffix(epoch), "smoothing")))

    def configure(self, config: Mapping[str, Any]) -> None:
        """Replace the configuration. The rounds stay; their digests show which of them are still valid.

        Raises
        ------
        ValueError
            As for ``create``.
        """
        if "format" in config:
            raise ValueError(f"config must leave `format` to the lake, got {config['format']!r}")
        epoch = {"epoch": self._epoch} if self._epoch else {}
        text = json.dumps({"format": FORMAT_VERSION, **epoch, **config}, indent=2, ensure_ascii=False, allow_nan=False)
        path = layout.run_file(self.name)
        self._version = self._checked().replace_bytes(path, text.encode(), self._version)
        self.config = json.loads(text)
        for key in ("format", *epoch):
            del self.config[key]

    def append(self, table: pa.Table, entries: Sequence[RoundEntry], parent_digest: str, machine: str = "") -> Segment:
        """Commit consecutive rounds as one segment. They exist once this returns, and not before.

        Parameters and errors as for :meth:`write`.
        """
        segment = self.write(table, entries, parent_digest, machine)
        self.commit([segment])
        return segment

    def write(self, table: pa.Table, entries: Sequence[RoundEntry], parent_digest: str, machine: str = "") -> Segment:
        """Write the rows of consecutive rounds, which :meth:`commit` then commits as one segment.

        Parameters
        ----------
        table
            Rows of all the rounds, in order; see ``schemas.ROUNDS``. May be empty. Unrated participants have rows in a
            table with the optional column ``rated``.
        entries
            The rounds, at least one, without a gap.
        parent_digest
            Chain digest of the round before the first; empty at round 0.
        machine
            The kind of machine that rated the rounds, for messages.

        Raises
        ------
        ValueError
            The rounds have gaps, or the table's rows are not theirs.
        """
        if not entries:
            raise ValueError("a segment needs at least one round, got none")
        first = entries[0].round_index
        rounds = np.arange(first, first + len(entries))
        if [entry.round_index for entry in entries] != rounds.tolist():
            raise ValueError(
                f"rounds of a segment must follow each other, got {[entry.round_index for entry in entries]}"
            )
        rows = np.repeat(rounds, [entry.rows + entry.unrated for entry in entries])
        if not np.array_equal(table.column("round_index").to_numpy(), rows):
            raise ValueError(f"segment {first}: round_index must give each round its rows, in order; see entries")
        written = self._files.write_table(self._path(first, DATA), table, "rounds")
        return Segment.of(entries, parent_digest, written, machine)

    def commit(self, segments: Sequence[Segment]) -> None:
        """Commit segments that :meth:`write` has written, in their order: their rounds exist once this returns."""
        self._checked().commit_many({self._path(one.first_round, MANIFEST): one.to_json() for one in segments})

    def truncate(self, first_round: int, chain: Chain | None = None) -> Chain:
        """Keep the valid segments that end before ``first_round``; delete all others, newest first.

        Snapshots that are not older than the deleted rounds are deleted, too, as are files left by a crash. At every
        moment the run is a valid prefix.

        With ``chain``, the segments as read under the same lease, the manifests are not read again.

        Returns
        -------
        Chain
            The segments kept; ``stop_round`` is less than ``first_round`` if that lies inside a segment.
        """
        self._files.check_lease()
        segments = (chain or self.segments()).segments
        kept = tuple(segment for segment in segments if segment.stop_round <= first_round)
        chain = Chain(kept, (), "")
        self._remove_snapshots(chain.stop_round)
        needed = {layout.numbered(segment.first_round, MANIFEST) for segment in kept}
        needed |= {segment.file for segment in kept}
        to_delete: list[tuple[int, bool, str]] = []
        for name in self.lake.list(self._rounds):
            number = layout.number_of(re.split("[-.]", name)[0])
            if name not in needed and (number is not None or name.startswith(layout.TEMPORARY_PREFIX)):
                to_delete.append((-1 if number is None else number, name.endswith(MANIFEST), name))
        for _, _, name in sorted(to_delete, reverse=True):  # of one segment, the manifest goes first
            self._checked().delete(f"{self._rounds}/{name}")  # each time: it must not delete files of a successor
        return chain

    def merge(self, segments: Sequence[Segment]) -> Segment:
        """Replace several consecutive segments by one, in one step.

        The replaced files stay until the next :meth:`truncate`, so that running readers can finish.

        Raises
        ------
        DamagedError
            A file does not match its manifest.
        """
        tables = [table.replace_schema_metadata() for table in self._read_tables(segments, None, True, unrated=True)]
        first, last = segments[0].first_round, segments[-1].stop_round - 1
        data = concatenate_rounds(tables)
        written = self._files.write_table(f"{self._rounds}/{merged_file(first, last)}", data, "rounds")
        merged = Segment.merged(segments, written)
        self._checked().commit_bytes(self._path(first, MANIFEST), merged.to_json())
        return merged

    def record_entry_ratings(self, tables: Sequence[pa.Table]) -> None:
        """Record ratings at entry, before the rounds of their contests are appended; see ``schemas.ENTRY``."""
        write_entry_ratings(self._checked(), self.entry_folder, tables)

    def record_reset_players(self, event_id: int, handles: Sequence[str]) -> None:
        """Record the players of a reset, before the rounds after it are appended; see ``reset_players``."""
        write_reset_file(self._checked(), self.entry_folder, event_id, handles)

    def merge_entry_ratings(self) -> None:
        """Merge the files of the ratings at entry into one; see ``entry_ratings.merge_entry_ratings``."""
        merge_entry_ratings(self._checked(), self.entry_folder)

    def remove_entry_ratings(self) -> None:
        """Delete all ratings at entry and players of resets, so that the next rating decides again."""
        if self.lake.list(self.entry_folder):
            self._checked().delete_folder(self.entry_folder)

    def delete(self) -> None:
        """Delete the run, or the rest of one whose deletion was interrupted.

        The first step deletes ``run.json``: the run no longer exists. Files left by a crash are deleted by the next
        deletion or creation of a run with this name. The lease stays: its number distinguishes writers of a later run
        with this name.
        """
        if self.lease is None:
            self.lake.delete(layout.run_file(self.name))
            self.lake.flush()
        else:
            delete_root(self.lake, layout.run_file(self.name), self.lease)
        self._remove_folders(lambda _: True)

    def write_snapshot(self, last_round: int, columns: Mapping[str, Column], digest: str) -> None:
        """Write every player's belief after ``last_round``; see ``snapshots.encode_parts``."""
        self.write_encoded(last_round, snapshots.encode_parts(columns), digest)

    def write_encoded(self, last_round: int, parts: Iterable[EncodedPart], digest: str) -> None:
        """Write every player's belief after ``last_round``, encoded already; see ``snapshots.write_snapshot``."""
        snapshots.write_snapshot(self._checked(), self.path_of_snapshot(last_round), last_round, parts, digest)

    def write_meetings(self, last_round: int, found: components.Meetings, digest: str) -> None:
        """Write who met whom beside the snapshot after ``last_round``; see ``components``."""
        path = f"{self.path_of_snapshot(last_round)}/{components.FILE}"
        self._checked().write_bytes(path, components.encode_meetings(found, digest))

    def write_parts(self, last_round: int, write: WriteParts) -> list[list[Part] | str]:
        """Have other processes write the parts of a snapshot after ``last_round``; see ``worker_parts.write_parts``."""
        if self.lease is None:
            raise ValueError(f"run {self.name}: other processes write under a lease only")
        return write_parts(self.lake, self.path_of_snapshot(last_round), self.lease, write)

    def commit_parts(self, last_round: int, parts: Sequence[Part], digest: str) -> None:
        """Commit the snapshot after ``last_round``, whose parts :meth:`write_parts` has written; they have all players.

        Until then the snapshot does not exist, and :meth:`truncate` deletes the parts.
        """
        snapshots.commit_parts(self._checked(), self.path_of_snapshot(last_round), last_round, parts, digest)

    def prune_snapshots(self, keep: int, rows: Sequence[int] | Longs | None = None, gap: int = 0) -> None:
        """Delete all but ``keep`` snapshots: the newest stay, and others evenly spread over the history.

        Parameters
        ----------
        rows
            Participations until the end of each round; by default each round counts as one.
        gap
            Also delete a snapshot if its neighbours are at most this far apart.
        """
        if keep < 0:
            raise ValueError(f"keep must be >= 0 snapshots, got {keep}")
        numbers = self.snapshots()
        self._files.check_lease()  # after the listing: a successor's snapshots may be of rounds beyond ``rows``
        positions = numbers if rows is None else [int(rows[number]) for number in numbers]
        for index in snapshots.snapshots_to_remove(positions, keep, gap):
            self.remove_snapshot(numbers[index])

    def remove_snapshot(self, last_round: int) -> None:
        """Delete the snapshot after ``last_round``, damaged or not."""
        snapshots.clear_snapshot(self._checked(), self.path_of_snapshot(last_round))

    def _remove_folders(self, which: Callable[[str], bool]) -> None:
        """Delete the folders of segments, snapshots and the smoothing that ``which`` selects, segments last."""
        folder = layout.run_folder(self.name)
        for name in sorted(self.lake.list(folder), reverse=True):
            if name.partition("-")[0] in ("snapshots", "smoothing", "entry", "rounds") and which(name):
                self._files.delete_folder(f"{folder}/{name}")

    @property
    def _files(self) -> Lake:
        """The lake, to change files of the run."""
        return self.lake if self.lease is None else self.lease.lake

    def _checked(self) -> Lake:
        """The lake, to change files of the run, after a check of the lease: a successor may have taken it."""
        self._files.check_lease()
        return self._files

    def _remove_snapshots(self, first_round: int) -> None:
        for number, complete in reversed(self._snapshot_folders()):
            if number >= first_round or not complete:
                self.remove_snapshot(number)
