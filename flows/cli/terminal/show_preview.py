"""The table of a preview for a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from ...common.text import cell
from ...preview.preview import Preview
from .show import percent
from .tables import NAME, NUMBER, WHOLE, new_table

__all__ = ["preview_table"]


def preview_table(preview: Preview, top: int) -> Table:
    """The first rows of a preview; without titles, the table has no columns for them."""
    form, n = preview.format, len(preview)
    titled = ("next title", "chance", "needs place") if form.titles else ()
    of_teams = preview.standings.team_names is not None
    columns = {"place": NUMBER, "handle": NAME} | ({"team": NAME} if of_teams else {})
    columns |= dict.fromkeys(("performance", "before", "rating", "change"), NUMBER)
    columns |= {"expected": NUMBER} | dict(zip(titled, (WHOLE, NUMBER, NUMBER), strict=False))
    hide = ("next title", "chance", "performance", "needs place", "expected", "before", "team")
    caption = f"{min(top, n):,} of {n:,} participants" if n > top else f"{n:,} participants"
    table = new_table(columns, hide, caption=caption)
    for row in preview.table().slice(0, top).to_pylist():
        before, after = row["rating_before"], row["rating"]
        title = [row["next_title"] or "", row["next_title_chance"], row["next_title_place"]]
        table.add_row(
            "" if row["place"] is None else f"{row['place']:,}",
            Text(cell(str(row["handle"])), form.style(before)),
            *([Text(cell("" if row["team"] is None else str(row["team"])))] if of_teams else []),
            "" if row["perf"] is None else form.rating(row["perf"]),
            Text(form.rating(before), form.style(before)),
            Text("") if after is None else Text(form.rating(after), form.style(after)),
            "" if row["change"] is None else form.change(row["change"]),
            f"{row['expected_place']:,.1f}",
            *((Text(cell(title[0])), _chance(title[1]), _needed(title)) if titled else ()),
        )
    return table


def _chance(chance: float | None) -> str:
    return "" if chance is None else percent(chance)


def _needed(title: list[object]) -> str:
    name, chance, place = title
    if not name or chance is None:
        return ""
    return "none" if place is None else f"{place:,}"
