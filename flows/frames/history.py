"""Rate a data frame of results into a data frame of ratings, without a lake."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranklake.rating_kernels import Beliefs, Outcome, Rounds, System

from ..common.settings import build_params, find_system
from ..common.skipping import REASONS, Skipping
from ..compilation.compile import compile_kernels
from ..engines.factory import ENGINES, open_engine
from ..engines.protocols import Engine, EngineError, LocalEngine, WorkersLostError
from ..execution.factory import open_rater
from ..execution.outcomes import RoundError, named_error
from ..execution.rater import BeliefColumns
from ..sources.base import SourceError
from ..sources.column_names import Columns
from ..sources.results import rounds_from_results
from .beliefs import beliefs_frame, build_store

__all__ = ["rate_history"]

RECOVERIES = 5  # from the start: a history in memory has no snapshots

log = logging.getLogger("ranklake.rate")


def rate_history(
    results: Any,
    system: str = "elo-mmr",
    *,
    engine: Any = "threads",
    workers: int | None = None,
    beliefs: Mapping[Any, float] | pd.DataFrame | None = None,
    return_beliefs: bool = False,
    skip_uninformative: bool | None = None,
    **hyperparameters: Any,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """Rate a whole history of contests.

    Parameters
    ----------
    results
        A pandas, Polars, Arrow or Dask frame, one row a participation: ``contest, player``, and ``rank`` (lower is
        better, equals tie), ``lo, hi`` (zero-based first and last place of the tie group) or ``score`` (higher is
        better, equals tie); optionally ``time_seconds`` or ``time`` (UTC seconds, dates or datetimes) or ``date``
        (dates or datetimes), ``weight, perf_ceiling``. Other columns are ignored. Rows of a contest may come in any
        order; contests are rated in order of appearance.
    system
        A key of ``ranklake.rating_kernels.SYSTEMS``; ``hyperparameters`` are its parameters.
    engine, workers
        ``serial``, ``threads`` or ``dask``, and the number of workers; or a Dask client, to use its workers. The same
        bits in any case.
    beliefs
        Beliefs before the first contest: a mapping from player to ``mu``, or a frame indexed by player with ``mu`` and
        optionally ``sigma``, ``n_rounds`` and the other columns of the system. A frame from ``return_beliefs`` resumes
        exactly. All other players are newcomers.
    return_beliefs
        Also return the final beliefs of all players, including players of ``beliefs`` without a contest.
    skip_uninformative
        None skips contests of one participant, and those of three or more in which all tie if the system's authors
        do so (elo-mmr, elo-mmx, elo-r). True skips the latter for any system; False rates every contest. A draw of two
        players is always rated.

    Returns
    -------
    pd.DataFrame
        One row per participation in rating order: ``round_index, contest, player, lo, hi, perf, mu_prior, sigma_prior,
        mu, sigma, n_before``, ``contest`` and ``player`` as given; ``attrs["skipped"]`` counts contests skipped,
        ``attrs["reasons"]`` by reason, ``attrs["violations"]`` violated invariants of the system, with counts.

    Raises
    ------
    ValueError
        Invalid results (the message names the contest, the rows and the rule), a hyperparameter out of range, or
        invalid beliefs.
    ConvergenceError
        A round cannot be rated in double precision, or a rating is not a number; the message names the contest, the
        player and the hyperparameters that are probably too extreme.
    """
    rating_system = find_system(system)
    params = build_params(rating_system, hyperparameters)
    table = _Results.read(results)
    store, players = build_store(rating_system, params, table.players, beliefs)
    first_event = beliefs.attrs.get("events", 0) if isinstance(beliefs, pd.DataFrame) else 0
    rounds = dataclasses.replace(table.rounds, event=table.rounds.event + first_event)
    reasons = Skipping.of(rating_system, skip_uninformative).reasons(rounds)
    informative = reasons == 0
    rated = rounds.keep(informative)
    with _open_engine(engine, workers) as opened_engine:
        if isinstance(opened_engine, LocalEngine):
            compile_kernels(rating_system.name, np.diff(rated.offsets))
        try:
            outcome, final_beliefs = _rate_all(rating_system, params, store, rated, opened_engine)
        except RoundError as error:
            at = int(np.flatnonzero(informative)[error.round])
            player = None if error.player is None else str(players[error.player])
            remedy = "choose other hyperparameters, or leave the contest out"
            raise named_error(error, rating_system, params, rated, table.contest(at), at, player, remedy) from error
    history = table.history(informative, rated, outcome)
    history.attrs |= {
        "skipped": int(np.count_nonzero(reasons)),
        "reasons": {text: n for reason, text in REASONS.items() if (n := int(np.count_nonzero(reasons == reason)))},
        "violations": rating_system.violations(rated, outcome),
    }
    if not return_beliefs:
        return history
    final = beliefs_frame(final_beliefs, players)
    final.attrs["events"] = int(rounds.event[-1]) + 1 if len(rounds) else first_event
    return history, final


@dataclass(frozen=True, slots=True)
class _Results:
    """A frame of results, and its contests as rounds.

    Attributes
    ----------
    columns : dict of str to str
        The frame's name of each column.
    rounds : Rounds
        All contests, in order of appearance.
    rows : int64[n]
        The row of the frame of each row of ``rounds``.
    players : list
        The players as the frame has them, by their index in ``rounds``.
    """

    frame: pd.DataFrame
    columns: dict[str, str]
    rounds: Rounds
    rows: npt.NDArray[np.int64]
    players: list[Any]

    @classmethod
    def read(cls, results: Any) -> _Results:
        """Read a frame of any kind.

        Raises
        ------
        ValueError
            Invalid results; the message names the contest, the rows and the rule.
        """
        frame = _to_pandas(results)
        try:
            columns = Columns().find([str(name) for name in frame.columns], "results", frame=True)
            if "time" not in columns and _has_date_column(frame):
                columns["time"] = "date"
            table = pa.Table.from_pandas(frame[list(columns.values())], preserve_index=False)
            rounds, rows, first_row = rounds_from_results(table, columns)
        except SourceError as error:
            raise ValueError(str(error)) from None
        except pa.ArrowException as error:
            raise ValueError(f"results: a column mixes kinds of values: {error}") from None
        return cls(frame, columns, rounds, rows, list(frame[columns["player"]].iloc[first_row]))

    def contest(self, index: int) -> str:
        """The name of a contest."""
        return str(self.frame[self.columns["contest"]].iloc[int(self.rows[self.rounds.offsets[index]])])

    def history(self, informative: npt.NDArray[np.bool_], rated: Rounds, outcome: Outcome) -> pd.DataFrame:
        """The table of ratings; ``rated`` holds the ``informative`` rounds."""
        rows = self.rows[np.repeat(informative, np.diff(self.rounds.offsets))]
        return pd.DataFrame(
            {
                "round_index": np.repeat(np.flatnonzero(informative), np.diff(rated.offsets)).astype(np.int32),
                "contest": self.frame[self.columns["contest"]].iloc[rows].array,
                "player": self.frame[self.columns["player"]].iloc[rows].array,
                "lo": rated.lo,
                "hi": rated.hi,
                "perf": outcome.perf,
                "mu_prior": outcome.mu_prior,
                "sigma_prior": outcome.sigma_prior,
                "mu": outcome.mu,
                "sigma": outcome.sigma,
                "n_before": outcome.n_before,
            }
        )


def _open_engine(engine: Any, workers: int | None) -> Engine:
    if isinstance(engine, str):
        return open_engine(engine, workers)
    if not hasattr(engine, "scheduler"):
        raise ValueError(f"engine must be one of {', '.join(ENGINES)} or a Dask client, got {type(engine).__name__}")
    from ..engines.cluster import Cluster

    return Cluster.of(engine)


def _rate_all(
    system: System, params: Any, store: Beliefs, rounds: Rounds, opened_engine: Engine
) -> tuple[Outcome, BeliefColumns]:
    """Rate all rounds and return the final beliefs, too; begin again from the start when workers are lost."""
    for attempt in range(1, RECOVERIES + 2):
        try:
            rater = open_rater(system, params, len(store), opened_engine)
            try:
                rater.restore(store.columns())
                [outcome] = rater.rate_batches([rounds])
                return outcome, rater.columns()
            finally:
                rater.close()
        except WorkersLostError as lost:
            if attempt > RECOVERIES:
                raise EngineError(f"{lost}, {attempt} times; nothing was rated") from lost
            log.warning("%s; recovery %d, from the start", lost, attempt)
    raise AssertionError("unreachable")


def _to_pandas(results: Any) -> pd.DataFrame:
    if hasattr(results, "compute"):  # Dask
        results = results.compute()
    if hasattr(results, "to_pandas"):  # Arrow, Polars
        results = results.to_pandas()
    if not isinstance(results, pd.DataFrame):
        raise ValueError(f"results must be a pandas, Polars, Arrow or Dask frame, got {type(results).__name__}")
    return results


def _has_date_column(frame: pd.DataFrame) -> bool:
    """Whether the column ``date`` holds dates or datetimes, which can only be times."""
    if "date" not in frame.columns or frame["date"].ndim != 1:
        return False
    kind = pa.array(frame["date"].head(1), from_pandas=True).type
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))
