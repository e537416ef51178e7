"""Contests of a published run, their standings with changes, and the rounds of a player of any run."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.names.folding import fold

from ..publication.index_parts import integers
from ..publication.standing_places import Placed
from .index_rows import IndexRows
from .leaderboard import Page, check_start
from .players.record import Game, places_of, result_of
from .seasonal.resets import BROUGHT, ratings_before

if TYPE_CHECKING:  # imports kernels
    from ..results.display import Display

ALL_ROWS = sys.maxsize
"""A limit above any number of rows."""
MOST_GAME_ROWS = 1_000  # of a page of a period of games
N_WINNERS = 3  # of a contest that are named
LEADERBOARD_PLACES = ("leaderboard_place_before", "leaderboard_place")
"""Columns of standings: the places of a participant among all players before and after the contest."""
_STANDINGS = (
    "place", "handle", "perf", "rating_before", "rating", "change", "mu", "sigma", "n_before", "team", "points",
    "rated", *LEADERBOARD_PLACES,
)  # fmt: skip
_COUNTS = ("n_players", "n_games")
_OF_CONTEST = ("contest_id", "name", "url", "time_seconds", "n_players")


class HistoryRows(Protocol):
    """The rated rounds of one history, for the rounds of a player."""

    @property
    def display(self) -> Display:
        """The display rating; imports kernels."""

    @property
    def reset_rounds(self) -> npt.NDArray[np.int64]:
        """The first round after each reset of the data set, ascending."""

    @property
    def contests_table(self) -> pa.Table:
        """The contest of each round: ``contest_id, name, url, time_seconds, n_players`` and perhaps others."""

    def history_rows(self, players: Sequence[int]) -> pa.Table:
        """The rated rows of the first of some players who has any, in order; else no row.

        The columns are ``round_index, player, ..., n_before`` of ``ROUNDS``, the display ``rating``, ``team`` and
        ``points``; of games also ``opponent``, an index.
        """

    def handles_of(self, players: npt.NDArray[np.int32]) -> pa.Array:
        """Handles of players, given their indices."""


def contests(
    tables: IndexRows, start: int, limit: int, q: str = "", since: int | None = None, until: int | None = None
) -> Page:
    """Contests, latest first; columns as in ``PUBLISHED["contests"]``, of periods of games also ``n_games``.

    The ``n_players`` of a period are those who have games in it, not the participations.

    ``q``: only contests with this part of the name or the id, without case and accents.
    ``since``, ``until``: only contests that ended at ``since`` or later, before ``until``; UTC seconds.
    """
    table = tables.contests_table
    keep = np.ones(table.num_rows, bool)
    times = table.column("time_seconds").cast(pa.float64()).fill_null(np.nan).to_numpy()
    if since is not None:
        keep &= times >= since
    if until is not None:
        keep &= times < until
    if wanted := fold(q.strip()):
        keep &= np.array([wanted in text for text in tables.contest_texts], bool)
    page = Page.of(table, np.flatnonzero(keep)[::-1], start, limit)
    if not tables.manifest.games:
        return page
    counts = [counts_of(tables.players_of_round(index)) for index in page.rows.column("round_index").to_pylist()]
    at = page.rows.schema.get_field_index("n_players")
    n_players, n_games = (pa.array([one[name] for one in counts], pa.int32()) for name in _COUNTS)
    return replace(page, rows=page.rows.set_column(at, "n_players", n_players).append_column("n_games", n_games))


def counts_of(player: npt.NDArray[np.int32]) -> dict[str, int]:
    """``n_players`` and ``n_games`` of a period, given the player of each row; one with several games counts once."""
    return dict(zip(_COUNTS, (len(np.unique(player)), len(player) // 2), strict=True))


@dataclass(frozen=True, slots=True)
class Winner:
    """Who was first in a contest.

    ``handles``: at most :data:`N_WINNERS` players; the members of a team. ``team``: its name; None of an individual.
    ``n``: number of participants who share the first place.
    """

    handles: tuple[str, ...]
    team: str | None
    n: int


def winners(tables: IndexRows, rounds: Sequence[int]) -> dict[int, Winner]:
    """The winner of each of some rounds; none of a contest that was skipped, or of a period of games."""
    found: dict[int, tuple[list[int], str | None, int]] = {}
    for index in rounds if not tables.manifest.games else ():
        lo, hi, team, player = tables.first_of_round(index, N_WINNERS)
        if lo:
            first = [player[at] for at in range(len(lo)) if lo[at] == lo[0] and team[at] == team[0]]
            found[index] = first, team[0], hi[0] - lo[0] + 1
    players = sorted({player for first, _, _ in found.values() for player in first})
    handles = dict(zip(players, tables.handles_of(np.array(players, np.int32)).to_pylist(), strict=True))
    return {
        index: Winner(tuple(handles[player] for player in first), team, n) for index, (first, team, n) in found.items()
    }


def contest(
    tables: IndexRows,
    contest_id: str,
    start: int = 0,
    limit: int | None = None,
    places_around: Callable[[int], Placed | None] = lambda _: None,
) -> tuple[dict[str, Any], Page]:
    """A contest, as :func:`contests` has it, and a page of its standings: ``place, handle, perf, rating_before``,
    ``rating, change, mu, sigma, n_before``, ``team``, ``points``, ``rated``, ``leaderboard_place_before`` and
    ``leaderboard_place``.

    ``rating_before`` and ``change`` are null for newcomers, ``team`` is null for individuals, ``points`` are null where
    unknown. The members of a team have adjacent rows, and ``place`` counts teams. A contest that was skipped has no
    standings. A period of games has two rows a game, one after the other, with places in the game. An unrated
    participant has the place among the rated ones, after those who share it, and the rating before; null without a
    rated contest. The places on the leaderboard are null of players who have none, and of unrated participants.

    ``places_around``: the places on the leaderboard around a round, None if they are not known.
    ``limit``: rows of the page; by default all of a contest, and :data:`MOST_GAME_ROWS` of a period.
    Raises ``KeyError`` if the run has no such contest, and as :func:`.leaderboard.check_start`.
    """
    matches = np.flatnonzero(pc.equal(tables.contests_table.column("contest_id"), contest_id).to_numpy())
    if not len(matches):
        raise KeyError(contest_id)
    index = int(matches[0])
    (facts,) = tables.contests_table.slice(index, 1).to_pylist()
    facts |= counts_of(tables.players_of_round(index)) if tables.manifest.games else {}
    limit = MOST_GAME_ROWS if limit is None and tables.manifest.games else limit
    unrated = tables.unrated_of_round(index)
    total = tables.n_rows_of_round(index) + unrated.num_rows
    check_start(start, total, limit)
    page = slice(start, None if limit is None else start + limit)
    chosen = slice(None) if unrated.num_rows else page  # merged below
    rows = tables.rows_of_round(index, chosen)
    before, rating = tables.ratings_before(index, chosen), rows.column("rating").combine_chunks()
    handles = tables.handles_of(integers(rows.column("player")))
    placed = places_around(index) if rows.num_rows else None
    shown = _standings(rows, handles, before, rating, placed)
    if unrated.num_rows:
        rated, none = unrated.column("rating"), pa.scalar(None, pa.float64())
        before = pc.if_else(pc.equal(unrated.column("n_before"), 0), none, rated)
        others = _standings(unrated, unrated.column("handle"), before, before, None, rated=False)
        shown = pa.concat_tables([shown, others])
        order = np.argsort(shown.column("place").to_numpy(), kind="stable")
        shown = shown.take(pa.array(order[page]))
    stop = start + shown.num_rows
    return facts, Page(shown, total, stop if shown.num_rows and stop < total else None)


def _standings(
    rows: pa.Table, handles: pa.Array, before: pa.Array, rating: pa.Array, placed: Placed | None, rated: bool = True
) -> pa.Table:
    """Rows of a round as :func:`contest` has them; unrated ones have no team and no points."""
    columns = {name: rows.column(name) for name in ("perf", "mu", "sigma", "n_before")}
    columns |= {"place": pc.add(rows.column("lo"), pa.scalar(1, pa.int32())), "handle": handles}
    columns |= {"rating_before": before, "rating": rating, "change": pc.subtract(rating, before)}
    for name, kind in (("team", pa.string()), ("points", pa.float64())):
        columns[name] = rows.column(name) if rated else pa.nulls(rows.num_rows, kind)
    columns["rated"] = pa.repeat(rated, rows.num_rows)
    places = (None, None) if placed is None else placed.of(integers(rows.column("player")))
    for name, values in zip(LEADERBOARD_PLACES, places, strict=True):
        none = pa.nulls(rows.num_rows, pa.int32())
        columns[name] = none if values is None else pa.array(values, mask=values == 0)
    return pa.table({name: columns[name] for name in _STANDINGS})


def history(rows: HistoryRows, players: Sequence[int]) -> dict[str, pa.ChunkedArray]:
    """The rated rows of the first of some players who has any, in order; else no row.

    Returns the columns of ``ROUNDS``, and ``name, url, time_seconds, n_players`` of the contest, ``rating``,
    ``team``, which is null in a round of individuals, and ``points``, null where unknown. Rows of games have the
    ``opponent``. The ``change`` is that by the round, see :mod:`.seasonal.resets`; null in the first one.
    """
    found = rows.history_rows(players)
    contests = rows.contests_table.select(_OF_CONTEST).take(found.column("round_index"))
    columns = dict(zip(found.column_names, found.columns, strict=True))
    columns |= dict(zip(_OF_CONTEST, contests.columns, strict=True))
    columns["change"] = pa.chunked_array([changes(rows, found)])
    if "opponent" in columns:
        columns["opponent"] = rows.handles_of(integers(columns["opponent"]))
    return columns


def games_of(tables: IndexRows, player: int) -> list[Game] | None:
    """The games of a player, one for each rated row, in order; None unless all contests are of two individuals."""
    if not tables.of_two:
        return None
    rows, ratings = tables.rows_of(player), tables.opponent_ratings_of(player).tolist()
    places, handles = zip(rows["lo"].to_pylist(), rows["hi"].to_pylist(), strict=True), tables.opponents_of(player)
    return [
        Game(opponent, result_of(*places_of(lo, hi)), None if math.isnan(rating) else rating)
        for (lo, hi), opponent, rating in zip(places, tables.handles_of(handles).to_pylist(), ratings, strict=True)
    ]


def changes(rows: HistoryRows, found: pa.Table) -> pa.Array:
    """The change of a player's rating by each row of :meth:`HistoryRows.history_rows`; null in the first one."""
    names = ("rating", *BROUGHT)
    columns = {name: found.column(name).to_numpy() for name in names}
    before = ratings_before(columns, rows.reset_rounds, lambda: rows.display)
    return pa.array(columns["rating"] - before, mask=np.isnan(before))
