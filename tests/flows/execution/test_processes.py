"""Worker processes killed and stopped in every phase of a round: the ratings have the same bits."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.lakes import lake_of, often, rate_run, rated, same_tables, synthetic
from helpers.processes import ProcessEngine
from helpers.rated_runs import fresh
from helpers.timeouts import TIMEOUT

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.storage import Lake

OFTEN = often(segment_rows=30)

CONTESTS = synthetic(24, large=9)
LIMITS = ClusterLimits(shared_summary_rows=1000)
PHASES = [
    "finish_round",
    "columns",
    *(pytest.param(phase, marks=pytest.mark.slow) for phase in ("take", "put", "prior", "resume_summary", "absorb")),
]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return fresh(tmp_path_factory.mktemp("expected"), CONTESTS)


@pytest.fixture
def three() -> Iterator[ProcessEngine]:
    with ProcessEngine(3, LIMITS) as engine:
        yield engine


def strike(engine: ProcessEngine, phase: str, blow: Callable[[ProcessEngine], None]) -> None:
    """Call ``blow`` once, before the first call of a phase."""
    done = []

    def before(names: list[str]) -> None:
        engine.timeout = TIMEOUT
        if phase in names and not done:
            done.append(phase)
            blow(engine)

    engine.before_ask = before


def kill_one(engine: ProcessEngine) -> None:
    os.kill(engine.alive[1].process.pid, signal.SIGKILL)


def freeze_one(engine: ProcessEngine) -> None:
    os.kill(engine.alive[0].process.pid, signal.SIGSTOP)
    engine.timeout = 1.0  # of this call: any other one may be slow


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_rate__continues_when_a_worker_is_killed(
    three: ProcessEngine, expected: Lake, tmp_path: Path, phase, caplog
) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    strike(three, phase, kill_one)
    report = rate_run(lake, engine=three, policy=OFTEN)
    assert report.recoveries == len(caplog.messages) == 1
    assert three.workers == 2
    assert same_tables(rated(lake), rated(expected))


@pytest.mark.slow
def test_rate__continues_when_a_worker_freezes(expected: Lake, tmp_path: Path, caplog) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    with ProcessEngine(2, LIMITS) as engine, caplog.at_level(logging.WARNING):
        strike(engine, "finish_round", freeze_one)
        report = rate_run(lake, engine=engine, policy=OFTEN)
    assert report.recoveries == len(caplog.messages) == 1
    assert "timed out" in caplog.text
    assert same_tables(rated(lake), rated(expected))


@pytest.mark.slow
def test_rate__waits_for_a_slow_worker(expected: Lake, tmp_path: Path) -> None:
    """A worker that is stopped and continued soon after is not lost."""
    lake = lake_of(tmp_path, CONTESTS)
    with ProcessEngine(2, LIMITS) as engine:
        pid = engine.alive[0].process.pid
        strike(
            engine,
            "finish_round",
            lambda engine: os.system(f"kill -STOP {pid}; (sleep 1; kill -CONT {pid}) &") and None,
        )
        report = rate_run(lake, engine=engine, policy=OFTEN)
        assert (report.recoveries, engine.workers) == (0, 2)
    assert same_tables(rated(lake), rated(expected))


@pytest.mark.slow
def test_rate__names_the_committed_rounds_when_all_workers_are_killed(
    three: ProcessEngine, expected: Lake, tmp_path: Path
) -> None:
    def kill_all(engine: ProcessEngine) -> None:
        for worker in engine.alive:
            os.kill(worker.process.pid, signal.SIGKILL)

    lake = lake_of(tmp_path, CONTESTS)
    strike(three, "resume_summary", kill_all)
    with pytest.raises(EngineError, match=r"run run: no process is left; \d+ rounds committed"):
        rate_run(lake, engine=three, policy=OFTEN)
    rate_run(lake, engine=Serial(), policy=OFTEN)
    assert same_tables(rated(lake), rated(expected))
