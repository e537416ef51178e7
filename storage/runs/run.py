"""Runs: rated rounds committed segment by segment, data first and manifest last, always a valid prefix."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..lake import layout
from ..lake.errors import DamagedError, LakeError, MissingError
from ..lake.lake import Lake, digest_of
from ..lake.remedies import damaged
from ..lake.schemas import FORMAT_VERSION
from ..leases.fence import Writer
from ..leases.lease import Lease
from ..leases.roots import begin_epoch, delete_root, read_root
from . import snapshots
from .segments import DATA, MANIFEST, Chain, RoundEntry, Segment, merged_file
from .snapshots import SNAPSHOT_MANIFEST, Column
from .stored_run import StoredRun

__all__ = ["Run"]

Longs = npt.NDArray[np.int64]


class Run(StoredRun):
    """One system's ratings of one data set, round by round; one writer at a time. Made by ``Run.create``, ``Run.open``.

    Attributes
    ----------
    config : dict
        What the run computes, as JSON holds it.
    lease : Lease or None
        The writer's: who has lost it commits nothing more.
    """

    def __init__(
        self, lake: Lake, name: str, config: dict[str, Any], version: str = "", lease: Lease | None = None
    ) -> None:
        super().__init__(lake, name, config, version)
        self.lease = lease

    @classmethod
    def create(cls, lake: Lake, name: str, config: Mapping[str, Any], lease: Lease | None = None) -> Run:
        """A new run with no rounds, under the lease of its writer if there may be others.

        Raises
        ------
        LakeError
            There is a run of that name.
        ValueError
            ``config`` is not what JSON can hold (spell infinity "inf"), or has a key ``format``.
        """
        path = layout.run_file(name)
        data, version = read_root(lake, path)
        if data is not None:
            raise LakeError(f"run {name!r} exists already in {lake.url}; choose another name", path=path)
        run = cls(lake, name, {"epoch": begin_epoch(lease, 0)}, version, lease)
        run.truncate(0)  # what is left of one that was being deleted
        run.configure(config)
        return run

    @classmethod
    def take_over(cls, lake: Lake, name: str, lease: Lease) -> None:
        """Begin an epoch of a run in an object store if a writer of it may come back; see
        ``ranklake.storage.leases.roots``.

        Its rounds and its newest sound snapshot are copied to where that writer does not write.

        Raises
        ------
        DamagedError
            A file is not what its manifest says.
        """
        if lease.predecessor < 0:
            return
        try:
            old = cls.open(lake, name)
        except MissingError:
            return  # whoever creates it begins an epoch
        epoch = begin_epoch(lease, old._epoch)
        if epoch == old._epoch:
            return
        new = cls(lake, name, {**old.config, "epoch": epoch}, old._version, lease)
        chain = old.segments()
        for segment, data in zip(chain.segments, lake.read_many(list(map(old.path_of, chain.segments))), strict=True):
            if isinstance(data, LakeError):
                raise data
            if digest_of(data) != segment.file_digest:
                raise damaged(old.path_of(segment), "is not what its manifest says")
            lease.write_bytes(new.path_of(segment), data)
            lease.write_bytes(new._path(segment.first_round, MANIFEST), segment.to_json())
        for last_round in [number for number in reversed(old.snapshots()) if number < chain.stop_round]:
            with suppress(DamagedError, MissingError):  # an older one serves
                new.write_snapshot(last_round, *old.read_snapshot(last_round))
                break
        new.configure(new.config)
        new._remove_folders(lambda folder: not folder.endswith(layout.epoch_suffix(epoch)))

    def configure(self, config: Mapping[str, Any]) -> None:
        """Replace the configuration. The rounds stay; their digests tell which of them still hold.

        Raises
        ------
        ValueError
            As for ``create``.
        """
        if "format" in config:
            raise ValueError(f"config must leave `format` to the lake, got {config['format']!r}")
        epoch = {"epoch": self._epoch} if self._epoch else {}
        text = json.dumps({"format": FORMAT_VERSION, **epoch, **config}, indent=2, ensure_ascii=False, allow_nan=False)
        self._check_lease()
        path = layout.run_file(self.name)
        self._version = self._writer.replace_bytes(path, text.encode(), self._version)
        self.config = json.loads(text)
        for key in ("format", *epoch):
            del self.config[key]

    def append(self, table: pa.Table, entries: Sequence[RoundEntry], parent_digest: str) -> Segment:
        """Commit consecutive rounds as one segment. They exist when this returns, and not before.

        Parameters
        ----------
        table
            Rows of all the rounds, in order; see ``schemas.ROUNDS``. It may have none.
        entries
            The rounds, at least one, without a gap.
        parent_digest
            Chain digest of the round before the first; empty at round 0.

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
        rows = np.repeat(rounds, [entry.rows for entry in entries])
        if not np.array_equal(table.column("round_index").to_numpy(), rows):
            raise ValueError(f"segment {first}: round_index must give each round its rows, in order; see entries")
        written = self._writer.write_table(self._path(first, DATA), table, "rounds")
        segment = Segment.of(entries, parent_digest, written)
        self._check_lease()
        self._writer.write_bytes(self._path(first, MANIFEST), segment.to_json())
        return segment

    def truncate(self, first_round: int) -> Chain:
        """Keep the valid segments that end before ``first_round``; remove all else, newest first.

        Snapshots that are not older than the removed rounds go too, and so does what a crash left behind. At every
        moment the run is a valid prefix.

        Returns
        -------
        Chain
            What is left; its ``stop_round`` may be less than ``first_round``, which may lie inside a segment.
        """
        self._check_lease()
        kept = tuple(segment for segment in self.segments().segments if segment.stop_round <= first_round)
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
            self._check_lease()  # each time: who was suspended must not go on removing what his successor wrote
            self._writer.delete(f"{self._rounds}/{name}")
        return chain

    def merge(self, segments: Sequence[Segment]) -> Segment:
        """Put one segment in the place of several that follow each other, in one step.

        What it replaces stays until the next :meth:`truncate`, so that whoever is reading can read on.

        Raises
        ------
        DamagedError
            A file is not what its manifest says.
        """
        tables = [table.replace_schema_metadata() for table in self._read_tables(segments, None, verify=True)]
        first, last = segments[0].first_round, segments[-1].stop_round - 1
        data = pa.concat_tables(tables)
        written = self._writer.write_table(f"{self._rounds}/{merged_file(first, last)}", data, "rounds")
        merged = Segment.merged(segments, written)
        self._check_lease()
        self._writer.write_bytes(self._path(first, MANIFEST), merged.to_json())
        return merged

    def delete(self) -> None:
        """Remove the run, or what is left of one.

        From the first moment on there is no such run; what a crash leaves is removed by the next who delete or create
        it. Its lease stays: it tells writers apart, whatever is made under that name next.
        """
        if self.lease is None:
            self.lake.delete(layout.run_file(self.name))
        else:
            delete_root(self.lake, layout.run_file(self.name), self.lease)
        self._remove_folders(lambda _: True)

    def write_snapshot(self, last_round: int, columns: Mapping[str, Column], digest: str) -> None:
        """Write every player's belief after ``last_round``; see ``snapshots.write_snapshot``."""
        self._check_lease()
        folder = self.path_of_snapshot(last_round)
        snapshots.write_snapshot(self.lake, folder, last_round, columns, digest, self._writer)

    def prune_snapshots(self, keep: int, rows: Sequence[int] | Longs | None = None, gap: int = 0) -> None:
        """Remove all but ``keep`` snapshots: the newest, and others evenly spread over the history.

        Parameters
        ----------
        rows
            Participations until the end of each round; by default rounds are alike.
        gap
            Also remove those without which no two of the others are farther apart than so many.
        """
        if keep < 0:
            raise ValueError(f"keep must be >= 0 snapshots, got {keep}")
        found = self.snapshots()
        at = found if rows is None else [int(rows[number]) for number in found]
        for index in snapshots.snapshots_to_remove(at, keep, gap):
            self.remove_snapshot(found[index])

    def remove_snapshot(self, last_round: int) -> None:
        """Remove the snapshot after ``last_round``, sound or not."""
        self._check_lease()
        folder = self.path_of_snapshot(last_round)
        self._writer.delete(f"{folder}/{SNAPSHOT_MANIFEST}")
        self._writer.delete_folder(folder)

    def _remove_folders(self, which: Callable[[str], bool]) -> None:
        """Remove the folders of some epochs, snapshots first."""
        folder = layout.run_folder(self.name)
        for name in sorted(self.lake.list(folder), reverse=True):
            if name.partition("-")[0] in ("snapshots", "rounds") and which(name):
                self._writer.delete_folder(f"{folder}/{name}")

    @property
    def _writer(self) -> Writer:
        return self.lake if self.lease is None else self.lease

    def _check_lease(self) -> None:
        if self.lease is not None:
            self.lease.check()

    def _remove_snapshots(self, first_round: int) -> None:
        for number, complete in reversed(self._snapshot_folders()):
            if number >= first_round or not complete:
                self.remove_snapshot(number)
