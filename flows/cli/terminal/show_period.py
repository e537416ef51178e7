"""Tables of one explained period of official ratings for a terminal: the games, then what the rating follows from."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from ranklake.rating_kernels.systems.federations.pools import FLOOR, LEAST_GAMES, MOST_FIRST
from ranklake.rating_kernels.systems.federations.tables import EXEMPT, MOST
from ranklake.rating_kernels.systems.federations.tiers import MOST_CHANGE

from ...answers.explanations.period_explanation import ExplainedGame, FirstRatingSteps, PeriodExplanation
from ...common.text import cell, count
from .tables import NAME, NUMBER, TEXT, WHOLE, new_table

Step = tuple[str, str]


def period_tables(found: PeriodExplanation) -> Iterator[Table]:
    """The games of the period; of an unrated player the pool; and the steps to the rating after it."""
    yield _games(found)
    if found.rating_before is None:
        yield _pool(found)
    table = new_table({"": TEXT, "value": NUMBER}, show_header=False)
    table.add_row("rating before", _rating(found.rating_before))
    for step in _change(found) if found.rating_before is not None else _first(found):
        table.add_row(*step)
    table.add_row("rating after", _rating(found.rating))
    yield table


def _games(found: PeriodExplanation) -> Table:
    shown = f"{found.score:g} of {count(found.n_games, 'game')} against rated opponents"
    shown += "" if found.performance is None else f", performance {found.performance}"
    columns = {"opponent": NAME, "rating": NUMBER, "result": NUMBER}
    of_rated = {"lead": NUMBER, "counts as": NUMBER, "expected": NUMBER} if found.rating_before is not None else {}
    title = Text(f"{cell(found.handle)} in {cell(found.name or found.contest_id)}: {shown}")
    table = new_table(columns | of_rated | {"": WHOLE}, ("counts as", "lead"), title=title)
    for game in found.games:
        numbers = ["" for _ in of_rated]
        if game.lead is not None:
            numbers = [f"{game.lead:+d}", f"{game.counted_lead:+d}", f"{game.expected:.2f}"]
        table.add_row(
            Text(cell(game.opponent)), _rating(game.opponent_rating), f"{game.score:g}", *numbers, _note(game)
        )
    return table


def _note(game: ExplainedGame) -> str:
    """Why a game does not count, or what becomes of a large lead."""
    if game.opponent_rating is None:
        return "does not count"
    if game.lead is None or abs(game.lead) <= MOST:
        return ""
    return f"in full, from {EXEMPT} on" if game.lead == game.counted_lead else f"at most {MOST}, below {EXEMPT}"


def _change(found: PeriodExplanation) -> Iterator[Step]:
    """The steps of a rated player."""
    assert found.expected is not None
    assert found.rating_before is not None
    assert found.change is not None
    yield "points", f"{found.score:g}"
    yield "points by the table", f"{found.expected:.2f}"
    yield "points above these", f"{found.score - found.expected:+.2f}"
    yield f"K, {found.tier}", f"{found.k_of_tier}"
    if found.k != found.k_of_tier:
        yield f"K, at most {MOST_CHANGE} with {count(found.n_games, 'game')}", f"{found.k}"
    yield "K times the points", f"{found.exact_change:+.2f}"
    yield "rounded, halves away from zero", f"{found.change:+d}"
    if found.rating is None:
        yield f"below {FLOOR}: unrated from the next period on", f"{found.rating_before + found.change}"


def _pool(found: PeriodExplanation) -> Table:
    """The pool of an unrated player with this period."""
    columns = {"pool": WHOLE, "games": NUMBER, "points": NUMBER, "mean opponent": NUMBER, "": WHOLE}
    table = new_table(columns)
    for one in found.pool:
        if one.games:
            table.add_row(one.month, f"{one.games}", f"{one.score:g}", f"{one.opponents / one.games:.1f}", "")
        else:
            table.add_row(one.month, "0", "", "", "a first period without a point is disregarded")
    return table


def _first(found: PeriodExplanation) -> Iterator[Step]:
    """The steps of an unrated player."""
    first, games = found.first, sum(one.games for one in found.pool)
    if first is None:
        yield f"games in the pool, of {LEAST_GAMES} that a first rating needs", f"{games}"
        return
    yield from _steps_of_first(first)
    if first.computed < FLOOR:
        yield f"below {FLOOR}: not published", ""
    elif first.computed > MOST_FIRST:
        yield "a first rating is at most", f"{MOST_FIRST}"


def _steps_of_first(first: FirstRatingSteps) -> Iterator[Step]:
    yield "games, with two draws against 1800", f"{first.games}"
    yield "points with them", f"{first.score:g}"
    yield "share of the points", f"{first.share:.2f}"
    yield "mean opponent with them", f"{first.mean:.2f}"
    yield "lead of the share by the table", f"{first.lead:+d}"
    yield "first rating", f"{first.computed}"


def _rating(value: int | None) -> str:
    return "unrated" if value is None else f"{value}"
