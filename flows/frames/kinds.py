"""Data frames of any kind: read as Arrow, and given back in the kind that came in.

pandas frames keep their index, their types and all columns. Every other frame is one that exports the Arrow C stream
(Polars, Arrow, DuckDB), or a Dask frame, which is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

__all__ = ["ArrowFrame", "Frame", "PandasFrame", "as_kind", "concat", "open_frame", "to_pandas"]

Rows = npt.NDArray[np.integer]


class Frame(Protocol):
    """A frame of results as it was given.

    Attributes
    ----------
    kind : str
        ``pandas``, ``dask``, ``polars``, ``polars-lazy``, ``arrow`` or ``duckdb``.
    names : list of str
        The names of all columns, in order.
    """

    kind: str
    names: list[str]

    def arrow(self, names: Sequence[str]) -> pa.Table:
        """Some columns as Arrow."""

    def take(self, name: str, rows: Rows) -> pd.Series[Any]:
        """Some rows of a column, as they were given."""

    def labels(self, rows: Sequence[int]) -> list[Any]:
        """The labels of some rows in the index; empty for frames without index."""

    def extend(self, rows: Rows, columns: Mapping[str, npt.NDArray[Any] | pd.Series[Any]]) -> Any:
        """A frame of this kind: new columns, then the columns of some rows of this frame under their own index.

        A new column replaces one of the same name.
        """


class PandasFrame:
    """See :class:`Frame`."""

    def __init__(self, frame: pd.DataFrame, kind: str = "pandas") -> None:
        self.frame, self.kind, self.names = frame, kind, [str(name) for name in frame.columns]

    def arrow(self, names: Sequence[str]) -> pa.Table:
        at = [self.names.index(name) for name in names]
        arrays = [pa.Array.from_pandas(self.frame.iloc[:, i]) for i in at]
        return pa.table(arrays, names=list(names))

    def take(self, name: str, rows: Rows) -> pd.Series[Any]:
        return self.frame.iloc[:, self.names.index(name)].iloc[rows].reset_index(drop=True)

    def labels(self, rows: Sequence[int]) -> list[Any]:
        return list(self.frame.index[list(rows)].tolist())

    def extend(self, rows: Rows, columns: Mapping[str, Any]) -> Any:
        index = self.frame.index.take(rows)
        new = pd.DataFrame({name: getattr(column, "array", column) for name, column in columns.items()}, index=index)
        others = [i for i, name in enumerate(self.names) if name not in columns]
        if others:
            kept = self.frame.iloc[:, others].take(rows)
            new = pd.concat([new, kept], axis=1)
        return as_kind(new, self.kind)


class ArrowFrame:
    """See :class:`Frame`."""

    def __init__(self, table: pa.Table, kind: str) -> None:
        self.table, self.kind, self.names = table, kind, list(table.column_names)

    def arrow(self, names: Sequence[str]) -> pa.Table:
        return self.table.select([self.names.index(name) for name in names])

    def take(self, name: str, rows: Rows) -> pd.Series[Any]:
        taken: pd.Series[Any] = self.table.column(self.names.index(name)).take(pa.array(rows)).to_pandas()
        return taken

    def labels(self, rows: Sequence[int]) -> list[Any]:
        return []

    def extend(self, rows: Rows, columns: Mapping[str, Any]) -> Any:
        arrays = {name: _as_arrow(column) for name, column in columns.items()}
        kept = self.table.select([i for i, name in enumerate(self.names) if name not in columns]).take(pa.array(rows))
        arrays |= dict(zip(kept.column_names, kept.columns, strict=True))
        for name in ("contest", "player"):  # as they were given, not as pandas has them
            if name in columns and name in self.names:
                arrays[name] = self.table.column(self.names.index(name)).take(pa.array(rows))
        return as_kind(pa.table(arrays), self.kind)


def open_frame(results: Any, what: str = "results") -> Frame:
    """A frame of any kind.

    Raises
    ------
    ValueError
        It is no frame.
    """
    if isinstance(results, pd.DataFrame):
        return PandasFrame(results)
    library = type(results).__module__.partition(".")[0]
    if library.startswith("dask") and hasattr(results, "compute"):
        computed = results.compute()
        return PandasFrame(computed, "dask") if isinstance(computed, pd.DataFrame) else open_frame(computed, what)
    if library == "polars" and hasattr(results, "collect"):
        return ArrowFrame(results.collect().to_arrow(), "polars-lazy")
    if library == "polars" and hasattr(results, "get_columns"):
        return ArrowFrame(results.to_arrow(), "polars")
    if hasattr(results, "__arrow_c_stream__"):
        try:
            return ArrowFrame(pa.table(results), "duckdb" if library in ("duckdb", "_duckdb") else "arrow")
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise ValueError(f"{what}: the Arrow stream is no table: {error}") from None
    if hasattr(results, "to_pandas"):
        return PandasFrame(results.to_pandas())
    kinds = "a pandas, Polars, Arrow, DuckDB or Dask frame"
    raise ValueError(f"{what} must be {kinds}, got {type(results).__name__}")


def as_kind(frame: pd.DataFrame | pa.Table, kind: str) -> Any:
    """A pandas frame or an Arrow table as a frame of this kind."""
    if isinstance(frame, pd.DataFrame):
        return _KINDS[kind](frame) if kind in ("pandas", "dask") else _KINDS[kind](_from_pandas(frame))
    return _KINDS[kind](frame.to_pandas() if kind in ("pandas", "dask") else frame)


def concat(one: Any, other: Any, kind: str) -> Any:
    """The rows of two frames of this kind, one after the other; a column that one of them lacks is null there."""
    if kind in ("pandas", "dask"):
        first, second = to_pandas(one), to_pandas(other)
        ranges = all(isinstance(frame.index, pd.RangeIndex) for frame in (first, second))
        together = pd.concat([first, second], ignore_index=ranges)
        return as_kind(together, kind)
    tables = [open_frame(frame).arrow(open_frame(frame).names) for frame in (one, other)]
    return as_kind(pa.concat_tables(tables, promote_options="permissive"), kind)


def to_pandas(frame: Any) -> pd.DataFrame:
    """A frame of any kind as a pandas frame."""
    opened = open_frame(frame)
    if isinstance(opened, PandasFrame):
        return opened.frame
    frame_of_arrow: pd.DataFrame = opened.arrow(opened.names).to_pandas()
    return frame_of_arrow


def _from_pandas(frame: pd.DataFrame) -> pa.Table:
    """Arrow without the index, unless it has a name."""
    named = frame.index.name is not None
    return pa.Table.from_pandas(frame, preserve_index=named).replace_schema_metadata()


def _as_arrow(column: Any) -> Any:
    return pa.Array.from_pandas(column) if isinstance(column, pd.Series) else pa.array(column)


def _dask(frame: pd.DataFrame) -> Any:
    return import_module("dask.dataframe").from_pandas(frame, npartitions=1, sort=False)


_KINDS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda frame: frame,
    "dask": _dask,
    "arrow": lambda table: table,
    "polars": lambda table: import_module("polars").from_arrow(table),
    "polars-lazy": lambda table: import_module("polars").from_arrow(table).lazy(),
    "duckdb": lambda table: import_module("duckdb").from_arrow(table),
}
