"""One state of a published run: its tables, mapped into memory, and the rows of a player or a round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import Lake
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, OF_SEASONS, PUBLISHED
from ranklake.storage.names.folding import fold
from ranklake.storage.runs.components import Meetings

from ..common.brand import Brand
from ..events.seasons import Season, reset_rounds
from ..publication.index_parts import SMOOTHED_ROWS, UNRATED, IndexPart, integers, one_chunk, read_mapped
from ..publication.root import IndexFile, IndexManifest, index_path
from ..results.attributes import COUNTRY, NAME, values_by_handle
from ..results.components import Components
from ..results.meetings import join
from ..results.places import PlaceOptions, percentiles
from ..results.ranks import ranked
from ..results.states import NO_END, States, board_table, known_ends
from ..results.titles import Titles
from .problems.published import PublishedProblems
from .seasonal.figures import Columns
from .seasonal.resets import BROUGHT, parted, ratings_before, set_brought, with_brought

if TYPE_CHECKING:
    from ..chances.to_come import GamesToCome
    from ..results.display import Display
    from .dates import SmoothedPlayer

_STATE = {"rating": float, "mu": float, "sigma": float, "n_rounds": np.int32, "max_rating": float}


class IndexRows:
    """One state of a published run; immutable. ``titles``: by default those of the ``manifest``."""

    def __init__(self, lake: Lake, name: str, manifest: IndexManifest, titles: Titles | None = None) -> None:
        self._lake, self.name, self.manifest, self._titles = lake, name, manifest, titles

    @cached_property
    def titles(self) -> Titles:
        """The titles."""
        return Titles.from_json(self.manifest.titles) if self._titles is None else self._titles

    @cached_property
    def display(self) -> Display:
        """The display rating; imports kernels."""
        from ..results.display import Display

        about = self.manifest
        return Display.named(about.system, about.params, about.deviations, about.minimum, about.shift)

    def games_to_come(self, value: str | None = None) -> GamesToCome | None:
        """What was known at the publish of games that have not been played; None if it was not, or there are none.

        ``value``: of the column by which the run learns. Raises ``ValueError``: it learns by none, or of no games.
        """
        from ..chances.to_come import GamesToCome, from_published  # imports kernels

        if (published := self.manifest.chances) is not None:
            return GamesToCome.of(from_published(published), value, self.name)
        if value is not None:
            raise ValueError(f"run {self.name} has not learnt of games between two; publish it again if it has any")
        return None

    @cached_property
    def places(self) -> PlaceOptions:
        """Who has a place, and how wide its interval is."""
        return PlaceOptions.from_json(self.manifest.places)

    @cached_property
    def uncertainty(self) -> float:
        """That of the system."""
        known = self.manifest.uncertainty
        return float(self.display.system.uncertainty) if known is None else known

    @cached_property
    def sigma_limit(self) -> float:
        """That of the display rating."""
        known = self.manifest.sigma_limit
        return self.display.sigma_limit if known is None else known

    @cached_property
    def has_performance(self) -> bool:
        """That of the system: without it no row has a performance."""
        known = self.manifest.has_performance
        return bool(self.display.system.has_performance) if known is None else known

    @property
    def has_intervals(self) -> bool:
        """Whether places have intervals: the system has an uncertainty."""
        return bool(self.uncertainty)

    def ranked(self, board: pa.Table, places: PlaceOptions) -> pa.Table:
        """A leaderboard of this run by other options of places."""
        return ranked(board, places, self.uncertainty)

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = self.contests_table.column("time_seconds").fill_null(0).to_numpy()
        return found

    def board(self, states: States) -> pa.Table:
        return board_table(states, self.handles_of(states.players), self.titles, self.places, self.uncertainty)

    def states_before(self, stop: int, until: int | None = None) -> States:
        n, ends = len(self.row_of_player), known_ends(self.ends)
        state = {name: np.zeros(n, kind) for name, kind in _STATE.items()}
        last_round, latest, state["max_rating"][:] = np.full(n, -1), np.full(n, NO_END), -np.inf
        parts = (part for part, file in zip(self.parts, self.manifest.parts, strict=True) if file.start < stop)
        for part in parts:
            players, found = part.states(stop, ends)
            highest = np.maximum(state["max_rating"][players], found["max_rating"])
            for name, values in (found | {"max_rating": highest}).items():
                if name in state:
                    state[name][players] = values
            last_round[players] = found["round_index"]
            latest[players] = np.maximum(latest[players], found["latest"])
        if self.manifest.resets:
            self._reset(state, last_round, latest, stop, until)
        rated = np.flatnonzero(last_round >= 0).astype(np.int32)
        columns = {name: values[rated] for name, values in state.items()}
        if self.manifest.shift is not None:
            mu, sigma, n_rounds = (columns[name] for name in ("mu", "sigma", "n_rounds"))
            columns["rating"] = self.display.rating(mu, sigma, n_rounds, stop - 1)
        columns["last_time_seconds"] = self.ends[last_round[rated]]
        return States(rated, columns, latest[rated], self._components_before(stop, state["n_rounds"]))

    def _reset(
        self,
        state: dict[str, npt.NDArray[Any]],
        last_round: npt.NDArray[np.int64],
        latest: npt.NDArray[np.int64],
        stop: int,
        until: int | None,
    ) -> None:
        """Apply the resets after each player's last round, in place; those between round ``stop`` and ``until``, too.

        ``state``: columns of all players. The rows after a reset have it already.
        """
        from ..events.shown import of_published, reset_ratings  # imports kernels

        system, params = self.display.system, self.display.params
        for at, time, _, reset in of_published(self.manifest.resets, len(latest)):
            if at < stop or (at == stop and until is not None and time <= until):
                n_rounds = np.where(last_round < at, state["n_rounds"], 0)
                rows = reset.rows(n_rounds, latest)
                mu, sigma = reset_ratings(system, params, reset, state["mu"][rows], state["sigma"][rows])
                state["mu"][rows], state["sigma"][rows] = mu, sigma
                state["rating"][rows] = self.display.rating(mu, sigma, state["n_rounds"][rows], stop - 1)

    def season_rows(self, first: int, stop: int) -> Iterator[Columns]:
        for part, file in zip(self.parts, self.manifest.parts, strict=True):
            if file.start < stop and first < file.stop:
                yield part.rows_between(first, stop)

    @cached_property
    def last_time_seconds(self) -> int | None:
        """The end of the last round whose end is known, UTC seconds."""
        known = self.contests_table.column("time_seconds").drop_null()
        return known[-1].as_py() if len(known) else None

    @cached_property
    def leaderboard_table(self) -> pa.Table:
        """All rated players, best first; see ``PUBLISHED["leaderboard"]``, without intervals if there are none."""
        table, schema = self._table(self.manifest.leaderboard), PUBLISHED["leaderboard"]
        if "percentile" not in table.column_names:  # written by an earlier release
            values = percentiles(table.column("rating").to_numpy())
            table = table.append_column(schema.field("percentile"), pa.array(values))
        if "component" not in table.column_names:
            table = table.append_column(schema.field("component"), pa.nulls(table.num_rows, pa.int32()))
        if "provisional" not in table.column_names:
            table = self.ranked(table, self.places)
        none = () if self.has_intervals else ("place_high", "place_low", "tier")
        schema = pa.schema([field for field in schema if field.name not in none])
        table = table.select(schema.names).cast(schema)
        if self._titles is None or self._titles == Titles.from_json(self.manifest.titles):
            return table
        titles, at = self._titles.of(table.column("rating").to_numpy()), schema.get_field_index("title")
        return table.set_column(at, schema.field(at), titles)

    @cached_property
    def contests_table(self) -> pa.Table:
        """The contest of each round; see ``PUBLISHED["contests"]``."""
        return self._table(self.manifest.contests)

    @cached_property
    def aliases_table(self) -> pa.Table:
        """Old names: ``handle, new, since_seconds``."""
        return self._table(self.manifest.aliases)

    @cached_property
    def attributes_table(self) -> pa.Table:
        """The attributes of players; see ``OF_ATTRIBUTES["attributes"]``."""
        return self._table(self.manifest.attributes, OF_ATTRIBUTES["attributes"])

    @cached_property
    def names(self) -> dict[str, str]:
        """The display name by handle, of the players who have one."""
        return values_by_handle(self.attributes_table, NAME)

    @cached_property
    def countries(self) -> dict[str, str]:
        """The country by handle, of the players who have one."""
        return values_by_handle(self.attributes_table, COUNTRY)

    @cached_property
    def seasons_table(self) -> pa.Table:
        """The seasons; see ``OF_SEASONS``."""
        return self._table(self.manifest.seasons, OF_SEASONS["seasons"])

    @cached_property
    def seasons(self) -> list[Season]:
        """The seasons, in order."""
        return [Season.from_json(facts) for facts in self.seasons_table.to_pylist()]

    @cached_property
    def reset_rounds(self) -> npt.NDArray[np.int64]:
        """The first round after each reset, ascending."""
        return reset_rounds(self.seasons)

    @cached_property
    def brand(self) -> Brand:
        """How the run presents itself."""
        return Brand.from_json(self.manifest.brand)

    @cached_property
    def groups_table(self) -> pa.Table:
        """The groups of players by attribute; see ``OF_ATTRIBUTES["groups"]``."""
        return self._table(self.manifest.groups, OF_ATTRIBUTES["groups"])

    @cached_property
    def _smoothed(self) -> pa.Table:
        """The rows of the smoothing by player; see ``SMOOTHED_ROWS``."""
        return self._table(self.manifest.smoothed, SMOOTHED_ROWS)

    @cached_property
    def _smoothed_players(self) -> npt.NDArray[np.int32]:
        return integers(self._smoothed.column("player"))

    @cached_property
    def unrated_table(self) -> pa.Table:
        """The rows of unrated participants, in order of rounds; see ``UNRATED``."""
        return self._table(self.manifest.unrated, UNRATED)

    @cached_property
    def problems(self) -> PublishedProblems | None:
        """The problems of the contests; None without results of problems."""
        file = self.manifest.problems
        if file is None:
            return None
        table, solves = self._table(file), self._table(file.solves)
        contest_ids = self.contests_table.column("contest_id")
        return PublishedProblems(file, table, solves, contest_ids) if table.num_rows else None

    def rows_of(self, player: int) -> pa.Table:
        """The rated rows of a player, in order of rounds."""
        return pa.concat_tables([part.history(player) for part in self.parts])

    def history_rows(self, players: Sequence[int]) -> pa.Table:
        for player in players:
            rows = self.rows_of(player)
            if rows.num_rows:
                break
        return rows.append_column("opponent", pa.array(self.opponents_of(player))) if self.manifest.games else rows

    def smoothed_player(self, player: int) -> SmoothedPlayer | None:
        """The smoothed rounds of a player; None unless the smoothing is published. Imports kernels."""
        from ranklake.rating_kernels.smoothing.dates import Path
        from ranklake.rating_kernels.smoothing.params import Smoothing

        from .dates import SmoothedPlayer

        if self.manifest.smoothed is None:
            return None
        number = np.int32(player)
        start, stop = (np.searchsorted(self._smoothed_players, number, side=side) for side in ("left", "right"))
        columns = self._smoothed.slice(start, stop - start)
        names = ("smooth_mu", "smooth_sigma", "log_gain", "time_seconds", "round_index")
        mean, sigma, log_gain, times, rounds = (columns.column(name).to_numpy() for name in names)
        sizes = self.contests_table.column("n_players").fill_null(2).to_numpy()[rounds]
        path = Path(mean, np.square(sigma), log_gain)
        return SmoothedPlayer(path, times, sizes, Smoothing(**self.manifest.smoothed.params))

    def rounds_of(self, player: int) -> npt.NDArray[np.int32]:
        """The indices of a player's rounds, ascending."""
        return np.concatenate([np.zeros(0, np.int32), *(part.rounds(player) for part in self.parts)])

    def ratings_of(self, player: int) -> npt.NDArray[np.float64]:
        """The display rating of a player after each rated row, in order."""
        return np.concatenate([np.zeros(0), *(part.ratings(player) for part in self.parts)])

    def opponents_of(self, player: int) -> npt.NDArray[np.int32]:
        """The opponent of each rated row of a player, in order; of a run :attr:`of_two`."""
        return np.concatenate([np.zeros(0, np.int32), *(part.opponents(player) for part in self.parts)])

    def opponent_ratings_of(self, player: int) -> npt.NDArray[np.float64]:
        """The display rating of each opponent before the game, in order; NaN of newcomers; of a run :attr:`of_two`."""
        found = [
            self._from_earlier(at, part.opponent_ratings(player), part.opponents(player))
            for at, part in enumerate(self.parts)
        ]
        return np.concatenate([np.zeros(0), *found])

    @cached_property
    def of_two(self) -> bool:
        """Whether all rounds are games of two individuals, each a contest of its own or in periods."""
        if self.manifest.games:
            return True
        sizes = self.contests_table.column("n_players").fill_null(2).to_numpy()
        return bool(len(sizes)) and int(sizes.max()) == 2 and all(part.has_pairs for part in self.parts)

    def n_rows_of_round(self, round_index: int) -> int:
        """Number of rated rows of a round; raises as :meth:`rows_of_round`."""
        return self.parts[self._part_of(round_index)].n_rows(round_index)

    def first_of_round(self, round_index: int, n: int) -> tuple[list[int], list[int], list[str | None], list[int]]:
        """``lo, hi, team, player`` of the first ``n`` rated rows of a round; raises as :meth:`rows_of_round`."""
        return self.parts[self._part_of(round_index)].first(round_index, n)

    def players_of_round(self, round_index: int) -> npt.NDArray[np.int32]:
        """The player of each rated row of a round, in order of standings; raises as :meth:`rows_of_round`."""
        return self.parts[self._part_of(round_index)].players(round_index)

    def rows_of_round(self, round_index: int, rows: slice = slice(None)) -> pa.Table:
        """Some rated rows of a round, in the order of its standings; ``IndexError`` if there is no such round."""
        return self.parts[self._part_of(round_index)].round(round_index, rows)

    def unrated_of_round(self, round_index: int) -> pa.Table:
        """The rows of unrated participants of a round, in the order of its standings."""
        rounds = integers(self.unrated_table.column("round_index"))
        first, end = np.searchsorted(rounds, (round_index, round_index + 1)).tolist()
        return self.unrated_table.slice(first, end - first)

    def ratings_before(self, round_index: int, rows: slice = slice(None)) -> pa.Array:
        """The display rating before some rows of a round, in the order of standings; null for newcomers."""
        at = self._part_of(round_index)
        players = self.players_of_round(round_index)[rows]
        ratings = self._from_earlier(at, self.parts[at].ratings_before(round_index, rows), players)
        if len(last := self.reset_rounds[self.reset_rounds <= round_index]):
            ratings = self._after_reset(int(last[-1]), round_index, rows, ratings)
        return pa.array(ratings, mask=np.isnan(ratings))

    def _after_reset(
        self, reset: int, round_index: int, rows: slice, ratings: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """The ratings before some rows of a round, with those that players bring to their first round after a reset."""
        found = self.parts[self._part_of(round_index)].round(round_index, rows)
        columns = {name: found.column(name).to_numpy() for name in ("player", *BROUGHT)}
        since = [part["player"] for part in self.season_rows(reset, round_index)]
        return with_brought(ratings, columns, np.concatenate([columns["player"][:0], *since]), lambda: self.display)

    def ratings_before_rows(self, player: int) -> npt.NDArray[np.float64]:
        """The display rating before each rated row of a player, in order; NaN of the first one."""
        ratings = self.ratings_of(player)
        if not len(self.reset_rounds):
            return np.concatenate([[np.nan], ratings[:-1]])
        rows = self.rows_of(player)
        columns = {name: rows.column(name).to_numpy() for name in ("rating", *BROUGHT)}
        return ratings_before(columns, self.reset_rounds, lambda: self.display)

    def _from_earlier(
        self, at: int, ratings: npt.NDArray[np.float64], players: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.float64]:
        """Ratings before rows of part ``at``, where NaN from the parts before it."""
        for part in reversed(self.parts[:at]):
            ratings = np.where(np.isnan(ratings), part.last_ratings(players), ratings)
        return ratings

    def recent_ratings(self, player: int, n: int, stop: int | None = None) -> list[float]:
        """The display ratings of a player after the last ``n`` rounds, in order; of those before ``stop``."""
        stop, found = self.manifest.n_rounds if stop is None else stop, np.zeros(0)
        for part, file in zip(reversed(self.parts), reversed(self.manifest.parts), strict=True):
            if len(found) < n and file.start < stop:
                found = np.concatenate([part.recent(player, n - len(found), stop), found])
        ratings: list[float] = found.tolist()
        return ratings

    def last_changes(self, stop: int | None = None) -> npt.NDArray[np.float64]:
        """The change of each player's display rating by the last round, of those before ``stop``; by the index of the
        player, NaN without two rounds.
        """
        stop = self.manifest.n_rounds if stop is None else stop
        rating, before = np.full((2, len(self.row_of_player)), np.nan)
        rounds = np.full((2, len(self.row_of_player)), -1)  # the last one of each player, and the one before
        for part, file in zip(self.parts, self.manifest.parts, strict=True):
            if file.start < stop:
                players, last, other, of = part.last_two(stop)
                before[players] = np.where(np.isnan(other), rating[players], other)
                rating[players] = last
                rounds[:, players] = of[0], np.where(of[1] < 0, rounds[0, players], of[1])
        fresh = parted(self.reset_rounds, rounds[1], rounds[0]) & (rounds[1] >= 0)
        if fresh.any():
            parts = self.season_rows(int(rounds[0, fresh].min()), int(rounds[0, fresh].max()) + 1)
            set_brought(before, fresh, rounds[0], parts, self.display)
        changes: npt.NDArray[np.float64] = rating - before
        return changes

    def handles_of(self, players: npt.NDArray[np.int32]) -> pa.Array:
        return one_chunk(self.leaderboard_table.column("handle")).take(pa.array(self.row_of_player[players]))

    @cached_property
    def row_of_player(self) -> npt.NDArray[np.int32]:
        """The row of each player in the leaderboard, by the index of the player; -1 without one."""
        players = integers(self.leaderboard_table.column("player"))
        rows = np.full(int(players.max(initial=-1)) + 1, -1, np.int32)
        rows[players] = np.arange(len(players), dtype=np.int32)
        return rows

    def _part_of(self, round_index: int) -> int:
        """The number of the part that has a round."""
        for number, file in enumerate(self.manifest.parts):
            if file.start <= round_index < file.stop:
                return number
        raise IndexError(f"round_index must be from 0 to {self.manifest.n_rounds - 1}, got {round_index}")

    @cached_property
    def contest_texts(self) -> list[str]:
        """Name and id of each contest, folded for search."""
        names, ids = (self.contests_table.column(name).to_pylist() for name in ("name", "contest_id"))
        return [fold(f"{name or ''} {contest_id}") for name, contest_id in zip(names, ids, strict=True)]

    @cached_property
    def components(self) -> Components | None:
        """The component of each player; None in an index of an early release, which has none."""
        known = self.leaderboard_table.column("component")
        if known.null_count:
            return None
        of, n_rounds = np.full(len(self.row_of_player), -1, np.int32), np.zeros(len(self.row_of_player), np.int32)
        players = integers(self.leaderboard_table.column("player"))
        of[players], n_rounds[players] = known.to_numpy(), self.leaderboard_table.column("n_rounds").to_numpy()
        return Components(of, n_rounds, self.places.min_rounds)

    def _components_before(self, stop: int, n_rounds: npt.NDArray[np.int32]) -> Components | None:
        """The components of the rounds before ``stop``; ``n_rounds`` are those of each player by then.

        Unrated participants join components only if rated ones compete with them. The index does not have in which
        rounds they do: if the rated participants of all rounds have other components than all players, all unrated
        participants join components. Then some players of different components may have one, never the reverse.
        """
        if self.components is None or stop >= self.manifest.n_rounds:
            return self.components
        roots = self._roots(stop, self._unrated_connect)
        return Components.numbered(Meetings(roots[: len(n_rounds)], n_rounds), self.places.min_rounds)

    @cached_property
    def _unrated_connect(self) -> bool:
        known = self.components
        if known is None or not self.unrated_table.num_rows or self.manifest.games:
            return False
        found = Components.numbered(Meetings(self._roots(None, False)[: len(known.of)], known.n_rounds))
        return not np.array_equal(found.of, known.of)

    def _roots(self, stop: int | None, with_unrated: bool) -> npt.NDArray[np.int32]:
        """The least index of the players who met each player in the rounds before ``stop``, of all by default."""
        columns = zip(*(part.participations() for part in self.parts), strict=True)
        rounds, players = (np.concatenate(column) for column in columns)  # in order of rounds
        if with_unrated:
            others = self.unrated_table
            rounds = np.concatenate([rounds, integers(others.column("round_index"))])
            order = np.argsort(rounds, kind="stable")
            rounds, players = rounds[order], np.concatenate([players, integers(others.column("player"))])[order]
        n = len(rounds) if stop is None else int(np.searchsorted(rounds, stop))
        every = np.arange(max(len(self.row_of_player), int(players.max(initial=-1)) + 1), dtype=np.int32)
        first = np.arange(0, n, 2) if self.manifest.games else np.flatnonzero(np.diff(rounds[:n], prepend=-1))
        return join(every, first, players[:n])

    def load(self) -> None:
        """Open all files."""
        _ = self.leaderboard_table, self.contests_table, self.aliases_table, self.attributes_table
        _ = self.groups_table, self.unrated_table, self._smoothed, self.parts, self.problems, self.seasons

    @cached_property
    def parts(self) -> tuple[IndexPart, ...]:
        """The parts of the rounds."""
        return tuple(IndexPart(self._batch(file)) for file in self.manifest.parts)

    def _table(self, file: IndexFile | None, schema: pa.Schema = UNRATED) -> pa.Table:
        """The rows of a file; without one, none of ``schema``."""
        return schema.empty_table() if file is None else pa.Table.from_batches([self._batch(file)])

    def _batch(self, file: IndexFile) -> pa.RecordBatch:
        return read_mapped(self._lake, index_path(self.name, file.name), file)
