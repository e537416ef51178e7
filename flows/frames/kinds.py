"""Data frames of any kind: read as Arrow, and given back in the kind that came in.

pandas frames keep their index, their types and all columns. Every other frame is one that exports the Arrow C stream
(Polars, Arrow, DuckDB), or a Dask frame, which is computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ..common.text import described, quoted
from ..sources.columns import plain, plain_column

SUFFIX = "_results"  # of a column whose name a new column has
Rows = npt.NDArray[np.integer]


class Frame(ABC):
    """A frame of results as it was given.

    ``kind``: ``pandas``, ``dask``, ``polars``, ``polars-lazy``, ``arrow`` or ``duckdb``.
    ``names``: the names of all columns, in order.
    ``index_names``: the names of the index; empty for frames without index.
    ``copies``: how often each row of the results is in this frame: once, or twice if it has two players.
    """

    kind: str
    names: list[str]
    index_names: Sequence[str] = ()
    copies = 1

    @abstractmethod
    def arrow(self, names: Sequence[str] | None = None, mixed: Collection[str | None] = ()) -> pa.Table:
        """Some columns as Arrow; by default all. Columns ``mixed`` become text if they hold numbers and text."""

    @abstractmethod
    def take(self, name: str, rows: Rows) -> pd.Series[Any]:
        """Some rows of a column, as they were given."""

    def labels(self, rows: Sequence[int]) -> list[Any]:
        """The labels of some rows in the index; empty for frames without index."""
        return []

    @abstractmethod
    def doubled(self, player: str, of: tuple[str, str], columns: Mapping[str, npt.NDArray[Any]]) -> Frame:
        """A frame with every row twice and further columns: ``player`` is of two columns in turn."""

    @abstractmethod
    def extend(self, rows: Rows, columns: Mapping[str, Any], replaced: Mapping[str, str]) -> Any:
        """A frame of this kind: new columns, then the columns of some rows of this frame under their own index.

        A new column replaces one of ``replaced``, this frame's names of columns by key. Others of the same name are
        kept under another one.
        """


class PandasFrame(Frame):
    def __init__(self, frame: pd.DataFrame, kind: str = "pandas") -> None:
        self.frame, self.kind, self.names = frame, kind, [str(name) for name in frame.columns]
        self.index_names = [str(name) for name in frame.index.names if name is not None]

    def arrow(self, names: Sequence[str] | None = None, mixed: Collection[str | None] = ()) -> pa.Table:
        names = self.names if names is None else names
        columns = [column_as_arrow(self.frame.iloc[:, self.names.index(name)], name, name in mixed) for name in names]
        return pa.table(columns, names=list(names))

    def take(self, name: str, rows: Rows) -> pd.Series[Any]:
        return self.frame.iloc[:, self.names.index(name)].iloc[rows].reset_index(drop=True)

    def labels(self, rows: Sequence[int]) -> list[Any]:
        return list(self.frame.index[list(rows)].tolist())

    def doubled(self, player: str, of: tuple[str, str], columns: Mapping[str, npt.NDArray[Any]]) -> Frame:
        rows = np.arange(len(self.frame))
        both = pd.concat([self.take(name, rows) for name in of], ignore_index=True).iloc[_in_turn(len(rows))]
        frame = self.frame.iloc[np.repeat(rows, 2)]
        new = pd.DataFrame({player: both.array, **columns}, index=frame.index)
        doubled = PandasFrame(pd.concat([frame, new], axis=1), self.kind)
        doubled.copies = 2
        return doubled

    def extend(self, rows: Rows, columns: Mapping[str, Any], replaced: Mapping[str, str]) -> Any:
        index = self.frame.index.take(rows)
        new = pd.DataFrame({name: getattr(column, "array", column) for name, column in columns.items()}, index=index)
        others = _kept(self.names, columns, replaced.values())
        if others:
            kept = self.frame.iloc[:, list(others)].take(rows)
            labels = [self.frame.columns[i] if name == self.names[i] else name for i, name in others.items()]
            new = pd.concat([new, kept.set_axis(labels, axis=1)], axis=1)
        return as_kind(new, self.kind)


class ArrowFrame(Frame):
    def __init__(self, table: pa.Table, kind: str) -> None:
        self.table, self.kind, self.names = plain(table), kind, list(table.column_names)

    def arrow(self, names: Sequence[str] | None = None, mixed: Collection[str | None] = ()) -> pa.Table:
        names = self.names if names is None else names
        return self.table.select([self.names.index(name) for name in names])

    def take(self, name: str, rows: Rows) -> pd.Series[Any]:
        column = self.table.column(self.names.index(name)).take(pa.array(rows))
        return arrow_as_pandas(pa.table({name: column}))[name]

    def doubled(self, player: str, of: tuple[str, str], columns: Mapping[str, npt.NDArray[Any]]) -> Frame:
        both = concat([self.arrow([name]).rename_columns([player]) for name in of])
        table = self.table.take(pa.array(np.repeat(np.arange(len(self.table)), 2)))
        table = table.append_column(player, both.column(0).take(pa.array(_in_turn(len(self.table)))))
        for name, values in columns.items():
            table = table.append_column(name, pa.array(values, from_pandas=True))  # NaN is null
        doubled = ArrowFrame(table, self.kind)
        doubled.copies = 2
        return doubled

    def extend(self, rows: Rows, columns: Mapping[str, Any], replaced: Mapping[str, str]) -> Any:
        arrays = {
            name: pa.Array.from_pandas(column) if isinstance(column, pd.Series) else pa.array(column)
            for name, column in columns.items()
        }
        others = _kept(self.names, columns, replaced.values())
        kept = self.table.select(list(others)).take(pa.array(rows))
        arrays |= dict(zip(others.values(), kept.columns, strict=True))
        for name in ("contest", "player", "team"):  # as they were given, not as pandas has them
            if name in columns and replaced.get(name) == name:
                arrays[name] = self.table.column(self.names.index(name)).take(pa.array(rows))
        return as_kind(pa.table(arrays), self.kind)


def free_name(name: str, taken: Collection[str]) -> str:
    """This name of a new column, or the name with a suffix if it is taken."""
    return name if name not in taken else free_name(name + SUFFIX, taken)


def _in_turn(n: int) -> Rows:
    """The order that takes rows 0 to n - 1 and n to 2 n - 1 in turn."""
    order: Rows = np.arange(2 * n).reshape(2, n).T.ravel()
    return order


def _kept(names: Sequence[str], columns: Collection[str], replaced: Collection[str]) -> dict[int, str]:
    """The columns to keep beside new ones: their new names by position."""
    kept: dict[int, str] = {}
    for i, name in enumerate(names):
        if name in columns and name in replaced:
            continue
        while name in columns or (name != names[i] and (name in names or name in kept.values())):
            name += SUFFIX
        kept[i] = name
    return kept


def open_frame(results: Any, what: str = "results") -> Frame:
    """A frame of any kind."""
    if isinstance(results, pd.DataFrame):
        return PandasFrame(results)
    library = type(results).__module__.partition(".")[0]
    if library.startswith("dask") and hasattr(results, "compute"):
        computed = results.compute()
        return PandasFrame(computed, "dask") if isinstance(computed, pd.DataFrame) else open_frame(computed, what)
    if library == "polars" and hasattr(results, "collect"):
        return ArrowFrame(polars_as_arrow(results.collect(), what), "polars-lazy")
    if library == "polars" and hasattr(results, "get_columns"):
        return ArrowFrame(polars_as_arrow(results, what), "polars")
    if hasattr(results, "__arrow_c_stream__"):
        try:
            return ArrowFrame(pa.table(results), "duckdb" if library in ("duckdb", "_duckdb") else "arrow")
        except (pa.ArrowException, TypeError, ValueError) as error:
            rule = f"{what} must be a frame with columns, got a value of the type {type(results).__name__}"
            raise ValueError(f"{rule}, whose Arrow stream is no table: {error}") from None
    if hasattr(results, "to_pandas"):
        return PandasFrame(results.to_pandas())
    kinds = "a pandas, Polars, Arrow, DuckDB or Dask frame"
    raise ValueError(f"{what} must be {kinds}, got {described(results)}")


def as_kind(frame: pd.DataFrame | pa.Table, kind: str) -> Any:
    """A pandas frame or an Arrow table as a frame of this kind."""
    if isinstance(frame, pd.DataFrame) and kind not in ("pandas", "dask"):
        named = frame.index.name is not None  # other frames have no index
        frame = pa.Table.from_pandas(frame, preserve_index=named).replace_schema_metadata()
    if isinstance(frame, pd.DataFrame):
        return _KINDS[kind](frame)
    return _KINDS[kind](arrow_as_pandas(frame) if kind in ("pandas", "dask") else frame)


def concat(parts: Sequence[Any]) -> Any:
    """The rows of pandas frames, or of Arrow tables, in this order; a column that one of them lacks is null there."""
    if isinstance(parts[0], pd.DataFrame):
        return pd.concat(parts) if len(parts) > 1 else parts[0]
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueError(f"results have other types of columns than the history before: {error}") from None


def to_pandas(frame: Any, what: str = "results") -> pd.DataFrame:
    """A frame of any kind as a pandas frame; ``what`` is its name in messages."""
    opened = open_frame(frame, what)
    return opened.frame if isinstance(opened, PandasFrame) else arrow_as_pandas(opened.arrow())


_KINDS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda frame: frame,
    "dask": lambda frame: import_module("dask.dataframe").from_pandas(frame, npartitions=1, sort=False),
    "arrow": lambda table: table,
    "polars": lambda table: import_module("polars").from_arrow(table),
    "polars-lazy": lambda table: import_module("polars").from_arrow(table).lazy(),
    "duckdb": lambda table: import_module("duckdb").from_arrow(table),
}


# What one library does not have becomes a type that holds its values.


def arrow_as_pandas(table: pa.Table) -> pd.DataFrame:
    """A pandas frame with all columns. Nested ones, and those that pandas cannot hold, stay Arrow's."""

    def kept(kind: pa.DataType) -> pd.ArrowDtype | None:
        return pd.ArrowDtype(kind) if pa.types.is_nested(kind) else None

    try:
        frame: pd.DataFrame = table.to_pandas(types_mapper=kept)
    except (pa.ArrowException, ValueError, OverflowError):  # as for dates after the year 9999
        arrays: list[Any] = [pd.arrays.ArrowExtensionArray(column) for column in table.columns]
        if table.num_columns > 1:
            arrays = [arrow_as_pandas(table.select([i])).iloc[:, 0].array for i in range(table.num_columns)]
        frame = pd.DataFrame(dict(zip(table.column_names, arrays, strict=True)))
    return frame


def column_as_arrow(column: pd.Series[Any], name: str, mixed: bool = False) -> pa.ChunkedArray:
    """A column of a pandas frame as Arrow.

    ``mixed``: numbers beside text, as spreadsheets have them, become text.
    """
    if isinstance(column.dtype, pd.SparseDtype):
        column = pd.Series(column.to_numpy(), column.index)
    if mixed and pd.api.types.infer_dtype(column) in ("mixed", "mixed-integer"):
        column = column.where(column.isna(), column.map(str))
    try:
        array = pa.Array.from_pandas(column)
        return plain_column(array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array]))
    except (pa.ArrowException, TypeError, OverflowError):
        known = column.dropna().astype(object)
        labels, kinds = known.index.tolist(), [type(value).__name__ for value in known]
        other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), 0)
        values = [f"{quoted(known.iloc[i])} in row {labels[i]!r}" for i in sorted({0, other})]
        rule = "the values of a column must be all texts, all numbers or all dates"
        raise ValueError(f"column {name!r}: {rule}, got {' and '.join(values)}") from None


def polars_as_arrow(frame: Any, what: str) -> pa.Table:
    """A Polars frame as Arrow, which has no integers of 128 bits: they become decimals, or texts if they are longer."""
    try:
        return frame.to_arrow()
    except pa.ArrowException:
        return pa.table({column.name: _polars_column(column, what) for column in frame.get_columns()})


def _polars_column(column: Any, what: str) -> pa.Array:
    polars = import_module("polars")
    decimal = polars.Decimal(38, 0)

    def exact(dtype: Any) -> Any:
        if isinstance(dtype, polars.List):
            return polars.List(exact(dtype.inner))
        if isinstance(dtype, polars.Array):
            return polars.Array(exact(dtype.inner), dtype.size)
        if isinstance(dtype, polars.Struct):
            return polars.Struct([polars.Field(field.name, exact(field.dtype)) for field in dtype.fields])
        return decimal if str(dtype) in ("Int128", "UInt128") else dtype

    casts: tuple[Callable[[], Any], ...] = (
        lambda: column,
        lambda: column.cast(exact(column.dtype)),
        lambda: column.cast(polars.String),
    )
    for cast in casts:
        with suppress(pa.ArrowException, polars.exceptions.PolarsError):
            return cast().to_arrow()
    raise ValueError(
        f"{what}: the column {quoted(column.name)} holds {column.dtype}, which Arrow does not have; drop it"
    )
