"""The leaderboard of a run, now, at a time and of all time, and its pages: in any order, of active or some players."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Lake

from ..common.text import count
from ..common.times import count_until, spelled
from ..events.seasons import Season
from ..results.attributes import attribute_names, values_of
from ..results.components import groups_in
from ..results.groups import has_value
from ..results.places import places
from ..results.ranks import active_since as were_active
from ..results.ranks import chosen
from ..results.rated_rounds import RatedRounds
from ..results.smoothed import RunSmoothing
from ..results.states import NO_END, States
from .kept import Kept
from .seasonal.figures import Columns, with_season

if TYPE_CHECKING:
    from ..results.display import Display

MOST_KEPT = 256 << 20  # bytes of what is computed for requests: leaderboards of earlier times, rows of filters
_OVERHEAD = 4096  # bytes of a key and of the objects
DEVIATIONS = 2.0  # of all time, by default: a level that the skill reached with a probability of 98 %
ORDERS = ("rating", "mu", "max_rating", "n_rounds", "last_time_seconds", "change")
"""Orders of a leaderboard, each descending; ``change`` is that of the rating by the last round of each player."""
BOTH_WAYS = (*ORDERS, *(f"-{order}" for order in ORDERS))
"""The same, and each ascending."""

Group = tuple[str, str]  # an attribute and its value


class Rows(Protocol):
    """The rated rounds of one history, for leaderboards."""

    @property
    def ends(self) -> npt.NDArray[np.int64]:
        """The end of each round, UTC seconds; 0 if unknown."""

    @property
    def display(self) -> Display:
        """The display rating."""

    @property
    def leaderboard_table(self) -> pa.Table:
        """The leaderboard after all rounds."""

    def states_before(self, stop: int, until: int | None = None) -> States:
        """The state of each player after the rounds before ``stop``, at least 0. O(rows of these rounds).

        ``until``: also after the resets between the last of them and this time, UTC seconds.
        """

    def board(self, states: States) -> pa.Table:
        """The leaderboard of some states; columns as in ``PUBLISHED["leaderboard"]``."""

    def season_rows(self, first: int, stop: int) -> Iterable[Columns]:
        """Rated rows of the rounds from ``first`` to ``stop``, for :func:`.seasonal.figures.with_season`."""


def leaderboard(rows: Rows, at: int | None = None) -> pa.Table:
    """All rated players, best first, as ``PUBLISHED["leaderboard"]``, full precision; no row if none was rated by then.

    The state at a time is that after the last round that ended then or before. In systems with a drift by day,
    ``sigma`` has grown since each player's last round, and ``rating`` follows; ``max_rating`` is that after a round.

    ``at``: UTC seconds; by default after all rounds. Raises ``ValueError`` if it is out of range.
    """
    if at is None:
        return rows.leaderboard_table
    from ranklake.rating_kernels.core.limits import TIME_SECONDS  # imports kernels
    from ranklake.rating_kernels.core.system import check_value

    from ..results.display import idle_rating

    check_value("at", at, TIME_SECONDS)
    stop = count_until(rows.ends, at)
    states = rows.states_before(stop, at)
    if len(states.players):
        mu, sigma, n_rounds = (states.columns[name] for name in ("mu", "sigma", "n_rounds"))
        last = np.where(states.latest == NO_END, 0, states.latest)
        sigma, rating = idle_rating(rows.display, mu, sigma, n_rounds, last, at, stop - 1)
        states = replace(states, columns=states.columns | {"sigma": sigma, "rating": rating})
    return rows.board(states)


def season_leaderboard(rows: Rows, season: Season) -> pa.Table:
    """All players rated by the end of a season, as :func:`leaderboard`, with ``SEASON_COLUMNS``.

    The state of the last season is that of now; of another one, that after its last round, before the next event.
    O(rows of the rounds until its end).
    """
    past = season.end_seconds is not None
    board = rows.board(rows.states_before(season.stop_round)) if past else rows.leaderboard_table
    return with_season(board, rows.season_rows(season.first_round, season.stop_round), rows.display)


def all_time_leaderboard(lake: Lake, run_name: str, deviations: float | None = None) -> pa.Table:
    """The best level of each player at any contest, given all contests before and after; best first, ties by handle.

    Levels of different years are comparable, as those of :func:`leaderboard` are not.

    ``deviations``: the level is smooth_mu - deviations smooth_sigma; by default :data:`DEVIATIONS`.
    Returns ``place`` (from 1, ties share one), ``handle, level, smooth_mu, smooth_sigma`` at the contest of the best
    level (the first one, if there are several), its ``contest_id, name, time_seconds`` (null if the data set no longer
    has it), ``n_rounds`` of the player, ``player``. Full precision.
    Raises ``LakeError`` if there is no such run, it has no rounds yet, or no current smoothing; the message names the
    remedy.
    """
    rounds = RatedRounds(lake, run_name)
    rows = RunSmoothing(rounds.run, rounds.chain).read()
    player, mu, sigma = (rows.column(name).to_numpy() for name in ("player", "smooth_mu", "smooth_sigma"))
    level = mu - (DEVIATIONS if deviations is None else deviations) * sigma
    by_player = np.lexsort((-level, player))  # stable: of equal levels, the first contest
    best = by_player[np.flatnonzero(np.diff(player[by_player], prepend=-1))]
    board = pa.table({"level": level[best], "handle": rounds.handles_of(player[best])})
    order = pc.sort_indices(board, sort_keys=[("level", "descending"), ("handle", "ascending")])
    board, best = board.take(order), best[order.to_numpy()]
    shown, round_index = board.column("level").to_numpy(), rows.column("round_index").to_numpy()[best]
    contests = rounds.contests_table.take(pa.array(round_index))
    columns = {
        "place": np.searchsorted(-shown, -shown, side="left") + 1,
        "handle": board.column("handle"),
        "level": shown,
        "smooth_mu": mu[best],
        "smooth_sigma": sigma[best],
        "contest_id": rows.column("contest_id").take(pa.array(best)),
        "name": contests.column("name"),
        "time_seconds": contests.column("time_seconds"),
        "n_rounds": np.bincount(player)[player[best]].astype(np.int32),
        "player": player[best],
    }
    return pa.table(columns)


def first_end(rows: Rows, first: str, contests: str) -> str:
    """When the ``first`` contest ended, or that the ``contests`` have no times: why a leaderboard has no rows."""
    known = rows.ends[rows.ends != 0]
    return f"{first} ended at {spelled(int(known.min()))}" if len(known) else f"{contests} have no times"


class BeyondEndError(LookupError):
    """A page begins at or after the end of a result.

    ``start``, ``limit``, ``total``: the first row that is wanted, the rows of a page, None for all; all rows.
    ``last``: where the last page begins.
    """

    def __init__(self, start: int, total: int, limit: int | None) -> None:
        super().__init__(start)
        self.start, self.limit, self.total = start, limit, total
        self.last = 0 if limit is None else max(total - 1, 0) // limit * limit

    def __str__(self) -> str:
        page = f"; the last page begins at {self.last:,}" if self.total else ""
        return f"row {self.start:,} is beyond the end: there are {count(self.total, 'row')}{page}"


def check_start(start: int, total: int, limit: int | None) -> None:
    """Raise :class:`BeyondEndError` unless a page begins at 0 or before the end of ``total`` rows."""
    if start and start >= total:
        raise BeyondEndError(start, total, limit)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a result, and the start of the ``next`` page; None on the last one."""

    rows: pa.Table
    total: int
    next: int | None

    @classmethod
    def of(cls, table: pa.Table, chosen: npt.NDArray[np.int64], start: int, limit: int) -> Page:
        """The rows ``chosen[start : start + limit]`` of a table; raises as :func:`check_start`."""
        check_start(start, len(chosen), limit)
        stop = start + limit
        rows = table.take(pa.array(chosen[start:stop]))
        return cls(rows, len(chosen), stop if stop < len(chosen) else None)


def kept_boards() -> Kept[Any]:
    """What is computed for requests, of any number of runs; values have a size ``nbytes``."""
    return Kept(MOST_KEPT, lambda value: int(value.nbytes) + _OVERHEAD)


def places_among(board: pa.Table, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places by rating of some rows of a leaderboard among each other, within components as in the whole one.

    Returns int64[n]: from 1, in the order of ``rows``; 0 for provisional players.
    """
    ranked = rows[~board.column("provisional").to_numpy()[rows]]
    group, numbers = groups_in(board), np.zeros(board.num_rows, np.int64)
    numbers[ranked] = places(board.column("rating").to_numpy()[ranked], None if group is None else group[ranked])
    return numbers[rows]


@dataclass(frozen=True, slots=True)
class BoardPage(Page):
    """Some rows of a leaderboard, and the place of each by rating among all rows that its filters choose.

    ``places``: None for provisional players.
    """

    places: list[int | None]


class Leaderboard:
    """The leaderboard of one state of a run, with the attributes of the players; see ``PUBLISHED``, ``OF_ATTRIBUTES``.

    ``kept``: where the rows of a page's filters are kept; by default of this leaderboard alone.
    ``changes``: gives the change of the rating by the last round, by the index of the player, NaN without one.
    """

    def __init__(
        self,
        table: pa.Table,
        attributes: pa.Table,
        kept: Kept[Any] | None = None,
        changes: Callable[[], npt.NDArray[np.float64]] | None = None,
    ) -> None:
        self.table, self._kept, self._token, self._changes = table, kept or kept_boards(), object(), changes
        self._values = {
            name: values_of(attributes, name, table.column("player")) for name in attribute_names(attributes)
        }

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return int(self.table.nbytes + sum(values.nbytes for values in self._values.values()))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes, sorted."""
        return tuple(self._values)

    def n_ranked(self, row: int) -> int:
        """Number of the players with a place, in the component of the player in a row if places are within these."""
        component = self.table.column("component")[row].as_py() if "component" in self.table.column_names else None
        return self._n_ranked[component]

    @cached_property
    def _n_ranked(self) -> Counter[int | None]:
        ranked = chosen(self.table, "hide")
        if "component" in ranked.column_names:
            return Counter(ranked.column("component").to_pylist())
        return Counter({None: ranked.num_rows})

    def attributes_of(self, row: int) -> dict[str, str]:
        """The attributes of the player in a row."""
        found: dict[str, Any] = {name: values[row].as_py() for name, values in self._values.items()}
        return {name: value for name, value in found.items() if value is not None}

    def page(
        self,
        start: int,
        limit: int,
        order: str = "rating",
        active_since: int | None = None,
        title: str | None = None,
        group: Group | None = None,
        provisional: str = "show",
    ) -> BoardPage:
        """Rows of the leaderboard; columns as in ``PUBLISHED["leaderboard"]``.

        ``order``: one of :data:`BOTH_WAYS`; players without a value are last. ``place`` is always that by rating
        among all players, and ``places`` of the page are those by rating among the chosen ones.
        ``active_since``: only players whose last contest ended then or later, UTC seconds.
        ``title``: only players with this title.
        ``group``: only players with this value of an attribute; the attribute must exist.
        ``provisional``: what happens to provisional players, one of ``PROVISIONAL`` of ``flows.results.ranks``.
        """
        key = (self._token, order, active_since, title, group, provisional)
        if (found := self._kept.get(key)) is None:
            found = self._choose(order, active_since, title, group, provisional)
            self._kept.put(key, found)
        rows, numbers = found
        page = Page.of(self.table, rows, start, limit)
        shown = [number or None for number in numbers[start : start + limit].tolist()]
        return BoardPage(page.rows, page.total, page.next, shown)

    def values(self, attribute: str, rows: npt.NDArray[np.int32]) -> list[str | None]:
        """The values of an attribute in some rows."""
        found: list[str | None] = self._values[attribute].take(pa.array(rows)).to_pylist()
        return found

    def _choose(
        self, order: str, active_since: int | None, title: str | None, group: Group | None, provisional: str
    ) -> npt.NDArray[np.int64]:
        """The chosen rows in order, and their places among each other."""
        keep = np.ones(self.table.num_rows, bool)
        if provisional != "show":
            keep &= self.table.column("provisional").to_numpy() == (provisional == "only")
        if active_since is not None:
            keep &= were_active(self.table, active_since)
        if title is not None:
            keep &= self.table.column("title").to_numpy() == title
        if group is not None:
            keep &= has_value(self._values[group[0]], group[1])
        rows = np.flatnonzero(keep)
        numbers = places_among(self.table, rows)
        if order != "rating":
            values = self._values_of(order.removeprefix("-"))[rows]
            sorted_rows = np.argsort(values if order.startswith("-") else -values, kind="stable")
            rows, numbers = rows[sorted_rows], numbers[sorted_rows]
        return np.stack([rows, numbers])

    def _values_of(self, order: str) -> npt.NDArray[Any]:
        """The values of each row by which an order sorts."""
        if order != "change":
            values: npt.NDArray[Any] = self.table.column(order).to_numpy()
            return values
        if self._changes is None:
            raise ValueError("order must not be change: this leaderboard knows no changes")
        changes: npt.NDArray[np.float64] = self._changes()[self.table.column("player").to_numpy()]
        return changes
