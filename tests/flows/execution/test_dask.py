"""The engine dask on a local and on an existing cluster, with losses of workers, scheduler and connection.

Runs where Dask's distributed scheduler is installed (`pip install 'ranklake[cluster]'`).
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.memory import forget_peaks, peak_bytes
from helpers.lakes import lake_of, often, rate_run, rated, same_tables, synthetic
from helpers.rated_runs import fresh
from helpers.timeouts import TIMEOUT

from ranklake import rate_history
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.rating.multi_run import rate_many
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.rating.run_worker import RunWorker
from ranklake.rating_kernels import SYSTEMS as KERNELS
from ranklake.rating_kernels import Rounds
from ranklake.storage import Lake

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")
import dask.config  # noqa: E402
from helpers.cluster_sites import Site  # noqa: E402

from ranklake.flows.engines import cluster as engine_module  # noqa: E402
from ranklake.flows.engines.actors import DaskActorGroup  # noqa: E402
from ranklake.flows.engines.cluster import Cluster  # noqa: E402

OFTEN = often(segment_rows=30)

CONTESTS = synthetic(60, large=9)
LIMITS = ClusterLimits(shared_summary_rows=1000, overlap_rows=0, return_seconds=8.0)
# Warnings are of killed connections.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Lake]:
    made: dict[str, Lake] = {}

    def of(system: str) -> Lake:
        if system not in made:
            made[system] = fresh(tmp_path_factory.mktemp(system), CONTESTS, system=system)
        return made[system]

    return of


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    opened = Site(tmp_path, 2)
    yield opened
    opened.close()


@pytest.mark.parametrize("system", ["elo-mmr", "codeforces", "atcoder", "bar"])
def test_dask__has_the_bits_of_serial_on_its_own_cluster(system: str, expected, tmp_path: Path) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    with open_engine("dask", 2) as engine:
        assert engine.workers == 2
        assert rate_run(lake, engine=engine, system=system, policy=OFTEN).recoveries == 0
    assert same_tables(rated(lake), rated(expected(system)))


def kill_one(site: Site) -> None:
    site.workers[0].kill()


def freeze_one(site: Site) -> None:
    site.workers[1].send_signal(signal.SIGSTOP)


def pause_one(site: Site) -> None:
    """A worker that goes on soon after is not lost."""
    freeze_one(site)
    threading.Timer(1.0, site.workers[1].send_signal, [signal.SIGCONT]).start()


def replace_workers(site: Site) -> None:
    site.add_worker()
    site.wait(3)
    for worker in site.workers[:2]:
        worker.kill()


PHASES = ("finish_round", "take", "put", "prior", "resume_summary", "absorb", "columns")
LOSSES = {  # phase of the call, blow, timeout of the call, least and most recoveries, workers that are left
    **{f"killed at {phase}": (phase, kill_one, None, 1, 1, 1) for phase in PHASES},
    "frozen": ("finish_round", freeze_one, 5.0, 1, 9, None),
    "paused": ("finish_round", pause_one, None, 0, 0, 2),
    "replaced": ("finish_round", replace_workers, None, 1, 9, 1),
}


@pytest.mark.bound("ranklake.flows.engines.limits.ClusterLimits.reply_seconds")
@pytest.mark.parametrize("loss", LOSSES)
def test_dask__continues_when_a_worker_is_lost(site: Site, strike, expected, tmp_path: Path, loss: str, caplog) -> None:
    phase, blow, seconds, least, most, left = LOSSES[loss]
    lake = lake_of(tmp_path / "lake", CONTESTS)
    strike(phase, lambda: blow(site), seconds)
    with Cluster(site.address, limits=LIMITS) as engine, caplog.at_level(logging.WARNING, "ranklake.rate"):
        recoveries = rate_run(lake, engine=engine, policy=OFTEN).recoveries
        assert left is None or engine.workers == left
    assert least <= recoveries <= most
    assert sum(record.name == "ranklake.rate" for record in caplog.records) == recoveries
    assert same_tables(rated(lake), rated(expected("elo-mmr")))


def test_dask__names_a_worker_that_starts_no_actor(site: Site, expected, tmp_path: Path, caplog) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    patient = replace(LIMITS, reply_seconds=15.0)
    with Cluster(site.address, limits=patient) as engine, caplog.at_level(logging.WARNING, "ranklake.cluster"):
        pids = {pid: address for address, pid in engine._client.run(os.getpid).items()}
        freeze_one(site)
        report = rate_run(lake, engine=engine, policy=OFTEN)
    left_out = {pids[site.workers[1].pid]: "started no actor within 7 s"}
    assert (report.recoveries, report.left_out) == (0, left_out)
    assert sum("started no actor within 7 s" in message for message in caplog.messages) == 1
    assert same_tables(rated(lake), rated(expected("elo-mmr")))


@pytest.mark.parametrize("who", ["all workers", "scheduler"])
def test_dask__names_the_committed_rounds_when_no_worker_is_left(
    site: Site, strike, expected, tmp_path: Path, who: str
) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    dead = site.workers if who == "all workers" else [site.scheduler]
    strike("resume_summary", lambda: [process.kill() for process in dead])
    with Cluster(site.address, limits=LIMITS) as engine, pytest.raises(EngineError, match=r"[\d,]+ rounds committed"):
        rate_run(lake, engine=engine, policy=OFTEN)
    rate_run(lake, engine=Serial(), policy=OFTEN)
    assert same_tables(rated(lake), rated(expected("elo-mmr")))


def test_dask__a_worker_out_of_memory_is_not_used_again(
    site: Site, expected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    call_all, struck = DaskActorGroup.call_all, []

    def greedy(self: DaskActorGroup, calls: Any, rows: int = 0, to_all: Any = ()) -> list[list[Any]]:
        if not struck:
            struck.append(True)
            calls = [[*calls[0], ("columns", (1 << 50,))], *calls[1:]]  # more rows than any memory holds
        return call_all(self, calls, rows, to_all)

    monkeypatch.setattr(DaskActorGroup, "call_all", greedy)
    with Cluster(site.address, limits=LIMITS) as engine:
        assert rate_run(lake, engine=engine, policy=OFTEN).recoveries == 1
        assert engine.workers == 1
    assert same_tables(rated(lake), rated(expected("elo-mmr")))


@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
def test_dask__a_scheduler_started_again_leaves_no_words_of_dask(
    site: Site, strike, expected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine reports the loss; Dask's own log of it had tracebacks."""
    said: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = said.append  # type: ignore[method-assign]
    for name in ("distributed", "distributed.client", "tornado", "asyncio"):  # some do not propagate
        monkeypatch.setattr(logging.getLogger(name), "handlers", [handler])

    def start_again() -> None:
        for process in (site.scheduler, *site.workers):
            process.kill()
            process.wait()
        site.start_scheduler()
        site.add_worker()
        logging.getLogger("distributed.client").error("words of Dask")

    lake = lake_of(tmp_path / "lake", CONTESTS)
    strike("finish_round", start_again)
    with Cluster(site.address, limits=replace(LIMITS, return_seconds=TIMEOUT)) as engine:
        assert rate_run(lake, engine=engine, policy=OFTEN).recoveries >= 1
    assert [record.getMessage() for record in said] == []
    assert same_tables(rated(lake), rated(expected("elo-mmr")))
    logging.getLogger("distributed.client").error("of a client of others")
    assert {record.getMessage() for record in said} == {"of a client of others"}
    gc.collect()  # a client of Dask that is closed while it connects again may leave its socket open


GREEDY = "import __main__; __main__.kept = bytearray(1 << 30)"  # more than the worker may use


@pytest.mark.parametrize("by", ["the kernel", "its nanny"])
def test_dask__continues_when_a_worker_is_killed_for_its_memory(strike, expected, tmp_path: Path, by: str) -> None:
    site = Site(tmp_path, 0)
    try:
        for _ in range(2):
            site.add_worker("--nanny", "--memory-limit", "900 MiB")
        site.wait(2)
        with Cluster(site.address, limits=LIMITS) as engine:
            victim, pid = next(iter(engine._client.run(os.getpid).items()))

            def run_out_of_memory() -> None:
                if by == "the kernel":
                    os.kill(pid, signal.SIGKILL)
                    return
                with suppress(Exception):  # whatever Dask raises for a worker that ends
                    engine._client.run(exec, GREEDY, workers=[victim])
                    engine._client.run(time.sleep, TIMEOUT, workers=[victim])

            lake = lake_of(tmp_path / "lake", CONTESTS)
            strike("finish_round", run_out_of_memory)
            assert rate_run(lake, engine=engine, policy=OFTEN).recoveries >= 1
        assert same_tables(rated(lake), rated(expected("elo-mmr")))
    finally:
        site.close()


def test_dask__concurrent_runs_have_a_worker_each(site: Site) -> None:
    with Cluster(site.address, limits=LIMITS) as engine:
        groups = [engine.start_actors(RunWorker, lambda place, size: ("elo",), 1) for _ in range(2)]
        assert [group.size for group in groups] == [1, 1]
        first, second = (set(group._actors) for group in groups)
        assert first != second
        groups[0].close()
        assert set(engine.start_actors(RunWorker, lambda place, size: ("elo",), 1)._actors) == first
        engine.penalise(*second)
        assert set(engine.start_actors(RunWorker, lambda place, size: ("elo",), 1)._actors) == first


def test_dask__a_very_large_round_needs_limited_memory(tmp_path: Path) -> None:
    """The driver holds the participants; a worker holds its partition and the field."""
    n, system = 2_000_000, KERNELS["elo-mmr"]
    places = np.tile(np.arange(n), 2)
    players = np.concatenate([np.random.default_rng(seed).permutation(n) for seed in (1, 2)])
    rounds = Rounds.from_columns([0, n, 2 * n], players, places, places, [0, 600_000])
    [expected] = LocalRater(system, system.params(), n, Serial()).rate_batches([rounds])
    with open_engine("dask", 2) as engine:
        assert isinstance(engine, Cluster)
        rater = PartitionedRater(system, system.params(), n, engine)
        processes = [os.getpid(), *engine._client.run(os.getpid).values()]
        before = peak_bytes(os.getpid())
        forget_peaks(processes)
        [outcome] = rater.rate_batches([rounds])
        driver, *workers = map(peak_bytes, processes)
        rater.close()
    assert outcome.mu.tobytes() == expected.mu.tobytes()
    assert driver - before < 2 * 250 * n  # two rounds
    assert len(workers) == 2
    assert max(workers) < 300_000_000 + 300 * n


def test_dask__continues_when_a_worker_of_several_runs_is_killed(site: Site, strike, expected, tmp_path: Path) -> None:
    lake, systems = lake_of(tmp_path / "lake", CONTESTS), ("elo-mmr", "glicko")
    strike("ask", lambda: site.workers[0].kill())
    with Cluster(site.address, limits=LIMITS) as engine:
        reports = [report for _, report in rate_many(lake, resolve_runs(lake, "games", systems=systems), engine)]
        assert engine.workers == 1
    assert sum(report.recoveries for report in reports) >= 1
    assert dask.config.get("scheduler", None) is None  # other Dask code of this process has no default client
    for system in systems:
        assert same_tables(rated(lake, f"games-{system}"), rated(expected(system)))


def test_rate_history__uses_the_cluster_of_a_client(site: Site) -> None:
    results = pd.DataFrame({"contest": list("aaabbbccc"), "player": list("xyzzxyyzx"), "rank": [1, 2, 3] * 3})
    with distributed.Client(site.address, set_as_default=False) as client:
        history = rate_history(results, engine=client)
    pd.testing.assert_frame_equal(history, rate_history(results, engine="serial"))


@pytest.mark.parametrize("systems", [("elo-mmr",), ("elo-mmr", "glicko")], ids=["one-run", "two-runs"])
def test_rate__ctrl_c_ends_a_cluster_and_all_its_runs(tmp_path: Path, systems: tuple[str, ...]) -> None:
    """A terminal sends the signal to every process of the command."""
    lake = lake_of(tmp_path, synthetic(400, n_players=3000, size=2900, spice=False))
    words = ["rate", "--dataset", "games", "--engine", "dask", "--workers", "2", "--lake", lake.url]
    program = "from ranklake.flows.common import progress\nprogress.FIRST_SECONDS = 0.0\n"
    program += "from ranklake.flows.cli.main import main\nmain()"
    options = [word for system in systems for word in ("--system", system)]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words, *options],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("rating: "):
                break
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out) == (1, "")
    assert "Traceback" not in err
    assert err.rstrip().endswith("interrupted; committed data stay, and the same command continues")


def test_cluster__reports_errors_within_ten_seconds(tmp_path: Path, monkeypatch) -> None:
    """The timeouts are shorter than that; with short ones, a slow machine needs no more for the rest."""
    assert max(ClusterLimits.connect_seconds, ClusterLimits.workers_seconds) < 8.0
    short = ClusterLimits(connect_seconds=0.5, workers_seconds=0.5)
    began = time.monotonic()
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1 .*start one with"):
        Cluster("tcp://127.0.0.1:1", limits=short)
    assert time.monotonic() - began < 10.0
    site = Site(tmp_path, 0)
    try:
        with Cluster(site.address, limits=replace(LIMITS, workers_seconds=0.5)) as engine:
            began = time.monotonic()
            refused = r"has no workers; start some with `dask worker tcp://.* --nthreads 1`"
            with pytest.raises(EngineError, match=refused):
                rate_run(lake_of(tmp_path / "lake", CONTESTS[:3]), engine=engine, policy=OFTEN)
            assert time.monotonic() - began < 10.0
            site.add_worker()
            site.wait(1)
            monkeypatch.setattr(
                engine_module, "check_environments", lambda group: check_real([group[0] | {"numba": "0.1"}])
            )
            with pytest.raises(EngineError, match=r"a worker runs other code: numba 0.1 \(here .*install the same"):
                rate_run(lake_of(tmp_path / "lake", CONTESTS[:3]), engine=engine, policy=OFTEN)
    finally:
        site.close()


check_real = engine_module.check_environments
