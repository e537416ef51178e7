"""The files of a path (one file, a folder, a pattern or standard input) and their formats."""

from __future__ import annotations

import glob
import itertools
import lzma
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from ...common.text import quoted
from ..base import IngestReport, SourceError
from ..lake_tables import is_delta, is_leftover, kind_of, walk
from ..limits import MOST_EXPANDED, BoundedReader, Limits, byte_count, expands_too_far

STDIN = "-"
TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_ENDINGS = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "json", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # as the value of a folder: null
_SHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


@dataclass(frozen=True)
class Input:
    """A file that holds a table, its name in messages, its format, and the limits of its content.

    The ``path`` of a Delta table, of the format ``delta``, is its folder.
    """

    path: Path
    name: str
    form: str
    limits: Limits = field(default_factory=Limits)

    def open_bytes(self) -> Any:
        """A stream of the file's decompressed bytes for Arrow; it raises an error beyond the limits."""
        kind = _compression(self.path.name)
        if kind is None or self.form == "parquet":
            return pa.OSFile(str(self.path))
        opened: Any = _open_xz(self.path) if kind == "xz" else pa.CompressedInputStream(pa.OSFile(str(self.path)), kind)
        size = self.path.stat().st_size
        most = self.limits.expanded_from(size)
        too_large = partial(expands_too_far, self.name, size, most)
        return pa.PythonFile(BoundedReader(opened, most, too_large), mode="r")

    @property
    def stem(self) -> str:
        """The file's name without its endings."""
        name = self.path.name
        while (end := Path(name).suffix.lower()) in _ENDINGS or end in _COMPRESSED:
            name = name[: -len(end)]
        return name

    @property
    def folder(self) -> str:
        """The name of the file's folder."""
        return Path(os.path.abspath(self.path)).parent.name

    @property
    def folder_values(self) -> dict[str, str | None]:
        """The columns in the names of the folders directly above, as ``contest=spring``; null for Hive's default."""
        above = map(os.path.basename, map(str, Path(os.path.abspath(self.path)).parents))
        pairs = [name.partition("=") for name in itertools.takewhile(re.compile("[^=]+=.").match, above)]
        return {unquote(key): None if value == _NO_VALUE else unquote(value) for key, _, value in reversed(pairs)}

    def find(
        self, present: Sequence[str], find: Callable[[Sequence[str], str], dict[str, str]]
    ) -> tuple[dict[str, str], list[str]]:
        """The columns to use by key, among those ``present`` in the file and those in the names of its folders, and the
        used ones in the file. ``SourceError`` if a used column is in both.
        """
        values, folded = self.folder_values, {name.casefold() for name in present}
        columns = find([*present, *(name for name in values if name not in present)], self.name)
        used = sorted(set(columns.values()))
        if twice := next((name for name in used if name in values and name.casefold() in folded), None):
            where = f"in the file and in the name of a folder ({twice}={values[twice]})"
            raise SourceError(f"the column {quoted(twice)} is {where}; rename the folder, or the column", self.name)
        return columns, [name for name in used if name not in values]

    def folder_column(self, name: str, n: int) -> pa.Array:
        """A column in the name of a folder, for ``n`` rows, as text."""
        return pa.repeat(pa.scalar(self.folder_values[name], pa.string()), n)


def check_address(path: str) -> None:
    """Raise ``ValueError`` with a remedy for an address of a site, an object store or a database."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):/", path)
    if match is None or (len(match[1]) == 1 and os.name == "nt"):
        return
    scheme = match[1].lower()
    remedies = {
        "http": "download it, or pipe it: curl -sL ADDRESS | ranklake ingest files -",
        "https": "download it, or pipe it: curl -sL ADDRESS | ranklake ingest files -",
        "s3": "copy it here, or pipe it: aws s3 cp ADDRESS - | ranklake ingest files -",
        "gs": "copy it here, or pipe it: gcloud storage cat ADDRESS | ranklake ingest files -",
        "file": "give the path without file://",
    }
    database = "write the results of a query to a CSV file, or pipe them: psql -c 'copy (...) to stdout csv header' | "
    remedy = remedies.get(scheme, f"{database}ranklake ingest files -" if "sql" in scheme else "copy it here first")
    # The message has only the scheme: addresses of databases contain passwords.
    raise ValueError(f"PATH must be a file or folder on this machine, got an address {scheme}://...; {remedy}")


def format_of(path: Path) -> str | None:
    """The format of a table by the ending of its name, ``delta`` for the folder of a Delta table; None for others.
    ``SourceError`` for a part of a table of which single files must not be read.
    """
    if path.is_dir():
        return "delta" if is_delta(path) else None
    name = path.name.lower()
    kind = _compression(name)
    if kind is not None:
        name = name[: name.rindex(".")]
    form = _ENDINGS.get(Path(name).suffix)
    return None if form == "parquet" and kind is not None else form


def files_of(*paths: str) -> list[Path]:
    """The file or folder at each path, or the files that match a pattern such as ``results/*.csv``.

    Files that other programs leave beside the files that they open are omitted, unless one is the only path. Raises
    ``SourceError`` if no file is found, it is not a plain file, it is a workbook, or a part of a Delta, Iceberg or Hudi
    table.
    """
    files = [file for path in paths for file in _matches(path) if len(paths) == 1 or not is_leftover(file.name)]
    if not files:
        raise SourceError("left by another program, and no other file is given", paths[0])
    for file in files:
        if not (file.is_file() or file.is_dir()):
            rule = "neither a plain file nor a folder; use - (standard input) for a pipe"
            raise SourceError(rule, file.name)
        if file.name.lower().endswith(_SHEETS):
            raise SourceError("a workbook is not read; save the sheet with the results as CSV (UTF-8)", file.name)
    _check_whole(files)
    return files


def _matches(path: str) -> list[Path]:
    """The file or folder at a path, or the files that match it as a pattern."""
    if not path:
        raise SourceError("the path of a file is empty, got ''")
    if Path(path).exists():
        return [Path(path)]
    if not glob.has_magic(path):
        raise SourceError("no such file or folder", path)
    found = map(Path, sorted(glob.glob(path, recursive=True)))
    files = [file for file in found if not is_leftover(file.name) and (file.is_file() or kind_of(file) == "delta")]
    if not files:
        raise SourceError("no file matches this pattern", path)
    return files


def _check_whole(files: list[Path]) -> None:
    """Raise :class:`SourceError` if a file is a part of a table that is a folder."""
    # A look at one file of each folder is enough, and takes as long as to open it.
    parquet = [file for file in files if file.suffix.lower() in (".parquet", ".pq")]
    for file in {(os.path.dirname(os.path.realpath(file)), file.parent): file for file in parquet}.values():
        is_delta(file)


@contextmanager
def damage_of(name: str) -> Iterator[None]:
    """Raise errors of the readers of damaged or unreadable files as :class:`SourceError` with the file's name."""
    try:
        yield
    except MemoryError:  # of Arrow's, too
        raise
    except (pa.ArrowException, lzma.LZMAError, zlib.error, OSError, EOFError, OverflowError, UnicodeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise SourceError(f"cannot be read: {reason}", name) from None


def tables_in(folder: Path, form: str | None, report: IngestReport, limits: Limits) -> list[Input]:
    """The tables of a folder and of its subfolders, by name; of one format, if it is given. ``SourceError`` if there
    are contests of the reference format beside them.
    """
    found = IngestReport()  # of no use if there is no table: the reader of contests walks again
    with damage_of(folder.name):
        files = sorted(_files_below(folder, found))
    if form is None:
        known = [(file, known) for file in files if (known := format_of(file)) is not None and file.suffix != ".txt"]
    else:
        known = [(file, "delta" if file.is_dir() else form) for file in files]
    contests = [file for file, form in known if form == "json"] if form is None else []
    if len(contests) == len(known):
        return []
    if contests:
        tables = [file for file, form in known if form != "json"]
        both = f"{quoted(contests[0].name)} beside the table {quoted(tables[0].name)}"
        raise SourceError(f"holds contests and tables, {both}; put them into folders of their own", folder.name)
    report.other_files += found.other_files + len(files) - len(known)
    report.notes += found.notes
    return [Input(file, file.relative_to(folder).as_posix(), form, limits) for file, form in known]


def _files_below(folder: Path, report: IngestReport) -> Iterator[Path]:
    """The files of a folder and its subfolders that are not hidden, and the folders of Delta tables."""
    for place, folders, names in walk(folder, report):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        tables = [name for name in folders if is_delta(Path(place, name))]
        folders[:] = [name for name in folders if name not in tables]
        yield from (Path(place, name) for name in tables)
        yield from (file for name in names if not name.startswith((".", "_")) and (file := Path(place, name)).is_file())


@contextmanager
def standard_input(form: str | None, limits: Limits) -> Iterator[Input]:
    """Standard input as a temporary file, as a table is read more than once; ``ValueError`` for a terminal."""
    if sys.stdin.isatty():
        raise ValueError("PATH - reads a table from standard input, which is a terminal; pipe a table into it")
    with tempfile.TemporaryDirectory(prefix="ranklake-") as folder:
        path = Path(folder, "input")
        most = limits.expanded or MOST_EXPANDED

        def too_large() -> SourceError:
            rule = f"more than {byte_count(most)}, the limit; if you trust it, allow more with --limit expanded=..."
            return SourceError(rule, "standard input")

        bounded = BoundedReader(sys.stdin.buffer, most, too_large)
        with path.open("wb") as file:
            try:
                shutil.copyfileobj(bounded, file, 2**20)
            except OSError as error:
                rule = f"cannot be stored in {folder}: {error.strerror or error}; set TMPDIR to another folder"
                raise SourceError(rule, "standard input") from None
        yield Input(path, "standard input", form or "csv", limits)


def _open_xz(path: Path) -> lzma.LZMAFile:
    return lzma.LZMAFile(path)


def _compression(name: str) -> str | None:
    return _COMPRESSED.get(Path(name.lower()).suffix)
