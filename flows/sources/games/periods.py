"""Periods: the names and the bounds, in UTC, of hours, days, weeks, months and years; and games sorted into them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.datasets.tables.covariates import Covariates
from ranklake.storage.datasets.tables.games import Games, Period
from ranklake.storage.datasets.tables.kept import Kept

from ..base import SourceError
from .batch import OF_POINTS

PERIODS = ("hour", "day", "week", "month", "year")

_UNITS = {"hour": "h", "day": "D", "week": "D", "month": "M", "year": "Y"}
_MONDAY = 4  # 1970-01-05


def number_of_period(time_seconds: npt.NDArray[np.int64], period: str) -> npt.NDArray[np.int64]:
    """The number of the period of each time; 0 is that of 1970-01-05 for weeks, and otherwise of 1970-01-01T00:00."""
    times = time_seconds.astype("datetime64[s]").astype(f"datetime64[{_UNITS[period]}]").astype(np.int64)
    return (times - _MONDAY) // 7 if period == "week" else times


def period_name(number: int, period: str) -> str:
    """The name of a period: ``2024-01-31T13``, ``2024-01-31``, ``2024-W05``, ``2024-01`` or ``2024``."""
    if period == "week":
        thursday = np.array(7 * number + _MONDAY + 3).astype("datetime64[D]")  # in the year that the week belongs to
        year = thursday.astype("datetime64[Y]")
        return f"{year}-W{int((thursday - year.astype('datetime64[D]')).astype(np.int64)) // 7 + 1:02d}"
    return str(np.array(number).astype(f"datetime64[{_UNITS[period]}]"))


MAX_PERIODS = 100_000  # each is a temporary file; 270 years of days


class Spool:
    """Games by period, one file a period, in an empty folder, which the caller deletes. Memory holds one batch, or one
    period.
    """

    def __init__(self, folder: Path, period: str) -> None:
        self._folder, self._period = folder, period
        self._numbers: set[int] = set()

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, batch: pa.Table) -> None:
        """Add games with the columns of a batch, see :data:`.batch.SCHEMA`; ``SourceError`` beyond
        :data:`MAX_PERIODS`.
        """
        number = number_of_period(batch.column("time_seconds").to_numpy(), self._period)
        if np.any(number[1:] < number[:-1]):
            order = np.argsort(number, kind="stable")
            batch, number = batch.take(pa.array(order)), number[order]
        starts = np.flatnonzero(np.diff(number, prepend=number[:1] - 1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(number)], strict=True):
            self._append(int(number[start]), batch.slice(start, stop - start))

    def periods(self) -> Iterator[Period]:
        """The periods in order of time; games of one time keep the order in which they were added."""
        for number in sorted(self._numbers):
            table = self._read(number)
            time_seconds = table.column("time_seconds").to_numpy()
            if np.any(time_seconds[1:] < time_seconds[:-1]):
                table = table.take(pa.array(np.argsort(time_seconds, kind="stable")))
            yield _period(period_name(number, self._period), table)

    def _append(self, number: int, games: pa.Table) -> None:
        with self._path(number).open("ab") as file, pa.ipc.new_stream(file, games.schema) as stream:
            stream.write_table(games)
        self._numbers.add(number)
        if len(self._numbers) > MAX_PERIODS:
            raise SourceError(f"games of more than {MAX_PERIODS:,} periods; choose a longer --period")

    def _read(self, number: int) -> pa.Table:
        tables, path = [], self._path(number)
        with pa.OSFile(str(path)) as file:
            while file.tell() < file.size():  # one stream for each batch with games of the period
                tables.append(pa.ipc.open_stream(file).read_all())
        path.unlink()
        return pa.concat_tables(tables, promote_options="default").combine_chunks()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.arrow"


def _period(name: str, table: pa.Table) -> Period:
    columns = [table.column(name).combine_chunks() for name in ("white", "black")]
    encoded = pc.dictionary_encode(pa.concat_arrays(columns))
    numbers, n = encoded.indices.to_numpy(), table.num_rows
    facts = {name: table.column(name).to_numpy() for name in ("time_seconds", "weight")}
    if "advantage" in table.column_names:
        facts["advantage"] = table.column("advantage").fill_null(0.0).to_numpy()
    if "precision" in table.column_names:
        facts["precision"] = table.column("precision").fill_null(1.0).to_numpy()
    if "points" in table.column_names:
        both = [table.column(name).fill_null(np.nan).to_numpy() for name in OF_POINTS]
        facts["points"] = np.column_stack(both).ravel()
    if "kept" in table.column_names:
        facts["kept"] = Kept.of(table.column("kept"))
    facts["covariates"] = Covariates.of(table)
    return Period(name, encoded.dictionary, numbers[:n], numbers[n:], table.column("score").to_numpy(), Games(**facts))
