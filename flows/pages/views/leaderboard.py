"""The leaderboard: of the active players, of all, of a group, now or at a time, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...answers.handles import NoPlayerError
from ...answers.leaderboard import BoardPage, Group
from ...answers.run import PublishedRun
from ...common.times import AGES, parse_span, utc
from ...events.seasons import Season
from ...results.attributes import COUNTRY
from ...results.places import PlaceOptions
from ..links import ServerLinks, day
from ..places import place_columns
from ..sparkline import N_POINTS
from .groups import groups

BOARD_ROWS = 200  # of a page of the leaderboard
ACTIVE = {"1y": "a year", "90d": "90 days", "3y": "3 years"}
"""Choices of the time since the last contest of a player, as for `leaderboard --active`, and their names."""
DEFAULT, ALL = "1y", "all"
COLUMNS = (
    ("rating", "Rating", ""), ("change", "Change", ""), ("", "Trend", "trend"), ("mu", "μ ± σ", "wide"),
    ("n_rounds", "Rounds", "wide"), ("max_rating", "Highest", "wide"), ("last_time_seconds", "Last round", "wide"),
)  # fmt: skip
"""Columns after the player: the order that they have, the text and the class of the heading."""

_OF_SEASON = {"Change": "Season change", "Rounds": "In season", "Highest": "Best in season"}

_BOARD = ("handle", "rating", "mu", "sigma", "n_rounds", "max_rating", "last_time_seconds")
_DAY = 86_400
_ALL = {"start": 0, "page": -1, "n_pages": 1, "version": "", "total": 0, "heading": "", "active": "", "until": "",
        "pages": None, "switch": [], "form": None, "player": "", "order": "rating",
        "titled": True, "linked": True}  # fmt: skip

Columns = Mapping[str, Sequence[Any]]


def board(rows: Columns, **more: Any) -> dict[str, Any]:
    """A page of a leaderboard, by default the first rows of all players; see the template ``leaderboard``."""
    heads = [(order, text, kind, "") for order, text, kind in COLUMNS if text in _shown(rows)]
    return {"board": rows, "heads": heads, **_ALL, **more}


def _shown(rows: Columns) -> set[str]:
    """The headings of the columns that a leaderboard has."""
    without = {"Change", "Trend"} if "recent" not in rows else set()
    return {text for _, text, _ in COLUMNS} - without - ({"μ ± σ"} if "mu" not in rows else set())


@dataclass(frozen=True, slots=True)
class Choice:
    """What a leaderboard shows.

    ``active``: only players with a contest in this time before ``at`` or the last contest, a key of :data:`ACTIVE`;
    :data:`ALL`; or empty: :data:`DEFAULT` if contests have times, else all.
    ``group``, ``title``: only players with this value of an attribute, with this title.
    ``at``: a time, UTC seconds; by default after all contests.
    ``order``: one of ``BOTH_WAYS``.
    ``season``: the players of this season at its end, whoever is active since; ``at`` does not count then.
    """

    active: str = ""
    group: Group | None = None
    title: str | None = None
    at: int | None = None
    order: str = "rating"
    season: Season | None = None

    @classmethod
    def of(
        cls, run: PublishedRun, given: Mapping[str, Any], group: Group | None, season: Season | None = None
    ) -> Choice:
        """The choice of an address; what it has by default is empty, so that equal choices have equal addresses."""
        last, active, at = run.last_time_seconds, given["active"], given["at"]
        default = DEFAULT if last else ALL
        at = None if at is None or not last or at >= last else at
        if season is not None:
            return cls("", group, given["title"], None, given["order"], season)
        return cls("" if active == default else active, group, given["title"], at, given["order"])

    def query(self, **changed: str) -> dict[str, str]:
        """The parameters of the address; those that are empty are left out there."""
        found = {
            "active": self.active,
            "group": ":".join(self.group) if self.group else "",
            "title": self.title or "",
            "at": _text(self.at),
            "order": "" if self.order == "rating" else self.order,
            "season": "" if self.season is None else self.season.name,
        }
        return found | changed

    def span(self, run: PublishedRun) -> str:
        """The key of :data:`ACTIVE`; empty for all players."""
        active = self.active or (DEFAULT if run.last_time_seconds and self.season is None else ALL)
        return "" if active == ALL else active

    def rows(self, run: PublishedRun, start: int, limit: int) -> BoardPage:
        """Rows of the leaderboard."""
        if self.season is not None:
            chosen: dict[str, Any] = {"title": self.title, "group": self.group, "provisional": "hide"}
            return run.leaderboard(start, limit, self.order, **chosen, season=self.season)
        active = parse_span(span, AGES) if (span := self.span(run)) else None
        return run.leaderboard(start, limit, self.order, None, self.title, self.at, self.group, active)

    def find(self, run: PublishedRun, text: str) -> tuple[Choice, int, str] | None:
        """The leaderboard that has what a visitor looks for: its choice, the row from 0, and the handle.

        ``text`` is the number of a row, from 1, at most the last one, or a part of a handle. A player who is left out
        is shown among all.
        Returns None if there is neither.
        """
        if text.isascii() and text.isdigit() and len(text) < 10:
            row = min(max(int(text), 1), max(self.rows(run, 0, 1).total, 1)) - 1
            for handle in self.rows(run, row, 1).rows.column("handle").to_pylist():
                return self, row, handle
        try:
            handle = run.handles.handle(run.handles.row(text))
        except NoPlayerError:
            near = run.search(text[:100], 1).column("handle").to_pylist()
            if not near:
                return None
            (handle,) = near
        for choice in (self, Choice(ALL, at=self.at, order=self.order), Choice(ALL)):
            row = pc.index(choice.rows(run, 0, len(run.handles)).rows.column("handle"), handle).as_py()
            if row >= 0:
                return choice, row, handle
        return None


def leaderboard(run: PublishedRun, links: ServerLinks, choice: Choice, page: int, player: str = "") -> dict[str, Any]:
    """Page ``page`` of the leaderboard, from 0; the row of ``player`` is marked."""
    found, span = choice.rows(run, page * BOARD_ROWS, BOARD_ROWS), choice.span(run)
    rows = _rows(run, found, choice)

    def address(number: int, **changed: str) -> str:
        return links.leaderboard(number, **choice.query(**changed))

    def turned(order: str) -> str:
        """The order that a heading leads to: ascending if it is descending now."""
        return f"-{order}" if order == choice.order else "" if order == "rating" else order

    season = choice.season
    orders = {order: address(0, order=turned(order)) for order, *_ in COLUMNS if order}
    orders = orders if season is None else {}  # the columns of a season are others
    heads = [
        (order, text if season is None else _OF_SEASON.get(text, text), kind, orders.get(order, ""))
        for order, text, kind in COLUMNS
        if text in _shown(rows)
    ]
    switch = [(f"Active within {ACTIVE[DEFAULT]}", address(0, active="", season=""), span == DEFAULT),
              *([(f"Within {ACTIVE[span]}", address(0), True)] if span not in ("", DEFAULT) else []),
              (f"All {len(run.handles):,}", address(0, active=ALL, season=""), not (span or season))]  # fmt: skip
    chosen = [
        *([f"season {season.name}"] if season else []), *([" ".join(choice.group)] if choice.group else []),
        *filter(None, [choice.title]),
    ]  # fmt: skip
    return board(
        rows, heads=heads, start=page * BOARD_ROWS, page=page, n_pages=-(-found.total // BOARD_ROWS), total=found.total,
        heading=", ".join(chosen),
        active=ACTIVE.get(span, ""), until=_text(choice.at), pages=address,
        switch=switch if run.last_time_seconds else [], form=_form(run, links, choice), player=player,
        order=choice.order,
    )  # fmt: skip


def _rows(run: PublishedRun, found: BoardPage, choice: Choice) -> dict[str, Any]:
    """The columns of a page; if only some players are chosen, ``place`` is that among them."""
    rows = {name: found.rows.column(name).to_pylist() for name in _BOARD} | place_columns(found.rows, run.places)
    if not run.has_intervals:
        del rows["mu"]
    if choice.span(run) or choice.group or choice.title:
        rows |= {"place": found.places, "of_all": rows["place"]}
    stop, players = run.rounds_until(choice.at), found.rows.column("player").to_pylist()
    if choice.season is None:
        rows["recent"] = [
            [rating for rating in run.recent_ratings(player, N_POINTS, stop) if isfinite(rating)] for player in players
        ]
        if len(run.reset_rounds):  # the last change begins at the rating that a player brought to the round
            last = run.last_changes(stop)
            for player, recent in zip(players, rows["recent"], strict=True):
                if len(recent) > 1 and isfinite(last[player]):
                    recent[-2] = recent[-1] - float(last[player])
    else:
        rows |= of_season(found.rows)
    if COUNTRY in run.attributes:
        rows["country"] = run.values(COUNTRY, found.rows.column("player"))
    return rows


def season_board(rows: pa.Table, places: PlaceOptions, name: str, **more: Any) -> dict[str, Any]:
    """A single page of the leaderboard of a season, as the static site has it."""
    columns = {column: rows.column(column).to_pylist() for column in _BOARD}
    if "place_high" not in rows.column_names:
        del columns["mu"]
    columns |= place_columns(rows, places) | of_season(rows)
    shown = _shown(columns)
    heads = [(order, _OF_SEASON.get(text, text), kind, "") for order, text, kind in COLUMNS if text in shown]
    return board(columns, heads=heads, heading=f"season {name}", **more)


def of_season(rows: pa.Table) -> dict[str, Any]:
    """The columns of a page that are those of a season, given the rows of its leaderboard."""
    columns = (rows.column(name).to_pylist() for name in ("season_rounds", "season_best", "season_start_rating"))
    n_rounds, best, start = columns
    ratings = zip(start, rows.column("rating").to_pylist(), strict=True)
    recent = [[rating for rating in pair if rating is not None] for pair in ratings]
    return {"n_rounds": n_rounds, "max_rating": best, "recent": recent}


def _form(run: PublishedRun, links: ServerLinks, choice: Choice) -> dict[str, Any]:
    """What the form of the filters offers, and what is chosen; dates are those on which contests ended."""
    sections = groups(run.groups_table, links)["sections"]
    ends = run.ends[run.ends != 0]
    dates = [day(int(ends.min())), day(int(ends.max()) + _DAY)] if len(ends) else []
    spans = {"": ACTIVE[DEFAULT], **{key: text for key, text in ACTIVE.items() if key != DEFAULT}, ALL: "any time"}
    return {
        "groups": [f"{row['attribute']}:{row['value']}" for section in sections for row in section["rows"]],
        "titles": [title.name for title in reversed(run.titles.ladder)],
        "active": list(spans.items()) if run.last_time_seconds else [],
        "dates": [] if "–" in dates else dates,
        "seasons": [one.name for one in reversed(run.seasons) if one.n_rounds],
        "chosen": choice.query(),
    }


def _text(at: int | None) -> str:
    """A time as an address has it: a date, if it is the begin of one; empty for None."""
    if at is None:
        return ""
    return day(at) if at % _DAY == 0 else utc(at).isoformat()
