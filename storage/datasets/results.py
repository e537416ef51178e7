"""The results of problems of a data set: who attempted and solved which problem of which contest.

They are beside the standings, in ``results/``, and no rating depends on them: the table of contests does not name them.
``results.parquet`` lists the contests with results, each with a digest of its own and its rows in one of the files of
results; its replacement is the commit of an ingest. Its metadata name the table of problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..lake import layout, parquet
from ..lake.access.lake import Lake, digest_of, digest_of_facts
from ..lake.errors import LakeError
from ..lake.parquet import metadata_of
from ..lake.remedies import damaged
from ..lake.schemas import PROBLEMS, RESULT_CONTESTS
from ..leases.lease import Lease
from ..leases.roots import begin_epoch, epoch_of, read_root
from .tables.standings import standings_name

_PROBLEMS = "problems"  # metadata: the file of the table of problems
_COLUMNS = ("player", "problem", "share", "after", "attempts")


@dataclass(frozen=True)
class NewResults:
    """The results of one contest, all of them.

    ``rows``: columns of ``schemas.RESULTS`` but the contest, sorted by player and problem.
    ``handles``: the name of each row's player, for the digest.
    """

    contest_id: str
    rows: pa.Table
    handles: pa.StringArray

    @property
    def content_digest(self) -> str:
        """32 hex digits of the contest, its players, their problems and what they solved."""
        digest = blake2b(f"{len(self.contest_id)}:{self.contest_id}".encode(), digest_size=16)
        for column in (self.handles, self.rows.column("problem").combine_chunks().cast(pa.string())):
            lengths, letters = _texts(column)
            digest.update(lengths.tobytes())
            digest.update(letters)
        for name in _COLUMNS[2:]:
            numbers = self.rows.column(name).cast(pa.float64()).fill_null(np.nan).to_numpy()
            digest.update((numbers + 0.0).tobytes())
        return digest.hexdigest()


class StoredResults:
    """The results of problems as they were last committed.

    ``contests``: one row a contest with results; see ``schemas.RESULT_CONTESTS``.
    """

    def __init__(self, lake: Lake, dataset: str, contests: pa.Table, version: str) -> None:
        self._lake, self._dataset, self.contests, self._version = lake, dataset, contests, version
        self._metadata = metadata_of(contests.schema)

    @classmethod
    def open(cls, lake: Lake, dataset: str) -> StoredResults:
        """The results of a data set; there may be none."""
        path = layout.results_file(dataset)
        data, version = read_root(lake, path)
        table = RESULT_CONTESTS.empty_table() if data is None else parquet.decode(data, "result_contests", path)
        return cls(lake, dataset, table, version)

    @property
    def digest(self) -> str:
        """Digest of all results and of the table of problems; empty without results."""
        if not self.contests.num_rows:
            return ""
        contests = self.contests.select(["contest_id", "content_digest"]).to_pydict()
        return digest_of_facts([contests, self._metadata.get(_PROBLEMS, "")])

    def problems(self) -> pa.Table:
        """The table of problems; see ``schemas.PROBLEMS``. Problems of the results need not be in it."""
        if not (file := self._metadata.get(_PROBLEMS)):
            return PROBLEMS.empty_table()
        return self._lake.read_table(self._path(file), "problems").replace_schema_metadata()

    def parts(
        self, rows: Sequence[int] | None = None, columns: Sequence[str] = _COLUMNS
    ) -> Iterator[tuple[list[int], npt.NDArray[np.int64], pa.Table]]:
        """The results of the contests in some rows of :attr:`contests`, by default all, one file after the other.

        Yields the rows, the offsets of their contests, and the results, in the order of the file.

        Raises MissingError, DamagedError: a file is missing, or does not hold its contests.
        """
        chosen = np.arange(self.contests.num_rows) if rows is None else np.array(rows, np.int64)
        files = self.contests.column("file").combine_chunks().dictionary_encode()
        number = files.indices.to_numpy()[chosen]
        starts, sizes = (self.contests.column(name).to_numpy().astype(np.int64) for name in ("row_start", "n_rows"))
        for file in np.unique(number).tolist():
            own = chosen[number == file]
            own = own[np.argsort(starts[own], kind="stable")]
            path = self._path(files.dictionary[file].as_py())
            table = self._lake.read_table(path, "results", list(columns))
            if np.any(starts[own] + sizes[own] > table.num_rows):
                raise damaged(path, f"has {table.num_rows} rows, its contests need more")
            ends = starts[own] + sizes[own]
            if len(own) and (starts[own][1:] == ends[:-1]).all():
                table = table.slice(int(starts[own[0]]), int(ends[-1] - starts[own[0]]))
            else:
                table = pa.concat_tables(
                    [table.slice(a, n) for a, n in zip(starts[own].tolist(), sizes[own].tolist(), strict=True)]
                )
            yield own.tolist(), np.concatenate(([0], np.cumsum(sizes[own]))), table

    def problems_in(self) -> Iterator[str]:
        """Faults of the files, one line each; empty if there are none."""
        for path in sorted(self.files()):
            try:
                data = self._lake.read_bytes(path)
                if path != layout.results_file(self._dataset) and digest_of(data) not in path:
                    raise damaged(path, "does not match the digest in its name")
            except LakeError as error:
                yield str(error)

    def files(self) -> set[str]:
        """Paths of all files of results; empty without any."""
        if not self._metadata:
            return set()
        names = {*self.contests.column("file").to_pylist(), self._metadata.get(_PROBLEMS)} - {None, ""}
        return {layout.results_file(self._dataset), *map(self._path, names)}

    def replace(self, lease: Lease, new: Iterable[NewResults], problems: pa.Table | None) -> tuple[int, int, int]:
        """Replace the results of some contests, and the table of problems if there is one, under the data set's lease.

        Files that this replaces stay until the next commit, for readers that have opened these results. An error of
        ``new``, which is read file by file, leaves the results as they are.

        Returns the numbers of new, corrected and unchanged contests.
        """
        after = {row["contest_id"]: row for row in self.contests.to_pylist()}
        epoch = begin_epoch(lease, epoch_of(self._metadata))
        metadata = {_PROBLEMS: self._metadata[_PROBLEMS]} if _PROBLEMS in self._metadata else {}
        if problems is not None and not problems.equals(self.problems()):
            metadata[_PROBLEMS] = self._write(lease, parquet.encode(problems, "problems"), "problems-", epoch)
        counts = dict.fromkeys(("new", "corrected", "unchanged"), 0)

        def changed() -> Iterator[tuple[NewResults, str]]:
            for one in new:
                digest, known = one.content_digest, after.get(one.contest_id)
                if known is not None and known["content_digest"] == digest:
                    counts["unchanged"] += 1
                else:
                    counts["new" if known is None else "corrected"] += 1
                    yield one, digest

        for group in _groups(changed(), self._lake.limits.file_games):
            sizes = [one.rows.num_rows for one, _ in group]
            names = pa.array([one.contest_id for one, _ in group], pa.string())
            rows = pa.concat_tables([one.rows for one, _ in group]).unify_dictionaries().combine_chunks()
            column = names.take(pa.array(np.repeat(np.arange(len(group)), sizes)))
            file = self._write(lease, parquet.encode(rows.add_column(0, "contest_id", column), "results"), "", epoch)
            start = 0
            for (one, digest), n_rows in zip(group, sizes, strict=True):
                about = (one.contest_id, digest, file, start, n_rows)
                after[one.contest_id] = dict(zip(RESULT_CONTESTS.names, about, strict=True))
                start += n_rows
        found = counts["new"], counts["corrected"], counts["unchanged"]
        if not any(found[:2]) and metadata.get(_PROBLEMS) == self._metadata.get(_PROBLEMS):
            return found
        if epoch:
            metadata["epoch"] = str(epoch)
        table = pa.Table.from_pylist(list(after.values()), schema=RESULT_CONTESTS)
        path = layout.results_file(self._dataset)
        lease.check()
        lease.lake.replace_bytes(path, parquet.encode(table, "result_contests", metadata), self._version)
        self._collect(lease)
        return found

    def _write(self, lease: Lease, data: pa.Buffer, prefix: str, epoch: int) -> str:
        name = prefix + standings_name(data, epoch)
        lease.lake.write_bytes(self._path(name), data)
        return name

    def _collect(self, lease: Lease) -> None:
        """Delete files that neither these results nor those that replaced them name; errors are ignored."""
        with suppress(LakeError):
            kept = self.files() | StoredResults.open(self._lake, self._dataset).files()
            folder = layout.dataset_folder(self._dataset, "results")
            for file in self._lake.list(folder):
                if (path := f"{folder}/{file}") not in kept:
                    lease.check()
                    lease.lake.delete(path)

    def _path(self, file: str) -> str:
        return layout.dataset_file(self._dataset, "results", file)


def _groups(results: Iterable[tuple[NewResults, str]], most: int) -> Iterator[list[tuple[NewResults, str]]]:
    """Consecutive contests, with their digests, that share a file: it is full from ``most`` rows on."""
    group: list[tuple[NewResults, str]] = []
    rows = 0
    for one in results:
        group.append(one)
        rows += one[0].rows.num_rows
        if rows >= most:
            yield group
            group, rows = [], 0
    if group:
        yield group


def _texts(column: pa.StringArray) -> tuple[npt.NDArray[np.int32], bytes]:
    """The length in bytes of each text, and all texts."""
    _, ends, text = column.buffers()
    bounds = np.frombuffer(ends, np.int32, len(column) + 1, offset=4 * column.offset)
    return np.diff(bounds), b"" if text is None else bytes(memoryview(text)[bounds[0] : bounds[-1]])
