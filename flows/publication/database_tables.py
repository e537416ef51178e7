"""The published tables in a database: their columns, keys and indices, the state of the last publish, and merges.

A round moves most places of the leaderboard, and only its participants change otherwise. Places are therefore updated
in place, and have no index: PostgreSQL then writes no index at all, if the page of the row has room for the new one
(a heap-only tuple). The order of the ratings is that of the places, and has an index.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.lake.schemas import OF_ATTRIBUTES, OF_SEASONS, OF_STRENGTHS, PUBLISHED

from ..databases.base import Connection
from ..databases.connection import transaction
from ..databases.dialects import DIALECTS, Columns, quote
from ..databases.errors import DatabaseError
from ..databases.row_batches import equal_rows, united
from ..problems.columns import OF_PROBLEMS

STATE = "ranklake_state"
_STAGING = "ranklake_new"
_SCHEMAS = PUBLISHED | OF_ATTRIBUTES | OF_PROBLEMS | OF_STRENGTHS | OF_SEASONS
_SCHEMAS |= {STATE: pa.schema([("name", pa.string()), ("state", pa.string())])}
_KEYS: dict[str, tuple[str, ...]] = {
    "players": ("player",),
    "contests": ("round_index",),
    "ratings": ("round_index", "player"),
    "leaderboard": ("player",),
    "attributes": ("player", "attribute"),
    "groups": ("attribute", "value"),
    "problems": ("problem",),
    "results": ("round_index", "player", "problem"),
    "strengths": ("handle",),
    "coefficients": ("name",),
    "pairs": ("a", "b"),
    "seasons": ("name",),
    STATE: ("name",),
}
_INDICES: dict[str, tuple[tuple[str, ...], ...]] = {
    "players": (("handle",),),
    "contests": (("contest_id",),),
    "ratings": (("player", "round_index"),),
    "leaderboard": (("rating",), ("handle",)),
    "attributes": (("attribute", "value"),),
    "groups": (("attribute", "place"),),
    "problems": (("difficulty",),),
    "results": (("player", "round_index"), ("problem",)),
    "strengths": (("rating",),),
    "pairs": (("b",),),
}
# The groups of tables that not every run has.
_FURTHER: tuple[Mapping[str, pa.Schema], ...] = (OF_ATTRIBUTES, OF_PROBLEMS, OF_STRENGTHS, OF_SEASONS)
# Changed by the rounds of other players; without an index.
_MOVING = {"leaderboard": ("place", "percentile", "component", "place_high", "place_low", "tier")}


class DatabaseTables:
    """The tables of one run. All other methods belong into :meth:`publishing`.

    ``schema``: schema of PostgreSQL or database of MariaDB, which must exist; by default the current one. SQLite has
    none.
    ``prefix``: put before the name of every table.
    ``of_games``: rounds are periods of games, in which a player may have several rows: ratings have an index in place
    of their key.
    """

    def __init__(
        self, connection: Connection, schema: str | None = None, prefix: str = "", of_games: bool = False
    ) -> None:
        keyless = ("ratings",) if of_games else ()
        self._keys = {name: () if name in keyless else key for name, key in _KEYS.items()}
        self._indices = {name: of + ((_KEYS[name],) if name in keyless else ()) for name, of in _INDICES.items()}
        self._connection, self._prefix = connection, prefix
        self._dialect = DIALECTS[connection.kind]
        if schema is not None and not self._dialect.current_schema():
            raise ValueError("SQLite has no schemas; a prefix keeps the tables of several runs apart")
        self._schema = schema or self._current_schema()
        self._new: set[str] = set()
        self._used = [name for name in _SCHEMAS if not any(name in group for group in _FURTHER)]

    @contextmanager
    def publishing(self, *, rebuild: bool = False, further: Collection[str] = ()) -> Iterator[None]:
        """One transaction, in which the tables exist; waits for another publish into the same tables.

        Where ``create table`` commits, missing tables are made before the transaction, and are empty if it fails.

        ``rebuild``: first empty the tables of an earlier publish.
        ``further``: tables that not every run has and that are used, too. They are used in any case if an earlier
        publish has used them.
        Raises DatabaseError: a table of this name exists and has other columns or rows that no publish wrote, or the
        statements of the block fail.
        """
        if self._dialect.rolls_back_tables:
            with transaction(self._connection, self._dialect.begin):
                self.lock()
                self._prepare(rebuild, further)
                yield
        else:
            self.lock()
            self._prepare(rebuild, further)
            with transaction(self._connection, self._dialect.begin):
                if rebuild:
                    for name in self._used:
                        self._connection.execute(f"delete from {self._name(name)}")
                yield

    def lock(self) -> None:
        """Wait for another publish into the same tables to end."""
        query = self._dialect.lock(f"ranklake {self._schema} {self._prefix}")
        if query and [row["locked"] for row in self._read(query)] != [1]:
            raise DatabaseError(self._connection.shown, "another publish holds the tables; run again later")

    def has(self, name: str) -> bool:
        """Whether a table is used."""
        return name in self._used

    def _prepare(self, rebuild: bool, further: Collection[str]) -> None:
        """Check existing tables and create missing ones; ``rebuild`` first drops those of an earlier publish."""
        ours = self._published()
        unused = [group.keys() for group in _FURTHER if not (group.keys() & further or group.keys() <= ours)]
        self._used = [name for name in _SCHEMAS if not any(name in names for names in unused)]
        stored = {name: self._columns(name) for name in self._used}
        self._refuse_others({name: found for name, found in stored.items() if found and name not in ours})
        outdated = [name for name, found in stored.items() if found and found != self._definition(name)]
        if rebuild and stored[STATE] and (outdated or self._dialect.rolls_back_tables):
            for name in reversed(stored):  # the state first: without it, nothing counts as published
                self._connection.execute(f"drop table if exists {self._name(name)}")
                stored[name] = []
        else:
            self._extend({name: stored[name] for name in outdated})
        for name in (name for name, found in stored.items() if not found):
            late_key = self._dialect.late_keys and name != STATE
            key = () if late_key else self._keys[name]
            created = self._dialect.create(self._name(name), self._definition(name), key, updated=name in _MOVING)
            self._connection.execute(created)
            self._new.add(name)
        if not self._dialect.late_indices:
            self.index()

    def _extend(self, outdated: Mapping[str, Columns]) -> None:
        """Add the columns of this release to tables of an earlier one; their rows have null there."""
        for name, found in outdated.items():
            if found != self._definition(name)[: len(found)]:
                rule = self._difference(name, found)
                raise DatabaseError(self._connection.shown, f"{rule}; --afresh replaces tables of an earlier release")
        for name, found in outdated.items():
            for column in self._definition(name)[len(found) :]:
                self._connection.execute(self._dialect.add_column(self._name(name), column))

    def _published(self) -> set[str]:
        """The tables that an earlier publish has written."""
        found = self._columns(STATE)
        if not found:
            return set()
        if found != self._definition(STATE):  # of an earlier release
            return _SCHEMAS.keys() - OF_ATTRIBUTES.keys() - OF_PROBLEMS.keys() - OF_STRENGTHS.keys()
        return {STATE, *self.states()}

    def _refuse_others(self, others: Mapping[str, Columns]) -> None:
        """Refuse tables that no publish has written, unless they are empty: an interrupted one has made them."""
        for name, found in others.items():
            if found != self._definition(name):
                rule = self._difference(name, found)
            elif self._read(f"select 1 as one from {self._name(name)} limit 1"):
                rule = f"the table {self._prefix}{name} exists and has rows that no publish wrote"
            else:
                continue
            raise DatabaseError(self._connection.shown, f"{rule}; {self.elsewhere()}")

    def elsewhere(self) -> str:
        """The remedy if the tables belong to something else: a prefix with which there are none."""
        free = next(
            prefix
            for prefix in ("ranklake_", *(f"ranklake{number}_" for number in range(2, 100)))
            if not any(self._columns(name, prefix) for name in _SCHEMAS)
        )
        return f"no table is in the way of `--prefix {free}`" + (", or give another --schema" if self._schema else "")

    def index(self) -> None:
        """Create the keys and indices of new tables."""
        for name in sorted(self._new):
            table, definition = self._name(name), self._definition(name)
            if self._dialect.late_keys and name != STATE and self._keys[name]:
                keys = self._dialect.keys(self._keys[name], definition)
                self._connection.execute(f"alter table {table} add primary key ({keys})")
            for columns in self._indices.get(name, ()):
                index = self._quote(f"{self._prefix}{name}_{'_'.join(columns)}")
                self._connection.execute(f"create index {index} on {table} ({self._dialect.keys(columns, definition)})")
        self._new.clear()

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
        query = f"select {self._dialect.listed(schema.names)} from {self._name(name)}"
        with self._connection.read(query) as (found, batches):
            return united(found, list(batches)).cast(schema)

    def append(self, name: str, batches: Iterable[pa.RecordBatch]) -> int:
        """Append rows; returns their number."""
        schema = _SCHEMAS[name].remove_metadata()
        plain = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches)
        return self._connection.append(f"{self._prefix}{name}", plain, schema, self._schema)

    def cut(self, name: str, start_round: int) -> None:
        """Delete the rows of all rounds from ``start_round`` on."""
        self._connection.execute(f"delete from {self._name(name)} where round_index >= {int(start_round)}")

    def replace(self, name: str, rows: pa.Table) -> None:
        """Make a table equal to ``rows``; all rows are written."""
        self._connection.execute(f"delete from {self._name(name)}")
        self.append(name, rows.to_batches())

    def merge(self, name: str, rows: pa.Table, stored: pa.Table | None = None) -> None:
        """Make a table equal to ``rows``: rows that differ are deleted and appended; all rows, if most of them differ.

        Rows that differ in the places only are updated.

        ``stored``: the rows of the table, if they were read already.
        """
        (key,) = _KEYS[name]
        moving = _MOVING.get(name, ())
        stored = self.rows(name) if stored is None else stored
        at = pc.index_in(rows[key], value_set=stored[key].combine_chunks())
        same = equal_rows(rows, stored, at, [column for column in rows.column_names if column not in moving])
        if (pc.sum(same).as_py() or 0) < len(rows) / 2:
            self.replace(name, rows)
            return
        gone = stored[key].filter(pc.invert(pc.is_in(stored[key], value_set=rows[key].filter(same))))
        if len(gone):
            with self._staged(pa.table([gone], names=[key])):
                listed = f"select {self._quote(key)} from {_STAGING}"
                self._connection.execute(f"delete from {self._name(name)} where {self._quote(key)} in ({listed})")
        self.append(name, rows.filter(pc.invert(same)).to_batches())
        moved = rows.filter(pc.and_not(same, equal_rows(rows, stored, at, moving))).select([key, *moving])
        if len(moved):
            with self._staged(moved):
                self._connection.execute(self._dialect.update(self._name(name), _STAGING, key, moving))

    @contextmanager
    def _staged(self, rows: pa.Table) -> Iterator[None]:
        """Rows in a temporary table, whose first column is their key."""
        columns = [(field.name, self._dialect.types[field.type]) for field in rows.schema]
        self._connection.execute(self._dialect.create_temporary(_STAGING, columns))
        self._connection.append(_STAGING, rows.to_batches(), rows.schema.remove_metadata(), "temp")
        yield
        self._connection.execute(self._dialect.drop_temporary(_STAGING))

    def _columns(self, name: str, prefix: str | None = None) -> list[tuple[str, str]]:
        """Names and types of the columns of a table; empty if it does not exist."""
        rows = self._read(self._dialect.columns(self._schema, (self._prefix if prefix is None else prefix) + name))
        return [(row["name"], row["type"]) for row in rows]

    def _definition(self, name: str) -> list[tuple[str, str]]:
        return [(field.name, self._dialect.types[field.type]) for field in _SCHEMAS[name]]

    def _difference(self, name: str, found: Columns) -> str:
        expected = self._definition(name)
        other = next((pair for pair in found if pair not in expected), None)
        missing = next((pair for pair in expected if pair not in found), None)
        has = [f"has {' '.join(other)}"] if other else []
        lacks = [f"has no {' '.join(missing)}"] if missing else []
        return f"the table {self._prefix}{name} exists and {', and '.join(has + lacks) or 'has another order'}"

    def _current_schema(self) -> str:
        query = self._dialect.current_schema()
        if not query:
            return ""
        (row,) = self._read(query)
        if row["name"] is None:
            rule = "the address has no database, or no schema of its search path exists; give one with --schema"
            raise DatabaseError(self._connection.shown, rule)
        return str(row["name"])

    def _read(self, query: str) -> list[dict[str, Any]]:
        with self._connection.read(query) as (schema, batches):
            return list(united(schema, list(batches)).to_pylist())

    def _name(self, name: str) -> str:
        table = self._quote(f"{self._prefix}{name}")
        return f"{self._quote(self._schema)}.{table}" if self._schema else table

    def _quote(self, name: str) -> str:
        return quote(name, self._dialect.kind)
