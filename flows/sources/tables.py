"""Tables of results from CSV and Parquet files: which columns they have, and reading them as they are."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from flows.sources.base import Order, SourceError, shown
from flows.sources.results import contests_from_results
from storage.contests import Contest

__all__ = ["TABLES", "Columns", "read_table"]

TABLES = (".csv", ".parquet")
CSV_BLOCK_BYTES = 2**24  # a row must fit


@dataclass(frozen=True)
class Columns:
    """What a table calls its columns.

    ``contest``, ``player`` and either ``rank`` (lower is better, equal ranks tie) or ``lo`` and ``hi`` must be there;
    places are preferred if a table has both, unless ``rank`` is named. The others are used if they are there. A
    column that is named, not just left at its default, must be there; an empty name means that it is not to be used.
    """

    contest: str = "contest"
    player: str = "player"
    rank: str = "rank"
    lo: str = "lo"
    hi: str = "hi"
    time: str = "time_seconds"
    weight: str = "weight"
    perf_ceiling: str = "perf_ceiling"
    name: str = "contest_name"
    url: str = "url"
    named: frozenset[str] = frozenset()  # keys a person chose, even if what they chose is the default

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Columns:
        """From settings such as ``contest=contest_id``.

        Raises
        ------
        ValueError
            A setting of another form, or for something that is no column.
        """
        chosen: dict[str, Any] = {}
        for setting in settings:
            key, equals, column = setting.partition("=")
            if not equals or key not in _KEYS:
                raise ValueError(f"column setting {setting!r}: expected KEY=COLUMN with KEY one of {', '.join(_KEYS)}")
            chosen[key] = column
        return cls(**chosen, named=frozenset(chosen))

    def find(self, present: Sequence[str], source: str = "") -> dict[str, str]:
        """Which columns to read from a table that has these, by key.

        Raises
        ------
        SourceError
            A column that must be there is not, or is there twice; lists the columns there are.
        """
        named = self.named | {key for key in _KEYS if getattr(self, key) != getattr(Columns, key)}
        wanted = {key: getattr(self, key) for key in _KEYS}
        found = {key: column for key, column in wanted.items() if column and column in present}
        if "rank" in found and (not {"lo", "hi"} <= found.keys() or ("rank" in named and not {"lo", "hi"} & named)):
            required = {"contest", "player", "rank"}
        elif {"lo", "hi"} & found.keys():
            required = {"contest", "player", "lo", "hi"}
        else:
            required = {"contest", "player", "rank"}
        unused = {"rank", "lo", "hi"} - required
        for key in _KEYS:
            if key not in found and (key in required or (key in named and wanted[key])):
                hint = ", or lo and hi," if key == "rank" else ""
                there = ", ".join(map(shown, present))
                raise SourceError(f"no {key} column {wanted[key]!r}{hint} among the columns {there}", source)
            if key in found and list(present).count(found[key]) > 1:
                raise SourceError(f"the column {found[key]!r} is there twice", source)
        return {key: column for key, column in found.items() if key not in unused}


_KEYS = tuple(field.name for field in fields(Columns) if field.name != "named")


def read_table(path: Path, *, columns: Columns, order: Order = "given") -> Iterator[Contest | SourceError]:
    """Contests of a CSV or Parquet file; see :func:`flows.sources.results.contests_from_results`."""
    read = _read_csv if path.name.lower().endswith(".csv") else _read_parquet
    try:
        table, found = read(path, columns)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        words = str(error).splitlines()[0]
        row = re.search(r"Row #(\d+): ", words)
        rows = (int(row[1]) - 1,) if row else ()  # Arrow counts the header
        raise SourceError(
            f"cannot be read: {words.replace(row[0], '') if row else words}", path.name, rows=rows
        ) from None
    return contests_from_results(table, found, order=order, source=path.name)


def _read_csv(path: Path, columns: Columns) -> tuple[pa.Table, dict[str, str]]:
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):  # what spreadsheets call Unicode text
            raise SourceError("UTF-16, not UTF-8; save it as UTF-8", path.name)
    # One thread: only then can Arrow tell the row of an error.
    reading = pacsv.ReadOptions(use_threads=False, block_size=CSV_BLOCK_BYTES)
    parsing = pacsv.ParseOptions(newlines_in_values=True)
    with pacsv.open_csv(path, read_options=reading, parse_options=parsing) as head:
        found = columns.find(head.schema.names, path.name)
    # Everything comes as text: a guess would turn the player 007 into 7 and the player NA into nobody.
    used = sorted(set(found.values()))
    converting = pacsv.ConvertOptions(
        include_columns=used, column_types=dict.fromkeys(used, pa.string()), strings_can_be_null=False
    )
    return pacsv.read_csv(path, read_options=reading, parse_options=parsing, convert_options=converting), found


def _read_parquet(path: Path, columns: Columns) -> tuple[pa.Table, dict[str, str]]:
    with pq.ParquetFile(path) as file:
        found = columns.find(file.schema_arrow.names, path.name)
        return file.read(columns=sorted(set(found.values()))), found
