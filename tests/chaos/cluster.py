"""Runs on a cluster of Dask whose processes are killed, suspended and started at any call; serial work is the twin."""

from __future__ import annotations

import gc
import importlib.util
import logging
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chaos.cases import Violation
from chaos.lives import check_sound
from chaos.world import World
from helpers.lakes import commit_often, lake_of, rate_run, rated, same_tables, synthetic

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import Engine, EngineError
from ranklake.flows.engines.serial import Serial
from ranklake.storage import Lake, Run

SYSTEMS = ("elo-mmr", "elo-mmr", "codeforces", "trueskill")  # the last one is rated whole, on one worker
FAULTS = ("kill", "kill", "suspend", "suspend", "memory", "join", "scheduler", "restart", "no worker")
CALLS = 20  # to the workers, about one for each contest
LIMITS = ClusterLimits(shared_summary_rows=1000, overlap_rows=0, return_seconds=3.0)  # instead of a minute
SUSPENDED_SECONDS = 0.3
LONGEST = 500  # characters of an error


def draw(seed: int) -> dict[str, Any]:
    """A system, faults by the number of the call before which each comes, and the engine that continues."""
    dice = random.Random(seed)
    system = dice.choice(SYSTEMS)
    names = [name for name in FAULTS if name != "memory" or system != "trueskill"]
    faults = [{"what": dice.choice(names), "call": dice.randrange(CALLS)} for _ in range(dice.choice([1, 1, 2, 3]))]
    again = dice.choice(["serial", "serial", "dask"])
    return {"system": system, "workers": dice.choice([1, 2]), "faults": faults, "again": again}


def check(world: World, parameters: dict[str, Any]) -> None:
    if importlib.util.find_spec("distributed") is None:
        return
    from helpers.cluster_sites import Site

    from ranklake.flows.engines.cluster import Cluster

    system, folder = parameters["system"], world.fresh_folder()
    contests = synthetic(CALLS, large=9)
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=30, snapshot_rows=60)
        twin, lake = (lake_of(folder / name, contests) for name in ("twin", "lake"))
        rate_run(twin, engine=Serial(), system=system)
        site = Site(folder, parameters["workers"])
        try:
            with _silent(), _struck(world, site, parameters["faults"]), Cluster(site.address, limits=LIMITS) as engine:
                words = _rate(lake, system, engine)
            world.counts["commands"] += 1
            _check_prefix(lake, twin, words)
            if parameters["again"] == "dask":
                _restore(site)
                with Cluster(site.address, limits=LIMITS) as engine:
                    words = _rate(lake, system, engine)
                if words:
                    raise Violation("a whole cluster does not continue a run", words)
        finally:
            site.close()
        rate_run(lake, engine=Serial(), system=system)
    if not same_tables(rated(lake), rated(twin)):
        raise Violation("a run on a disturbed cluster has other ratings than a serial one")
    check_sound(Path(lake.url), "after a run on a disturbed cluster")


def _rate(lake: Lake, system: str, engine: Engine) -> str:
    """Bring the run up to date; returns the message of its error."""
    try:
        rate_run(lake, engine=engine, system=system)
    except EngineError as error:
        if "\n" in str(error) or len(str(error)) > LONGEST:
            raise Violation("the error of a lost cluster is no short sentence", str(error)) from None
        return str(error)
    return ""


def _check_prefix(lake: Lake, twin: Lake, words: str) -> None:
    check_sound(Path(lake.url), "after a fault of a cluster")
    whole = rated(twin)
    committed = rated(lake) if Run.names(lake) else whole.slice(0, 0)
    if not same_tables(committed, whole.slice(0, committed.num_rows)):
        raise Violation("a disturbed cluster leaves ratings that are no prefix", words)
    if not words and committed.num_rows < whole.num_rows:
        raise Violation("a command that succeeds leaves rounds out")


@contextmanager
def _struck(world: World, site: Any, faults: list[dict[str, Any]]) -> Iterator[None]:
    """A block in which faults come before calls to the workers."""
    from ranklake.flows.engines.actors import DaskActorGroup

    call_all, calls, timers = DaskActorGroup.call_all, [0], list[threading.Timer]()

    def watched(self: DaskActorGroup, own: Any, rows: int = 0, to_all: Any = ()) -> list[list[Any]]:
        for fault in faults:
            if fault["call"] == calls[0]:
                world.counts["faults"] += 1
                if fault["what"] == "memory":
                    own = [[("columns", (1 << 50,)), *own[0]], *own[1:]]  # more rows than any memory holds
                else:
                    timers.extend(_strike(site, fault["what"]))
        calls[0] += 1
        return call_all(self, own, rows, to_all)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DaskActorGroup, "call_all", watched)
        try:
            yield
        finally:
            for timer in timers:
                timer.join()


@contextmanager
def _silent() -> Iterator[None]:
    """A block in which the libraries of a cluster may log nothing: the engine reports losses in its own words."""
    said: list[logging.LogRecord] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = said.append  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("distributed", "distributed.client", "tornado", "asyncio"):  # some do not propagate
            patch.setattr(logging.getLogger(name), "handlers", [handler])
        yield
        gc.collect()  # lost tasks log their errors when they are deleted
    if said:
        raise Violation(
            "Dask logs a fault of a cluster", "\n".join(map(logging.Formatter("%(name)s: %(message)s").format, said))
        )


def _strike(site: Any, what: str) -> list[threading.Timer]:
    """Disturb the processes of a cluster; returns the timers that are still to run."""
    worker = site.workers[0]
    if what == "kill":
        worker.kill()
    elif what == "suspend":
        worker.send_signal(signal.SIGSTOP)
        timer = threading.Timer(SUSPENDED_SECONDS, worker.send_signal, [signal.SIGCONT])
        timer.start()
        return [timer]
    elif what == "join":
        site.add_worker()
    elif what == "no worker":
        for one in site.workers:
            one.kill()
    else:
        site.scheduler.kill()
        site.scheduler.wait()
        if what == "restart":
            site.start_scheduler()
            site.add_worker()
    return []


def _restore(site: Any) -> None:
    """A scheduler with a worker in place of what has ended."""
    if site.scheduler.poll() is not None:
        site.start_scheduler()
    site.add_worker()
    site.wait(1)
