"""Several runs of one command: one for each system, on one machine, or whole runs on workers that open the lake."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.in_process_engine import InProcessActorGroup, InProcessEngine
from helpers.lakes import commit_often, copy_of, lake_of, rate_run, rated, same_tables, synthetic
from helpers.timeouts import TIMEOUT

from ranklake.flows.engines.protocols import Engine, EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.flows.rating import multi_run, run_worker
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.multi_run import rate_many
from ranklake.flows.rating.plan import Plan
from ranklake.flows.rating.rate import RateOptions, rate
from ranklake.flows.rating.report import Progress, RateReport
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.rating.run_worker import RunWorker, rate_on_worker
from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Delegate

SYSTEMS = ("elo-mmr", "glicko", "elo")
CONTESTS = synthetic(30)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_of(tmp_path / "lake", CONTESTS)


def test_rate__several_systems_have_a_run_each(invoke: Command, lake: Lake) -> None:
    systems = [word for system in SYSTEMS for word in ("--system", system)]
    result = invoke("rate", "--dataset", "games", *systems, "--set", "elo.n=300", "--lake", lake.url).out.splitlines()
    names = [line.split(":")[0].removeprefix("run ") for line in result]
    assert names[:2] == ["games-elo-mmr", "games-glicko"]
    rate_run(lake, run="alone", system="elo", n=300)
    assert same_tables(rated(lake, names[2]), rated(lake, "alone"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--system", "elo", "--system", "elo"), "a system is given twice: elo, elo"),
        (("--system", "elo", "--system", "bar", "--set", "n=3"), "a setting is SYSTEM.KEY=VALUE, got n=3"),
        (
            ("--system", "elo", "--system", "bar", "--set", "glicko.n=3"),
            "a setting is SYSTEM.KEY=VALUE, got glicko.n=3",
        ),
        (("--system", "elo", "--system", "bar", "--run", "x"), "--run is the name of one run"),
        (("--engine", "threads", "--scheduler", "tcp://x:1"), "a scheduler goes with engine dask, got engine threads"),
        (("--scheduler", "tcp://x:1", "--workers", "2"), "give a scheduler or workers, not both"),
        (("--engine", "abacus"), "engine must be one of serial, threads, dask, got 'abacus'"),
    ],
)
def test_rate__refuses_options_that_exclude_each_other(invoke: Command, lake: Lake, arguments, message: str) -> None:
    assert message in invoke.refuses("rate", "--dataset", "games", *arguments, "--lake", lake.url, code=2)


@pytest.mark.parametrize("make", [Serial, lambda: InProcessEngine(2)], ids=["serial", "bench"])
def test_rate_many__has_the_bits_of_single_runs(lake: Lake, make) -> None:
    configs = resolve_runs(lake, "games", systems=SYSTEMS)
    seen: list[Progress] = []
    reports = dict(rate_many(lake, configs, make(), RateOptions(on_progress=seen.append)))
    assert {config.run for config in reports} == {f"games-{system}" for system in SYSTEMS}
    assert (seen[-1].rounds, seen[-1].n_rounds) == (3 * len(CONTESTS), 3 * len(CONTESTS))
    for system in SYSTEMS:
        rate_run(lake, run="alone-" + system, system=system)
        assert same_tables(rated(lake, "games-" + system), rated(lake, "alone-" + system))


class PartialEngine(InProcessEngine):
    """An engine on which one system has no workers."""

    def start_actors(self, make, init_args, max_workers=None):  # type: ignore[no-untyped-def]
        if init_args(0, 1) == ("glicko",):
            raise EngineError("no workers for glicko")
        return super().start_actors(make, init_args, max_workers)


def test_rate_many__a_failed_run_does_not_stop_the_others(lake: Lake, caplog) -> None:
    runs = rate_many(lake, resolve_runs(lake, "games", systems=SYSTEMS), PartialEngine(2))
    done = [next(runs)[0].run, next(runs)[0].run]
    with pytest.raises(EngineError, match="no workers for glicko"):
        next(runs)
    assert sorted(done) == ["games-elo", "games-elo-mmr"]
    assert caplog.messages == ["run games-glicko failed: no workers for glicko"]


def test_rate_many__on_a_cluster_runs_in_parallel(lake: Lake) -> None:
    """A barrier at the first progress of each run."""
    meet, met = threading.Barrier(3, timeout=TIMEOUT), set()

    def wait(progress: Progress) -> None:
        name = threading.current_thread().name
        if name not in met:
            met.add(name)
            meet.wait()

    configs = resolve_runs(lake, "games", systems=SYSTEMS)
    assert len(list(rate_many(lake, configs, InProcessEngine(2), RateOptions(on_progress=wait)))) == 3


@pytest.mark.parametrize("engine", [Serial(), InProcessEngine(2)], ids=["serial", "bench"])
def test_rate_many__an_interrupt_ends_all_runs(lake: Lake, engine: Engine) -> None:
    configs = resolve_runs(lake, "games", systems=SYSTEMS)
    runs = rate_many(lake, configs, engine)
    next(runs)
    with pytest.raises(KeyboardInterrupt):
        runs.throw(KeyboardInterrupt())
    for thread in threading.enumerate():  # the other runs end after their next round
        if thread.name.startswith("ranklake-run"):
            thread.join(TIMEOUT)
    assert len(list(rate_many(lake, configs, Serial()))) == 3


# Whole runs on workers

TWO = ("glicko", "elo")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The rated rows of each run, and what is counted in its report."""
    lake = lake_of(tmp_path_factory.mktemp("expected"), CONTESTS)
    reports = {system: rate_run(lake, run=system, system=system) for system in TWO}
    return {f"games-{system}": (rated(lake, system), counted(reports[system])) for system in TWO}


def counted(report: RateReport) -> list[Any]:
    names = ("kept", "rated", "rows", "reasons", "excluded", "holds", "why")
    return [getattr(report, name) for name in names]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the calls to workers."""
    names, call_all = list[str](), InProcessActorGroup.call_all

    def watched(self: InProcessActorGroup, calls: Any, rows: int = 0, to_all: Any = ()) -> Any:
        names.extend(name for name, _ in [*to_all, *calls[0]])
        return call_all(self, calls, rows, to_all)

    monkeypatch.setattr(InProcessActorGroup, "call_all", watched)
    return names


def rate_all(lake: Lake, engine: Any, **options: Any) -> dict[str, RateReport]:
    runs = rate_many(lake, resolve_runs(lake, "games", systems=TWO), engine, RateOptions(**options))
    return {config.run: report for config, report in runs}


def until_ended() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("ranklake-run"):
            thread.join(TIMEOUT)


def slow_batches(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.02) -> None:
    """Batches of one contest; the worker is asked after each."""
    commit_often(monkeypatch, segment_rows=1)
    monkeypatch.setattr(run_worker, "ASK_SECONDS", seconds)


@pytest.mark.slow
@pytest.mark.parametrize("losses", [{1}, {3}, {4, 7, 9}, range(4, 9)], ids=["opening", "beginning", "rating", "often"])
def test_run__continues_on_another_worker(
    lake: Lake, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch, losses: Any
) -> None:
    """The lost worker goes on, and its lease is taken over."""
    slow_batches(monkeypatch, 0.0)
    reports = rate_all(lake, InProcessEngine(2, losses))
    assert sum(report.recoveries for report in reports.values()) >= 1
    for run, report in reports.items():
        table, counts = expected[run]
        assert counted(report) == counts
        assert same_tables(rated(lake, run), table)
    until_ended()


@pytest.mark.slow
def test_run__takes_over_from_a_lost_worker_that_takes_the_lease_at_the_same_moment(
    lake: Lake, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that take a lease at once, the slower one is refused."""
    refused = list[str]()

    def hold_too_late(lake: Lake, folder: str, purpose: str, *, steal: bool = False) -> Any:
        if steal and not refused:
            refused.append(folder)
            raise LeaseHeldError(f"{folder}: the lost worker holds the lease", path=folder)
        return hold_lease(lake, folder, purpose, steal=steal)

    monkeypatch.setattr(run_worker, "hold_lease", hold_too_late)
    slow_batches(monkeypatch, 0.0)
    reports = rate_all(lake, InProcessEngine(2, {1, 2}, of="ask"))  # a run has begun before it is asked for
    assert refused
    assert all(same_tables(rated(lake, run), expected[run][0]) for run in reports)
    until_ended()


class AtOnce:
    """A thread that does its work in the call that starts it."""

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...], **_: object) -> None:
        self.start = lambda: target(*args)


def test_run__that_a_lost_worker_has_rated_is_counted_and_configured_once(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver hears nothing of what the first worker does; the inclusion was asked for again, and refused."""
    monkeypatch.setattr(run_worker, "Thread", AtOnce)
    rate_run(lake, exclude=("3",))
    other = copy_of(lake, tmp_path / "other")
    config, dataset = RunConfig.of(Run.open(lake, "run")), Dataset.open(lake, "games")
    config = replace(config, include=("3",))
    found = rate_on_worker(config, Plan.of(config, dataset), InProcessEngine(1, {2}), RateOptions())
    expected = rate(other, config, Serial())
    assert found is not None
    assert (found.recoveries, counted(found)) == (1, counted(expected))
    assert expected.skipped > 0
    assert same_tables(rated(lake), rated(other))


def test_run__is_given_up_after_losses_without_a_new_round(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        EngineError, match=r"run games-\w+: a worker is lost at call \d+, 5 times without a new round; 0 r"
    ):
        rate_all(lake, InProcessEngine(2, range(1000)))
    until_ended()


def test_run__is_rated_by_all_workers_if_one_does_not_reach_the_lake(
    lake: Lake, expected: dict[str, Any], called: list[str], monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    def elsewhere(self: Delegate) -> Lake:
        raise LakeError(f"{self.address}: another lake has this address here")

    monkeypatch.setattr(Delegate, "open", elsewhere)
    rate_all(lake, InProcessEngine(2))
    address = lake.uri("").rstrip("/")
    assert sorted(caplog.messages) == [
        f"run {run}: rated by all workers, as actor 0 does not reach the lake ({address}: another lake has this "
        "address here)"
        for run in sorted(expected)
    ]
    assert "begin" not in called
    for run in expected:
        assert same_tables(rated(lake, run), expected[run][0])


def test_run__of_too_many_players_for_one_worker_is_rated_by_all(
    lake: Lake, expected: dict[str, Any], called: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multi_run, "MAX_PLAYERS", 2)
    rate_all(lake, InProcessEngine(2))
    assert "open" not in called
    for run in expected:
        assert same_tables(rated(lake, run), expected[run][0])


def test_run__that_is_complete_needs_no_worker(lake: Lake, called: list[str]) -> None:
    rate_all(lake, Serial())
    assert {report.rated for report in rate_all(lake, InProcessEngine(2)).values()} == {0}
    assert called == []


def test_run__its_error_is_that_of_one_process(lake: Lake) -> None:
    with pytest.raises(LakeError) as here:
        rate_all(lake, Serial(), start=100)
    with pytest.raises(LakeError) as there:
        rate_all(lake, InProcessEngine(2), start=100)
    assert str(there.value) == str(here.value)


def test_worker__ends_a_run_about_which_nobody_asks(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next command does not wait for the lease of a driver that has ended."""
    slow_batches(monkeypatch)
    monkeypatch.setattr(run_worker, "ALONE_SECONDS", 0.0)
    [_, config] = resolve_runs(lake, "games", systems=TWO)
    worker = RunWorker("elo")
    worker._lake = lake
    worker.begin(config, RateOptions())
    until_ended()
    assert isinstance(worker._ended, run_worker._StoppedError)
    rate_all(lake, Serial())


def test_run__of_another_writer_is_refused(lake: Lake) -> None:
    with hold_lease(lake, layout.run_folder("games-elo"), "a test"), pytest.raises(LeaseHeldError, match="a test"):
        rate_all(lake, InProcessEngine(2))
