"""Smooth a run: sweeps over its rounds, a checkpoint every few of them, and the result as a table beside the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels import ConvergenceError, Rounds
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoother
from ranklake.rating_kernels.warm import SMOOTHING
from ranklake.storage import DamagedError, Lake, LakeError, MissingError, Run
from ranklake.storage.lake import layout
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.runs.smoothing import StoredSmoothing

from ..common.adapters import all_rounds, conditions_of, to_ragged
from ..common.configuration.settings import params_to_json
from ..common.text import count
from ..compilation.compile import CompileCallback, announce, compile_parts
from ..engines.protocols import Engine
from ..events.apply import belief_reset
from ..execution.smoothing import Checkpoint, smooth_rounds
from ..rating.config import RunConfig, check_dataset_times
from ..rating.plan import Plan
from ..results.rated_rounds import RatedRounds
from ..results.smoothed import SKILLS, smoothing_digest
from .params import params_of
from .resets import resets_between

OnSweep = Callable[[int, float, float], None]
"""Called after a sweep with its number and its largest changes: of a round's mean, of two players' difference."""


@dataclass(frozen=True, slots=True)
class SmoothReport:
    """The result of a smoothing.

    ``rounds``, ``rows``: smoothed rounds and participations.
    ``sweeps``, ``resumed``: sweeps of the smoothing, and how many of them were done before this call. Equal if the
    result was up to date.
    """

    rounds: int
    rows: int
    sweeps: int
    resumed: int
    seconds: float

    def line(self) -> str:
        """The report in one line."""
        if self.resumed == self.sweeps:
            return f"smoothed before, {count(self.sweeps, 'sweep')}; nothing to do"
        after = f" after {self.resumed} done before" if self.resumed else ""
        done = f"{count(self.sweeps - self.resumed, 'sweep')}{after}"
        smoothed = f"{count(self.rounds, 'round')} with {count(self.rows, 'participation')}"
        return f"{smoothed} smoothed in {self.seconds:.1f} s: {done}"


def smooth_run(
    lake: Lake,
    run: str,
    engine: Engine,
    settings: Mapping[str, Any] | None = None,
    *,
    steal: bool = False,
    on_sweep: OnSweep = lambda sweep, mean_move, spread: None,
    on_compile: CompileCallback = announce,
) -> SmoothReport:
    """Smooth the committed rounds of a run, or continue where an earlier call was interrupted. The run stays as it is.

    ``settings``: hyperparameters beside those that follow from the run's system (:func:`.params.params_of`).
    Raises LakeError: there is no such run, its rounds no longer match its data set, a file is damaged, or another
    writer holds the lease on the run.
    Raises ValueError: a hyperparameter is unknown or out of range.
    Raises ConvergenceError: the sweeps do not converge, or a performance cannot be found in double precision.
    Raises EngineError: there are no workers, or they were lost too often. The last checkpoint stays.
    """
    began = time.perf_counter()
    Run.open(lake, run)  # before a lease makes its folder
    with hold_lease(lake, layout.run_folder(run), f"smooth {run}", steal=steal) as lease:
        rated = RatedRounds(lake, run)
        config, chain = RunConfig.of(rated.run), rated.chain
        params = params_of(config.params, settings or {})
        check_dataset_times(rated.dataset, Smoothing, {name: getattr(params, name) for name in settings or {}})
        resets = _check_current(rated, config).resets
        values = params_to_json(params)
        stored, digest = StoredSmoothing(lake, run, lease), smoothing_digest(chain, values)
        done = _readable(stored, digest)
        if done is not None:
            stored.remove_checkpoint()
            return SmoothReport(done[1], done[2], done[0], done[0], time.perf_counter() - began)
        names = ["round_index", "contest_id", "player", "lo", "hi"]
        rows = pa.concat_tables([rated.run.read_segment(segment).select([*names, "mu"]) for segment in chain.segments])
        table = rows.select(names)
        rounds, index = _rounds(table, rated)
        given = [(due.round_index, belief_reset(due, config.params, rated.dataset)) for due in resets]
        before = resets_between(given, rounds, index, rows.column("mu").to_numpy())
        if engine.on_this_machine:
            compile_parts([SMOOTHING], on_compile)
        checkpoint = _checkpoint(stored, digest, rounds.n_rows)
        facts = digest, chain.stop_round, values

        def after(smoother: Smoother) -> None:
            on_sweep(smoother.sweeps, smoother.mean_move, smoother.spread)
            if smoother.is_checkpoint:
                stored.commit("checkpoint", pa.table({"mean": smoother.mean}, _CHECKPOINT), *facts, smoother.sweeps)

        n_players = int(rounds.player.max()) + 1
        try:
            smoother = smooth_rounds(params, rounds, n_players, engine, checkpoint, after, before)
        except ConvergenceError as error:
            at = (
                "" if error.row is None else f", round {index[np.searchsorted(rounds.offsets, error.row, 'right') - 1]}"
            )
            raise ConvergenceError(f"run {run}{at}: {error.rule}") from error
        result = smoother.result()
        for name in ("perf", *SKILLS, "log_gain"):
            table = table.append_column(name, pa.array(getattr(result, name)))
        stored.commit("smoothed", table, *facts, smoother.sweeps)
        resumed = 0 if checkpoint is None else checkpoint[0]
        return SmoothReport(len(rounds), rounds.n_rows, smoother.sweeps, resumed, time.perf_counter() - began)


_CHECKPOINT = pa.schema([pa.field("mean", pa.float64(), nullable=False)])


def _check_current(rated: RatedRounds, config: RunConfig) -> Plan:
    """Refuse to smooth rounds that the data set no longer has: weights and times are read from there."""
    run, chain = rated.run, rated.chain
    plan = Plan.of(config, rated.dataset)
    if chain.rest or plan.holds < chain.stop_round:
        raise LakeError(
            f"run {run.name} does not match data set {rated.dataset.name} ({plan.why or chain.reason}); "
            f"`ranklake rate --run {run.name}` first",
            path=layout.run_file(run.name),
        )
    return plan


def _readable(stored: StoredSmoothing, digest: str) -> tuple[int, int, int] | None:
    """Sweeps, rounds and rows of the stored result if it is of these rounds, whole and readable; else None."""
    try:
        manifest = stored.manifest("smoothed")
        if manifest is None or manifest.digest != digest:
            return None
        if stored.read("smoothed", manifest).column("log_gain").null_count:
            return None  # of a release without gains
        return manifest.sweeps, manifest.n_rounds, manifest.n_rows
    except (DamagedError, MissingError):
        return None


def _checkpoint(stored: StoredSmoothing, digest: str, n_rows: int) -> Checkpoint | None:
    """The checkpoint to continue from; a checkpoint of other rounds or a damaged one is removed."""
    try:
        manifest = stored.manifest("checkpoint")
        if manifest is not None and manifest.digest == digest and manifest.n_rows == n_rows:
            return manifest.sweeps, stored.read("checkpoint", manifest).column("mean").to_numpy().copy()
    except (DamagedError, MissingError):
        pass
    stored.remove_checkpoint()
    return None


def _rounds(table: pa.Table, rated: RatedRounds) -> tuple[Rounds, npt.NDArray[Any]]:
    """The rounds of a run, without those that it skipped, or its games as rounds of two; and their indices."""
    round_index, player, lo, hi = (table.column(name).to_numpy() for name in ("round_index", "player", "lo", "hi"))
    contests = rated.dataset.contests
    if rated.of_games:
        kept = np.isin(np.arange(contests.num_rows), round_index)
        games = all_rounds(rated.dataset).keep(np.repeat(kept, contests.column("n_players").to_numpy() // 2))
        advantage = games.advantage if len(games.advantage) else None
        return Rounds.from_columns(
            games.offsets, player, lo, hi, games.time_seconds, games.weight, advantage=advantage,
            precision=games.precision,
        ), round_index[::2]  # fmt: skip
    first = np.flatnonzero(np.diff(round_index, prepend=-1))
    offsets, index = np.append(first, len(round_index)), round_index[first]
    time_seconds, (weight, precision) = contests.column("time_seconds").to_numpy()[index], conditions_of(contests)
    ceiling = contests.column("perf_ceiling").fill_null(np.inf).to_numpy()[index]
    found = rated.teams_of(table)
    teams = None if found is None else to_ragged(found, offsets)
    rounds = Rounds.from_columns(
        offsets, player, lo, hi, time_seconds, weight[index], ceiling, teams=teams, precision=precision[index]
    )  # fmt: skip
    if (rounds.participants == 1).any():
        run = rated.run.name
        raise LakeError(f"run {run} rates contests of one participant; smoothing cannot", path=layout.run_file(run))
    return rounds, index
