"""One object with all ratings of a history: the system, its hyperparameters, every participation, and final beliefs."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd

from ranklake.rating_kernels.metrics.metrics import SCALE
from ranklake.storage import Lake, Run

from ..common.hyperparameters import near_names
from ..common.settings import params_to_json
from ..common.system_names import SystemName
from ..common.titles import NONE
from ..evaluation.frames import evaluate_history
from ..frames.beliefs import HasBeliefs, PlayerBeliefs
from ..frames.kinds import as_kind, concat, to_pandas
from ..frames.prediction import Prediction, as_seconds, predict
from ..frames.rating import RatedResults, rate_results
from ..frames.results import Results
from ..results.display import Display, RatingFormat
from ..sources.base import OnError
from ..sources.options import Duplicates
from . import stored
from .figures import distribution_of, players_of
from .html import ratings_html
from .leaderboard import leaderboard_of
from .runs import RunHistory, run_beliefs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LastRound", "Ratings"]


class LastRound(NamedTuple):
    """The last contest that was rated: its round, its name, and its end in UTC seconds (0 if unknown)."""

    round_index: int
    contest: Any
    time_seconds: int


class Ratings:
    """Ratings of all players after a history of contests.

    Made by :meth:`rate`, :meth:`open` and :meth:`load`. An object never changes: :meth:`update` returns a new one.
    :func:`ranklake.rate_history` and :func:`ranklake.predict` take it for ``beliefs``.

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
        reading: Mapping[str, Any] | None = None,
        history: Any = None,
        source: RunHistory | None = None,
    ) -> None:
        self.n_contests = n_contests
        self._beliefs, self._kind, self._reading = beliefs, kind, dict(reading or {})
        self._history, self._source = history, source

    @classmethod
    def rate(
        cls,
        results: Any,
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
        **hyperparameters: Any,
    ) -> Self:
        """Rate a whole history of contests.

        All parameters are those of :func:`ranklake.rate_history`. :attr:`history` and :meth:`leaderboard` are frames of
        the kind of ``results``: pandas, Polars (eager or lazy), Arrow, DuckDB or Dask.
        """
        keys = {"contest": contest, "player": player, "rank": rank, "score": score, "time": time}
        reading = {
            "columns": {key: name for key, name in (keys | dict(columns or {})).items() if name is not None},
            "on_error": on_error,
            "duplicates": duplicates,
            "skip_uninformative": skip_uninformative,
        }
        rated = _rate(results, reading, system, hyperparameters, engine, workers, beliefs)
        history = _history(rated, 0)
        return cls(rated.beliefs, len(rated.results.rounds), rated.results.frame.kind, reading, history)

    @classmethod
    def open(cls, lake: str | os.PathLike[str] | Lake, run: str) -> Self:
        """The ratings of a run in a lake, after its last round; the history is read when it is needed.

        Raises
        ------
        LakeError
            There is no such lake or run, or it has no ratings or was interrupted.
        """
        opened = lake if isinstance(lake, Lake) else Lake.open(lake)
        beliefs, n_rounds = run_beliefs(Run.open(opened, run))
        return cls(beliefs, n_rounds, source=RunHistory(opened.url, run))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Ratings that :meth:`save` wrote.

        Raises
        ------
        ValueError
            The file is of another program, or of a later release.
        """
        facts, beliefs, history = stored.read(path)
        return cls(beliefs, facts["n_contests"], facts["kind"], facts["reading"], history)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one Parquet file, without loss: a row for each player with the belief and a list of the rounds.

        The system and its hyperparameters are in the file's metadata. The file exists in full or not at all.

        Raises
        ------
        ValueError
            Parquet cannot hold a column of the history.
        """
        facts = {"n_contests": self.n_contests, "kind": self._kind, "reading": dict(self._reading)}
        stored.write(path, facts, self._beliefs, self.history)

    @property
    def system(self) -> str:
        """The name of the rating system."""
        return self._beliefs.system.name

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """All hyperparameters by name."""
        params = self._beliefs.params
        return {name: getattr(params, name) for name in params_to_json(params)}

    @property
    def label(self) -> str:
        """The name of the system and the hyperparameters that are not its defaults."""
        default = self._beliefs.system.params()
        changed = {name: value for name, value in self.hyperparameters.items() if value != getattr(default, name)}
        return " ".join([self.system, *(f"{name}={value}" for name, value in changed.items())])

    @property
    def beliefs(self) -> pd.DataFrame:
        """The belief about each player, indexed by player, as :func:`ranklake.rate_history` returns and takes it."""
        return self._beliefs.frame()

    @property
    def history(self) -> Any:
        """Every participation in rating order, with the belief before and after it.

        The columns are ``round_index, contest, player, time_seconds, lo, hi, perf, mu_prior, sigma_prior, mu, sigma,
        n_before, rating``, then all other columns of the results. The index is that of the results' rows, so that
        pandas aligns both. ``rating`` is the display rating after the round.
        """
        if self._history is None and self._source is not None:
            self._history = self._source.read(self._beliefs, self._display())
        return self._history

    @property
    def last_round(self) -> LastRound | None:
        """The last rated round; None if no contest was rated."""
        last = to_pandas(self.history)[["round_index", "contest", "time_seconds"]].tail(1)
        return LastRound(*last.iloc[0].tolist()) if len(last) else None

    def __len__(self) -> int:
        """The number of rated players."""
        return int(np.count_nonzero(self._beliefs.columns["n_rounds"]))

    def __ranklake_beliefs__(self) -> PlayerBeliefs:
        return self._beliefs

    def __repr__(self) -> str:
        return f"Ratings({self.label}: {len(self):,} players, {self.n_contests:,} contests)"

    def _repr_html_(self) -> str:
        return ratings_html(repr(self), to_pandas(self.leaderboard(10)), self._display().decimals)

    def _display(self, deviations: float | None = None) -> Display:
        """How ratings are displayed: ``mu - deviations * (sigma - its limit)``."""
        system, params = self._beliefs.system, self._beliefs.params
        return Display(system, params, system.deviations if deviations is None else deviations)

    def leaderboard(
        self, top: int | None = None, *, min_rounds: int = 1, since: Any = None, deviations: float | None = None
    ) -> Any:
        """All rated players, best first.

        Parameters
        ----------
        top
            Only so many rows.
        min_rounds
            Only players with at least so many rounds.
        since
            Only players whose last round is not before this time: seconds, a date or a datetime.
        deviations
            The display rating is mu - deviations (sigma - its limit); by default the system's own factor.

        Returns
        -------
        frame
            ``place`` (from 1, ties share one), ``player, rating, mu, sigma, n_rounds, last_time_seconds``; of the kind
            of the results.
        """
        seconds = None if since is None else as_seconds(since)
        table = leaderboard_of(self._beliefs, self._display(deviations), min_rounds, seconds)
        return as_kind(table if top is None else table.head(top), self._kind)

    def player(self, player: Any) -> Any:
        """The rows of one player in :attr:`history`.

        Raises
        ------
        ValueError
            There is no such player; the message names similar ones.
        """
        self._check_player(player)
        history = to_pandas(self.history)
        return as_kind(history[history["player"] == player], self._kind)

    def predict(
        self,
        players: Sequence[Any],
        *,
        time: Any = None,
        weight: float = 1.0,
        perf_ceiling: float = math.inf,
        deviations: float | None = None,
    ) -> Prediction:
        """Predict a round among some players; see :func:`ranklake.predict`."""
        return predict(self, players, time=time, weight=weight, perf_ceiling=perf_ceiling, deviations=deviations)

    def update(self, results: Any, *, engine: Any = "threads", workers: int | None = None) -> Self:
        """Rate further contests, after all others; returns new ratings, to the bit those of the whole history at once.

        ``results`` have the same names of columns as before, and may be a frame of another kind.

        Raises
        ------
        ValueError
            A contest is rated already, or as for :meth:`rate`.
        """
        before = self._beliefs
        rated = _rate(results, self._reading, None, {}, engine, workers, self)
        past = pd.Index(to_pandas(self.history)["contest"].unique())
        first_rows = rated.results.rows[rated.results.rounds.offsets[:-1]]
        names = pd.Index(rated.results.frame.take(rated.results.columns["contest"], first_rows))
        if len(again := names[names.isin(past)]):
            raise ValueError(f"contest {again[0]!r} is rated already; update takes further contests only")
        if 0 != int(rated.results.rounds.time_seconds[0]) < before.last_time:
            warnings.warn("time goes back at the first contest; the order was kept as given", stacklevel=2)
        history = _history(rated, self.n_contests)
        n_contests = self.n_contests + len(rated.results.rounds)
        together = concat(self.history, history, self._kind)
        return type(self)(rated.beliefs, n_contests, self._kind, self._reading, together)

    def evaluate(self, first_round: int = 0, *, scale: float = SCALE) -> pd.DataFrame:
        """Scores of the predictions from the ratings before each round; see :func:`ranklake.evaluate_history`."""
        return evaluate_history(to_pandas(self.history), first_round, scale=scale)

    def plot_player(self, *players: Any) -> Figure:
        """The rating of one player over time with the performances, or of several players.

        Raises
        ------
        ValueError
            No player is named, or one is unknown or has no round.
        MissingExtraError
            Matplotlib is not installed.
        """
        for player in players:
            self._check_player(player)
        form = RatingFormat(NONE, self._display().decimals)
        return players_of(to_pandas(self.history), players, self.label, form)

    def plot_distribution(self) -> Figure:
        """How many players have which rating.

        Raises
        ------
        MissingExtraError
            Matplotlib is not installed.
        """
        return distribution_of(to_pandas(self.leaderboard())["rating"].to_numpy(), self.label)

    def _check_player(self, player: Any) -> None:
        known = self._beliefs.players
        if player not in known:
            near = (
                near_names(player, filter(lambda one: isinstance(one, str), known)) if isinstance(player, str) else []
            )
            meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else f"; players are as {known[0]!r}"
            raise ValueError(f"there is no player {player!r}{meant}")


def _rate(
    results: Any,
    reading: Mapping[str, Any],
    system: SystemName | None,
    hyperparameters: Mapping[str, Any],
    engine: Any,
    workers: int | None,
    beliefs: Any,
) -> RatedResults:
    table = Results.read(
        results, reading.get("columns"), reading.get("on_error", "stop"), reading.get("duplicates", "error")
    )
    return rate_results(
        table, system, hyperparameters,
        engine=engine, workers=workers, beliefs=beliefs, skip_uninformative=reading.get("skip_uninformative"),
    )  # fmt: skip


def _history(rated: RatedResults, first_round: int) -> Any:
    """The history in the kind of the results, with their other columns."""
    columns = rated.columns(first_round)
    beliefs = rated.beliefs
    display = Display(beliefs.system, beliefs.params, beliefs.system.deviations)
    times = np.repeat(rated.rated.time_seconds, np.diff(rated.rated.offsets))
    rating = display.rating(columns["mu"], columns["sigma"], columns["n_before"] + np.int32(1))
    head = {name: columns.pop(name) for name in ("round_index", "contest", "player")}
    history = rated.results.frame.extend(rated.rows(), head | {"time_seconds": times} | columns | {"rating": rating})
    if isinstance(history, pd.DataFrame):
        history.attrs |= rated.attributes()
    return history
