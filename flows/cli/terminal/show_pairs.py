"""Tables of pairs of players for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.table import Table
from rich.text import Text

from ...common.text import cell, percent, quoted
from ...results.rating_format import RatingFormat
from .tables import NAME, NUMBER, WHOLE, new_table

if TYPE_CHECKING:
    from ...frames.prediction import Prediction

_HIGHER = "skill higher"  # heading of the chance that the skill is the higher one


def compared_table(pairs: Sequence[Mapping[str, Any]], form: RatingFormat) -> Table:
    """Pairs of players with their common rounds."""
    columns = {"player": NAME, "against": NAME, "rounds": NUMBER, "wins": NUMBER, "losses": NUMBER, "ties": NUMBER}
    table = new_table(columns | _columns_of(pairs), ("ties", "losses", "wins", "rounds"))
    for pair in pairs:
        scores = [pair[name] for name in ("wins", "losses", "draws")]
        table.add_row(*_names(pair), *(f"{n:,}" for n in (sum(scores), *scores)), *_cells(pair, form))
    return table


def pairs_table(pairs: pa.Table, form: RatingFormat) -> Table:
    """Chances of pairs of entrants."""
    rows = pairs.to_pylist()
    table = new_table({"handle": NAME, "before": NAME} | _columns_of(rows))
    for row in rows:
        table.add_row(*_names(row), *_cells(row, form))
    return table


def pair_lines(prediction: Prediction) -> Iterator[str]:
    """What is known of two entrants, in words."""
    first = quoted(str(prediction.players[0]))
    pair: dict[Any, Any] = prediction.pairs().to_dict("records")[0]
    if "difference" in pair:
        apart, higher = difference_text(pair, prediction.format), percent(pair["skill_chance"])
        yield f"skills: {first} {apart}; chance that the skill of {first} is the higher one {higher}"


def _names(pair: Mapping[str, Any]) -> list[Text]:
    return [Text(cell(str(pair[name]))) for name in ("handle", "against")]


def _columns_of(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of what is known of the pairs; a system without an uncertainty has no difference."""
    known = {"difference": WHOLE, _HIGHER: NUMBER} if pairs and "difference" in pairs[0] else {}
    return {"chance": NUMBER} | known


def _cells(pair: Mapping[str, Any], form: RatingFormat) -> list[str]:
    cells = [percent(pair["chance"])]
    if "difference" in pair:
        cells += [difference_text(pair, form), percent(pair["skill_chance"])]
    return cells


def difference_text(pair: Mapping[str, Any], form: RatingFormat) -> str:
    """The difference of two skills with its standard deviation."""
    return f"{form.change(pair['difference'])} ± {form.rating(pair['deviation'])}"
