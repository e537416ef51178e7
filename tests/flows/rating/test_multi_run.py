"""Several runs of one command: one for each system, each with its own commits; and their placement."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import lake_of, rate_run, rated, same_tables, synthetic
from helpers.timeouts import TIMEOUT

from ranklake.flows.engines.protocols import Engine, EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.flows.rating.multi_run import rate_many
from ranklake.flows.rating.rate import RateOptions
from ranklake.flows.rating.report import Progress
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.storage import Lake

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
