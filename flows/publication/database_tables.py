"""The published tables in a database: their columns, keys and indices, the state of the last publish, and merges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ranklake.storage.lake.schemas import PUBLISHED

from ..databases.address import Kind
from ..databases.connection import Connection, quote
from ..databases.errors import DatabaseError

__all__ = ["STATE", "DatabaseTables"]

STATE = "ranklake_state"
_STAGING = "ranklake_new"
_SCHEMAS = PUBLISHED | {STATE: pa.schema([("name", pa.string()), ("state", pa.string())])}
_KEYS: dict[str, tuple[str, ...]] = {
    "players": ("player",),
    "contests": ("round_index",),
    "ratings": ("round_index", "player"),
    "leaderboard": ("player",),
    STATE: ("name",),
}
_INDICES: dict[str, tuple[tuple[str, ...], ...]] = {
    "players": (("handle",),),
    "contests": (("contest_id",),),
    "ratings": (("player", "round_index"),),
    "leaderboard": (("place",), ("handle",)),
}
_TYPES: dict[str, dict[pa.DataType, str]] = {
    "postgresql": {
        pa.int32(): "integer",
        pa.int64(): "bigint",
        pa.float64(): "double precision",
        pa.string(): "text",
        pa.bool_(): "boolean",
    },
    "sqlite": {
        pa.int32(): "integer",
        pa.int64(): "integer",
        pa.float64(): "real",
        pa.string(): "text",
        pa.bool_(): "boolean",
    },
}


class DatabaseTables:
    """The tables of one run. All methods belong into one transaction, after :meth:`lock`.

    Parameters
    ----------
    schema
        Schema of PostgreSQL, which must exist; by default the current one. SQLite has no schemas.
    prefix
        Put before the name of every table.
    """

    def __init__(self, connection: Connection, schema: str | None = None, prefix: str = "") -> None:
        self._connection, self._prefix = connection, prefix
        self._kind: Kind = connection.kind
        if schema is not None and self._kind == "sqlite":
            raise ValueError("SQLite has no schemas; a prefix keeps the tables of several runs apart")
        self._schema = schema or ("" if self._kind == "sqlite" else self._current_schema())
        self._unindexed: set[str] = set()

    @property
    def begin(self) -> str:
        """The statement that begins the transaction."""
        return "BEGIN IMMEDIATE" if self._kind == "sqlite" else "BEGIN"

    def lock(self) -> None:
        """Wait for another publish into the same tables to end."""
        if self._kind == "postgresql":
            place = _text(f"ranklake {self._schema} {self._prefix}")
            self._connection.execute(f"select 1 from pg_advisory_xact_lock(hashtextextended({place}, 0))")

    def create(self, *, rebuild: bool = False) -> None:
        """Create missing tables; ``rebuild`` first drops those of an earlier publish.

        Raises
        ------
        DatabaseError
            A table of this name exists and has other columns.
        """
        ours = bool(self._columns(STATE))
        for name in _SCHEMAS:
            if rebuild and ours:
                self._connection.execute(f"drop table if exists {self._name(name)}")
            found, expected = self._columns(name), self._definition(name)
            if found and found != expected:
                raise DatabaseError(self._connection.shown, self._difference(name, found, expected))
            if not found:
                columns = ", ".join(f"{self._quote(column)} {kind}" for column, kind in expected)
                # SQLite cannot add a key later; PostgreSQL makes keys and indices faster when the rows are there.
                key = f", primary key ({self._list(_KEYS[name])})" if self._kind == "sqlite" or name == STATE else ""
                self._connection.execute(f"create table {self._name(name)} ({columns}{key})")
                self._unindexed.add(name)

    def index(self) -> None:
        """Create the keys and indices of new tables."""
        for name in sorted(self._unindexed):
            if self._kind != "sqlite" and name != STATE:
                self._connection.execute(f"alter table {self._name(name)} add primary key ({self._list(_KEYS[name])})")
            for columns in _INDICES.get(name, ()):
                index = self._quote(f"{self._prefix}{name}_{'_'.join(columns)}")
                self._connection.execute(f"create index {index} on {self._name(name)} ({self._list(columns)})")
        self._unindexed.clear()

    def states(self) -> dict[str, Any]:
        """The states that the last publish stored, by name."""
        rows = self.rows(STATE)
        return {row["name"]: json.loads(row["state"]) for row in rows.to_pylist()}

    def store(self, states: Mapping[str, Any]) -> None:
        """Replace the stored states."""
        rows = [{"name": name, "state": json.dumps(state, allow_nan=False)} for name, state in states.items()]
        self.merge(STATE, pa.Table.from_pylist(rows, schema=_SCHEMAS[STATE]))

    def rows(self, name: str) -> pa.Table:
        """All rows of a table, in any order."""
        schema = _SCHEMAS[name]
        with self._connection.read(f"select {self._list(schema.names)} from {self._name(name)}") as (found, batches):
            return pa.Table.from_batches(batches, found).cast(schema)

    def append(self, name: str, batches: Iterable[pa.RecordBatch]) -> int:
        """Append rows; returns their number."""
        schema = _SCHEMAS[name].remove_metadata()
        plain = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches)
        return self._connection.append(f"{self._prefix}{name}", plain, schema, self._schema)

    def cut(self, name: str, start_round: int) -> None:
        """Delete the rows of all rounds from ``start_round`` on."""
        self._connection.execute(f"delete from {self._name(name)} where round_index >= {int(start_round)}")

    def merge(self, name: str, rows: pa.Table) -> None:
        """Make a table equal to ``rows``: only rows that differ are written."""
        target, columns, key = self._name(name), _SCHEMAS[name].names, _KEYS[name]
        self._stage(name, rows)
        if name in self._unindexed and name != STATE:  # empty
            self._connection.execute(f"insert into {target} select * from {_STAGING}")
        else:
            others = [self._quote(column) for column in columns if column not in key]
            is_other = "is not" if self._kind == "sqlite" else "is distinct from"
            changed = " or ".join(f"old.{column} {is_other} excluded.{column}" for column in others)
            same = " and ".join(f"new.{self._quote(column)} = old.{self._quote(column)}" for column in key)
            self._connection.execute(
                f"delete from {target} as old where not exists (select 1 from {_STAGING} as new where {same})"
            )
            self._connection.execute(
                f"insert into {target} as old ({self._list(columns)}) select * from {_STAGING} where true "
                f"on conflict ({self._list(key)}) do update set "
                f"{', '.join(f'{column} = excluded.{column}' for column in others)} where {changed}"
            )
        self._connection.execute(f"drop table {_STAGING}")

    def _stage(self, name: str, rows: pa.Table) -> None:
        columns = ", ".join(f"{self._quote(column)} {kind}" for column, kind in self._definition(name))
        self._connection.execute(f"create temporary table {_STAGING} ({columns})")
        schema = _SCHEMAS[name].remove_metadata()
        self._connection.append(_STAGING, rows.cast(schema).to_batches(), schema, "temp")
        if self._kind == "postgresql":
            self._connection.execute(f"analyze {_STAGING}")

    def _columns(self, name: str) -> list[tuple[str, str]]:
        """Names and types of the columns of a table; empty if it does not exist."""
        if self._kind == "sqlite":
            sql = f"select name, lower(type) as type from pragma_table_info({_text(self._prefix + name)}) order by cid"
        else:
            sql = (
                "select attname::text as name, format_type(atttypid, atttypmod) as type from pg_attribute "
                f"where attrelid = to_regclass({_text(self._name(name))}) and attnum > 0 and not attisdropped "
                "order by attnum"
            )
        with self._connection.read(sql) as (schema, batches):
            found = pa.Table.from_batches(batches, schema)
        return [(row["name"], row["type"]) for row in found.to_pylist()]

    def _definition(self, name: str) -> list[tuple[str, str]]:
        return [(field.name, _TYPES[self._kind][field.type]) for field in _SCHEMAS[name]]

    def _difference(self, name: str, found: list[tuple[str, str]], expected: list[tuple[str, str]]) -> str:
        at = next((pair for pair in found if pair not in expected), None) or ("no column", "")
        missing = next((pair for pair in expected if pair not in found), None)
        lacks = f", and not {missing[0]} {missing[1]}" if missing else ""
        remedy = "give another --schema" if self._kind != "sqlite" else "give another file"
        rule = f"the table {self._prefix}{name} exists and has {' '.join(at).strip()}{lacks}"
        return f"{rule}; {remedy}, or a --prefix as ranklake_"

    def _current_schema(self) -> str:
        with self._connection.read("select current_schema()::text as name") as (schema, batches):
            (row,) = pa.Table.from_batches(batches, schema).to_pylist()
        if row["name"] is None:
            raise DatabaseError(self._connection.shown, "no schema of the search path exists; give one with --schema")
        return str(row["name"])

    def _name(self, name: str) -> str:
        table = self._quote(f"{self._prefix}{name}")
        return f"{self._quote(self._schema)}.{table}" if self._schema else table

    def _quote(self, name: str) -> str:
        return quote(name, self._kind)

    def _list(self, columns: Sequence[str]) -> str:
        return ", ".join(map(self._quote, columns))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
