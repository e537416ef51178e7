"""Rows of the large tables as HTML, the leaderboard and the standings: many times as fast as through the templates.

The class of a row, or of a body of the leaderboard, is that of its title, see :mod:`ranklake.flows.pages.colours`; end
tags that HTML makes optional are left out. In a table with teams each participant has a body: a row with the place and
the name of the team, and a row for each member.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from itertools import groupby, pairwise, repeat
from typing import Any

from ..answers.players.record import SCORES, result_of
from ..common.text import percent
from ..results.rating_format import RatingFormat
from .flags import flag
from .links import Links, chance, day, short
from .sparkline import sparkline

_PLAIN = re.compile(r"[A-Za-z0-9_.~-]{1,80}").fullmatch  # needs no escape, in HTML and in addresses

Columns = Mapping[str, Sequence[Any]]
Names = Mapping[str, str]  # display names by handle
_NO_NAMES: Names = {}


def board_rows(
    board: Columns,
    form: RatingFormat,
    links: Links,
    player: str = "",
    names: Names = _NO_NAMES,
    titled: bool = True,
    linked: bool = True,
) -> str:
    """The leaderboard, a body for each run of rows of one title.

    The cells are the place, the player, the title in words if ``titled``, the rating, its last change and the
    line of the last ratings if there is ``recent``, the belief if there is ``mu``, the rounds, the highest rating, the
    last contest, and the place among all if there is ``of_all``. They have no classes: style sheets count them.

    ``board``: ``place, handle, rating, sigma, n_rounds, max_rating, last_time_seconds``, one list each, and perhaps
    ``recent``, the last ratings of each player, oldest first; ``mu``; ``of_all``; ``country``, shown beside the name;
    ``place_high, place_low``, the interval of the place among all; and ``missing``, what a provisional player lacks.
    ``player``: the handle whose row is marked.
    ``linked``: whether every player is a link; else a script adds those of plain handles.
    """
    tier, words = _tiers(form), _words(form)
    link = _players(links, names, linked)
    cells = zip(board["rating"], board["handle"], *_board_cells(board, form, link), strict=False)
    bodies = []
    for title, group in groupby(cells, key=lambda row: tier(row[0])):
        lines = []
        for rating, handle, before, after in group:
            mark = " id=here aria-current=true" if handle == player else ""
            lines.append(f"<tr{mark}>{before}{f'<td>{words(rating)}' if titled else ''}{after}")
        bodies.append(f"<tbody{title}>{''.join(lines)}")
    return "\n".join(bodies)


def _board_cells(board: Columns, form: RatingFormat, link: Any) -> tuple[list[str], list[str]]:
    """The cells of each row of a leaderboard before the title, and those after it."""
    shown, country = _number(form), _countries()
    high, low, where, lacks = (
        board.get(name) or repeat(None) for name in ("place_high", "place_low", "country", "missing")
    )
    spans = [
        _interval(place, *span) for place, *span in zip(board.get("of_all") or board["place"], high, low, strict=False)
    ]
    first = [_or_dash(place) for place in board["place"]] if "of_all" in board else spans
    before = [
        f"<td>{place}<td>{link(handle)}{country(one)}"
        for place, handle, one in zip(first, board["handle"], where, strict=False)
    ]
    columns = [[f"<td>{shown(rating)}{_mark(lack)}" for rating, lack in zip(board["rating"], lacks, strict=False)]]
    if "recent" in board:
        columns.append([_trend(ratings, form) for ratings in board["recent"]])
    if "mu" in board:
        pairs = zip(board["mu"], board["sigma"], strict=True)
        columns.append([f"<td>{shown(mu)} ± {shown(sigma)}" for mu, sigma in pairs])
    further = ("n_rounds", "max_rating", "last_time_seconds")
    columns.append([
        f"<td>{n_rounds}<td>{shown(highest)}<td>{day(last)}"
        for n_rounds, highest, last in zip(*(board[name] for name in further), strict=True)
    ])  # fmt: skip
    if "of_all" in board:
        columns.append([f"<td>{span}" for span in spans])
    return before, ["".join(parts) for parts in zip(*columns, strict=True)]


def _trend(ratings: Sequence[float], form: RatingFormat) -> str:
    """The cells of the last change and of the line of some ratings."""
    change = _change(ratings[-2], ratings[-1], form) if len(ratings) > 1 else "–"
    return f"<td>{change}<td class=trend>{sparkline(ratings)}"


def standing_rows(rows: Columns, form: RatingFormat, links: Links, names: Names = _NO_NAMES) -> str:
    """Rows of standings: place, player with a newly reached title, performance, rating before and after, change.

    ``rows``: ``place, handle, rating, change``, one list each; the change of a newcomer is None. With ``perf`` of a
    system with performances. With ``team``, whose members are adjacent. With ``rated``, which is false for unrated
    participants. With ``leaderboard_place_before, leaderboard_place`` of a run that has them.
    """
    shown, tier, player, moved = _number(form), _tiers(form), _players(links, names), _moves(form)
    needed = ("handle", "rating", "change")
    cells = (
        (
            tier(rating),
            f"<td>{player(handle) if rated or before is not None else escape(short(names.get(handle, handle)))}"
            f"{moved(before, rating) if rated else ''}{among}"
            f"{perf}<td>{shown(before)}<td>{shown(rating)}"
            f"<td>{_change(before, rating, form) if rated else 'unrated'}",
        )
        for (handle, rating, change), among, perf, rated in zip(
            zip(*(rows[name] for name in needed), strict=True),
            _among_all(rows),
            _performances(rows, shown),
            rows.get("rated") or repeat(True),
            strict=False,
        )
        for before in (None if change is None else rating - change,)
    )
    return _bodies(rows, cells, 5 + ("perf" in rows) + ("leaderboard_place" in rows))


def game_rows(rows: Columns, form: RatingFormat, links: Links, names: Names = _NO_NAMES) -> str:
    """Games, a row each: the first player with the rating before and its change, the result, and the same of the other.

    ``rows``: ``place, handle, rating, change``, one list each, two rows a game; the change of a newcomer is None.
    """
    shown, tier, player = _number(form), _tiers(form), _players(links, names)

    def side(handle: str, rating: float, change: float | None) -> str:
        before = None if change is None else rating - change
        return f"<td{tier(rating)}>{player(handle)}<td>{shown(before)}<td>{_change(before, rating, form)}"

    place, sides = rows["place"], map(side, *(rows[name] for name in ("handle", "rating", "change")))
    scores = (SCORES[result_of(*pair)] for pair in zip(place[::2], place[1::2], strict=True))
    return "\n".join(f"<tr>{one}<td>{score}{other}" for score, one, other in zip(scores, sides, sides, strict=True))


def preview_rows(rows: Columns, form: RatingFormat, links: Links, names: Names = _NO_NAMES) -> str:
    """Rows of a preview: place, player, performance, rating before and after, change, expected place, next title.

    ``rows``: lists of the columns of a preview, without ``perf`` of a system that has no performances, perhaps with
    ``team``; None for no value. Entrants without a place have
    no change. With ``win, draw, loss`` in a game between two. Players who are not ``known`` are no links, but those
    whom they may be are, from ``near``.
    """
    game = zip(*(rows[name] for name in ("win", "draw", "loss")), strict=True) if "win" in rows else repeat(())
    shown, tier, player = _number(form), _tiers(form), _players(links, names)
    needed = ("handle", "rating_before", "rating", "change", "expected_place", "next_title",
              "next_title_place", "next_title_chance")  # fmt: skip
    further = (_performances(rows, shown), rows.get("known") or repeat(True), rows.get("near") or repeat(None))
    cells = (
        (
            tier(rating),
            f"<td>{player(handle) if known else _unknown(handle, near, player)}{perf}<td>{shown(before)}"
            f"<td>{shown(rating)}<td>{_change_of(before, rating, change, form)}"
            f"<td>{'–' if expected is None else f'{expected:.1f}'}<td>{escape(short(title)) if title else '–'}"
            f"<td>{_or_dash(place)}<td>{'–' if likely is None else chance(likely)}"
            f"{''.join(f'<td>{escape(percent(one))}' for one in three)}",
        )
        for (handle, before, rating, change, expected, title, place, likely), three, perf, known, near in zip(
            zip(*(rows[name] for name in needed), strict=True), game, *further, strict=False
        )
    )
    return _bodies(rows, cells, 9 + ("perf" in rows) + 3 * ("win" in rows))


def _performances(rows: Columns, shown: Any) -> Iterable[str]:
    """The cell of each performance; nothing if the system has none."""
    return (f"<td>{shown(perf)}" for perf in rows["perf"]) if "perf" in rows else repeat("")


def _among_all(rows: Columns) -> Iterable[str]:
    """The cell of each place among all players, with the number of places gained or lost; nothing without places."""
    if "leaderboard_place" not in rows:
        return repeat("")
    return map(_moved_place, rows["leaderboard_place_before"], rows["leaderboard_place"])


def _moved_place(before: int | None, after: int | None) -> str:
    gained = 0 if before is None or after is None else before - after
    moved = f" <small class={'up' if gained > 0 else 'down'}>{'▲' if gained > 0 else '▼'}{abs(gained):,}</small>"
    return f"<td>{'–' if after is None else f'{after:,}'}{moved if gained else ''}"


def _unknown(handle: str, near: Sequence[str] | None, player: Any) -> str:
    """A name that no player has, with the players who may be meant."""
    meant = f" <small class=meant>did you mean {' or '.join(map(player, near))}?</small>" if near else ""
    return f"{escape(short(handle))}{meant}"


def _change_of(before: float | None, rating: float | None, change: float | None, form: RatingFormat) -> str:
    """The change in a preview; newcomers are new, and an entrant without a place has none."""
    if rating is not None and before is None:
        return "new"
    return "–" if change is None or rating is None else _change(before, rating, form)


def _bodies(rows: Columns, cells: Iterable[tuple[str, str]], n_columns: int) -> str:
    """Rows from the class of each and its cells after the place; with teams, a body for each participant."""
    places = rows["place"]
    if "team" not in rows:
        return "\n".join(
            f"<tr{tier}><td>{_or_dash(place)}{rest}" for place, (tier, rest) in zip(places, cells, strict=True)
        )
    team, lines = rows["team"], list(cells)
    bodies = []
    for start, stop in pairwise([*first_rows(team), len(team)]):
        place, name = _or_dash(places[start]), team[start]
        if name is None:
            (tier, rest) = lines[start]
            bodies.append(f"<tr{tier}><td>{place}{rest}")
        else:
            heading = f"<tr class=team><td>{place}<td colspan={n_columns - 1}>{escape(short(name))}"
            bodies.append("\n".join([heading, *(f"<tr{_member(tier)}><td>{rest}" for tier, rest in lines[start:stop])]))
    return "\n<tbody>\n".join(bodies)


def _member(tier: str) -> str:
    """The classes of the row of a member of a team, from the class of its title."""
    return f' class="{tier[7:]} member"' if tier else " class=member"


def _interval(place: int | None, high: int | None, low: int | None) -> str:
    """A place with its interval."""
    return _or_dash(place) if high is None else f"{place} <small>({high}-{low})</small>"


def _mark(missing: str | None) -> str:
    """The mark of a provisional rating, with what the player lacks."""
    return "" if missing is None else f'<abbr title="provisional: {escape(missing)}">?</abbr>'


def _or_dash(value: int | None) -> str:
    return "–" if value is None else str(value)


def _change(before: float | None, rating: float, form: RatingFormat) -> str:
    if before is None:
        return "new"
    value = form.difference(before, rating)
    return f"<span class={'up' if value > 0 else 'down'}>{form.change(value)}</span>" if value else form.change(0)


def _number(form: RatingFormat) -> Any:
    """The text of a rating; a dash for None. Ratings of a table repeat."""
    return cache(lambda value: "–" if value is None else form.rating(value))


def _tiers(form: RatingFormat) -> Any:
    """The class of a row with a rating, as an attribute."""
    step = form.titles.step
    classes = [*(f" class=t{i}" for i in range(len(form.titles.ladder))), ""]  # -1 is the last
    return lambda rating: "" if rating is None else classes[step(rating)]


def _words(form: RatingFormat) -> Any:
    """The title of a rating in words; empty for None."""
    step, names = form.titles.step, [*(escape(short(title.name)) for title in form.titles.ladder), ""]
    return lambda rating: "" if rating is None else names[step(rating)]


def _moves(form: RatingFormat) -> Any:
    """The title after a change of rating, if it is another one, and whether it is higher; empty without a rating."""
    step, ladder = form.titles.step, form.titles.ladder
    names = [*(escape(short(title.name)) for title in ladder), "no title"]  # -1 is the last
    steps = cache(step)

    def moved(before: float | None, rating: float) -> str:
        if before is None or (old := steps(before)) == (new := steps(rating)):
            return ""
        return f" <small class={'rise' if new > old else 'fall'}>{names[new]}</small>"

    return moved


def _countries() -> Any:
    """A country beside a name, with its flag; empty for None."""
    return cache(
        lambda value: "" if value is None else f" <small class=country>{flag_of(value)}{escape(short(value))}</small>"
    )


def flag_of(country: str) -> str:
    """The flag of a country as HTML, before its name or code; empty without one."""
    return f"<span aria-hidden=true>{shown}</span> " if (shown := flag(country)) else ""


def _players(links: Links, names: Names, linked: bool = True) -> Any:
    """The link to a player, with the display name; unless ``linked`` without those that a script makes of a handle."""
    before, own = escape(links.player("")), links.pages

    def link(handle: str) -> str:
        if _PLAIN(handle) and handle not in names and handle not in own:
            return f'<a href="{before}{handle}">{handle}</a>' if linked else handle
        return f'<a href="{escape(links.player(handle))}">{escape(short(names.get(handle, handle)))}</a>'

    return link


def first_rows(team: Sequence[str | None]) -> list[int]:
    """The first row of each participant: of each team, and of each individual, whose team is None."""
    return [i for i, name in enumerate(team) if name is None or i == 0 or name != team[i - 1]]


def whole_teams(team: Sequence[str | None], n: int) -> int:
    """The least number of rows, at least ``n``, that divides no team."""
    while 0 < n < len(team) and team[n] is not None and team[n] == team[n - 1]:
        n += 1
    return n


def page_edges(team: Sequence[str | None], n: int, most: int) -> list[int]:
    """The first row of each page of ``most`` of ``n`` rows, or of a few more so that no team is divided, and ``n``."""
    edges = [0]
    while edges[-1] < n:
        edges.append(min(whole_teams(team, edges[-1] + most), n))
    return edges
