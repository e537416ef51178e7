"""Tables of problems and of ratings from problems for a terminal."""

from __future__ import annotations

import pyarrow as pa
from rich.table import Table

from ....common.text import cell, count
from ..tables import CONTEST, NAME, NUMBER, new_table

_BOUNDS = {"above": ">", "below": "<", None: ""}


def problems_table(rows: pa.Table, n_problems: int) -> Table:
    """The first rows of a table of problems; ``>`` and ``<`` mark those that nobody and that everybody solved."""
    columns = {"difficulty": NUMBER, "±": NUMBER, "problem": NAME, "name": CONTEST, "contest": NAME}
    columns |= dict.fromkeys(("contests", "solved", "of", "80 %", "first after", "first solver"), NUMBER)
    columns["first solver"] = NAME
    hide = ("first solver", "first after", "contests", "80 %", "contest", "±", "name")
    table = new_table(columns, hide, caption=f"{rows.num_rows:,} of {count(n_problems, 'problem')}")
    for row in rows.to_pylist():
        table.add_row(
            _BOUNDS[row["bound"]] + _points(row["difficulty"]),
            _points(row["deviation"]),
            cell(row["problem"]),
            cell(row["name"] or ""),
            cell(row["contest"]),
            f"{row['contests']:,}",
            f"{row['solved']:,.6g}",
            f"{row['counted']:,.6g}",
            _points(row["rating_80"]),
            "" if row["first_solved"] is None else f"{row['first_solved']:,.0f} s",
            cell(row["first_solver"] or ""),
        )
    return table


def players_table(rows: pa.Table, n_players: int) -> Table:
    """The first rows of a table of ratings from problems."""
    columns = {"from problems": NUMBER, "±": NUMBER, "handle": NAME}
    columns |= dict.fromkeys(("before", "solved", "of"), NUMBER)
    table = new_table(columns, ("±", "of"), caption=f"{rows.num_rows:,} of {count(n_players, 'player')}")
    for row in rows.to_pylist():
        numbers = _points(row["mu_prior"]), f"{row['solved']:,.6g}", f"{row['problems']:,}"
        table.add_row(_points(row["problem_rating"]), _points(row["problem_deviation"]), cell(row["handle"]), *numbers)
    return table


def _points(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
