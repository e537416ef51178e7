"""One state of a published run: its tables, mapped into memory, and the rows of a player or a round."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from ranklake.storage import Lake, MissingError
from ranklake.storage.lake.schemas import PUBLISHED

from ..common.titles import Titles
from ..publication.index_manifest import IndexFile, IndexManifest, index_path, read_manifest
from ..publication.index_parts import Part, read_mapped

__all__ = ["PublishedRun", "open_published"]


class PublishedRun:
    """One state of a published run; immutable.

    Attributes
    ----------
    name : str
        Name of the run.
    manifest : IndexManifest
        Facts of the state, with its version and ETag.
    """

    def __init__(self, lake: Lake, name: str, manifest: IndexManifest) -> None:
        self._lake, self.name, self.manifest = lake, name, manifest

    @cached_property
    def titles(self) -> Titles:
        """The published titles."""
        return Titles.from_json(self.manifest.titles)

    @cached_property
    def leaderboard_table(self) -> pa.Table:
        """All rated players, best first; see ``PUBLISHED["leaderboard"]``."""
        return self._table(self.manifest.leaderboard).cast(PUBLISHED["leaderboard"])

    @cached_property
    def contests_table(self) -> pa.Table:
        """The contest of each round; see ``PUBLISHED["contests"]``."""
        return self._table(self.manifest.contests)

    @cached_property
    def aliases_table(self) -> pa.Table:
        """Old names: ``handle, new, since_seconds``."""
        return self._table(self.manifest.aliases)

    def rows_of(self, player: int) -> pa.Table:
        """The rated rows of a player, in order of rounds."""
        return pa.concat_tables([part.history(player) for part in self._parts])

    def rows_of_round(self, round_index: int) -> pa.Table:
        """The rated rows of a round, in the order of its standings.

        Raises
        ------
        IndexError
            There is no such round.
        """
        for file, part in zip(self.manifest.parts, self._parts, strict=True):
            if file.start <= round_index < file.stop:
                return part.round(round_index)
        raise IndexError(f"round_index must be from 0 to {self.manifest.n_rounds - 1}, got {round_index}")

    def load(self) -> None:
        """Open all files."""
        _ = self.leaderboard_table, self.contests_table, self.aliases_table, self._parts

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        return tuple(Part(self._batch(file)) for file in self.manifest.parts)

    def _table(self, file: IndexFile) -> pa.Table:
        return pa.Table.from_batches([self._batch(file)])

    def _batch(self, file: IndexFile) -> pa.RecordBatch:
        return read_mapped(self._lake, index_path(self.name, file.name), file)


def open_published(lake: Lake, run_name: str) -> PublishedRun:
    """The current state of a published run, with all files opened.

    Raises
    ------
    MissingError
        The run has no index; the message has the command that makes it.
    DamagedError
        A file of the index is damaged.
    """
    for last in (False, True):
        manifest = read_manifest(lake, run_name)
        if manifest is None:
            raise MissingError(
                f"run {run_name!r} is not published in {lake.url}; `ranklake publish --run {run_name}` publishes it",
                path=index_path(run_name),
            )
        published = PublishedRun(lake, run_name, manifest)
        try:
            published.load()
        except MissingError:
            if last:
                raise
            continue  # two publishes since the manifest was read
        return published
    raise AssertionError("unreachable")
