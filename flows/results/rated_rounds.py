"""The rated rounds of a run, and the state of each player after them. Imports no kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Chain, Dataset, Lake, LakeError, Run
from ranklake.storage.datasets.round_points import RoundPoints
from ranklake.storage.datasets.round_teams import RoundTeams
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.datasets.tables.teams import Teams
from ranklake.storage.lake.layout import run_file
from ranklake.storage.lake.schemas import ROUNDS
from ranklake.storage.runs.segments import Segment

from ..common.progress import ProgressCallback, not_shown
from ..common.skipping import ALL_TIED, NOBODY_RATED, Skipping, count_reasons, reasons_of, skipped_text
from ..common.text import count
from .components import Components
from .places import PlaceOptions
from .rating_format import RatingFormat
from .states import States, board_table
from .titles import Titles, TitlesChoice, titles_of

if TYPE_CHECKING:
    from ..events.shown import ShownReset
    from .display import Display


Explained = Callable[[int], tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]


class LeaderboardBuilder:
    """The state of each player after the rounds of a run, updated with one batch of rounds after the other.

    ``ends``: the end of every round, UTC seconds; 0 if unknown.
    ``explained``: for systems whose ratings explain all games at once: gives ``mu`` and ``sigma`` of all players, by
    the games of the rounds before one. Every rated player has these, and ``max_rating`` is ``rating``.
    ``resets``: of the run, in order. Each is applied before the rows of the rounds after it, the later ones by
    :meth:`reset_until`. A reset is no result: ``max_rating`` does not count the rating right after it.
    ``columns``: columns of the rounds table that :meth:`update` reads.
    ``applied``: those applied, each with its centre.
    ``n_rounds`` (int32[n]): rounds rated; 0 for players who have none.
    ``mu``, ``sigma``, ``rating``, ``max_rating`` (float64[n]): values after the last round: belief, display rating, and
    highest display rating. Undefined without rounds.
    ``last_time_seconds`` (int64[n]): end of the last contest, UTC.
    """

    columns = ("round_index", "player", "mu", "sigma", "n_before")

    def __init__(
        self,
        n_players: int,
        ends: npt.NDArray[np.int64],
        display: Display,
        explained: Explained | None = None,
        resets: Sequence[ShownReset] = (),
    ) -> None:
        self._ends, self._display, self._explained, self._resets = ends, display, explained, deque(resets)
        self.applied: list[ShownReset] = []
        self._latest = np.full(n_players, np.iinfo(np.int64).min)
        self.n_rounds = np.zeros(n_players, dtype=np.int32)
        self.mu, self.sigma, self.rating = np.zeros(n_players), np.zeros(n_players), np.zeros(n_players)
        self.max_rating = np.full(n_players, -np.inf)
        self.last_time_seconds = np.zeros(n_players, dtype=np.int64)
        self._last_round = -1

    def can_restore(self, stop: int) -> bool:
        """Whether the centres of all resets before round ``stop`` are known."""
        return all(one.reset.centre is not None for one in self._resets if one.round_index < stop)

    def restore(self, table: pa.Table, stop: int) -> None:
        """Restore the state from the result of :meth:`table` after the rounds before ``stop``, by the same display."""
        self._last_round = stop - 1
        while self._resets and self._resets[0].round_index < stop:
            self.applied.append(self._resets.popleft())
        players = table.column("player").to_numpy()
        for name in ("n_rounds", "mu", "sigma", "rating", "max_rating", "last_time_seconds"):
            getattr(self, name)[players] = table.column(name).to_numpy()

    def update(self, rounds: pa.Table) -> None:
        """Add the rows of the rounds that come next; see :attr:`columns`."""
        done, index = 0, rounds.column("round_index").to_numpy()
        while self._resets and len(index) and self._resets[0].round_index <= index[-1]:
            stop = int(np.searchsorted(index, self._resets[0].round_index))
            self._update(rounds.slice(done, stop - done))
            self._reset()
            done = stop
        self._update(rounds.slice(done))

    def reset_before(self, stop: int) -> None:
        """Apply the resets before round ``stop`` with no rated round after them."""
        while self._resets and self._resets[0].round_index < stop:
            self._reset()

    def reset_until(self, time_seconds: int) -> None:
        """Apply the resets after the last round that took place until a time, UTC seconds."""
        while self._resets and self._resets[0].time_seconds <= time_seconds:
            self._reset()

    def _reset(self) -> None:
        from ..events.shown import reset_ratings, with_centre  # imports kernels

        reset = self._resets.popleft()
        known = with_centre(reset.reset, self.mu, self.n_rounds)
        self.applied.append(reset._replace(reset=known))
        rows = known.rows(self.n_rounds, self._latest)
        system, params = self._display.system, self._display.params
        mu, sigma = reset_ratings(system, params, known, self.mu[rows], self.sigma[rows])
        self.mu[rows], self.sigma[rows] = mu, sigma
        self.rating[rows] = self._display.rating(mu, sigma, self.n_rounds[rows], self._last_round)

    def _update(self, rounds: pa.Table) -> None:
        if not rounds.num_rows:
            return
        round_index, player, mu, sigma, n_before = (rounds.column(name).to_numpy() for name in self.columns)
        shown = self._display.rating(mu, sigma, n_before + np.int32(1), round_index)
        np.maximum.at(self.max_rating, player, shown)
        self.mu[player], self.sigma[player], self.rating[player] = mu, sigma, shown  # the last row of a player stays
        self.n_rounds[player] = n_before + np.int32(1)
        self.last_time_seconds[player] = self._ends[round_index]
        np.maximum.at(self._latest, player, self._ends[round_index])
        self._last_round = int(round_index.max(initial=self._last_round))

    def shown(self) -> npt.NDArray[np.float64]:
        """The display rating of each player after the last round of all: :attr:`rating`, but for a steady level."""
        if self._display.shift is None:
            return self.rating
        shown: npt.NDArray[np.float64] = self._display.rating(self.mu, self.sigma, self.n_rounds, self._last_round)
        return shown

    def states(self) -> States:
        """The state of each rated player; ``latest`` is the end of the last contest."""
        players = np.flatnonzero(self.n_rounds > 0).astype(np.int32)
        if self._explained is not None and len(players):
            self.mu, self.sigma = self._explained(self._last_round + 1)
            self.rating = self._display.rating(self.mu, self.sigma, self.n_rounds, self._last_round)
            self.max_rating = self.rating
        names = ("mu", "sigma", "n_rounds", "last_time_seconds", "max_rating")
        state = {"rating": self.shown()[players]} | {name: getattr(self, name)[players] for name in names}
        return States(players, state, state["last_time_seconds"])

    def table(self, handles: pa.StringArray, titles: Titles, places: PlaceOptions, components: Components) -> pa.Table:
        """All rated players, best first, ties by handle; see :func:`.states.board_table`."""
        states, uncertainty = replace(self.states(), components=components), self._display.system.uncertainty
        return board_table(states, handles.take(pa.array(states.players)), titles, places, uncertainty)


class RatedRounds:
    """The rated rounds of a run, with its data set and the contest of each round.

    Raises ``LakeError`` if there is no such run, or it has no rounds yet.
    """

    def __init__(self, lake: Lake, run_name: str) -> None:
        run = Run.open(lake, run_name)
        self._begin(run, Dataset.open(lake, run.config["dataset"]), run.segments())
        check_rated(self.run, self.chain)

    @classmethod
    def of(cls, run: Run, dataset: Dataset, chain: Chain) -> Self:
        """Some rounds of a run that is open; there may be none."""
        found = cls.__new__(cls)
        found._begin(run, dataset, chain)
        return found

    def _begin(self, run: Run, dataset: Dataset, chain: Chain) -> None:
        self.run, self.dataset, self.chain = run, dataset, chain
        self.of_games = dataset.kind == GAMES_KIND

    @cached_property
    def contests_table(self) -> pa.Table:
        """The contest of each round; see :func:`rated_contests`."""
        return rated_contests(self.chain, self.dataset)

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """The end of each round, UTC seconds; 0 if unknown."""
        found: npt.NDArray[np.int64] = self.contests_table.column("time_seconds").fill_null(0).to_numpy()
        return found

    @cached_property
    def teams(self) -> RoundTeams:
        """The teams of all rounds."""
        return RoundTeams(self.dataset, self.contests_table.column("contest_id").combine_chunks())

    @cached_property
    def points(self) -> RoundPoints:
        """The points of all rounds."""
        return RoundPoints(self.dataset, self.contests_table.column("contest_id").combine_chunks())

    def components(self, stop: int | None = None) -> Components:
        """Who met whom in all rounds, or in those before ``stop``."""
        return Components.of_run(self.run, self.dataset, self.chain, stop)

    def teams_of(self, rows: pa.Table) -> Teams | None:
        """The teams of rows of the rounds table; None if none is of a team."""
        return self.teams.of_rows(*(rows.column(name).to_numpy() for name in ("round_index", "player")))

    def points_of(self, rows: pa.Table) -> pa.Array:
        """The points of rows of the rounds table; null where unknown."""
        points = self.points.of_rows(*(rows.column(name).to_numpy() for name in ("round_index", "player")))
        return pa.array(points, from_pandas=True)  # NaN is null

    @cached_property
    def skipped(self) -> list[int]:
        """The rounds of contests that the run skipped."""
        return [index for segment in self.chain.segments for index in segment.skipped]

    def handles_of(self, players: npt.NDArray[np.int32]) -> pa.StringArray:
        """Handles of players, given their indices."""
        return self.dataset.handles().take(pa.array(players))

    def format(self, display: Display, choice: TitlesChoice = None) -> RatingFormat:
        """The format of the ratings; ``choice`` as for :func:`titles_of`."""
        return RatingFormat(titles_of(self.run, self.dataset, display.params.mu_init, choice), display.decimals)

    def builder(self, display: Display, explained: Explained | None = None) -> LeaderboardBuilder:
        """An empty leaderboard for these rounds."""
        return LeaderboardBuilder(self.dataset.n_players, self.ends, display, explained, self.resets(display.params))

    def resets(self, params: Any) -> list[ShownReset]:
        """The resets of the run, and those of its data set after its last round; ``params`` are those of the run."""
        if not (self.chain.resets or self.dataset.events()):
            return []
        from ..events.shown import shown_resets  # imports kernels

        return shown_resets(self.run, self.dataset, self.chain, self.ends, params)

    def with_ratings(self, rows: pa.Table, display: Display) -> pa.Table:
        """Rows of the rounds table with the display ``rating`` after the round."""
        names = ("mu", "sigma", "n_before", "round_index")
        mu, sigma, n_before, round_index = (rows.column(name).to_numpy() for name in names)
        return rows.append_column("rating", pa.array(display.rating(mu, sigma, n_before + np.int32(1), round_index)))

    def known_resets(self, display: Display) -> list[ShownReset]:
        """The resets between the rounds of the run, each with its centre. Reads the rounds if one was not noted."""
        found = [one for one in self.resets(display.params) if one.round_index < self.chain.stop_round]
        if all(one.reset.centre is not None for one in found):
            return found
        builder = self.builder(display)
        for _, rounds in self.walk(columns=builder.columns):
            builder.update(rounds)
        builder.reset_before(self.chain.stop_round)
        return builder.applied

    def rows(self, start: int = 0, stop: int | None = None) -> pa.Table:
        """The rated rows of the rounds from ``start`` to ``stop``, in order."""
        tables = [table.replace_schema_metadata() for _, table in self.walk(start, stop)]
        return pa.concat_tables([ROUNDS.empty_table(), *tables])

    def walk(
        self,
        start: int = 0,
        stop: int | None = None,
        columns: Sequence[str] | None = None,
        on_progress: ProgressCallback = not_shown,
        what: str = "",
        unrated: bool = False,
    ) -> Iterator[tuple[Segment, pa.Table]]:
        """As ``Run.iter_segments``; progress is of the whole run, so that it begins at the rows before ``start``.

        ``what``: what the rounds are read for; by default the run.
        """
        sizes = [segment.n_rows for segment in self.chain.segments]
        ends = dict(zip((segment.first_round for segment in self.chain.segments), accumulate(sizes), strict=True))
        total, what = sum(sizes), what or f"run {self.run.name}"
        for segment, table in self.run.iter_segments(start, stop, columns, chain=self.chain, unrated=unrated):
            on_progress(ends[segment.first_round] - segment.n_rows, total, what)
            yield segment, table
            on_progress(ends[segment.first_round], total, what)


def rated_contests(chain: Chain, dataset: Dataset) -> pa.Table:
    """The current row of the data set for the contest of each round; null but for the id if it was removed.

    ``n_players`` counts a team as one and no unrated participant, as places do, and is 2 for a period of games.
    """
    ids = pa.array(chain.contest_ids, pa.string())
    contests = dataset.contests.take(pc.index_in(ids, value_set=dataset.contests.column("contest_id").combine_chunks()))
    contests = contests.set_column(contests.column_names.index("contest_id"), "contest_id", ids)
    n_teams, at = contests.column("n_teams"), contests.column_names.index("n_players")
    if any(segment.unrated for segment in chain.segments):
        n_rated = [n for segment in chain.segments for n in _rated_among_others(segment)]
        counted = pc.coalesce(pa.array(n_rated, pa.int32()), contests.column("n_players"))
        contests = contests.set_column(at, contests.schema.field(at), counted)
    if dataset.kind == GAMES_KIND:
        two = pc.min_element_wise(contests.column("n_players"), pa.scalar(2, pa.int32()), skip_nulls=False)
        return contests.set_column(at, contests.schema.field(at), two)
    if n_teams.null_count == len(n_teams):
        return contests
    counted = pc.coalesce(n_teams, contests.column("n_players"))
    return contests.set_column(at, contests.schema.field(at), counted)


def _rated_among_others(segment: Segment) -> Iterator[int | None]:
    """The number of rated participants of each round; None for rounds without unrated ones."""
    unrated = segment.unrated or (0,) * len(segment.rows)
    return (n if others else None for n, others in zip(segment.rows, unrated, strict=True))


def check_rated(run: Run, chain: Chain) -> None:
    """Raise ``LakeError``, which says why and names the remedy, for a run without rated rounds."""
    if not any(segment.n_rows for segment in chain.segments):
        why = _why_none(run, chain.stop_round)
        raise LakeError(f"run {run.name} has no rated rounds{why}", path=run_file(run.name))


def _why_none(run: Run, n: int) -> str:
    """Why none of the first ``n`` contests of a run was rated, and the remedies."""
    dataset, rate = Dataset.open(run.lake, run.config["dataset"]), f"`ranklake rate --run {run.name}"
    n_contests = dataset.contests.num_rows
    if not n or n > n_contests:
        return f" yet; {rate}` makes them" if n_contests else f": data set {dataset.name} has no contests"
    ids, left_out = dataset.contests.column("contest_id").slice(0, n), run.config.get("exclude", [])
    excluded = pc.is_in(ids, pa.array(left_out, pa.string())).to_numpy()
    counts, remedies = {}, []
    if dataset.kind != GAMES_KIND:
        found = reasons_of(dataset, Skipping.from_json(run.config), n)
        found[(found == 0) & ~excluded] = NOBODY_RATED  # by a range of ratings
        counts = count_reasons(found[~excluded])
        if ALL_TIED in found[~excluded]:
            remedies.append(f"{rate} --replace --keep-uninformative` rates ties")
    if n_excluded := int(np.count_nonzero(excluded)):
        counts["excluded"] = n_excluded
        remedies.append(f"{rate} --include CONTEST` includes one again")
    if n < n_contests:
        remedies.append(f"{rate}` rates the other {count(n_contests - n, 'contest')}")
    return f"{skipped_text(counts)}{'; ' if remedies else ''}{', '.join(remedies)}"
