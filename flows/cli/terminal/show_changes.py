"""Tables of changes of ratings for a terminal: of two compared runs, of one explained participation, of a preview."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pyarrow as pa
from rich.table import Table
from rich.text import Text

from ...answers.diff import Migration
from ...answers.explanations.explanation import Explanation
from ...common.text import cell, count, percent
from ...preview.preview import GAME, Preview
from ...results.rating_format import RatingFormat
from .tables import NAME, NUMBER, TEXT, WHOLE, new_table


def migration_tables(found: Migration, forms: tuple[RatingFormat, RatingFormat], top: int) -> Iterator[Table]:
    """The quantiles of both runs, then the players who gain and lose most places."""
    one, other = (Text(cell(name)) for name in found.names)
    table = new_table({"quantile": NUMBER})
    for heading in (one, other):
        table.add_column(heading, **NUMBER)
    for row in found.quantiles():
        texts = (form.rating(row[name]) for form, name in zip(forms, ("before", "after"), strict=True))
        table.add_row(f"{100 * row['quantile']:g} %", *texts)
    yield table
    yield _moves("gain most places", found.gains(top), forms)
    yield _moves("lose most places", found.losses(top), forms)


def _moves(title: str, rows: pa.Table, forms: tuple[RatingFormat, RatingFormat]) -> Table:
    columns = {"handle": NAME} | dict.fromkeys(
        ("places", "place before", "place after", "rating before", "rating after", "rounds"), NUMBER
    )
    table = new_table(columns, ("rounds", "rating before", "rating after", "place before"), title=title)
    for row in rows.to_pylist():
        table.add_row(
            Text(cell(row["handle"])),
            f"{row['places_gained']:+,}",
            f"{row['place_before']:,}",
            f"{row['place_after']:,}",
            forms[0].rating(row["rating_before"]),
            forms[1].rating(row["rating_after"]),
            f"{row['n_rounds_after']:,}",
        )
    return table


def explanation_table(found: Explanation, form: RatingFormat) -> Table:
    """The belief before, at and after the contest, and the parts of the change of the rating."""
    place = f"{found.place:,}" + (f"-{found.last_place:,}" if found.last_place > found.place else "")
    result = f"place {place} of {found.n_players:,}, expected {found.expected_place:,.1f}"
    result += "" if found.perf is None else f", performance {form.rating(found.perf)}"
    columns = {"": TEXT, "mu": NUMBER, "sigma": NUMBER, "rating": NUMBER}
    title = Text(f"{cell(found.handle)} in {cell(found.name or found.contest_id)}: {result}")
    table = new_table(columns, title=title, caption=found.reason())
    first = "a newcomer" if found.n_before == 0 else f"after {count(found.n_before, 'round')}"
    for step in found.resets:
        before = form.belief(step.mu_before), form.belief(step.sigma_before), form.rating(step.rating_before)
        table.add_row(Text(first), *before)
        first = f"after the reset of season {cell(step.season)}, {form.change(step.change)}"
    last = found.resets[-1] if found.resets else None
    mu, sigma = (found.mu_before, found.sigma_before) if last is None else (last.mu, last.sigma)
    rating = form.rating(found.rating_before)
    table.add_row(
        Text(first), form.belief(mu), form.belief(sigma), rating if last is None else form.rating(last.rating)
    )
    brought = "" if last is None else rating
    table.add_row("brought to the contest", form.belief(found.mu_prior), form.belief(found.sigma_prior), brought)
    table.add_row("after the contest", form.belief(found.mu), form.belief(found.sigma), form.rating(found.rating))
    table.add_section()
    parts = [
        ("by the change of mu", found.from_mu),
        ("by the growth of sigma before the contest", found.from_sigma_before),
        ("by the fall of sigma in the contest", found.from_sigma),
        ("by the addend of new players", found.from_offset),
        ("by the shift of all ratings to a steady level", found.from_shift),
    ]
    for text, part in parts:
        if part or text == parts[0][0]:
            table.add_row(text, "", "", form.change(part))
    table.add_row("change", "", "", form.change(found.change))
    if (margin := found.margin) is not None:
        table.add_section()
        table.add_row(f"points {margin.points:g} to {margin.opponent_points:g}, d = {margin.difference:g}", "", "", "")
        table.add_row("x, lead of the winner before the game", form.change(margin.lead), "", "")
        table.add_row(f"the game counted m = {margin.factor:.4f} times", "", "", "")
    if found.caps is not None:
        table.add_section()
        for text, cap in (("largest rise of mu by one result", found.caps.largest_rise),
                          ("largest fall of mu by one result", found.caps.largest_fall)):  # fmt: skip
            table.add_row(text, form.change(cap) if math.isfinite(cap) else "no bound", "", "")
    return table


def preview_table(preview: Preview, top: int) -> Table:
    """The first rows of a preview; without titles, the table has no columns for them."""
    form, n = preview.format, len(preview)
    titled = ("next title", "chance", "needs place") if form.titles else ()
    of_teams = preview.standings.team_names is not None
    columns = {"place": NUMBER, "handle": NAME} | ({"team": NAME} if of_teams else {})
    columns |= dict.fromkeys(("performance", "before", "rating", "change"), NUMBER)
    rows = preview.table().slice(0, top).to_pylist()
    game = [name for name in GAME if name in preview.columns]
    columns |= {"expected": NUMBER} | dict(zip(titled, (WHOLE, NUMBER, NUMBER), strict=False))
    columns |= dict.fromkeys(game, NUMBER)
    hide = ("next title", "chance", "performance", "needs place", "expected", "before", "team")
    caption = f"{min(top, n):,} of {n:,} participants" if n > top else f"{n:,} participants"
    table = new_table(columns, hide, caption=caption)
    for row in rows:
        before, after = row["rating_before"], row["rating"]
        title = [row["next_title"] or "", row["next_title_chance"], row["next_title_place"]]
        table.add_row(
            "" if row["place"] is None else f"{row['place']:,}",
            Text(cell(str(row["handle"])), "" if before is None else form.style(before)),
            *([Text(cell("" if row["team"] is None else str(row["team"])))] if of_teams else []),
            "" if row["perf"] is None else form.rating(row["perf"]),
            Text("new") if before is None else Text(form.rating(before), form.style(before)),
            Text("") if after is None else Text(form.rating(after), form.style(after)),
            "" if row["change"] is None else form.change(row["change"]),
            f"{row['expected_place']:,.1f}",
            *((Text(cell(title[0])), _chance(title[1]), _needed(title)) if titled else ()),
            *(percent(row[name]) for name in game),
        )
    return table


def _chance(chance: float | None) -> str:
    return "" if chance is None else percent(chance)


def _needed(title: list[object]) -> str:
    name, chance, place = title
    if not name or chance is None:
        return ""
    return "none" if place is None else f"{place:,}"
