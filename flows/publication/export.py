"""Export the published tables of a run as one CSV, Parquet or JSON Lines file, in bounded memory.

The rows are those of :class:`ranklake.flows.publication.content.Content`, so an export has the columns of the published
table.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Lake
from ranklake.storage.lake.access.disk import sync
from ranklake.storage.lake.access.space import free_space, is_full
from ranklake.storage.lake.schemas import OF_STRENGTHS, PUBLISHED

from ..common.finite import finite_rows
from ..common.progress import ProgressCallback, not_shown
from ..common.text import json_visible, spreadsheet, visible
from ..problems.columns import OF_PROBLEMS
from ..results.ranks import chosen
from ..results.titles import TitlesChoice
from .content import Content

FORMATS = ("csv", "parquet", "jsonl")
TABLES = ("ratings", "leaderboard", *OF_PROBLEMS, *OF_STRENGTHS)
_CHUNK_ROWS = 1 << 16  # rows in memory at a time, and in a row group of Parquet


def export_rows(
    lake: Lake,
    run: str,
    what: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    on_progress: ProgressCallback = not_shown,
    places: Mapping[str, Any] | None = None,
    provisional: str = "hide",
    on_hidden: Callable[[int], None] = lambda n: None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a published table of a run: ratings in order of rounds, the leaderboard best first, problems hardest
    first, results in the order in which they are stored, and strengths best first.

    ``places``: as for :class:`ranklake.flows.publication.content.Content`.
    ``provisional``: which rows of a leaderboard, one of :data:`ranklake.flows.results.ranks.PROVISIONAL`; ``on_hidden``
    is called with the number of provisional players that are left out.
    Raises LakeError: the run does not exist, has no ratings or, for problems, no results of them.
    Raises ValueError: for strengths, the run is rated round after round.
    """
    content = Content(lake, run, deviations, titles, on_progress, [what], places)
    if what == "leaderboard":
        board = content.leaderboard()
        shown = chosen(board, provisional)
        on_hidden(board.num_rows - shown.num_rows if provisional == "hide" else 0)
        return _chunks(shown.to_batches())
    if what == "problems" or what in OF_STRENGTHS:
        return _chunks(getattr(content, what).to_batches())
    return _chunks(content.results(0) if what == "results" else content.ratings(0))


def write_export(rows: Iterable[pa.RecordBatch], what: str, form: str, sink: IO[bytes], safe: bool = False) -> int:
    """Write rows of a table, one of :data:`TABLES`, to an open file in one of ``FORMATS``; returns their number.

    ``safe``: escape the cells of CSV that a spreadsheet would read as formulas.

    Floats have the fewest digits that give the same bits. JSON Lines has one object per line. A float that is not
    finite is null, in CSV empty. On a terminal, control characters are escaped.
    """
    schema, done = (PUBLISHED | OF_PROBLEMS | OF_STRENGTHS)[what], 0
    with _writer(form, schema, sink, safe, sink.isatty()) as write:
        for batch in rows:
            write(finite_rows(batch))
            done += batch.num_rows
    return done


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces ``path`` when it is complete; after an error, ``path`` is unchanged.

    The target of a link is replaced. Named pipes and devices are written directly.

    Raises OSError: the file cannot be written; the message names the path.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                sync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        free = f" ({free_space(str(path))})" if is_full(error) else ""
        raise OSError(f"{error.strerror or error}{free}; nothing was written to {path}") from error


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of about equal size; those of small segments are joined."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(batch.num_rows for batch in waiting) >= _CHUNK_ROWS:
            yield from _joined(waiting)
            waiting = []
    if waiting:
        yield from _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from pa.Table.from_batches(batches).combine_chunks().to_batches(max_chunksize=_CHUNK_ROWS)


def change_texts(rows: pa.Table | pa.RecordBatch, safe: bool, terminal: bool) -> pa.Table | pa.RecordBatch:
    """Escape texts for CSV: formulas if ``safe``, control characters for a ``terminal``."""

    def changed(text: str) -> str:
        text = spreadsheet(text) if safe else text
        return visible(text) if terminal else text

    if not safe and not terminal:
        return rows
    for i, field in enumerate(rows.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):  # of pandas
            rows = rows.set_column(i, field, _each_text(rows.column(i), changed))
    return rows


def _each_text(column: pa.Array | pa.ChunkedArray, change: Callable[[str], str]) -> pa.Array:
    """Apply a function to each distinct text; null stays null."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    distinct = column.dictionary_encode()
    return pa.array(map(change, distinct.dictionary.to_pylist()), column.type).take(distinct.indices)


@contextmanager
def _writer(
    form: str, schema: pa.Schema, sink: IO[bytes], safe: bool, terminal: bool
) -> Iterator[Callable[[pa.RecordBatch], Any]]:
    """A function that writes a batch."""
    if form == "jsonl":
        yield lambda batch: sink.write(_json_lines(batch, terminal))
    elif form == "csv":
        from pyarrow import csv

        with csv.CSVWriter(sink, schema) as writer:
            yield lambda batch: writer.write_batch(change_texts(batch, safe, terminal))
    else:
        import pyarrow.parquet as pq

        with pq.ParquetWriter(pa.PythonFile(_Counted(sink), mode="w"), schema, compression="zstd") as writer:
            yield writer.write_batch


class _Counted:
    """A file that counts its position, which a pipe does not have and the footer of Parquet needs."""

    closed = False

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink, self._position = sink, 0

    def write(self, data: Any) -> int:
        self._sink.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        self._sink.flush()

    def close(self) -> None:
        """Do nothing: the caller closes the file."""


def _json_lines(batch: pa.RecordBatch, terminal: bool) -> bytes:
    """One object per row. Whole columns are converted to text, which is five times as fast as single objects."""
    parts: list[Any] = []
    for i, (field, column) in enumerate(zip(batch.schema, batch.columns, strict=True)):
        parts += [f"{',' if i else '{'}{json.dumps(field.name, allow_nan=False)}:", _json_values(column, terminal)]
    lines = pc.binary_join_element_wise(*parts, "}\n", "")
    _, offsets, data = lines.buffers()
    first, stop = np.frombuffer(offsets, np.int32)[[lines.offset, lines.offset + len(lines)]]
    return b"" if data is None else memoryview(data)[first:stop].tobytes()  # the lines are adjacent there


def _json_values(column: pa.Array, terminal: bool) -> pa.StringArray:
    """Each value as JSON."""

    def spelled(text: str) -> str:
        json_text = json.dumps(text, ensure_ascii=False, allow_nan=False)
        return json_visible(json_text) if terminal else json_text

    texts = _each_text(column, spelled) if pa.types.is_string(column.type) else column.cast(pa.string())
    return pc.fill_null(texts, "null")
