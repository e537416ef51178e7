"""A published run for queries: its leaderboard, players, histories, contests and distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Lake, MissingError
from ranklake.storage.names.search import Search

from ..common.times import count_until
from ..events.seasons import Season, season_named
from ..publication.index_parts import integers
from ..publication.past_places import PastPlaces, periods
from ..publication.root import IndexManifest, index_path, read_manifest
from ..publication.standing_places import Placed, StandingPlaces
from ..results.attributes import NAME
from ..results.components import apart, compared_in, groups_in, with_large
from ..results.groups import team_of
from ..results.level_shifts import STEADY
from ..results.places import PlaceOptions
from ..results.ranks import chosen, last_end, ranked
from ..results.states import States
from . import comparison, contests
from .contests import history
from .distribution import distribution_of
from .handles import Handles
from .index_rows import IndexRows
from .kept import Kept
from .leaderboard import BoardPage, Group, Leaderboard, Page, kept_boards, leaderboard, season_leaderboard
from .players.career import career, next_title
from .rated_run import RatedRun
from .seasonal.figures import SEASON_ROUNDS

_HISTORY = (
    "round_index", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before", "rating", "team",
    "points", "contest_id", "name", "url", "time_seconds", "n_players", "change", "opponent",
)  # fmt: skip


class PublishedRun(IndexRows):
    """One state of a published run; immutable. Made by :func:`open_published`.

    Tables of Arrow are results of many rows; dicts of Python values are results about one thing.

    ``kept``: where leaderboards of earlier times and rows of filters are kept; by default of this run alone.
    """

    def __init__(self, lake: Lake, name: str, manifest: IndexManifest, kept: Kept[Any] | None = None) -> None:
        super().__init__(lake, name, manifest)
        self._kept, self._token = kept or kept_boards(), object()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The run: its system, hyperparameters, rounds, players, version and times; not to be changed."""
        manifest = self.manifest
        return {
            "run": self.name,
            "title": self.brand.title or self.name,
            "brand": self.brand.facts(),
            "version": manifest.etag,
            "published_seconds": int(manifest.time_seconds),
            "dataset": manifest.dataset,
            "system": manifest.system,
            "params": manifest.params,
            "deviations": manifest.deviations,
            "sigma_limit": self.sigma_limit,
            "level": "free" if manifest.shift is None else STEADY,
            "decimals": manifest.decimals,
            "titles": [
                {"name": title.name, "minimum": low, "colour": title.colour} for low, _, title in self.titles.bands()
            ],
            "attributes": list(self.attributes),
            "n_rounds": manifest.n_rounds,
            "n_players": len(self.handles),
            "n_problems": 0 if self.problems is None else self.problems.table.num_rows,
            "n_provisional": pc.sum(self.leaderboard_table.column("provisional")).as_py() or 0,
            "places": asdict(self.places),
            "components": None if self.components is None else list(self.components.sizes),
            "note": self.components_line(),
            "chances": None if manifest.chances is None else manifest.chances.facts(),
            "last_time_seconds": self.last_time_seconds,
        }

    def components_line(self) -> str:
        """A line about players who never met, with their names; empty if there are none, or it is not known."""
        if self.components is None:
            return ""
        named = lambda players: [self.names.get(one, one) for one in self._handles_of(players)]  # noqa: E731
        return self.components.line(named, players=self.brand.players)

    def leaderboard(
        self,
        start: int = 0,
        limit: int = 100,
        order: str = "rating",
        active_since: int | None = None,
        title: str | None = None,
        at: int | None = None,
        group: Group | None = None,
        active: int | None = None,
        provisional: str = "show",
        places: PlaceOptions | None = None,
        season: Season | None = None,
        placement: int = 1,
    ) -> BoardPage:
        """Rows of the leaderboard, ``at`` a time as of :func:`.leaderboard.leaderboard`; see :meth:`.Leaderboard.page`.

        ``active``: only players whose last contest ended at most this many seconds before ``at``, or before the last
        contest.
        ``places``: by default those of the publish.
        ``season``: the state at its end, with ``SEASON_COLUMNS``; players with fewer than ``placement`` of its rounds
        are provisional. ``at`` does not count then.
        """
        board = self._leaderboard_at(at, places) if season is None else self._at_end(season, placement, places)
        at = at if season is None else None
        if active is not None:
            since = (last_end(board.table) if at is None else at) - active
            active_since = since if active_since is None else max(since, active_since)
        return board.page(start, limit, order, active_since, title, group, provisional)

    def season(self, name: str) -> Season:
        """A season by name, or the ``current`` one; raises as :func:`.season_named`."""
        return season_named(self.seasons, name, self.ends, self.manifest.dataset)

    def rounds_until(self, at: int | None) -> int | None:
        """The number of rounds that made the leaderboard ``at`` a time; None for all."""
        return None if at is None else count_until(self.ends, at)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes of players, sorted."""
        return self._leaderboard.attributes

    def with_names(self, rows: pa.Table, of: str = "handle", name: str = "name") -> pa.Table:
        """Rows with the column ``name`` after that ``of`` handles, null without one, if the players have names.

        Rows of something else keep a column ``name`` of their own.
        """
        if not self.names or name in rows.column_names or of not in rows.column_names:
            return rows
        names = pa.array(map(self.names.get, rows.column(of).to_pylist()), pa.string())
        return rows.add_column(rows.column_names.index(of) + 1, name, names)

    def values(self, attribute: str, players: pa.ChunkedArray) -> list[str | None]:
        """The values of an attribute of players, given their indices."""
        return self._leaderboard.values(attribute, self.row_of_player[integers(players)])

    @cached_property
    def ranked_table(self) -> pa.Table:
        """The rows of the leaderboard of the players with a place."""
        return chosen(self.leaderboard_table, "hide")

    def groups(self, start: int = 0, limit: int = 100, attribute: str | None = None) -> Page:
        """Groups of players; columns as in ``OF_ATTRIBUTES["groups"]``."""
        of, rows = self.groups_table.column("attribute"), np.arange(self.groups_table.num_rows)
        if attribute is not None:
            rows = np.flatnonzero(pc.equal(of, attribute).to_numpy())
        return Page.of(self.groups_table, rows, start, limit)

    def player(self, handle: str, places: PlaceOptions | None = None) -> dict[str, Any]:
        """One player, found under any name; ``handle`` is the current one. Raises ``NoPlayerError``.

        ``places``: by default those of the publish.
        """
        return self._player(self.handles.row(handle), places)

    def history(self, handle: str, since: int | None = None, season: Season | None = None) -> pa.Table:
        """The columns :data:`_HISTORY` of each rated round of a player, in order; raises as :meth:`player`.

        ``team`` is null in a round of individuals; rows of games have the ``opponent``. ``season``: only its rounds.
        """
        columns = history(self, [self.handles.player(self.handles.row(handle))])
        rows = pa.table({name: columns[name] for name in _HISTORY if name in columns})
        if season is not None:
            index = rows.column("round_index").to_numpy()
            rows = rows.filter(pa.array((index >= season.first_round) & (index < season.stop_round)))
        return rows if since is None else rows.filter(pc.greater_equal(rows.column("time_seconds"), since))

    def problem_page(self, start: int = 0, limit: int = 100, **filters: Any) -> Page:
        """Some problems, see :meth:`.PublishedProblems.chosen`; the run has :attr:`problems`."""
        assert self.problems is not None
        return Page.of(*self.problems.chosen(**filters), start, limit)

    def problems_for(self, handle: str, start: int = 0, limit: int = 100, **choice: Any) -> Page:
        """The problems that a player solves with a chance, see :meth:`.PublishedProblems.for_player`.

        The run has :attr:`problems`. Raises as :meth:`player`.
        """
        assert self.problems is not None
        board = self.leaderboard_table.select(["player", "mu", "sigma"])
        (belief,) = board.slice(self.handles.row(handle), 1).to_pylist()
        return Page.of(*self.problems.for_player(**belief, **choice), start, limit)

    def between(self, handle: str, start: int, end: int) -> dict[str, Any]:
        """The difference of a player's skill between two dates; raises as :meth:`player`.

        Raises ``ValueError`` as :func:`.dates.difference_between`, ``MissingError`` unless the smoothing is published.
        """
        from .dates import difference_between

        row = self.handles.row(handle)
        found = self.smoothed_player(self.handles.player(row))
        if found is None:
            raise MissingError(
                f"run {self.name} is published without smoothed skills: `ranklake smooth --run {self.name}`, then "
                f"`ranklake publish --run {self.name}`",
                path=index_path(self.name),
            )
        return difference_between(self.handles.handle(row), found, start, end).to_json()

    def compare(self, handles: list[str], value: str | None = None, neutral: bool = True) -> dict[str, Any]:
        """The common rounds of several players and what is known of each pair.

        ``unknown``: each handle that no player has, ``requested``, with those ``near`` it; the others are compared.

        ``value``, ``neutral``: of games to come, see :class:`.GamesToCome` and :func:`.comparison.compare`; the run has
        learnt by a column, otherwise ``ValueError`` is raised.
        ``note`` says that two of the players never met, not even through others; it is empty if all did.
        """
        rows, unknown = self.handles.known(handles)
        players = [self._player(row) for row in rows]
        games = self.games_to_come(value)
        deviations = self._deviations([player["player"] for player in players])
        found = comparison.compare(self, players, self._numbers_of(players), games, neutral, deviations)
        return found | {"unknown": unknown}

    def _deviations(self, players: Sequence[int]) -> Any:
        """As :meth:`.RatedRun.deviations`."""
        return None if self.display.system.all_games is None else self._rated.deviations(players)

    @cached_property
    def _rated(self) -> RatedRun:
        """The run in the lake."""
        return RatedRun(self._lake, self.name)

    def team_rating(self, handles: list[str]) -> dict[str, Any]:
        """The rating of a team, its players and a note; as :meth:`RatedRun.team_rating`, raises as :meth:`player`."""
        rows = [self.handles.row(handle) for handle in handles]
        players = self.leaderboard_table.select(["player", "handle"]).take(pa.array(rows, pa.int64()))
        numbers, handles = self._numbers_of(players.to_pylist()), players.column("handle").to_pylist()
        return team_of(self.leaderboard_table, rows, apart(numbers, handles))

    def _numbers_of(self, players: list[dict[str, Any]]) -> list[int]:
        """The number of the component of some players, rows of the leaderboard; -1 if it is not known."""
        found = self.components
        return [-1] * len(players) if found is None else found.numbers([player["player"] for player in players])

    def _handles_of(self, players: Sequence[int]) -> list[str]:
        found: list[str] = self.handles_of(np.array(players, np.int32)).to_pylist()
        return found

    def distribution(
        self,
        width: float | None = None,
        active_since: int | None = None,
        handle: str | None = None,
        at: int | None = None,
        season: Season | None = None,
    ) -> dict[str, Any]:
        """The distribution of ratings, now or ``at`` a time; see :func:`.distribution_of`. Raises as :meth:`player`.

        ``season``: of the players with a round of it, at its end; ``at`` does not count then.
        """
        name = None if handle is None else self.handles.handle(self.handles.row(handle))
        table = self.table_at(at) if season is None else self._at_end(season).table
        return distribution_of(table, width, active_since, name)

    def table_at(self, at: int | None = None) -> pa.Table:
        """All rows of the leaderboard, now or ``at`` a time."""
        return self._leaderboard_at(at).table

    @cached_property
    def past_periods(self) -> tuple[str, npt.NDArray[np.int64]]:
        """The periods of :attr:`past_places`: a word, and the last round of each.

        There are none if there are no times, if ratings change without rounds, or if two large groups never met.
        """
        return periods(self.ends if self._has_past_places else self.ends[:0])

    @cached_property
    def _has_past_places(self) -> bool:
        """Whether ratings change by rounds alone, and all players are on one leaderboard."""
        apart = compared_in(self.leaderboard_table, self.places.min_rounds) is not None
        return not apart and self.manifest.shift is None

    @property
    def _ranking(self) -> PlaceOptions:
        """Who has a place."""
        return self.places if self.uncertainty else replace(self.places, max_sigma=math.inf)

    @cached_property
    def past_places(self) -> PastPlaces:
        """How many players had which rating at the ends of past periods."""
        parts = [part.states_of_rows() for part in self.parts]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return PastPlaces.of(self.past_periods[1], self.manifest.decimals, self._ranking, rows)

    def places_over_time(self, handle: str) -> pa.Table:
        """The place of a player at the ends of past periods: ``time_seconds, place, n_ranked``.

        Players are numbered by the ratings that are shown; equal ones share a place. Raises as :meth:`player`.
        """
        past, rows = self.past_places, self.rows_of(self.handles.player(self.handles.row(handle)))
        columns = {name: rows.column(name).to_numpy() for name in ("round_index", "rating", "sigma", "n_before")}
        columns["n_rounds"] = columns["n_before"] + np.int32(1)
        at, place = past.of_player(columns)
        return pa.table({"time_seconds": self.ends[past.rounds[at]], "place": place, "n_ranked": past.totals[at]})

    def count(self, low: float | None = None, high: float | None = None) -> int:
        """Number of ranked players with a rating of at least ``low`` and below ``high``."""
        ratings = self.ranked_table.column("rating").to_numpy()
        least, below = -math.inf if low is None else low, math.inf if high is None else high
        return int(np.sum((ratings >= least) & (ratings < below)))

    def contests(
        self, start: int = 0, limit: int = 100, q: str = "", since: int | None = None, until: int | None = None
    ) -> Page:
        """Contests, latest first; see :func:`ranklake.flows.answers.contests.contests`."""
        return contests.contests(self, start, limit, q, since, until)

    def contest(self, contest_id: str, start: int = 0, limit: int | None = None) -> tuple[dict[str, Any], Page]:
        """A contest and its standings; see :func:`.contests.contest`."""
        return contests.contest(self, contest_id, start, limit, self._places_around)

    def _places_around(self, round_index: int) -> Placed | None:
        """The places of the participants of a round before and after it.

        None of periods of games, if ratings change without rounds, or if two large groups never met.
        """
        if self.manifest.games or not self._has_past_places:
            return None
        key = (self._token, "around", round_index)
        placed: Placed | None = self._kept.get(key)
        if placed is None:
            placed = self._standing_places.around(round_index)
            self._kept.put(key, placed)
        return placed

    @cached_property
    def _standing_places(self) -> StandingPlaces:
        parts = (part.states_of_rows() for part in self.parts)
        return StandingPlaces.of(parts, len(self.row_of_player), self._ranking)

    def contest_alike(self, contest_id: str) -> str | None:
        """The id of the one contest whose id differs from this one in case alone; None without one."""
        ids = self.contests_table.column("contest_id")
        found = ids.filter(pc.equal(pc.utf8_lower(ids), contest_id.lower())).to_pylist()
        return str(found[0]) if len(found) == 1 else None

    def has_contest(self, contest_id: str) -> bool:
        """Whether the run has a contest."""
        return bool(pc.any(pc.equal(self.contests_table.column("contest_id"), contest_id)).as_py())

    def search(self, q: str, limit: int = 10) -> pa.Table:
        """The best matches of handles and display names, see :meth:`.Search.rows`: ``place, handle, rating, title``."""
        rows = self._search.rows(q, limit)
        return self.leaderboard_table.select(["place", "handle", "rating", "title"]).take(pa.array(rows, pa.int64()))

    def near(self, handle: str) -> list[str]:
        """Existing handles near one that does not exist, at most five."""
        return [self.handles.handle(row) for row in self._search.near(handle)]

    @cached_property
    def handles(self) -> Handles:
        """Handles and their rows in the leaderboard."""
        alike = lambda handle: self._search.alike([handle]).get(handle, [])  # noqa: E731
        return Handles(self.leaderboard_table, self.aliases_table, self.near, alike)

    def load(self) -> None:
        super().load()
        _ = self.handles, self._search, self._leaderboard

    def _player(self, row: int, places: PlaceOptions | None = None) -> dict[str, Any]:
        board = self._leaderboard_at(None, places)
        (found,) = board.table.slice(row, 1).to_pylist()
        rounds, ratings = self.rounds_of(found["player"]), self.ratings_of(found["player"])
        before = self.ratings_before_rows(found["player"])
        said = career(rounds, ratings, before, self.ends[rounds], self.last_time_seconds)
        return {
            **found,
            **({"name": self.names.get(found["handle"])} if self.names else {}),
            "n_ranked": board.n_ranked(row),
            "attributes": self._leaderboard.attributes_of(row),
            "first_contest": self._contest_of(int(rounds[0])),
            "last_contest": self._contest_of(int(rounds[-1])),
            "change": said.change,
            "change_year": said.change_year,
            "peak": {"rating": float(ratings[said.peak]), **self._contest_of(int(rounds[said.peak]))},
            "next_title": next_title(self.titles, found["rating"]),
        }

    def _contest_of(self, index: int) -> dict[str, Any]:
        (contest,) = self._contest_names.slice(index, 1).to_pylist()  # half the time of take
        return {"round_index": index, **contest}

    @cached_property
    def _contest_names(self) -> pa.Table:
        return self.contests_table.select(["contest_id", "name", "time_seconds"])

    @cached_property
    def _leaderboard(self) -> Leaderboard:
        shown = with_large(self.leaderboard_table, self.places.min_rounds)
        return Leaderboard(shown, self.attributes_table, self._kept, self.last_changes)

    def _leaderboard_at(self, time_seconds: int | None, places: PlaceOptions | None = None) -> Leaderboard:
        if places in (None, self.places):
            if time_seconds is None:
                return self._leaderboard
            places = None
        key = (self._token, "at", time_seconds, places)
        board: Leaderboard | None = self._kept.get(key)
        if board is None:
            if places is None:
                table = with_large(leaderboard(self, time_seconds), self.places.min_rounds)
            else:
                table = self.ranked(self._leaderboard_at(time_seconds).table, places)
            changes = partial(self.last_changes, self.rounds_until(time_seconds))
            board = Leaderboard(table, self.attributes_table, self._kept, changes)
            self._kept.put(key, board)
        return board

    def _at_end(self, season: Season, placement: int = 1, places: PlaceOptions | None = None) -> Leaderboard:
        """The leaderboard of a season; arguments as of :meth:`leaderboard`."""
        options = (places or self.places).changed(min_rounds=placement)
        key = (self._token, "season", season.name, options)
        board: Leaderboard | None = self._kept.get(key)
        if board is None:
            table = with_large(season_leaderboard(self, season), placement)
            table = ranked(table, options, self.uncertainty, groups_in(table), SEASON_ROUNDS)
            changes = partial(self.last_changes, season.stop_round)
            board = Leaderboard(table, self.attributes_table, self._kept, changes)
            self._kept.put(key, board)
        return board

    def states_before(self, stop: int, until: int | None = None) -> States:
        """As of :class:`IndexRows`, kept for the next times between the same rounds and resets."""
        n_resets = sum(one.time_seconds <= until for one in self.manifest.resets) if until is not None else None
        key = (self._token, "before", stop, n_resets)
        states: States | None = self._kept.get(key)
        if states is None:
            states = super().states_before(stop, until)
            self._kept.put(key, states)
        return states

    def last_changes(self, stop: int | None = None) -> npt.NDArray[np.float64]:
        """As of :class:`IndexRows`, kept for the next filters."""
        key = (self._token, "changes", stop)
        changes: npt.NDArray[np.float64] | None = self._kept.get(key)
        if changes is None:
            changes = super().last_changes(stop)
            self._kept.put(key, changes)
        return changes

    @cached_property
    def _search(self) -> Search:
        board = self.leaderboard_table
        names = self.values(NAME, board.column("player")) if NAME in self.attributes else None
        return Search(board.column("handle").to_pylist(), names)


def open_published(lake: Lake, run_name: str, kept: Kept[Any] | None = None) -> PublishedRun:
    """The current state of a published run, with all files opened; ``kept`` as in :class:`PublishedRun`.

    Raises ``MissingError``, which names the command, if the run has no index, ``DamagedError`` if a file is damaged.
    """
    for last in (False, True):
        manifest = read_manifest(lake, run_name)
        if manifest is None:
            raise MissingError(
                f"run {run_name!r} is not published in {lake.url}; `ranklake publish --run {run_name}` publishes it",
                path=index_path(run_name),
            )
        published = PublishedRun(lake, run_name, manifest, kept)
        try:
            published.load()
        except MissingError:
            if last:
                raise
            continue  # two publishes since the manifest was read
        return published
    raise AssertionError("unreachable")
