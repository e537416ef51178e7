"""The table of seasons for a terminal, and the columns of their rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from rich.table import Table
from rich.text import Text

from ranklake.storage.lake.schemas import OF_SEASONS

from ....common.text import cell
from ....events.seasons import Season, reset_line
from ..show import day
from ..tables import NAME, NUMBER, TEXT, WHOLE, new_table

SCHEMA = pa.schema([field for field in OF_SEASONS["seasons"] if field.name != "n_players"])


def seasons_table(title: str, seasons: Sequence[Season]) -> Table:
    """Seasons in order of time, each with its contests and what it does to ratings."""
    columns = {"season": NAME, "from": WHOLE, "until": WHOLE, "contests": NUMBER, "ratings": TEXT}
    table = new_table(columns, ("until", "contests"), title=Text(title))
    for one in seasons:
        span = day(one.start_seconds), day(one.end_seconds)
        table.add_row(Text(cell(one.name)), *span, f"{one.n_rounds:,}", Text(cell(reset_line(one.event))))
    return table
