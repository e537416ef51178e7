"""The differences between the SQL of the databases: names, types, keys, indices and locks."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from .address import Kind

CONNECT_SECONDS = 10  # libpq alone waits as long as the system, minutes
WAIT_SECONDS = 600  # for another publish

Columns = Sequence[tuple[str, str]]
"""Names and types of columns."""
_TYPES = {
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.bool_(): "boolean",
}


class Dialect:
    """Statements of PostgreSQL, and what the other dialects share with it.

    ``begin``: begins a transaction.
    ``rolls_back_tables``: whether a transaction includes the creation of tables; else ``create table`` commits.
    ``late_indices``: whether indices are made when the rows are there, which is faster.
    ``late_keys``: whether keys are, too.
    ``updatable``: the option of a table most of whose rows are updated at once.
    ``joins_by_hash``: whether a temporary table needs no key for a fast join.
    """

    kind: Kind = "postgresql"
    begin = "BEGIN"
    rolls_back_tables = True
    late_indices = True
    late_keys = True
    updatable = " with (fillfactor = 45)"  # each page has room for a second version of its rows
    joins_by_hash = True
    types = _TYPES

    def lock(self, place: str) -> str:
        """A query that waits for others to unlock ``place``, locks it and has the value 1. Empty if none is needed."""
        return f"select 1 as locked from pg_advisory_xact_lock(hashtextextended({text(place)}, 0))"

    def current_schema(self) -> str:
        """A query of the schema of unqualified names; empty without schemas."""
        return "select current_schema()::text as name"

    def columns(self, schema: str, table: str) -> str:
        """A query of the names and types of the columns of a table; without rows if there is none."""
        place = ".".join(quote(name, self.kind) for name in (schema, table) if name)
        return (
            "select attname::text as name, format_type(atttypid, atttypmod) as type from pg_attribute "
            f"where attrelid = to_regclass({text(place)}) and attnum > 0 and not attisdropped order by attnum"
        )

    def create(self, table: str, columns: Columns, key: Sequence[str] = (), *, updated: bool = False) -> str:
        """The statement that creates a table; ``updated``: most rows will be updated at once."""
        return self._create("table", table, columns, key) + (self.updatable if updated else "")

    def add_column(self, table: str, column: tuple[str, str]) -> str:
        """The statement that adds a column to the end of a table, null in all rows."""
        name, kind = column
        return f"alter table {table} add column {quote(name, self.kind)} {kind}"

    def create_temporary(self, table: str, columns: Columns) -> str:
        """The statement that creates a temporary table for rows that are joined by their first column."""
        return self._create("temporary table", table, columns, () if self.joins_by_hash else (columns[0][0],))

    def update(self, table: str, source: str, key: str, names: Sequence[str]) -> str:
        """The statement that sets columns of the rows of ``table`` to those of ``source`` with the same key."""
        values = ", ".join(f"{name} = new.{name}" for name in (quote(name, self.kind) for name in names))
        return f"update {table} as old set {values} from {source} as new where {self._same(key)}"

    def drop_temporary(self, table: str) -> str:
        """The statement that drops a temporary table."""
        return f"drop table {table}"

    def keys(self, names: Sequence[str], columns: Columns) -> str:
        """The columns of a key or of an index."""
        return self.listed(names)

    def listed(self, names: Sequence[str]) -> str:
        """Quoted names."""
        return ", ".join(quote(name, self.kind) for name in names)

    def _create(self, what: str, table: str, columns: Columns, key: Sequence[str]) -> str:
        listed = [f"{quote(name, self.kind)} {kind}" for name, kind in columns]
        if key:
            listed.append(f"primary key ({self.keys(key, columns)})")
        return f"create {what} {table} ({', '.join(listed)})"

    def _same(self, key: str) -> str:
        return f"old.{quote(key, self.kind)} = new.{quote(key, self.kind)}"


class _Sqlite(Dialect):
    kind: Kind = "sqlite"
    begin = "BEGIN IMMEDIATE"
    late_keys = False  # it cannot add one
    updatable = ""
    joins_by_hash = False
    types = _TYPES | {pa.int64(): "integer", pa.float64(): "real"}

    def lock(self, place: str) -> str:
        return ""

    def current_schema(self) -> str:
        return ""

    def columns(self, schema: str, table: str) -> str:
        return f"select name, lower(type) as type from pragma_table_info({text(table)}) order by cid"


class _MariaDb(Dialect):
    """MariaDB and MySQL. Texts compare by their bytes. A key takes the first 191 characters of a text."""

    kind: Kind = "mariadb"
    rolls_back_tables = False
    late_indices = False
    late_keys = False
    updatable = ""
    joins_by_hash = False
    types = _TYPES | {pa.int32(): "int", pa.float64(): "double", pa.string(): "longtext", pa.bool_(): "tinyint"}

    def lock(self, place: str) -> str:
        return f"select get_lock(sha1({text(place)}), {WAIT_SECONDS}) as locked"  # until the connection is closed

    def current_schema(self) -> str:
        return "select database() as name"

    def columns(self, schema: str, table: str) -> str:
        return (
            "select column_name as name, data_type as type from information_schema.columns "
            f"where table_schema = {text(schema)} and table_name = {text(table)} order by ordinal_position"
        )

    def update(self, table: str, source: str, key: str, names: Sequence[str]) -> str:
        values = ", ".join(f"old.{name} = new.{name}" for name in (quote(name, self.kind) for name in names))
        return f"update {table} as old join {source} as new on {self._same(key)} set {values}"

    def drop_temporary(self, table: str) -> str:
        return f"drop temporary table {table}"  # without the word it would commit

    def keys(self, names: Sequence[str], columns: Columns) -> str:
        kinds = dict(columns)
        return ", ".join(
            quote(name, self.kind) + ("(191)" if kinds[name] == self.types[pa.string()] else "") for name in names
        )

    def _create(self, what: str, table: str, columns: Columns, key: Sequence[str]) -> str:
        made = super()._create(what, table, columns, key)
        return f"{made} engine = InnoDB character set utf8mb4 collate utf8mb4_bin"


DIALECTS: dict[Kind, Dialect] = {one.kind: one for one in (Dialect(), _Sqlite(), _MariaDb())}


def quote(name: str, kind: Kind) -> str:
    """A name of a table or column as SQL."""
    mark = "`" if kind == "mariadb" else '"'
    return f"{mark}{name.replace(mark, mark + mark)}{mark}"


def text(value: str) -> str:
    """A text as SQL."""
    return "'" + value.replace("'", "''") + "'"
