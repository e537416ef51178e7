"""Ratings in one Parquet file: a row for each player, with the belief and the list of the player's rounds.

The lists hold the rows of the history, with their order and, in the metadata, their schema, so that a history is read
as it was written: types, index and categories.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ranklake.rating_kernels.core.ragged import Ragged, Shared
from ranklake.storage.lake.access.disk import Disk

from ..common.configuration.settings import build_params, find_system, params_to_json, recorded_settings
from ..frames.beliefs import PlayerBeliefs
from ..frames.kinds import as_kind, open_frame

FORMAT = 1
_KEY = b"ranklake.ratings"
_ROUNDS, _ORDER = "rounds", "order"


def write(path: str | os.PathLike[str], facts: dict[str, Any], beliefs: PlayerBeliefs, history: Any) -> None:
    """Write the file in one step.

    Raises ValueError: Parquet cannot hold a column of the history.
    """
    rows = _as_table(history)
    columns = {"player": pa.array(beliefs.players)}
    shared = {name: column.values for name, column in beliefs.columns.items() if isinstance(column, Shared)}
    for name, column in beliefs.columns.items():
        if name in shared:
            continue
        columns[name] = (
            pa.ListArray.from_arrays(pa.array(column.offsets.astype(np.int32)), pa.array(column.values))
            if isinstance(column, Ragged)
            else pa.array(column)
        )
    columns[_ROUNDS] = _by_player(rows, _codes(history, beliefs.players), len(beliefs.players))
    metadata = {
        "format": FORMAT,
        "system": beliefs.name,
        "hyperparameters": params_to_json(beliefs.params),
        "n_events": beliefs.n_events,
        "last_time": beliefs.last_time,
        "history": base64.b64encode(rows.schema.serialize()).decode(),
        "types": _types(history),
        "categories": _categories(rows),
        **({"shared": {name: values.ravel().tolist() for name, values in shared.items()}} if shared else {}),
        **facts,
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(metadata, allow_nan=False).encode()})
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(table, sink, compression="zstd")
    except pa.ArrowException as error:
        raise _unwritten(error) from None
    full = os.fspath(Path(path).absolute())
    try:
        Disk(full, os.path.dirname(full)).commit({full: sink.getvalue()})
    except OSError as error:
        raise OSError(error.errno, error.strerror, full) from None  # names this file, not the temporary one


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], PlayerBeliefs, Any]:
    """The facts, the beliefs and the history of a file."""
    try:
        with open(path, "rb") as file:
            table = pq.ParquetFile(file).read()
    except pa.ArrowInvalid as error:
        rule = f"is not a file of Ratings.save: it cannot be read as Parquet ({error})"
        raise ValueError(f"{os.fspath(path)} {rule}") from None
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        raise ValueError(f"{os.fspath(path)} is not a file of Ratings.save: it is Parquet, and has no ratings")
    facts = json.loads(text)
    if facts["format"] != FORMAT:
        raise ValueError(
            f"{os.fspath(path)} is format {facts['format']}, this code reads {FORMAT}; use a later release"
        )
    rows = table.column(_ROUNDS).combine_chunks().flatten()
    order = np.argsort(rows.field(_ORDER).to_numpy(), kind="stable")
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(facts["history"])))
    categories = pa.ipc.open_stream(base64.b64decode(facts["categories"])).read_all()
    arrays = [_decoded(rows.field(i).take(pa.array(order)), schema.field(i), categories) for i in range(len(schema))]
    history = pa.Table.from_arrays(arrays, names=schema.names).cast(schema)
    columns = {
        name: _ragged(column) if pa.types.is_list(column.type) else column.to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name not in ("player", _ROUNDS)
    }
    columns |= {name: Shared(np.array(numbers)) for name, numbers in facts.get("shared", {}).items()}
    system = find_system(facts["system"])
    params = build_params(system, recorded_settings(system, facts["hyperparameters"]))
    players = table.column("player").to_pylist()
    beliefs = PlayerBeliefs(facts["system"], params, players, columns, facts["n_events"], facts["last_time"])
    if facts["types"]:
        types = {name: _type(schema.field(name), *spelled) for name, spelled in facts["types"].items()}
        return facts, beliefs, history.to_pandas().astype(types)
    return facts, beliefs, as_kind(history, facts["kind"])


def _as_table(history: Any) -> pa.Table:
    """The history as Arrow, a pandas frame with its index and types."""
    frame = open_frame(history)
    try:
        if frame.kind in ("pandas", "dask"):
            return pa.Table.from_pandas(frame.frame)  # type: ignore[attr-defined]
        return frame.arrow()
    except (pa.ArrowException, TypeError) as error:
        raise _unwritten(error) from None


def _unwritten(error: Exception) -> ValueError:
    reason = "; ".join(map(str, error.args))
    return ValueError(f"history: Parquet cannot hold a column: {reason}; drop it from the results")


def _types(history: Any) -> dict[str, list[str]]:
    """The types of those columns of a pandas frame that pandas does not always restore: Arrow, text and objects."""
    types: dict[str, list[str]] = {}
    for name, kind in history.dtypes.items() if isinstance(history, pd.DataFrame) else ():
        if isinstance(kind, pd.ArrowDtype):
            types[str(name)] = ["arrow"]
        elif isinstance(kind, pd.StringDtype):
            types[str(name)] = ["text", kind.storage, "NA" if kind.na_value is pd.NA else "nan"]
        elif pd.api.types.is_object_dtype(kind):
            types[str(name)] = ["object"]
    return types


def _categories(rows: pa.Table) -> str:
    """One row of the columns of categories that are no text, as an Arrow stream: Parquet stores the values alone."""
    names = [field.name for field in rows.schema if _is_lost(field.type)]
    sink = pa.BufferOutputStream()
    first = rows.slice(0, 1).select(names).combine_chunks()
    with pa.ipc.new_stream(sink, first.schema) as stream:
        stream.write_table(first)
    return base64.b64encode(sink.getvalue()).decode()


def _decoded(array: pa.Array, field: pa.Field, categories: pa.Table) -> pa.Array:
    """The values of a column with its categories."""
    if not _is_lost(field.type) or not len(array):
        return array
    known = categories.column(field.name).chunk(0).dictionary
    indices = pc.index_in(array, known).cast(field.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, known, ordered=field.type.ordered)


def _is_lost(kind: pa.DataType) -> bool:
    """Whether Parquet does not store the categories of a type."""
    texts = pa.string(), pa.large_string()
    return bool(pa.types.is_dictionary(kind) and kind.value_type not in texts)


def _type(field: pa.Field, kind: str, storage: str = "", missing: str = "NA") -> Any:
    """A type that :func:`_types` spelled."""
    if kind == "arrow":
        return pd.ArrowDtype(field.type)
    if kind == "object":
        return np.dtype(object)
    return pd.StringDtype(storage) if missing == "NA" else pd.StringDtype(storage, na_value=np.nan)


def _codes(history: Any, players: list[Any]) -> np.ndarray[Any, Any]:
    """The number of the player of each row of the history."""
    frame = open_frame(history)
    n = len(frame.arrow(["player"]))
    codes: np.ndarray[Any, Any] = pd.Index(players).get_indexer(frame.take("player", np.arange(n)).tolist())
    return codes


def _by_player(rows: pa.Table, codes: np.ndarray[Any, Any], n_players: int) -> pa.Array:
    """For each player the list of the rows, with their place in the whole history."""
    order = np.argsort(codes, kind="stable")
    sorted_rows = rows.take(pa.array(order)).combine_chunks()
    fields = [column.combine_chunks() if column.num_chunks != 1 else column.chunk(0) for column in sorted_rows.columns]
    struct = pa.StructArray.from_arrays([*fields, pa.array(order)], [*rows.column_names, _ORDER])
    offsets = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=n_players))))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), struct)


def _ragged(column: pa.ChunkedArray) -> Ragged:
    lists = column.combine_chunks()
    lengths = lists.value_lengths().to_numpy()
    return Ragged.from_lengths(lengths, lists.flatten().to_numpy(zero_copy_only=False))
