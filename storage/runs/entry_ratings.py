"""Ratings at entry: the display rating of each participant before a contest that rates only a range of ratings.

They decide which participants are rated, and are recorded when the run first rates the contest, so that a later
correction of an earlier round changes no decision. The record is a set of files beside the rounds. A file is written
before the manifest of the rounds that it belongs to and never changed, and stays when rounds are deleted to be rated
again. Its name is the digest of its bytes. Two files may have the same rows, after an interrupted merge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..lake import parquet
from ..lake.access.lake import Lake, digest_of
from ..lake.errors import MissingError
from ..lake.remedies import damaged
from ..lake.schemas import ENTRY
from .reset_players import PREFIX as RESETS

_SUFFIX = ".parquet"
_READS = 3  # a compaction may delete listed files before they are read


class EntryRatings:
    """Recorded ratings at entry, rating points, by contest and name.

    ``tables``: the rows of all files; columns as in ``schemas.ENTRY``.
    """

    def __init__(self, tables: Iterable[pa.Table] = ()) -> None:
        table = pa.concat_tables([ENTRY.empty_table(), *tables]).combine_chunks()
        ids = table.column("contest_id").combine_chunks().dictionary_encode()
        contest = ids.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(contest, kind="stable")
        ends = np.cumsum(np.bincount(contest, minlength=len(ids.dictionary)))
        starts = np.concatenate(([0], ends))[:-1]
        self._rows = dict(
            zip(ids.dictionary.to_pylist(), zip(starts.tolist(), ends.tolist(), strict=True), strict=True)
        )
        self._names = table.column("handle").combine_chunks().take(pa.array(order))
        self._ratings: npt.NDArray[np.float64] = table.column("rating").to_numpy()[order]

    def __len__(self) -> int:
        return len(self._ratings)

    def with_decisions(self, contest_ids: Sequence[str], digests: Sequence[str]) -> list[str]:
        """Digests of rounds that also have the recorded ratings of their contests and of those before, in hex.

        Up to the first contest on record they are the given chain digests, which do not have these ratings: a run that
        is deleted and rated again may decide otherwise.
        """
        found, decided = list(digests), b""
        for index, contest_id in enumerate(contest_ids if len(self) else ()):
            if rows := self._content(contest_id):
                decided = blake2b(decided + rows, digest_size=16).digest()
            if decided:
                own = bytes.fromhex(found[index])
                found[index] = blake2b(own + decided, digest_size=len(own)).hexdigest()
        return found

    def _content(self, contest_id: str) -> bytes:
        """The recorded names and ratings of one contest, in one order; empty for none."""
        first, end = self._rows.get(contest_id, (0, 0))
        names, ratings = self._names.slice(first, end - first).to_pylist(), self._ratings[first:end].tolist()
        rows = sorted(set(zip(names, ratings, strict=True)))
        return json.dumps(rows, allow_nan=False).encode() if rows else b""

    def of(
        self, contest_id: str, names: pa.StringArray, current: Callable[[str], str] | None = None
    ) -> npt.NDArray[np.float64]:
        """The ratings of some participants at entry of a contest, rating points; NaN where none is recorded.

        ``names``: current names of the participants.
        ``current``: the current name of a recorded one; None: no name has been replaced.
        """
        found = np.full(len(names), np.nan)
        first, end = self._rows.get(contest_id, (0, 0))
        if first == end:
            return found
        recorded = self._names.slice(first, end - first)
        at = pc.index_in(names, recorded)
        if at.null_count and current is not None:
            renamed = pa.array([current(name) for name in recorded.to_pylist()], pa.string())
            at = pc.coalesce(at, pc.index_in(names, renamed))
        known = np.flatnonzero(at.is_valid().to_numpy(zero_copy_only=False))
        found[known] = self._ratings[first:end][at.drop_null().to_numpy()]
        return found


def read_entry_ratings(lake: Lake, folder: str) -> EntryRatings:
    """All ratings at entry in ``folder``.

    Raises DamagedError: a file cannot be read.
    """
    for left in reversed(range(_READS)):
        names = entry_files(lake, folder)
        try:
            return EntryRatings(read_entry_file(lake, folder, name) for name in names)
        except MissingError:
            if not left:
                raise
    raise AssertionError("unreachable")


def read_entry_file(lake: Lake, folder: str, name: str) -> pa.Table:
    """One file of the record.

    Raises MissingError, DamagedError: the file does not exist, or does not match the digest in its name.
    """
    path = f"{folder}/{name}"
    data = lake.read_bytes(path)
    if name != digest_of(data) + _SUFFIX:
        raise damaged(path, "does not match the digest in its name")
    return parquet.decode(data, "entry", path).replace_schema_metadata()


def entry_files(lake: Lake, folder: str) -> list[str]:
    """Names of the files of the record, sorted."""
    names = (name for name in lake.list(folder) if not name.startswith(RESETS))
    return sorted(name for name in names if name.endswith(_SUFFIX))


def write_entry_ratings(lake: Lake, folder: str, tables: Sequence[pa.Table]) -> str:
    """Add the rows of tables to the record, as one file; returns its name."""
    data = parquet.encode(pa.concat_tables(tables), "entry")
    name = digest_of(data) + _SUFFIX
    lake.commit_bytes(f"{folder}/{name}", data)  # readers list the folder: no manifest names it
    return name


def merge_entry_ratings(lake: Lake, folder: str) -> None:
    """Replace all files of the record by one with the same rows; errors as for :func:`read_entry_file`.

    The rows alone determine the file: a merge that was interrupted, between any of its writes, ends with the same one.
    """
    names = entry_files(lake, folder)
    if len(names) < 2:
        return
    rows = pa.concat_tables([read_entry_file(lake, folder, name) for name in names])
    distinct = rows.group_by(rows.column_names, use_threads=False).aggregate([])
    ordered = distinct.sort_by([(column, "ascending") for column in rows.column_names])
    merged = write_entry_ratings(lake, folder, [ordered])
    for name in names:
        if name != merged:
            lake.delete(f"{folder}/{name}")
