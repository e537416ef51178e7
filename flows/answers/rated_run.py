"""A run as it is in the lake: from its index while that is up to date, else from all rounds.

Both ways give the same values to the bit. The index needs no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.datasets.round_teams import RoundTeams
from ranklake.storage.lake.layout import smoothing_folder
from ranklake.storage.lake.schemas import ROUNDS
from ranklake.storage.names.search import Search

from ..common.progress import ProgressCallback, not_shown
from ..common.times import count_until, spelled
from ..events.seasons import Season, season_named, seasons_of
from ..publication.root import IndexManifest, read_manifest, source_digest
from ..results.components import Components, apart, groups_in, in_component, with_large
from ..results.groups import board_values, check_value, group_table, has_value, team_of
from ..results.places import PlaceOptions
from ..results.player_names import PlayerHistory, alias_note, candidate_names
from ..results.ranks import active as active_players
from ..results.ranks import chosen, ranked
from ..results.rated_rounds import RatedRounds
from ..results.rating_format import RatingFormat
from ..results.titles import TitlesChoice, titles_of
from .comparison import compare
from .contests import history
from .index_rows import IndexRows
from .leaderboard import first_end, leaderboard, season_leaderboard
from .seasonal.figures import SEASON_ROUNDS

if TYPE_CHECKING:
    from ranklake.rating_kernels import System

    from ..chances.to_come import GamesToCome
    from ..strengths.strengths import RunStrengths  # imports kernels
    from .dates import DatesDifference
    from .lake_rows import LakeRows

_HISTORY = [*ROUNDS.names, "name", "time_seconds", "n_players", "rating", "team", "points", "opponent"]


class RatedRun:
    """A run of a lake, for questions about its current rounds.

    ``deviations``: the display rating is mu - deviations (sigma - its limit); by default the factor of the run's preset
    or system.
    ``titles``: by default the titles of the run; see :func:`ranklake.flows.results.titles.titles_of`.
    """

    def __init__(self, lake: Lake, name: str, deviations: float | None = None, titles: TitlesChoice = None) -> None:
        self.lake, self.name, self._deviations, self._titles = lake, name, deviations, titles

    @cached_property
    def run(self) -> Run:
        """The run; raises ``MissingError`` if there is none."""
        return Run.open(self.lake, self.name)

    @cached_property
    def dataset(self) -> Dataset:
        """Its data set."""
        return Dataset.open(self.lake, self.run.config["dataset"])

    @cached_property
    def system(self) -> System:
        """Its rating system."""
        from ..common.configuration.settings import find_system

        return find_system(self.run.config["system"])

    @cached_property
    def places(self) -> PlaceOptions:
        """Who has a place, and how wide its interval is."""
        return PlaceOptions.of_run(self.run)

    @cached_property
    def format(self) -> RatingFormat:
        """The format of its ratings."""
        if self._shown_manifest is not None:
            mu_init, decimals = self._shown_manifest.mu_init, self._shown_manifest.decimals
        else:
            from ..results.display import Display

            display = Display.of(self.run)
            mu_init, decimals = display.params.mu_init, display.decimals
        return RatingFormat(titles_of(self.run, self.dataset, mu_init, self._titles), decimals)

    def leaderboard(
        self,
        at: int | None = None,
        active: int | None = None,
        where: Sequence[tuple[str, str]] = (),
        component: int | None = None,
        on_progress: ProgressCallback = not_shown,
        places: PlaceOptions | None = None,
        among_each_other: bool = False,
        season: str | None = None,
    ) -> pa.Table:
        """All rated players, best first, as :func:`ranklake.flows.answers.leaderboard.leaderboard`, with the columns of
        :func:`ranklake.flows.results.ranks.ranked`.

        ``at``: the state at this time, UTC seconds; read from the rounds.
        ``active``: only players whose last contest ended at most this many seconds before ``at``, or before the last
        contest; places are among them.
        ``where``: only players with these values of attributes; with ``among_each_other``, places are among them.
        ``component``: only players of this component; places are among them. Places are within components if two are
        large, and the column ``component`` is only there then.
        ``places``: by default those of the run.
        ``season``: the state at the end of this season, with ``SEASON_COLUMNS``; ``min_rounds`` of the places counts
        its rounds only. It is 1 by default.
        Raises ``ValueError`` if ``at`` is out of range, or there is no such component.
        Raises ``LakeError`` if there is no such run, it has no rounds yet, none of its rated rounds had ended by then,
        nobody has such an attribute or value, or there is no such season.
        """
        ranked_by, rounds = None, "n_rounds"
        if season is None:
            everybody, ranked_by = self._everybody(at, on_progress)
        else:
            everybody, rounds = self._at_end(self.season(season), on_progress), SEASON_ROUNDS
        places = places or (self.places if season is None else self.places.changed(min_rounds=1))
        board = with_large(everybody, places.min_rounds)
        board = board if component is None else board.filter(pa.array(in_component(everybody, component)))
        board = board if active is None else active_players(board, active, at)
        keep = np.ones(board.num_rows, np.bool_)
        for attribute, value in where:
            values = board_values(self.dataset, attribute, board)
            check_value(attribute, values, value)
            keep &= has_value(values, value)
        chosen = pa.array(keep)
        board = board.filter(chosen) if among_each_other else board
        group, others = groups_in(board), active is not None or component is not None or among_each_other
        if places != ranked_by or others or group is not None:
            board = ranked(board, places, self.system.uncertainty, group, rounds)
        return board if among_each_other else board.filter(chosen)

    def seasons(self) -> list[Season]:
        """The seasons of its data set, with the rounds of this run."""
        return seasons_of(self.dataset.events(), RatedRounds(self.lake, self.name).ends)

    def season(self, name: str) -> Season:
        """A season by name, or the ``current`` one; raises as :func:`.season_named`."""
        return season_named(self.seasons(), name, RatedRounds(self.lake, self.name).ends, self.dataset.name)

    def _at_end(self, season: Season, on_progress: ProgressCallback) -> pa.Table:
        return season_leaderboard(self._whole_index() or self._rounds(on_progress), season)

    def groups(self, attribute: str, board: pa.Table) -> pa.Table:
        """The groups of the players of a leaderboard by an attribute, best first."""
        return group_table(board, board_values(self.dataset, attribute, board))

    def _everybody(self, at: int | None, on_progress: ProgressCallback) -> tuple[pa.Table, PlaceOptions]:
        """The leaderboard, and the options by which it is ranked."""
        if at is None:
            with suppress(LakeError):
                if (rows := self._index()) is not None:
                    return leaderboard(rows), rows.places
        rounds = self._rounds(on_progress)
        board = leaderboard(rounds, at)
        if at is not None and not board.num_rows:
            first = first_end(rounds, "its first contest", "its contests")
            raise LakeError(f"run {self.name} has no rated rounds until {spelled(at)}; {first}")
        return board, rounds.places

    def player(self, handle: str, smoothed: bool = False) -> PlayerHistory:
        """All rated rounds of one player in order, with the contests; old names lead to the current one.

        Rows of games have the ``opponent``, and rows of a run with resets the ``change``.

        ``smoothed``: also the skills of the smoothing, if the run has a current one.
        Raises ``LakeError`` if the data set has no such handle (the message names similar ones), or the run has not
        rated the player.
        """
        smoothed = smoothed and bool(self.lake.list(smoothing_folder(self.name)))  # which the index does not have
        index = None if smoothed else self._whole_index()
        players = candidate_names(self.dataset, handle)
        rows = self._rounds() if index is None else index
        columns = history(rows, list(players.values()))
        if not len(columns["player"]):
            raise self._unrated(handle)
        number = columns["player"][0].as_py()
        name = next(name for name, player in players.items() if player == number)
        shown = (*_HISTORY, *(["change"] if len(rows.reset_rounds) else []))
        table = pa.table({name: columns[name] for name in shown if name in columns})
        if smoothed and (skills := self._rounds().smoothed_rows(number)) is not None:
            for column in skills.column_names:
                table = table.append_column(column, skills.column(column))
        return PlayerHistory(name, table, alias_note(self.dataset, handle, name), self.format)

    def place_of(self, history: PlayerHistory) -> tuple[int | None, int]:
        """The place of a player, None of a provisional one, and the number of ranked players."""
        board = self.leaderboard()
        row = pc.index(board.column("player"), history.rows.column("player")[0]).as_py()
        return board.column("place")[row].as_py(), chosen(board, "hide").num_rows

    def between(self, handle: str, start: int, end: int) -> DatesDifference:
        """The difference of a player's skill between two dates; see :func:`.dates.difference_between`.

        Raises ``LakeError`` as :meth:`player`, and without a current smoothing.
        """
        from .dates import difference_between

        players = candidate_names(self.dataset, handle)
        found = self._rounds().smoothed_player(list(players.values()))
        if found is None:
            raise self._unrated(handle)
        name = next(name for name, player in players.items() if player == found[0])
        return difference_between(name, found[1], start, end)

    def team_rating(self, handles: Sequence[str]) -> dict[str, Any]:
        """The ``rating`` of a team, the ``handle`` and ``rating`` of its ``players``, and a ``note`` if they never met.

        Raises ``LakeError`` as :meth:`player`.
        """
        board = self.leaderboard()
        rows = self._rows_in(board, handles)
        return team_of(board, rows, self._note_about(board, rows))

    def compare(self, handles: Sequence[str], value: str | None = None, neutral: bool = True) -> dict[str, Any]:
        """Rated players with their common rounds and what is known of each pair, as :meth:`.PublishedRun.compare`.

        Raises ``LakeError`` as :meth:`player` if some are unknown and fewer than two others are left, ``ValueError`` as
        :meth:`games_to_come`.
        """
        board = self.leaderboard()
        rows, unknown = self._known_in(board, handles)
        players = board.take(pa.array(rows, pa.int64())).to_pylist()
        numbers = self.components_of([player["player"] for player in players])
        games = self.games_to_come(value)
        deviations = self.deviations([player["player"] for player in players])
        found = compare(self._whole_index() or self._rounds(), players, numbers, games, neutral, deviations)
        return found | {"unknown": unknown}

    def deviations(self, players: Sequence[int]) -> Any:
        """Deviations of the differences of all pairs of players, given their indices, -1 for newcomers.

        Returns float64[n, n], rating points; None unless the system explains all games at once: elsewhere beliefs about
        two players are independent.
        """
        return None if self.system.all_games is None else self.strengths.deviations(players)

    def ahead(self, covariates: Mapping[str, float]) -> float:
        """Rating points by which covariates favour the first player of a game; ``ValueError`` for unknown ones."""
        return self.strengths.ahead(covariates) if covariates else 0.0

    @cached_property
    def strengths(self) -> RunStrengths:
        """The strengths that explain all games; raises ``ValueError`` if the system explains round after round."""
        from ..strengths.strengths import RunStrengths

        return RunStrengths(RatedRounds(self.lake, self.name))

    def games_to_come(self, value: str | None = None) -> GamesToCome | None:
        """What is known of the games that have not been played; None if the contests have more than two participants.

        ``value``: of the column by which the run learns. Raises ``ValueError``: it learns by none, or of no games.
        """
        from ..chances.record import learnt_chances
        from ..chances.to_come import GamesToCome

        rounds = RatedRounds(self.lake, self.name)
        if (chances := learnt_chances(rounds)) is not None:
            return GamesToCome.of(chances, value, self.name)
        if value is not None:
            raise ValueError(f"{no_games(self.name)}, and has learnt nothing of {value!r}")
        return None

    def _known_in(self, board: pa.Table, handles: Sequence[str]) -> tuple[list[int], list[dict[str, Any]]]:
        """The rows of some players, each once, and of the unknown ones the names near them; see :meth:`compare`."""
        rows: dict[int, None] = {}
        unknown: dict[str, LakeError] = {}
        for handle in handles:
            try:
                rows |= dict.fromkeys(self._rows_in(board, [handle]))
            except LakeError as error:
                unknown[handle] = error
        if unknown and len(rows) < 2:
            raise next(iter(unknown.values()))
        names = board.column("handle").to_pylist() if unknown else []
        near = Search(names).near
        return list(rows), [{"requested": one, "near": [names[row] for row in near(one)]} for one in unknown]

    def _rows_in(self, board: pa.Table, handles: Sequence[str]) -> list[int]:
        """The row of each player in the leaderboard; raises as :meth:`player`."""
        rated = {handle: row for row, handle in enumerate(board.column("handle").to_pylist())}
        rows = []
        for handle in handles:
            name = next((name for name in candidate_names(self.dataset, handle) if name in rated), None)
            if name is None:
                raise self._unrated(handle)
            rows.append(rated[name])
        return rows

    def _note_about(self, board: pa.Table, rows: Sequence[int]) -> str:
        """A line if some players, given by rows of the leaderboard, are of different components; else empty."""
        chosen = board.select(["player", "handle"]).take(pa.array(rows, pa.int64()))
        return self.component_note(*chosen.to_pydict().values())

    def components(self, at: int | None = None, most_rows: int | None = None) -> Components | None:
        """Who met whom; from the index while that is up to date.

        ``at``: only in contests that had ended by this time, UTC seconds.
        ``most_rows``: the most participations to read; None if a run without an index has more.
        """
        if at is None and self._manifest is not None:
            with suppress(LakeError):
                found = IndexRows(self.lake, self.name, self._manifest).components
                if found is not None:
                    return found
        chain = self.run.segments()
        if most_rows is not None and sum(segment.n_rows for segment in chain.segments) > most_rows:
            return None
        stop = None if at is None else count_until(RatedRounds(self.lake, self.name).ends, at)
        return Components.of_run(self.run, self.dataset, chain, stop)

    def components_line(self, at: int | None = None, remedy: str = "", most_rows: int | None = None) -> str:
        """A line about large components of players who never met, else empty; see :meth:`components`."""
        found = self.components(at, most_rows)
        return "" if found is None else found.line_in(self.dataset, remedy)

    def components_of(self, players: Sequence[int]) -> list[int]:
        """The number of the component of each player, given their indices; -1 for players without a rated round."""
        sizes = None if self._manifest is None else self._manifest.components
        found = self.components() if len(players) > 1 and (sizes is None or len(sizes) > 1) else None
        return [-1] * len(players) if found is None else found.numbers(players)

    def component_note(self, players: Sequence[int], names: Sequence[str]) -> str:
        """A line if some players, given by their indices and names, are of different components; else empty."""
        return apart(self.components_of(players), names)

    def _unrated(self, handle: str) -> LakeError:
        return LakeError(f"player {handle!r} has no rated rounds in run {self.name}")

    @cached_property
    def _manifest(self) -> IndexManifest | None:
        """The manifest of the index if that has the current state of the run."""
        with suppress(LakeError):
            manifest = read_manifest(self.lake, self.name)
            if manifest is not None and (newest := self.run.newest_segment()) is not None:
                current = manifest.source == source_digest(self.run, self.dataset, newest)
                return manifest if current else None
        return None

    @property
    def _shown_manifest(self) -> IndexManifest | None:
        """The manifest if the index also has this display rating."""
        found, chosen = self._manifest, self._deviations
        if found is None or (chosen is None) != found.default_deviations:
            return None
        return found if chosen is None or chosen == found.deviations else None

    def _index(self) -> IndexRows | None:
        found = self._shown_manifest
        return None if found is None else IndexRows(self.lake, self.name, found, self.format.titles)

    def _whole_index(self) -> IndexRows | None:
        """The index with its parts open; only on a disk, elsewhere all would be read.

        The index of an earlier release has no teams.
        """
        if self.lake.local:
            with suppress(LakeError):
                if (rows := self._index()) is not None:
                    teams = RoundTeams(self.dataset, rows.contests_table.column("contest_id").combine_chunks())
                    if all(part.teams == teams.any(part.start, part.stop) for part in rows.manifest.parts):
                        rows.load()
                        return rows
        return None

    def _rounds(self, on_progress: ProgressCallback = not_shown) -> LakeRows:
        from .lake_rows import LakeRows

        return LakeRows(self.lake, self.name, self._deviations, self._titles, on_progress)


def no_games(run_name: str) -> str:
    """Why a run has no three chances, in words."""
    return f"run {run_name} has contests of three participants or more"
