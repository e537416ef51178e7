"""Rate the rounds of a run: keep the valid rounds, rate and commit the others.

A round is valid if its chain digest is unchanged: the digest of the content of its contest and of everything before
it, beginning with the system, its hyperparameters and the format. After any change (a corrected contest, another
hyperparameter, a crash), the run is truncated at the first digest that differs, and resumes from the newest snapshot
before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ranklake.rating_kernels.warm import CHANCES
from ranklake.storage import Dataset, Lake, LakeError, MissingError, Run
from ranklake.storage.datasets.tables.games import GAMES_KIND
from ranklake.storage.lake import layout
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Lease

from ..chances.settings import ChanceSettings
from ..common.adapters import check_contests
from ..common.configuration.settings import check_simultaneous, chosen_of, find_system
from ..common.margins import check_points, has_points, uses_points
from ..compilation.compile import CompileCallback, announce, compile_kernels, compile_parts
from ..engines.protocols import Engine
from ..engines.threads import Threads
from ..events.apply import check_resets
from ..execution.rounds import check_margins, check_team_rule
from ..results.components import Components
from ..results.meetings import meetings_of, store_meetings
from .chain import NUMERICS
from .commits import commit_policy
from .commits.commit_policy import CommitPolicy
from .config import (
    RunConfig,
    check_dataset_covariates,
    check_dataset_periods,
    check_dataset_scores,
    check_dataset_times,
    check_level_times,
)
from .learning import Learning, check_learning, too_many_games
from .plan import RATED_FROM, Plan
from .plan_runner import PlanRunner
from .report import Progress, RateReport
from .resolve import refuse_other


@dataclass(frozen=True, slots=True)
class RateOptions:
    """How runs are brought up to date. No rating depends on it.

    ``max_rounds``: rate only the first ``max_rounds`` contests of the data set; rounds committed beyond them stay.
    ``start``: rate again from this round on, or from an earlier one, even if the committed rounds are valid.
    ``steal``: take the lease over from a writer that is certainly dead.
    ``dry_run``: only report what would be done; write nothing.
    ``on_progress``: called after each batch.
    ``on_compile``: called when kernels must be compiled first; the time in the report does not include the compilation.
    ``policy``: limits of segments and snapshots; None is :data:`.commit_policy.DEFAULT`.
    """

    max_rounds: int | None = None
    start: int | None = None
    steal: bool = False
    dry_run: bool = False
    on_progress: Callable[[Progress], None] = lambda _: None
    on_compile: CompileCallback = announce
    policy: CommitPolicy | None = None


DEFAULTS = RateOptions()


def rate(lake: Lake, config: RunConfig, engine: Engine, options: RateOptions = DEFAULTS) -> RateReport:
    """Bring one run up to date with its data set: keep the valid rounds, rate the others.

    Raises ValueError: the run exists with another configuration, and ``config.replace`` is false; or the data set has
    teams, contests or times for which the configuration has no rule.
    Raises LakeError: the data set or a contest to exclude is missing, a newer release rated the run, a file is damaged,
    replayed rounds have other ratings than stored ones, a number is out of range, or another writer holds the lease.
    Raises ConvergenceError: a round cannot be rated in double precision, or a rating is not a number.
    Raises EngineError: there are no workers, or they were lost too often. As after any error, the committed rounds
    stay, and the next call continues.
    """
    dataset = Dataset.open(lake, config.dataset)  # before a lease makes a folder of the run
    if options.dry_run:
        return checked_plan(dataset, config, options).report()
    with hold_lease(lake, layout.run_folder(config.run), f"rate {config.run}", steal=options.steal) as lease:
        return rate_under(lease, dataset, config, engine, options)


def rate_under(
    lease: Lease, dataset: Dataset, config: RunConfig, engine: Engine, options: RateOptions = DEFAULTS
) -> RateReport:
    """As :func:`rate`, under a lease of the run that the caller holds."""
    began, lake = time.perf_counter(), dataset.lake
    Run.take_over(lake, config.run, lease)
    while True:
        plan = checked_plan(dataset, config, options)
        try:
            if not plan.done:
                began += _compile(config, plan, engine, options.on_compile)
            run = truncated_run(lake, config, plan, lease)
            report = _completed(config, plan, run, engine, options, lease, began)
            return replace(report, apart=store_apart(run, dataset, not plan.done))
        except MissingError:
            stale, dataset = dataset, Dataset.open(lake, config.dataset)
            if dataset.contests.equals(stale.contests, check_metadata=True):
                raise
            # After two commits to the data set, the files in use are deleted. Valid rounds are kept.


def checked_plan(dataset: Dataset, config: RunConfig, options: RateOptions) -> Plan:
    """The plan of a run, after checks of its configuration and its contests."""
    plan = Plan.of(config, dataset, options.max_rounds, options.start)
    if plan.run is not None and not config.replace:
        recorded = plan.run.config.get("numerics")
        if isinstance(recorded, int) and recorded > NUMERICS:
            raise LakeError(
                f"run {config.run}: a newer release of ranklake rated it; update ranklake, or add --replace to discard "
                "its ratings and rate it again with this release",
                path=layout.run_file(config.run),
            )
        refuse_other(RunConfig.of(plan.run), replace(config, recorded=plan.skipping))
    if dataset.kind != GAMES_KIND:
        where = f"data set {dataset.name} has contests, and a contest is always one period"
        check_simultaneous(find_system(config.system), config.params, where)
    check_dataset_periods(config, dataset, "mu" in plan.state)
    if plan.has_teams:
        check_team_rule(find_system(config.system), f"data set {dataset.name} has contests of teams")
    check_dataset_scores(find_system(config.system), dataset)
    if uses_points(config.params):
        check_points(config.params.margin, has_points(dataset), f"data set {dataset.name}")
        if dataset.kind != GAMES_KIND:
            check_margins(find_system(config.system), config.params, plan.sizes(0, plan.n_rounds))
    if plan.run is None or plan.run.config.get("params") != plan.config["params"]:  # older runs go on
        check_dataset_times(dataset, type(config.params), chosen_of(config.params))
    check_dataset_covariates(config.params, dataset)
    check_level_times(dataset, config.level)
    check_learning(config, plan)
    check_resets(find_system(config.system), config.params, dataset, plan.resets)
    check_contests(dataset, ~plan.excluded, plan.kept, plan.n_rounds)
    return plan


def store_apart(run: Run, dataset: Dataset, changed: bool) -> str:
    """A line about large groups of players who never met, else empty; of a changed run, stores who met whom."""
    chain = run.segments()
    found = meetings_of(run, dataset, chain)
    if changed:
        store_meetings(run, chain, found)
    return Components.numbered(found).line_in(dataset)


def _completed(
    config: RunConfig, plan: Plan, run: Run, engine: Engine, options: RateOptions, lease: Lease, began: float
) -> RateReport:
    """Rate the rounds that are left, and learn from all; seconds are counted from ``began``."""
    learning = Learning.of(config, plan, run)
    try:
        if plan.done:
            report = replace(plan.report(), planned=False)
        else:
            runner = PlanRunner(config, plan, run, engine, options.policy or commit_policy.DEFAULT, learning)
            report = runner.complete(options.on_progress, began)
            report.warnings += tuple(filter(None, [too_many_games(config, plan)]))
        if learning is not None:
            report.warnings += tuple(filter(None, [learning.store(lease)]))
    finally:
        if learning is not None:
            learning.close()
    report.seconds = time.perf_counter() - began
    return report


def _compile(config: RunConfig, plan: Plan, engine: Engine, on_compile: CompileCallback) -> float:
    """Compile the kernels for the rounds to rate; returns the seconds that this took.

    Workers on other machines compile their own kernels; workers on this machine use its cache.
    """
    games, seconds = plan.dataset.kind == GAMES_KIND, 0.0
    if isinstance(engine, Threads):
        sizes = [2] if games else plan.sizes(plan.resumes_at, plan.n_rounds)
        seconds = compile_kernels(config.system, sizes, on_compile)
    elif engine.on_this_machine:
        seconds = compile_kernels(config.system, None, on_compile)
    learns = games and ChanceSettings.of(plan.config).learns
    return seconds + (compile_parts([CHANCES], on_compile) if learns else 0.0)


def truncated_run(lake: Lake, config: RunConfig, plan: Plan, lease: Lease) -> Run:
    """The run without invalid rounds; created if it does not exist."""
    run = Run.create(lake, config.run, plan.config, lease) if plan.run is None else plan.run
    run.lease = lease
    if plan.run is not None:
        other = any(run.config.get(key) != plan.config[key] for key in RATED_FROM)
        if not (plan.done or other):
            run.entry_ratings()  # no round is deleted if they are damaged
        run.truncate(plan.holds, plan.chain)  # also removes the incomplete files of a crash
        if other:
            run.remove_entry_ratings()  # other ratings have other ratings at entry
        if run.config != plan.config:
            run.configure(plan.config)
    known = run.reset_players() if plan.resets else {}
    for reset in plan.resets:
        if reset.handles is not None and reset.round_index < plan.n_rounds and reset.event.event_id not in known:
            run.record_reset_players(reset.event.event_id, reset.handles)
    return run
