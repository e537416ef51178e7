"""Rows of the engine dask: the cost of a round beside threads, the gain of a second worker, and estimates for many.

The estimates are those of :mod:`many_workers`.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy as np
import psutil
from against_peer import CODEFORCES
from history import History, lake_of, load
from many_workers import SYSTEM, Open, many_workers
from memory import forget_peaks, peak_bytes
from some_workers import SomeWorkers
from timing import Best, Options, Result, SkippedRow

from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.engines.actors import DaskActorGroup
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import DistributedEngine, Engine
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.rater import Rater
from ranklake.flows.execution.raters import open_rater
from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.multi_run import rate_many
from ranklake.flows.rating.rate import rate
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.storage import Run

SIDE_BY_SIDE = ("elo-mmr", "elo-mmx", "glicko", "glicko2")
WORKERS, REPEATS = 2, 3
TRAFFIC_WORKERS, FEW_WORKERS = (2, 4, 8), (2, 6)
POPULATION, FIELD, N_ROUNDS = 3_000_000, 300_000, 12
VERY_LARGE = 10_000_000


def cluster(options: Options, opened: Open = lambda workers: open_engine("dask", workers)) -> Iterator[Result]:
    """Codeforces beside threads; large rounds on one worker and on two; estimates for many workers."""
    history = load(options.file(CODEFORCES), options.limit)
    with ExitStack() as stack:
        try:
            if options.quick:
                opened = stack.enter_context(_kept(opened))
            with opened(1):
                pass
        except MissingExtraError as error:
            raise SkippedRow(str(error)) from error
        yield from _measured(options, history, opened)


@contextmanager
def _kept(opened: Open) -> Iterator[Open]:
    """Some workers of one engine that stays open: workers take seconds to start."""
    with opened(WORKERS) as engine:
        assert isinstance(engine, DistributedEngine)
        yield lambda workers: SomeWorkers(engine, workers)


def _measured(options: Options, history: History, opened: Open) -> Iterator[Result]:
    repeats = options.repeats(REPEATS)
    yield from _beside_threads(history, opened, repeats)
    if not options.quick:
        yield from _side_by_side(options, opened)
    field, population, short = options.smaller(FIELD), options.smaller(POPULATION), options.quick or options.limit
    rounds = large_rounds(options.least(N_ROUNDS), field=field, population=population)
    yield from _second_worker(rounds, population, opened, repeats)
    yield from _traffic(
        rounds.part(0, min(len(rounds), 2)), population, opened, TRAFFIC_WORKERS[: 1 if short else None]
    )
    if not options.quick:
        yield from _very_large(options.smaller(VERY_LARGE), opened)
    few = (1, WORKERS) if short else FEW_WORKERS
    yield from many_workers(rounds.part(0, min(len(rounds), 4)), population, opened, few, short=bool(short))


def _beside_threads(history: History, opened: Open, repeats: int) -> Iterator[Result]:
    n_players = len(history.handles)
    with Threads(WORKERS) as threads_engine, opened(WORKERS) as engine:
        (threads, expected), (seconds, outcome) = _fastest([threads_engine, engine], history.rounds, n_players, repeats)
    beyond = 1e3 * (seconds - threads) / len(history.rounds)
    yield Result(
        "cluster", f"Codeforces, {WORKERS} workers; peer: {WORKERS} threads", seconds, threads,
        difference=float(np.max(np.abs(outcome.mu - expected.mu))),
        targets={
            f"{beyond:.1f} ms a round beyond threads <= 6": beyond <= 6.0,
            "the same bits": outcome.mu.tobytes() == expected.mu.tobytes(),
        },
        figures={"ms_beyond_threads": beyond}, case="beside threads",
    )  # fmt: skip


def _side_by_side(options: Options, opened: Open) -> Iterator[Result]:
    """Runs of a lake in parallel on one worker each, beside runs in sequence on all workers."""
    systems = [SYSTEMS[name] for name in SIDE_BY_SIDE]
    with lake_of(options.file(CODEFORCES), options.limit) as lake, opened(WORKERS) as engine:
        spread, together = (
            [RunConfig("d", f"{way}-{one.name}", one.name, one.params()) for one in systems]
            for way in ("spread", "whole")
        )
        began = time.perf_counter()
        for config in spread:
            rate(lake, config, engine)
        in_turn = time.perf_counter() - began
        began = time.perf_counter()
        list(rate_many(lake, together, engine))
        seconds = time.perf_counter() - began
        same = all(
            Run.open(lake, one.run).read_rounds().equals(Run.open(lake, other.run).read_rounds())
            for one, other in zip(spread, together, strict=True)
        )
    yield Result(
        "cluster",
        f"Codeforces, {len(systems)} systems side by side on {WORKERS} workers; peer: one after the other, spread",
        seconds, in_turn, targets={"the same bits": same}, case="side by side",
    )  # fmt: skip


def _second_worker(rounds: Rounds, population: int, opened: Open, repeats: int) -> Iterator[Result]:
    with opened(1) as alone, opened(WORKERS) as together:
        (one, expected), (two, outcome) = _fastest([alone, together], rounds, population, repeats)
    gain, field = one / two, rounds.n_rows // len(rounds)
    yield Result(
        "cluster", f"rounds of {field:,} of {population:,}, {WORKERS} workers; peer: one", two, one,
        targets={
            f"{gain:.2f} times faster >= 1.5": gain >= 1.5,
            "the same bits": outcome.mu.tobytes() == expected.mu.tobytes(),
        },
        figures={"gain": gain, "ms_a_round": 1e3 * two / len(rounds)}, case="second worker",
    )  # fmt: skip


def _very_large(n: int, opened: Open) -> Iterator[Result]:
    """A round of all players: peak memory of driver and workers, and the bits of threads."""
    rounds = large_rounds(2, field=n, population=n)
    with Threads(WORKERS) as threads_engine:
        rater = open_rater(SYSTEM, SYSTEM.params(), n, threads_engine)
        began = time.perf_counter()
        expected = _walk(rater, rounds)[-1].mu.tobytes()
        threads = time.perf_counter() - began
        del rater
    before = set(psutil.Process().children(recursive=True))
    with opened(WORKERS) as engine:
        workers = [one.pid for one in psutil.Process().children(recursive=True) if one not in before]
        here = psutil.Process().memory_info().rss
        forget_peaks([os.getpid(), *workers])
        rater = open_rater(SYSTEM, SYSTEM.params(), n, engine)
        began = time.perf_counter()
        found = _walk(rater, rounds)[-1].mu.tobytes()
        seconds = time.perf_counter() - began
        driver, worker = peak_bytes(os.getpid()) - here, max(map(peak_bytes, workers))
        rater.close()
    yield Result(
        "cluster",
        f"two rounds of {n:,} of {n:,}, {WORKERS} workers; peer: {WORKERS} threads; at the most the driver holds "
        f"{driver / 1e9:.1f} GB for them, a worker {worker / 1e9:.1f} GB",
        seconds, threads, targets={"the same bits": found == expected},
        figures={"driver_bytes": driver, "worker_bytes": worker}, case="very large",
    )  # fmt: skip


def _traffic(rounds: Rounds, population: int, opened: Open, numbers: Sequence[int]) -> Iterator[Result]:
    """Bytes through the driver, relayed and with a copy for each worker."""
    bits = set()

    def rate(engine: Engine, relay_bytes: int) -> Counter[tuple[str, str]]:
        assert isinstance(engine, DistributedEngine)
        limits = engine.limits
        engine.limits = replace(limits, relay_bytes=relay_bytes)  # type: ignore[misc]
        try:
            rater = PartitionedRater(SYSTEM, SYSTEM.params(), population, engine)
            _walk(rater, rounds)  # now the players differ: newcomers are one number
            assert isinstance(rater._group, DaskActorGroup)
            assert rater._group.size == engine.workers, rater.left_out
            traffic = rater._group.traffic
            traffic.clear()
            bits.add(_walk(rater, rounds)[-1].mu.tobytes())
        finally:
            engine.limits = limits  # type: ignore[misc]
        rater.close()
        return Counter({key: round(n / rounds.n_rows, 2) for key, n in traffic.items()})

    for workers in numbers:
        with opened(workers) as engine:
            relayed, copied = rate(engine, ClusterLimits.relay_bytes), rate(engine, 1 << 60)
        told = ", ".join(f"{way} {phase} {n:.1f}" for (way, phase), n in relayed.items())
        total, before = relayed.total(), copied.total()
        yield Result(
            "cluster",
            f"bytes through the driver a row of a round of {rounds.n_rows // len(rounds):,}, {workers} workers: "
            f"{total:.1f}, with a copy for each worker {before:.1f}; {told}",
            targets={"the same bits": len(bits) == 1},
            figures={"bytes_relayed": total, "bytes_copied": before}, case=f"bytes, {workers} workers",
        )  # fmt: skip


def _fastest(
    engines: Sequence[Engine], rounds: Rounds, n_players: int, repeats: int
) -> list[tuple[Best, Outcome]]:  # fmt: skip
    """Seconds of the passes of each engine, one round at a time; the engines alternate."""
    passes: list[list[float]] = [[] for _ in engines]
    last = [Outcome.empty(0)] * len(engines)
    for _ in range(repeats):
        for i, engine in enumerate(engines):
            rater = open_rater(SYSTEM, SYSTEM.params(), n_players, engine)
            began = time.perf_counter()
            outcomes = _walk(rater, rounds)
            passes[i].append(time.perf_counter() - began)
            rater.close()
            last[i] = _joined(outcomes)
    return [(Best(seconds), outcome) for seconds, outcome in zip(passes, last, strict=True)]


def _walk(rater: Rater, rounds: Rounds) -> list[Outcome]:
    return list(rater.rate_batches(rounds.part(i, i + 1) for i in range(len(rounds))))


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(*(np.concatenate(parts) for parts in zip(*outcomes, strict=True)))


def large_rounds(n_rounds: int, seed: int = 5, field: int = FIELD, population: int = POPULATION) -> Rounds:
    """Rounds of random players of a population, ordered by skill and noise; all places are distinct."""
    draw = np.random.default_rng(seed)
    skill = draw.normal(0.0, 1.5, population)
    players = []
    for _ in range(n_rounds):
        chosen = draw.permutation(population)[:field]
        players.append(chosen[np.argsort(-skill[chosen] - draw.logistic(0.0, 1.0, field))])
    places = np.tile(np.arange(field), n_rounds)
    offsets = np.arange(n_rounds + 1) * field
    return Rounds.from_columns(offsets, np.concatenate(players), places, places, np.arange(n_rounds) * 600_000)
