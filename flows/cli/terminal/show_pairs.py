"""Tables of pairs of players for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.table import Table
from rich.text import Text

from ...common.text import cell, count, percent, quoted
from ...results.rating_format import RatingFormat
from .tables import NAME, NUMBER, WHOLE, new_table

if TYPE_CHECKING:
    import pandas as pd

    from ...frames.prediction import Prediction

_OF_GAMES = ("win", "draw", "loss")
_HIGHER = "skill higher"  # heading of the chance that the skill is the higher one


def compared_table(pairs: Sequence[Mapping[str, Any]], form: RatingFormat) -> Table:
    """Pairs of players with their common rounds."""
    columns = {"player": NAME, "against": NAME, "rounds": NUMBER, "wins": NUMBER, "losses": NUMBER, "ties": NUMBER}
    table = new_table(columns | _columns_of(pairs), ("ties", "losses", "wins", "rounds"))
    for pair in pairs:
        scores = [pair[name] for name in ("wins", "losses", "draws")]
        table.add_row(*_names(pair), *(f"{n:,}" for n in (sum(scores), *scores)), *_cells(pair, form))
    return table


def by_expected_place(prediction: Prediction) -> pd.DataFrame:
    """The entrants of a round by expected place; the index has their rows in the prediction."""
    return prediction.table().reset_index().sort_values("expected_place", kind="stable")


def matrix_table(prediction: Prediction) -> Table:
    """The chance of each entrant to finish before each other one, in percent; columns have the numbers of rows."""
    rows = by_expected_place(prediction)
    numbers = [str(number) for number in range(1, len(rows) + 1)]
    caption = "chance to finish before the entrant of each number, %"
    if prediction.games is not None:
        caption += ", on neutral ground"  # the three chances of a game have the advantage of the first one
    table = new_table({"no.": NUMBER, "handle": NAME, **dict.fromkeys(numbers, NUMBER)}, caption=caption)
    chances = prediction.chances()[rows.index][:, rows.index]
    for i, name in enumerate(rows["player"]):
        cells = ("" if i == j else percent(p).removesuffix(" %") for j, p in enumerate(chances[i]))
        table.add_row(numbers[i], Text(cell(str(name))), *cells)
    return table


def pairs_table(pairs: pa.Table, form: RatingFormat) -> Table:
    """Chances of pairs of entrants."""
    rows = pairs.to_pylist()
    table = new_table({"handle": NAME, "before": NAME} | _columns_of(rows))
    for row in rows:
        table.add_row(*_names(row), *_cells(row, form))
    return table


def pair_lines(prediction: Prediction, neutral: bool) -> Iterator[str]:
    """What is known of two entrants, in words."""
    (first, second), form = (quoted(str(player)) for player in prediction.players), prediction.format
    pair = {name: float(values[0]) for name, values in prediction.game_columns(neutral).items()}
    if prediction.games is not None:
        yield "  ".join(f"{name} {pair[name]:.3f}" for name in ("win", "draw", "loss", "expected"))
        yield learnt_line(prediction.games.facts() | {"neutral": neutral}, form.decimals)
    if "difference" in pair:
        apart, higher = f"{form.change(pair['difference'])} +- {form.rating(pair['deviation'])}", pair["skill_chance"]
        yield f"skill of {first} minus that of {second}: {apart} points; chance that it is higher {percent(higher)}"


def learnt_line(games: Mapping[str, Any], decimals: int) -> str:
    """What games have taught, in words; the advantage with so many decimals."""
    nu = ""
    if games["nu"] is not None:
        digits = 2 if games["nu_error"] >= 0.01 else 3
        nu = f"nu {games['nu']:.{digits}f} +- {games['nu_error']:.{digits}f}, "
    ahead, error = (f"{games[name] + 0.0:.{decimals}f}" for name in ("advantage", "advantage_error"))
    known = f"advantage {ahead} +- {error} points to the first, " if games["advantage_error"] else ""
    ground = "; on neutral ground, without it" if known and games["neutral"] else ""
    return f"{nu}{known}from {count(games['games'], 'game')}{ground}"


def _names(pair: Mapping[str, Any]) -> list[Text]:
    return [Text(cell(str(pair[name]))) for name in ("handle", "against")]


def _columns_of(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of what is known of the pairs; a system without an uncertainty has no difference."""
    pair = pairs[0] if pairs else {}
    of_games = dict.fromkeys(_OF_GAMES, NUMBER) if _OF_GAMES[0] in pair else {}
    return {"chance": NUMBER} | of_games | ({"difference": WHOLE, _HIGHER: NUMBER} if "difference" in pair else {})


def _cells(pair: Mapping[str, Any], form: RatingFormat) -> list[str]:
    cells = [percent(pair["chance"])]
    if _OF_GAMES[0] in pair:
        cells += [percent(pair[name]) for name in _OF_GAMES]
    if "difference" in pair:
        cells += [difference_text(pair, form), percent(pair["skill_chance"])]
    return cells


def difference_text(pair: Mapping[str, Any], form: RatingFormat) -> str:
    """The difference of two skills with its standard deviation."""
    return f"{form.change(pair['difference'])} ± {form.rating(pair['deviation'])}"
