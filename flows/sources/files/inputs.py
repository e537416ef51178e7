"""The files of a path (one file, a folder, a pattern or standard input) and their formats."""

from __future__ import annotations

import glob
import lzma
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...common.text import quoted
from ..base import IngestReport, SourceError
from ..limits import MOST_EXPANDED, BoundedReader, Limits, byte_count

__all__ = [
    "STDIN",
    "TABLES",
    "Input",
    "check_address",
    "damage_of",
    "files_of",
    "format_of",
    "standard_input",
    "tables_in",
]

STDIN = "-"
TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_ENDINGS = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "json", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": "xz"}
_SHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


@dataclass(frozen=True)
class Input:
    """A file that holds a table, what messages call it, its format, and what may come out of it."""

    path: Path
    name: str
    form: str
    limits: Limits = field(default_factory=Limits)

    def open_bytes(self) -> Any:
        """The file's bytes, decompressed, as Arrow reads them; not more than its limits allow."""
        kind = _compression(self.path.name)
        if kind is None or self.form == "parquet":
            return pa.OSFile(str(self.path))
        opened: Any = _open_xz(self.path) if kind == "xz" else pa.CompressedInputStream(pa.OSFile(str(self.path)), kind)
        size = self.path.stat().st_size
        most = self.limits.expanded_from(size)

        def too_large() -> SourceError:
            rule = f"expands from {byte_count(size)} to more than {byte_count(most)}, the limit"
            return SourceError(f"{rule}; if it is honest, --limit expanded=... allows more", self.name)

        return pa.PythonFile(BoundedReader(opened, most, too_large), mode="r")

    @property
    def stem(self) -> str:
        """The file's name without its endings."""
        name = self.path.name
        while (end := Path(name).suffix.lower()) in _ENDINGS or end in _COMPRESSED:
            name = name[: -len(end)]
        return name


def check_address(path: str) -> None:
    """Raise ``ValueError`` for an address of a site, an object store or a database, and say what to do instead."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):/", path)
    if found is None or (len(found[1]) == 1 and os.name == "nt"):
        return
    scheme = found[1].lower()
    ways = {
        "http": "download it, or pipe it: curl -sL ADDRESS | ranklake ingest files -",
        "https": "download it, or pipe it: curl -sL ADDRESS | ranklake ingest files -",
        "s3": "copy it here, or pipe it: aws s3 cp ADDRESS - | ranklake ingest files -",
        "gs": "copy it here, or pipe it: gcloud storage cat ADDRESS | ranklake ingest files -",
        "file": "name the file without file://",
    }
    database = "write the results of a query to a CSV file, or pipe them: psql -c 'copy (...) to stdout csv header' | "
    way = ways.get(scheme, f"{database}ranklake ingest files -" if "sql" in scheme else "copy it here first")
    # The rest is not repeated: addresses of databases hold passwords.
    raise ValueError(f"PATH must be a file or folder on this machine, got an address {scheme}://...; {way}")


def format_of(path: Path) -> str | None:
    """The format of a table by the ending of its name; None if it has none of these endings."""
    name = path.name.lower()
    kind = _compression(name)
    if kind is not None:
        name = name[: name.rindex(".")]
    form = _ENDINGS.get(Path(name).suffix)
    return None if form == "parquet" and kind is not None else form


def files_of(path: str) -> list[Path]:
    """The files that a path or a pattern such as ``results/*.csv`` stands for; a folder stands for itself.

    Raises
    ------
    SourceError
        No file is found, it is not a plain file, or it is a workbook.
    """
    found = [Path(path)]
    if not found[0].exists():
        if not glob.has_magic(path):
            raise SourceError("no such file or folder", path)
        found = [Path(name) for name in sorted(glob.glob(path, recursive=True)) if Path(name).is_file()]
        if not found:
            raise SourceError("no file matches this pattern", path)
    for one in found:
        if not (one.is_file() or one.is_dir()):
            rule = "neither a plain file nor a folder; a pipe is read as -, standard input"
            raise SourceError(rule, one.name)
        if one.name.lower().endswith(_SHEETS):
            raise SourceError("a workbook is not read; save the sheet with the results as CSV (UTF-8)", one.name)
    return found


@contextmanager
def damage_of(name: str) -> Iterator[None]:
    """Turn what readers of damaged or unreadable files raise into :class:`SourceError` with the name of the file."""
    try:
        yield
    except MemoryError:  # of Arrow's, too
        raise
    except (pa.ArrowException, lzma.LZMAError, zlib.error, OSError, EOFError, OverflowError) as error:
        words = (str(error) or type(error).__name__).splitlines()[0]
        raise SourceError(f"cannot be read: {words}", name) from None


def tables_in(folder: Path, form: str | None, report: IngestReport, limits: Limits) -> list[Input]:
    """The tables of a folder and those below it, by name; of one format, if it is given.

    Raises
    ------
    SourceError
        The folder holds contests of the reference format beside tables.
    """
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    ]
    if form is not None:
        return [Input(file, file.relative_to(folder).as_posix(), form, limits) for file in files]
    known = [(file, known) for file in files if (known := format_of(file)) is not None and file.suffix != ".txt"]
    contests = [file for file, form in known if form == "json"]
    tables = [file for file, form in known if form != "json"]
    if not tables:
        return []
    if contests:
        both = f"{quoted(contests[0].name)} beside the table {quoted(tables[0].name)}"
        raise SourceError(f"holds contests and tables, {both}; put them into folders of their own", folder.name)
    report.other_files += len(files) - len(tables)
    return [Input(file, file.relative_to(folder).as_posix(), form, limits) for file, form in known]


@contextmanager
def standard_input(form: str | None, limits: Limits) -> Iterator[Input]:
    """Standard input as a file: a table is read more than once.

    Raises
    ------
    ValueError
        It is a terminal.
    """
    if sys.stdin.isatty():
        raise ValueError("PATH - reads a table from standard input, which is a terminal; pipe a table into it")
    with tempfile.TemporaryDirectory(prefix="ranklake-") as folder:
        path = Path(folder, "input")
        most = limits.expanded or MOST_EXPANDED

        def too_large() -> SourceError:
            rule = f"more than {byte_count(most)}, the limit; if it is honest, --limit expanded=... allows more"
            return SourceError(rule, "standard input")

        bounded = BoundedReader(sys.stdin.buffer, most, too_large)
        with path.open("wb") as file:
            try:
                shutil.copyfileobj(bounded, file, 2**20)
            except OSError as error:
                rule = f"cannot be kept in {folder}: {error.strerror or error}; TMPDIR names another folder"
                raise SourceError(rule, "standard input") from None
        yield Input(path, "standard input", form or "csv", limits)


def _open_xz(path: Path) -> lzma.LZMAFile:
    return lzma.LZMAFile(path)


def _compression(name: str) -> str | None:
    return _COMPRESSED.get(Path(name.lower()).suffix)
