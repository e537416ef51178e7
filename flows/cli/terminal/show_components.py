"""Tables of the components of who met whom, and of the contests that join two groups."""

from __future__ import annotations

import pyarrow as pa
from rich.table import Table
from rich.text import Text

from ...common.text import cell, count
from .show import day
from .tables import CONTEST, NAME, NUMBER, WHOLE, new_table

_LISTED = 20  # components or contests of a run in a table; json has all


def components_table(rows: pa.Table) -> Table:
    """The components of a run, largest first, each with its first player."""
    columns = {"run": NAME, "component": NUMBER, "players": NUMBER, "size": WHOLE, "such as": NAME}
    shown = rows.slice(0, _LISTED)
    caption = f"{shown.num_rows:,} of {count(rows.num_rows, 'component')}"
    table = new_table(columns, ("run",), caption=caption if rows.num_rows > _LISTED else None)
    for row in shown.to_pylist():
        size = "large" if row["large"] else "small"
        named = Text(cell(row["run"])), Text(cell(row["player"]))
        table.add_row(named[0], f"{row['component']:,}", f"{row['players']:,}", size, named[1])
    return table


def bridges_table(rows: pa.Table) -> Table:
    """The contests of a run that alone join two groups, by the players of the smaller one."""
    columns = {"run": NAME, "contest": CONTEST, "day": WHOLE, "joins players": NUMBER, "such as": NAME, "to": NAME}
    shown = rows.slice(0, _LISTED)
    caption = f"{shown.num_rows:,} of {count(rows.num_rows, 'contest')}"
    table = new_table(columns, ("run", "day"), caption=caption if rows.num_rows > _LISTED else None)
    for row in shown.to_pylist():
        run, contest, player, other = (
            Text(cell(text)) for text in (row["run"], row["name"] or row["contest_id"], row["player"], row["other"])
        )
        table.add_row(run, contest, day(row["time_seconds"]), f"{row['players']:,}", player, other)
    return table
