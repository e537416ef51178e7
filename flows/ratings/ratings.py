"""One object with all ratings of a history: the system, its hyperparameters, every participation, and final beliefs."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from ranklake.rating_kernels.metrics.metrics import SCALE
from ranklake.rating_kernels.problems.difficulty import SCALE as SCALE_OF_PROBLEMS
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.storage import Lake, Run
from ranklake.storage.runs.components import Meetings

from ..answers.dates import DatesDifference, difference_between
from ..chances.record import RunChances
from ..chances.to_come import GamesToCome
from ..common.arguments import checked
from ..common.configuration.settings import SystemName, check_rounds_matter, find_system, params_to_json
from ..common.text import count
from ..common.times import parse_time
from ..evaluation.frames import evaluate_history
from ..events.seasons import Season
from ..frames.beliefs import HasBeliefs, PlayerBeliefs
from ..frames.kinds import as_kind, open_frame, to_pandas
from ..frames.notebook import titled_table, warn_user
from ..frames.periods import PeriodName
from ..frames.rating import rate_results
from ..frames.results import Reading, named_columns
from ..problems.options import Count, ProblemOptions
from ..results.components import Components
from ..results.meetings import join
from ..results.rating_format import RatingFormat
from ..results.titles import NONE
from ..sources.absences import Absent
from ..sources.base import OnError
from ..sources.options import Duplicates
from . import stored
from .boards import players_of
from .games import chances_of_history
from .growing import GrowingBeliefs, GrowingHistory
from .histories import RunHistory, history_of, run_beliefs, scored_columns, shown_by, smoothed_history, smoothed_player
from .player_ratings import FrameT, PlayerRatings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class LastRound(NamedTuple):
    """The last contest that was rated: its round, its name, and its end in UTC seconds (0 if unknown)."""

    round_index: int
    contest: Any
    time_seconds: int


class Ratings(PlayerRatings[FrameT]):
    """Ratings of all players after a history of contests.

    Made by :meth:`rate`, :meth:`open` and :meth:`load`. An object never changes: :meth:`update` returns a new one.
    :func:`ranklake.rate_history` and :func:`ranklake.predict` take it for ``beliefs``.

    For type checkers, ``Ratings[polars.DataFrame]`` has frames of that type, and ``Ratings`` alone those of pandas.

    Attributes
    ----------
    n_contests : int
        Contests rated or skipped.
    """

    def __init__(
        self,
        beliefs: PlayerBeliefs,
        n_contests: int,
        kind: str = "pandas",
        reading: Reading | None = None,
        history: FrameT | None = None,
        source: RunHistory | None = None,
        shown: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(beliefs, kind, shown)
        self.n_contests = n_contests
        self._reading, self._source = reading or Reading(), source
        self._history: Any = history
        self._growing: tuple[GrowingBeliefs, GrowingHistory] | None = None
        self._smoothed: tuple[pd.DataFrame, Smoothing] | None = None
        self._known_chances = list[RunChances | None]()  # what games have taught, once it was asked for

    @classmethod
    @checked
    def rate(
        cls,
        results: FrameT,
        system: SystemName | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        contest: str | None = None,
        player: str | None = None,
        rank: str | None = None,
        score: str | None = None,
        time: str | None = None,
        engine: Any = "threads",
        workers: int | None = None,
        beliefs: Mapping[Any, float] | pd.DataFrame | HasBeliefs | None = None,
        skip_uninformative: bool | None = None,
        on_error: OnError = "stop",
        duplicates: Duplicates = "error",
        absent: Absent = "error",
        period: PeriodName | None = None,
        **hyperparameters: Any,
    ) -> Self:
        """Rate a whole history of contests.

        All parameters are those of :func:`ranklake.rate_history`, teams included. :attr:`history` and
        :meth:`leaderboard` are frames of the kind of ``results``: pandas, Polars (eager or lazy), Arrow, DuckDB or
        Dask.
        """
        names = named_columns(columns, contest=contest, player=player, rank=rank, score=score, time=time)
        read = Reading(names, on_error, duplicates, skip_uninformative, absent, period).read(results, limits=True)
        rated = rate_results(read, system, hyperparameters, engine=engine, workers=workers, beliefs=beliefs)
        return cls(rated.beliefs, len(read.rounds), read.frame.kind, read.reading, history_of(rated))

    @classmethod
    @checked
    def open(cls, lake: str | os.PathLike[str] | Lake, run: str) -> Self:
        """The ratings of a run in a lake, after its last round; the history is read when it is needed.

        Raises
        ------
        LakeError
            There is no such lake or run, or it has no ratings or was interrupted.
        """
        opened = lake if isinstance(lake, Lake) else Lake.open(lake)
        stored_run = Run.open(opened, run)
        beliefs, n_rounds, has_teams = run_beliefs(stored_run)
        reading = Reading({"team": "team", "share": "share"} if has_teams else {})
        source = RunHistory(opened.url, run, has_teams)
        return cls(beliefs, n_rounds, reading=reading, source=source, shown=shown_by(stored_run))

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Ratings that :meth:`save` wrote.

        Raises
        ------
        ValueError
            The file is of another program, or of a later release.
        """
        facts, beliefs, history = stored.read(path)
        kind, reading, shown = facts["kind"], Reading(**facts["reading"]), facts.get("display")
        return cls(beliefs, facts["n_contests"], kind, reading, history, shown=shown)

    @checked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one Parquet file, without loss: a row for each player with the belief and a list of the rounds.

        The system and its hyperparameters are in the file's metadata. The file exists in full or not at all.

        Raises
        ------
        ValueError
            Parquet cannot hold a column of the history.
        """
        facts = {"n_contests": self.n_contests, "kind": self._kind, "reading": asdict(self._reading)}
        facts |= {"display": self._shown} if self._shown else {}
        stored.write(path, facts, self._beliefs, self.history)

    @property
    def history(self) -> FrameT:
        """Every participation in rating order, with the belief before and after it.

        The columns are ``round_index, contest, player, time_seconds, lo, hi, perf, mu_prior, sigma_prior, mu, sigma,
        n_before, rating``, with a column of teams also ``team``, then all other columns of the results. The index is
        that of the results' rows, so that pandas aligns both. ``rating`` is the display rating after the round. A
        column of the results that has one of these names is kept with the suffix ``_results``.
        """
        if self._history is None and self._source is not None:
            self._history = self._source.read(self._beliefs, self._display())
        if self._history is None and self._growing is not None:
            self._history = self._growing[1].all
        history: FrameT = self._history
        return history

    @property
    def last_round(self) -> LastRound | None:
        """The last rated round; None if no contest was rated."""
        history = self.history if self._growing is None else self._growing[1].last
        last = to_pandas(history)[["round_index", "contest", "time_seconds"]].tail(1)
        return LastRound(*last.iloc[0].tolist()) if len(last) else None

    def __repr__(self) -> str:
        return f"Ratings({self.label}: {count(len(self), 'player')}, {count(self.n_contests, 'contest')})"

    def _repr_html_(self) -> str:
        top = to_pandas(self.leaderboard(10))
        shown = top[["place", "player", "rating", "mu", "sigma", "n_rounds"]]
        return titled_table(repr(self), shown, self._display().decimals)

    def __getstate__(self) -> dict[str, Any]:
        """All attributes; a history of DuckDB, which depends on a connection, as an Arrow table."""
        if self._kind != "duckdb" or self._history is None:
            return self.__dict__
        return self.__dict__ | {"_history": open_frame(self._history).arrow()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._kind == "duckdb" and self._history is not None:
            self._history = as_kind(state["_history"], "duckdb")

    def player(self, player: Any) -> FrameT:
        """The rows of one player in :attr:`history`.

        Raises
        ------
        ValueError
            There is no such player; the message names similar ones.
        """
        self._check_player(player)
        history = to_pandas(self.history)
        rows: FrameT = as_kind(history[history["player"] == player], self._kind)
        return rows

    @checked
    def update(
        self,
        results: Any,
        *,
        engine: Any = "threads",
        workers: int | None = None,
        absent: Absent | None = None,
        period: PeriodName | None = None,
    ) -> Self:
        """Rate further contests, after all others; returns new ratings, to the bit those of the whole history at once.

        ``results`` have the same names of columns as before, and may be a frame of another kind. After a run with
        contests of teams they have the columns ``team`` and ``share``, as its history; both may be empty.
        Participants without a place are treated as before, unless ``absent`` says how. Periods are those of before,
        unless ``period`` names them: of a run of ``fide``, say, which :meth:`open` opened.

        Raises
        ------
        ValueError
            A contest is rated already; the results have no times, and the contests before have; columns are of other
            types; or as for :meth:`rate`.
        """
        beliefs, history = self._parts()
        kept = self._reading
        reading = replace(kept, absent=absent or kept.absent, period=period or kept.period)
        table = reading.read(results, limits=True, first=history.last_number + 1)
        if again := [name for name in table.contests().tolist() if history.has(name)]:
            raise ValueError(f"contest {again[0]!r} is rated already; update takes further contests only")
        if beliefs.facts.last_time != 0 and "time" not in table.columns:
            raise ValueError("results have no column time, which the contests before them have (time=... names it)")
        before = beliefs.of_players(table.players)
        rated = rate_results(table, engine=engine, workers=workers, beliefs=before)
        n_contests = self.n_contests + len(table.rounds)
        updated = type(self)(rated.beliefs, n_contests, self._kind, table.reading, shown=self._shown)
        new = history_of(rated, self.n_contests, self.__ranklake_shift__())
        updated._growing = beliefs.with_rated(rated.beliefs), history.with_rated(new)
        del updated._beliefs  # those of the participants alone
        return updated

    @cached_property
    def _beliefs(self) -> PlayerBeliefs:  # type: ignore[override]
        """All beliefs after an update; others are given to the constructor."""
        return self._parts()[0].all

    def _parts(self) -> tuple[GrowingBeliefs, GrowingHistory]:
        """What an update continues; made for the first one, and shared by all after it."""
        if self._growing is None:
            self._growing = GrowingBeliefs.of(self._beliefs), GrowingHistory.of(self.history, self._kind)
        return self._growing

    @property
    def components(self) -> tuple[int, ...]:
        """Number of players of each component, largest first: players of two never met, even through others.

        Their ratings cannot be compared: :meth:`leaderboard`, :meth:`evaluate` and :meth:`smooth` warn of two or more
        with more than two players and a hundredth of all, and :meth:`predict` of players of any two.
        """
        return self._components.sizes

    def __ranklake_games__(self, value: str | None = None) -> GamesToCome | None:
        """As :meth:`PlayerRatings.__ranklake_games__`: of a run what it has learnt, otherwise a fit to all games."""
        if not self._known_chances:
            self._known_chances.append(self._find_chances())
        if (chances := self._known_chances[0]) is None:
            return None
        found = GamesToCome.of(chances, value, "" if self._source is None else self._source.run)
        if found.note:
            warn_user(found.note)
        return found

    def _find_season(self, name: str) -> Season:
        return super()._find_season(name) if self._source is None else self._source.season(name)

    def _find_chances(self) -> RunChances | None:
        if self._source is not None:
            return self._source.chances()
        rows, columns = scored_columns(self._reading, to_pandas(self.history))
        return chances_of_history(rows, columns, self._beliefs.system, self._beliefs.params)

    @cached_property
    def _components(self) -> Components:
        return self._components_of(None)

    def _components_before(self, stop: int | None = None) -> Components:
        return self._components if stop is None else self._components_of(stop)

    def _components_of(self, stop: int | None) -> Components:
        if self._source is not None:
            return self._source.components(stop)
        history, n = to_pandas(self.history), len(self._beliefs.players)
        index = history["round_index"].to_numpy()
        index = index if stop is None else index[: np.searchsorted(index, stop)]
        names = pd.Index(history["player"].iloc[: len(index)])
        row = pd.Index(self._beliefs.players).get_indexer(names).astype(np.int32)
        roots = join(np.arange(n, dtype=np.int32), np.flatnonzero(np.diff(index, prepend=-1)), row)
        return Components.numbered(Meetings(roots, np.bincount(row, minlength=n).astype(np.int32)))

    @checked
    def evaluate(
        self,
        first_round: int = 0,
        *,
        rounds: Collection[int] | None = None,
        scale: float = SCALE,
        by: Literal["chance", "result"] | None = None,
    ) -> pd.DataFrame:
        """Scores of the predictions from the ratings before each round.

        Parameters
        ----------
        first_round, scale, by
            As for :func:`ranklake.evaluate_history`, with the system and hyperparameters of the ratings.
        rounds
            The only rounds to score, by ``round_index``; by default all.

        Returns
        -------
        pd.DataFrame
            One row a filter (``everyone``, ``experienced``, ``top100``), columns as of that function; with ``by``
            its reliability table. Metrics have one row a team if the results have teams.

        Raises
        ------
        ValueError
            No round is left to score, or the scale is out of range.
        """
        history = to_pandas(self.history)
        if rounds is not None:
            history = history[history["round_index"].isin(rounds)]
            if history.empty:
                raise ValueError("history has none of these rounds")
        rows, of_teams = scored_columns(self._reading, history)
        settings = params_to_json(self._beliefs.params, whole=True)
        scores = evaluate_history(
            rows, first_round, scale=scale, columns=of_teams, by=by, system=self.system, **settings
        )
        self._warn_of_components()
        return scores

    @checked
    def smooth(self, *, engine: Any = "threads", workers: int | None = None, **hyperparameters: Any) -> FrameT:
        """Smooth the history: the skill at every contest, given all contests before and after it.

        Parameters
        ----------
        engine, workers
            As for :meth:`rate`.
        **hyperparameters
            Those of :func:`ranklake.smooth_history`. By default they follow from the system, as for ``ranklake
            smooth``: of elo-mmr and elo-mmx beta and the drift, of others the level and spread of newcomers.

        Returns
        -------
        frame
            Columns as from :func:`ranklake.smooth_history`, of the kind of the results; rows, index and ``round_index``
            are those of :attr:`history`, without contests of one participant. ``attrs["sweeps"]`` of a pandas frame is
            the number of sweeps.

        Raises
        ------
        ValueError
            A hyperparameter is unknown or out of range, or the ratings are those of a run with resets between contests,
            which ``ranklake smooth`` smooths.
        ConvergenceError
            The sweeps did not converge, or a performance was not found; the message names the contest.
        """
        if self._source is not None:
            self._source.check_without_resets()
        self._warn_of_components()
        history = to_pandas(self.history)
        self._smoothed = smoothed_history(history, self._reading, self._beliefs, hyperparameters, engine, workers)
        smoothed: FrameT = as_kind(self._smoothed[0].copy(), self._kind)
        return smoothed

    @checked
    def between(self, player: Any, start: Any, end: Any) -> DatesDifference:
        """The difference of a player's skill between two dates, given all contests.

        It is of the last :meth:`smooth` of these ratings; of a run without one, of ``ranklake smooth``.

        Parameters
        ----------
        start, end
            Seconds, dates or datetimes, the earlier one first. A date is its first second, UTC.

        Returns
        -------
        DatesDifference
            ``difference`` and its standard ``deviation`` in rating points, the ``chance_higher`` that the skill was the
            higher one at ``end``, and the skills ``start_mu`` and ``end_mu``.

        Raises
        ------
        ValueError
            There is no such player or no smoothing, a date is none, the dates are equal or exchanged, the player had no
            contest until ``start``, or the contests have no times.
        LakeError
            The run has no smoothing of its current rounds.
        """
        self._check_player(player)
        dates = parse_time(start, "start"), parse_time(end, "end")
        if self._smoothed is None and self._source is not None:
            return self._source.between(player, *dates)
        if self._smoothed is None:
            raise ValueError("the ratings are not smoothed: call smooth() first, as skills of two dates depend on it")
        found = smoothed_player(*self._smoothed, to_pandas(self.history), player)
        if not len(found.time_seconds):
            raise ValueError(f"player {player!r} has no smoothed contest")
        return difference_between(player, found, *dates)

    @checked
    def problems(
        self,
        count: Count = "all",
        *,
        contest: str | None = None,
        time_limit: float | None = None,
        scale: float | Literal["fit"] = SCALE_OF_PROBLEMS,
        uncertain: bool | None = None,
        joint: bool = False,
    ) -> FrameT:
        """How difficult the problems of a run's contests were: a player with the rating ``difficulty`` solves the
        problem with chance 1/2.

        Parameters
        ----------
        count
            The participants that count: ``all`` of the problem's contests, those who ``submitted`` anything there,
            those who ``reached`` it or a later problem, or those who ``attempted`` it.
        contest
            Only the problems of this contest.
        time_limit
            Later solves are failures, seconds after the start of the contest.
        scale
            Rating points in which the odds of a solve change tenfold; ``"fit"`` chooses it by all solves.
        uncertain
            Whether uncertain ratings flatten the chances; by default if the system has an uncertainty.
        joint
            Estimate players and problems together, from the results of ``contest`` or of all contests.

        Returns
        -------
        frame
            A row a problem, hardest first: ``problem, name, contest, contests, difficulty, deviation, counted, solved,
            share, bound, rating_80, first_solved, first_solver``. See ``docs/problems.md``.

        Raises
        ------
        ValueError
            The ratings are not those of a run in a lake (:meth:`open`), or an argument is out of range.
        LakeError
            The data set of the run has no results of problems, or a joint estimate does not converge.
        """
        if self._source is None:
            raise ValueError("problems are those of a run in a lake: Ratings.open(lake, run) opens one")
        options = ProblemOptions(count, time_limit, None if scale == "fit" else float(scale), uncertain, joint)
        found: FrameT = as_kind(self._source.problems(options, contest), self._kind)
        return found

    @checked
    def strengths(self, *, where: Mapping[str, str] | None = None, by: str | None = None) -> FrameT:
        """The strengths that explain all games of a run of ``bt`` at once, best first.

        Parameters
        ----------
        where
            Only games with these values of kept columns.
        by
            A kept column: the games of each value have strengths of their own, beside those of all games.

        Returns
        -------
        frame
            ``category, place, place_high, place_low, tier, handle, rating, sigma, sigma_sandwich, sigma_model, extreme,
            component, n_games, wins, draws, losses``. See ``docs/systems/bt.md``.

        Raises
        ------
        ValueError
            The ratings are not those of a run in a lake (:meth:`open`) that explains all games at once.
        LakeError
            No game has such a column or value.
        """
        return self._of_strengths("table", where, by)

    @checked
    def coefficients(self, *, where: Mapping[str, str] | None = None, by: str | None = None) -> FrameT:
        """The coefficients of the covariates: ``category, name, value, se, z``; arguments as :meth:`strengths`."""
        return self._of_strengths("coefficients", where, by)

    @checked
    def pairs(self, *, where: Mapping[str, str] | None = None, by: str | None = None) -> FrameT:
        """The results of each pair: ``category, a, b, games, wins, draws, losses, score, expected``; arguments as
        :meth:`strengths`.
        """
        return self._of_strengths("pairs", where, by)

    def _of_strengths(self, table: str, where: Mapping[str, str] | None, by: str | None) -> FrameT:
        if self._source is None:
            raise ValueError("strengths are those of a run in a lake: Ratings.open(lake, run) opens one")
        rows = getattr(self._source.strengths(where or {}, by), table)()
        found: FrameT = as_kind(rows, self._kind)
        return found

    def plot_player(self, *players: Any) -> Figure:
        """The rating of one player over time with the performances, or of several players.

        Players who never met, not even through others, are a warning.

        Raises
        ------
        ValueError
            No player is named, or one is unknown or has no round; or the system explains all games at once.
        MissingExtraError
            Matplotlib is not installed.
        """
        check_rounds_matter(find_system(self.system), "curve of a player's ratings")
        for player in players:
            self._check_player(player)
        if note := self._note(players):
            warn_user(note)
        form = RatingFormat(NONE, self._display().decimals)
        seasons = [] if self._source is None else self._source.seasons()
        return players_of(to_pandas(self.history), players, self.label, form, seasons)
