"""The rows of the published tables of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Lake
from ranklake.storage.datasets.player_attributes import player_attributes
from ranklake.storage.datasets.results import StoredResults
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake.access.lake import digest_of_facts
from ranklake.storage.lake.schemas import OF_ATTRIBUTES, OF_SEASONS, OF_STRENGTHS, PLACES, PUBLISHED, ROUNDS

from ..chances.record import RunChances, learnt_chances
from ..chances.to_come import to_published
from ..common.brand import UNBRANDED, Brand
from ..common.progress import ProgressCallback, in_parts, not_shown
from ..entrants.explained import explained_by
from ..events.seasons import reset_rounds, seasons_of, seasons_table
from ..results.components import Components
from ..results.display import Display
from ..results.groups import groups_of
from ..results.places import PlaceOptions
from ..results.ranks import chosen
from ..results.rated_rounds import LeaderboardBuilder, RatedRounds
from ..results.smoothed import SKILLS, RunSmoothing, times_of_rows
from ..results.titles import TitlesChoice
from .index_parts import SMOOTHED_ROWS, UNRATED
from .root import PublishedReset, pending_digests, source_digest

if TYPE_CHECKING:
    from ..events.shown import ShownReset  # imports kernels
    from ..problems.difficulties import RunProblems
    from ..problems.published import RunProblemTables
    from ..strengths.strengths import RunStrengths  # imports kernels

_RATED = [name for name in ROUNDS.names if name != "contest_id"]  # taken by round number, for speed
ALIASES = pa.schema([("handle", pa.string()), ("new", pa.string()), ("since_seconds", pa.int64())])
_YEARS = (1, 9999)  # of the calendar
_UNKNOWN = np.iinfo(np.int64).min


class Content:
    """The current state of a run as tables for consumers; see ``PUBLISHED`` for their columns.

    ``deviations``, ``titles``: see :class:`ranklake.flows.answers.rated_run.RatedRun`.
    ``places``: options of places besides those of the run, by name.
    ``brand``: choices besides those of the run, see :func:`ranklake.flows.common.brand.read_brand`.
    ``on_progress``: called with the participations that are read, of all of the run for each part of ``shown``.
    ``shown``: what all rounds are read for, in this order.
    ``run``, ``system``, ``dataset``: names of the run, of its system and of its data set.
    ``display``, ``format``: the display rating and its format. ``uncertainty``: that of the system.
    ``n_rounds``: rounds of the run, including skipped ones.
    Raises LakeError: the run does not exist or has no ratings.
    """

    def __init__(
        self,
        lake: Lake,
        run_name: str,
        deviations: float | None = None,
        titles: TitlesChoice = None,
        on_progress: ProgressCallback = not_shown,
        shown: Sequence[str] = ("ratings", "leaderboard", "index"),
        places: Mapping[str, Any] | None = None,
        brand: Mapping[str, Any] | None = None,
    ) -> None:
        self._lake, self._rated = lake, (rounds := RatedRounds(lake, run_name))
        self._run, self._dataset, self._chain = rounds.run, rounds.dataset, rounds.chain
        self.run, self.system, self.dataset = run_name, str(self._run.config["system"]), self._dataset.name
        self.display, self._deviations = Display.of(self._run, deviations), deviations
        self.format, self._contests = rounds.format(self.display, titles), rounds.contests_table
        self._chosen_places = dict(places or {})
        self.places = PlaceOptions.of_run(self._run).changed(**self._chosen_places)
        self.brand = Brand.of_run(self._run).changed(brand or {})
        self.uncertainty = self.display.system.uncertainty
        self._on_progress, self._shown = on_progress, shown
        self._board: pa.Table | None = None
        self._applied: list[ShownReset] = []
        self.n_rounds = self._chain.stop_round

    @cached_property
    def players(self) -> pa.Table:
        """All players of the data set."""
        handles = self._dataset.handles()
        return pa.table([np.arange(len(handles), dtype=np.int32), handles], schema=PUBLISHED["players"])

    @cached_property
    def contests(self) -> pa.Table:
        """The current row of the data set for the contest of each round."""
        columns = {name: self._contests.column(name) for name in self._contests.column_names} | {
            "round_index": pa.array(np.arange(self.n_rounds, dtype=np.int32)),
            "skipped": pa.array(np.isin(np.arange(self.n_rounds), self._rated.skipped)),
        }
        schema = PUBLISHED["contests"]
        return pa.table([columns[name] for name in schema.names], schema=schema)

    def ratings(self, start: int) -> Iterator[pa.RecordBatch]:
        """One row per participation in the rounds from ``start`` on, in order, also of unrated participants."""
        times = self._contests.column("time_seconds").combine_chunks()
        years, handles = _years(times), self._dataset.handles()
        smoothed = self.smoothing.read().select(["round_index", *SKILLS]) if self.smoothing.digest else None
        at = 0 if smoothed is None else int(np.searchsorted(smoothed.column("round_index").to_numpy(), start))
        for columns in self._rows(start, None, "ratings", unrated=True):
            index, rated = columns["round_index"], columns["rated"]
            n = rated.true_count
            skills = _skills(smoothed, at, n)
            if n < len(rated):
                of_row = pc.if_else(rated, pa.array(np.cumsum(rated) - 1), None)
                skills = {name: column.take(of_row) for name, column in skills.items()}
            columns |= {
                "team": self._teams_of(columns),
                "contest_id": self._contests.column("contest_id").combine_chunks().take(index),
                "handle": handles.take(columns["player"]),
                "time_seconds": times.take(index),
                "year": years.take(index),
                "points": self._points_of(columns),
                **skills,
            }
            at += n
            yield pa.record_batch([columns[name] for name in PUBLISHED["ratings"].names], schema=PUBLISHED["ratings"])

    def rounds(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """The rows of the rounds from ``start`` to ``stop`` by round number and player only, with their ratings.

        If any of these rounds has teams, the rows have the column ``team``; if any has points, ``points``.
        """
        of_teams, scored = self.has_teams(start, stop), self._rated.points.any(start, stop)
        for columns in self._rows(start, stop, "index"):
            teams = {"team": self._teams_of(columns)} if of_teams else {}
            yield pa.record_batch(columns | teams | ({"points": self._points_of(columns)} if scored else {}))

    @cached_property
    def components(self) -> Components:
        """The component of each player."""
        return self._rated.components()

    def unrated(self) -> pa.Table:
        """The rows of unrated participants of all rounds, in order: ``UNRATED``, with their display ratings."""
        tables = [UNRATED.empty_table()]
        for segment in self._chain.segments:
            if any(segment.unrated):
                for columns in self._rows(segment.first_round, segment.stop_round, "unrated", unrated=True):
                    rows = pa.table(columns)
                    rows = rows.filter(pc.invert(rows.column("rated")))
                    handle = self._dataset.handles().take(rows.column("player").combine_chunks())
                    tables.append(rows.append_column("handle", handle).select(UNRATED.names).cast(UNRATED))
        return pa.concat_tables(tables)

    def has_teams(self, start: int, stop: int) -> bool:
        """Whether any of the rounds from ``start`` to ``stop - 1`` has teams."""
        return self._rated.teams.any(start, stop)

    def team_names(self, round_index: npt.NDArray[np.int32], player: npt.NDArray[np.int32]) -> pa.StringArray:
        """The team of each row, given its round and player; null for individuals."""
        named = self._rated.teams.of_rows(round_index, player)
        return pa.nulls(len(round_index), pa.string()) if named is None else named.name

    def _points_of(self, columns: dict[str, pa.Array]) -> pa.Array:
        return self._rated.points_of(pa.table(columns))

    def _rows(self, start: int, stop: int | None, what: str, unrated: bool = False) -> Iterator[dict[str, pa.Array]]:
        names = [*_RATED, "rated"] if unrated else _RATED
        for _, rows in self._rated.walk(start, stop, names, self._report, what, unrated):
            columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
            if unrated:
                columns["rated"] = columns["rated"].fill_null(True)
            mu, sigma, n_before = (columns[name].to_numpy() for name in ("mu", "sigma", "n_before"))
            moved = columns["rated"].cast(pa.int32()).to_numpy() if unrated else np.int32(1)
            columns["rating"] = pa.array(
                self.display.rating(mu, sigma, n_before + moved, columns["round_index"].to_numpy())
            )
            yield columns

    def _report(self, done: int, total: int | None, what: str) -> None:
        if what in self._shown:
            in_parts(self._on_progress, self._shown.index(what), len(self._shown))(done, total, what)

    def leaderboard(self, before: pa.Table | None = None, start: int = 0) -> pa.Table:
        """The leaderboard; with ``before``, the leaderboard before round ``start``, only later rounds are read."""
        builder = self.builder()
        if before is not None and builder.can_restore(start):
            builder.restore(before, start)
        else:
            start = 0
        for _, rows in self._rated.walk(start, None, builder.columns, self._report, "leaderboard"):
            builder.update(rows)
        builder.reset_until(int(time.time()))
        self._board, self._applied = self.board_of(builder), builder.applied
        return self._board

    def builder(self) -> LeaderboardBuilder:
        """An empty leaderboard for the rounds of this run."""
        return self._rated.builder(self.display, explained_by(self._rated))

    def board_of(self, builder: LeaderboardBuilder) -> pa.Table:
        """The leaderboard after the rounds that a builder was given, with the columns of places."""
        titles, handles = self.format.titles, self._dataset.handles()
        return published_board(builder.table(handles, titles, self.places, self.components))

    @property
    def board(self) -> pa.Table:
        """The leaderboard, computed once."""
        return self.leaderboard() if self._board is None else self._board

    @cached_property
    def attributes(self) -> pa.Table:
        """The attributes of the players; see ``OF_ATTRIBUTES``."""
        return player_attributes(self._dataset)

    @cached_property
    def groups(self) -> pa.Table:
        """The groups of the ranked players by their attributes; see ``OF_ATTRIBUTES``."""
        return groups_of(chosen(self.board, "hide"), self.attributes)

    @property
    def rows_of_rounds(self) -> list[int]:
        """Number of rows of each round."""
        return [rows for segment in self._chain.segments for rows in segment.rows]

    @cached_property
    def aliases(self) -> pa.Table:
        """The old names of players: ``handle``, the ``new`` name, and the time of the change or null."""
        pairs = self._dataset.log().aliases.items()
        rows = [{"handle": old, "new": new, "since_seconds": since} for old, (new, since) in pairs]
        return pa.Table.from_pylist(rows, schema=ALIASES)

    @cached_property
    def seasons(self) -> pa.Table:
        """The seasons of the data set, with the rounds and the players of this run; see ``OF_SEASONS``."""
        parts = (
            (rows.column("round_index").to_numpy(), rows.column("player").to_numpy())
            for _, rows in (self._rated.walk(columns=("round_index", "player")) if self.has("seasons") else ())
        )
        return seasons_table(seasons_of(self._dataset.events(), self._rated.ends), parts, self.players.num_rows)

    @cached_property
    def reset_rounds(self) -> npt.NDArray[np.int64]:
        """The first round after each reset, ascending."""
        return reset_rounds(seasons_of(self._dataset.events(), self._rated.ends))

    @cached_property
    def learnt(self) -> RunChances | None:
        """What the run has learnt of games between two; None if its contests have more participants."""
        return learnt_chances(self._rated)

    @cached_property
    def problem_inputs(self) -> str:
        """Digest of all that the problems depend on; empty if the data set has no results of problems."""
        if not self.results_digest:
            return ""
        source = source_digest(self._run, self._dataset, self._chain.segments[-1])
        return digest_of_facts([source, self.results_digest, self.aliases.to_pydict()])

    @cached_property
    def results_digest(self) -> str:
        """Digest of the results of problems of the data set; empty if it has none."""
        return "" if self.of_games else self._stored_results.digest

    @cached_property
    def problem_tables(self) -> RunProblemTables:
        """The problems and their solves. Raises LakeError: there are none, or a file is damaged. Imports kernels."""
        from ..problems.published import problem_tables

        return problem_tables(self._problems)

    @property
    def problems(self) -> pa.Table:
        """The problems with their difficulties; see ``OF_PROBLEMS``. Raises as :attr:`problem_tables`."""
        from ..problems.published import published_problems

        return published_problems(self.problem_tables)

    def results(self, start: int) -> Iterator[pa.RecordBatch]:
        """The results of problems in the rounds from ``start`` on; see ``OF_PROBLEMS``."""
        from ..problems.published import published_results

        return published_results(self._problems, self._contests.column("contest_id").combine_chunks(), start)

    @cached_property
    def results_of_rounds(self) -> tuple[npt.NDArray[np.uint8], list[Any]]:
        """A digest of the results of each round, uint8[rounds, 16], 0 without any; and which problems are the same."""
        stored = self._stored_results
        digests = np.zeros((self.n_rounds, 16), np.uint8)
        ids = self._contests.column("contest_id").slice(0, self.n_rounds).combine_chunks()
        at = pc.index_in(stored.contests.column("contest_id"), value_set=ids).fill_null(-1).to_numpy()
        for round_index, digest in zip(at.tolist(), stored.contests.column("content_digest").to_pylist(), strict=True):
            if round_index >= 0:
                digests[round_index] = np.frombuffer(bytes.fromhex(digest), np.uint8)
        same = stored.problems().select(["problem", "same_as"])
        return digests, same.filter(pc.is_valid(same.column("same_as"))).to_pylist()

    def has(self, name: str) -> bool:
        """Whether the run has rows of a table that not every run has."""
        if name in OF_STRENGTHS:
            return self.static
        if name in OF_SEASONS:
            return bool(self._dataset.events())
        return bool(self.attributes.num_rows if name in OF_ATTRIBUTES else self.results_digest)

    @property
    def static(self) -> bool:
        """Whether the system explains all games at once, so that no round changes a rating."""
        return self.display.system.all_games is not None

    @property
    def strengths(self) -> pa.Table:
        """The strengths that explain all games; see ``OF_STRENGTHS``, as for the two others."""
        return self._strengths.table()

    @property
    def coefficients(self) -> pa.Table:
        """The coefficients of the covariates."""
        return self._strengths.coefficients()

    @property
    def pairs(self) -> pa.Table:
        """The results of each pair of players."""
        return self._strengths.pairs()

    @cached_property
    def _strengths(self) -> RunStrengths:
        from ..strengths.strengths import RunStrengths

        return RunStrengths(self._rated, places=self.places)

    @cached_property
    def _stored_results(self) -> StoredResults:
        return StoredResults.open(self._lake, self.dataset)

    @cached_property
    def _problems(self) -> RunProblems:
        from ..problems.difficulties import RunProblems
        from ..problems.options import ProblemOptions

        return RunProblems(self._lake, self.run, ProblemOptions())

    @property
    def of_games(self) -> bool:
        """Whether the contests are periods of games."""
        return self._dataset.kind == GAMES_KIND

    def facts(self) -> dict[str, Any]:
        """The facts of the run for the manifest of its index."""
        config, display = self._run.config, self.display
        return {
            "source": source_digest(self._run, self._dataset, self._chain.segments[-1]),
            "dataset": self.dataset,
            "system": self.system,
            "params": config["params"],
            "deviations": float(display.deviations),
            "default_deviations": self._deviations is None,
            "sigma_limit": display.sigma_limit,
            "mu_init": float(display.params.mu_init),
            "decimals": display.decimals,
            "titles": self.format.titles.to_json(),
            "n_rounds": self.n_rounds,
            **({} if display.minimum == -math.inf else {"minimum": float(display.minimum)}),
            **({} if display.shift is None else {"shift": display.shift}),
            "games": self.of_games,
            "places": self.places.to_json(),
            "uncertainty": self.uncertainty,
            **({} if self.brand == UNBRANDED else {"brand": self.brand.to_json()}),
            "has_performance": self.display.system.has_performance,
            **({"static": True} if self.static else {}),
            **({} if not self.resets else {"resets": self.resets}),
            **({} if self.learnt is None else {"chances": to_published(self.learnt)}),
        }

    @cached_property
    def resets(self) -> tuple[PublishedReset, ...]:
        """The resets that the leaderboard has, in order."""
        if not (self._chain.resets or self.pending):
            return ()
        if self._board is None:
            self.leaderboard()
        found = []
        for at, seconds, name, one in self._applied:
            assert one.centre is not None
            players = None if one.players is None else tuple(np.flatnonzero(one.players).tolist())
            facts = one.centre, one.keep, one.widen, one.forget, one.active_since, players
            found.append(PublishedReset(at, seconds, name, *facts))
        return tuple(found)

    @cached_property
    def pending(self) -> list[str]:
        """Digests of the resets after the last round that have taken place by now."""
        return pending_digests(self._run, self._dataset, self.n_rounds)

    @cached_property
    def smoothing(self) -> RunSmoothing:
        """The smoothing of the run. Its columns of the ratings are null unless it is current."""
        return RunSmoothing(self._run, self._chain)

    def smoothed_rows(self) -> pa.Table | None:
        """The rows of the current smoothing by player, ``SMOOTHED_ROWS``; None if an earlier release made it."""
        rows = self.smoothing.read()
        if rows.column("log_gain").null_count:
            return None
        rows = rows.append_column("time_seconds", pa.array(times_of_rows(self._rated, rows["round_index"].to_numpy())))
        order = np.argsort(rows.column("player").to_numpy(), kind="stable")
        return rows.select(SMOOTHED_ROWS.names).take(pa.array(order)).cast(SMOOTHED_ROWS)

    @property
    def stale_smoothing(self) -> str:
        """Why the smoothing of the run is not among the ratings, and the remedy; empty without one that is stale."""
        if not self.smoothing.is_stale:
            return ""
        return (
            f"its smoothing is of earlier rounds and not published, `ranklake smooth --run {self._run.name}` renews it"
        )

    def _teams_of(self, columns: dict[str, pa.Array]) -> pa.StringArray:
        return self.team_names(columns["round_index"].to_numpy(), columns["player"].to_numpy())


def published_board(board: pa.Table) -> pa.Table:
    """A leaderboard as ``PUBLISHED["leaderboard"]``: columns that the system does not have are null."""
    for field in (field for field in PLACES if field.name not in board.column_names):
        board = board.append_column(field, pa.nulls(board.num_rows, field.type))
    return board.cast(PUBLISHED["leaderboard"])


def _skills(smoothed: pa.Table | None, start: int, n: int) -> dict[str, pa.Array]:
    """The smoothed columns of ``n`` rows from row ``start`` on; null without a smoothing."""
    if smoothed is None:
        return dict.fromkeys(SKILLS, pa.nulls(n, pa.float64()))
    return {name: smoothed.column(name).slice(start, n).combine_chunks() for name in SKILLS}


def _years(times: pa.Int64Array) -> pa.Int32Array:
    """Calendar year, UTC; null if unknown or outside the calendar."""
    seconds = times.fill_null(_UNKNOWN).to_numpy().astype("datetime64[s]")  # the smallest integer is NaT
    years = seconds.astype("datetime64[Y]").astype(np.int64) + 1970
    return pa.array(years, mask=(years < _YEARS[0]) | (years > _YEARS[1])).cast(pa.int32(), safe=False)
