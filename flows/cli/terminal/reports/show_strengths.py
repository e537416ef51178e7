"""Tables of strengths, coefficients and pairs for a terminal."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from rich.table import Table

from ....common.text import cell, count
from ..tables import NAME, NUMBER, FittedTable, new_table


def strengths_table(rows: pa.Table, n: int) -> Table:
    """The first rows of a table of strengths; ``*`` marks a player who never won or never lost."""
    columns = {"place": NUMBER, "places": NUMBER, "tier": NUMBER, "rating": NUMBER, "±": NUMBER, "handle": NAME}
    columns |= dict.fromkeys(("games", "wins", "draws", "losses", "component"), NUMBER)
    table = _table(rows, columns, ("component", "draws", "games", "tier"), count(n, "row"))
    if any(rows.column("extreme").to_pylist()):
        table.caption = f"{table.caption}; * never won, or never lost: the deviation is that of the model"
    for row in rows.to_pylist():
        mark, interval = "*" if row["extreme"] else "", [row["place_high"], row["place_low"]]
        place = ["" if one is None else f"{one:,}" for one in (row["place"], row["tier"])]
        between = "" if interval[0] is None else "-".join(f"{one:,}" for one in dict.fromkeys(interval))
        numbers = [f"{row[name]:,}" for name in ("n_games", "wins", "draws", "losses", "component")]
        own = f"{row['rating']:,.0f}", f"{row['sigma']:,.0f}{mark}", cell(row["handle"])
        table.add_row(*_category(rows, row), place[0], between, place[1], *own, *numbers)
    return table


def coefficients_table(rows: pa.Table, n: int) -> Table:
    """A table of coefficients."""
    columns = {"covariate": NAME, "coefficient": NUMBER, "±": NUMBER, "z": NUMBER}
    table = _table(rows, columns, (), f"{count(n, 'coefficient')}, in natural units of the odds that the first wins")
    for row in rows.to_pylist():
        z = "" if row["z"] is None else f"{row['z']:,.2f}"
        table.add_row(*_category(rows, row), cell(row["name"]), f"{row['value']:,.4f}", f"{row['se']:,.4f}", z)
    return table


def pairs_table(rows: pa.Table, n: int) -> Table:
    """The first rows of a table of pairs."""
    columns = {"a": NAME, "b": NAME} | dict.fromkeys(("games", "wins of a", "draws", "wins of b"), NUMBER)
    columns |= dict.fromkeys(("points of a", "expected"), NUMBER)
    table = _table(rows, columns, ("draws",), count(n, "pair"))
    for row in rows.to_pylist():
        names = cell(row["a"]), cell(row["b"])
        numbers = [f"{row[name]:,}" for name in ("games", "wins", "draws", "losses")]
        table.add_row(*_category(rows, row), *names, *numbers, f"{row['score']:,.6g}", f"{row['expected']:,.1f}")
    return table


def _table(rows: pa.Table, columns: dict[str, Any], hide: tuple[str, ...], caption: str) -> FittedTable:
    """An empty table, with a column of categories if there are any."""
    category = {"category": NAME} if rows.column("category").null_count < rows.num_rows else {}
    return new_table(category | columns, hide, caption=caption)


def _category(rows: pa.Table, row: dict[str, Any]) -> tuple[str, ...]:
    if rows.column("category").null_count == rows.num_rows:
        return ()
    return ("all" if row["category"] is None else cell(row["category"]),)
