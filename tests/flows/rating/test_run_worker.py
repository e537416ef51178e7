"""Whole runs on workers that open the lake themselves: the bits of one process, also after workers are lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.in_process_engine import InProcessActorGroup, InProcessEngine
from helpers.lakes import commit_often, copy_of, lake_of, rate_run, rated, same_tables, synthetic
from helpers.timeouts import TIMEOUT

from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.flows.rating import multi_run, run_worker
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.multi_run import rate_many
from ranklake.flows.rating.plan import Plan
from ranklake.flows.rating.rate import RateOptions, rate
from ranklake.flows.rating.report import RateReport
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.rating.run_worker import RunWorker, rate_on_worker
from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.lease import Delegate

SYSTEMS = ("glicko", "elo")
CONTESTS = synthetic(30)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The rated rows of each run, and what is counted in its report."""
    lake = lake_of(tmp_path_factory.mktemp("expected"), CONTESTS)
    reports = {system: rate_run(lake, run=system, system=system) for system in SYSTEMS}
    return {f"games-{system}": (rated(lake, system), counted(reports[system])) for system in SYSTEMS}


def counted(report: RateReport) -> list[Any]:
    names = ("kept", "rated", "rows", "reasons", "excluded", "holds", "why")
    return [getattr(report, name) for name in names]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_of(tmp_path / "lake", CONTESTS)


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
    runs = rate_many(lake, resolve_runs(lake, "games", systems=SYSTEMS), engine, RateOptions(**options))
    return {config.run: report for config, report in runs}


def until_ended() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("ranklake-run"):
            thread.join(TIMEOUT)


def slow_batches(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.02) -> None:
    """Batches of one contest; the worker is asked after each."""
    commit_often(monkeypatch, segment_rows=1)
    monkeypatch.setattr(run_worker, "ASK_SECONDS", seconds)


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
    [_, config] = resolve_runs(lake, "games", systems=SYSTEMS)
    worker = RunWorker("elo")
    worker._lake = lake
    worker.begin(config, RateOptions())
    until_ended()
    assert isinstance(worker._ended, run_worker._StoppedError)
    rate_all(lake, Serial())


def test_run__of_another_writer_is_refused(lake: Lake) -> None:
    with hold_lease(lake, layout.run_folder("games-elo"), "a test"), pytest.raises(LeaseHeldError, match="a test"):
        rate_all(lake, InProcessEngine(2))
