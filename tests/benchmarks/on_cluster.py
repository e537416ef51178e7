"""Rows of the engine dask: the cost of a round beside threads, the gain of a second worker, and estimates for many.

The estimates use the cost of one row of a large round in each phase, measured in this process, and the bytes sent: the
driver partitions and packs n rows, sends the whole field to every worker and receives n rows; a worker diffuses and
absorbs its n / W rows and prepares the summary of all n, whose sums and roots are shared.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil
from history import History, load
from memory import forget_peaks, peak_bytes
from timing import Options, Result, SkippedRow

from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.protocols import DistributedEngine, Engine, RemoteCall
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.factory import open_rater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.pinned import PinnedPlacement
from ranklake.flows.execution.rater import Rater
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds, System

__all__ = ["cluster"]

Open = Callable[[int], Engine]

SYSTEM = SYSTEMS["elo-mmr"]
SIDE_BY_SIDE = ("elo-mmr", "elo-mmx", "glicko", "glicko2")
WORKERS, REPEATS = 2, 3
POPULATION, FIELD, N_ROUNDS = 3_000_000, 300_000, 12
VERY_LARGE = 10_000_000
LINK = 1.25e9  # bytes a second: 10 Gbit/s
TRIP = 1e-3  # seconds for one call of a worker; for each further worker:
FURTHER = 1e-4


def cluster(options: Options, opened: Open = lambda workers: open_engine("dask", workers)) -> Iterator[Result]:
    """Codeforces beside threads; large rounds on one worker and on two; estimates for many workers."""
    try:
        with opened(1):
            pass
    except MissingExtraError as error:
        raise SkippedRow(str(error)) from error
    history = load(options.file("elo-datasets/codeforces.tar.xz"), options.limit)
    yield from _beside_threads(history, opened)
    yield from _side_by_side(history, opened)
    rounds = large_rounds(options.least(N_ROUNDS))
    yield from _second_worker(rounds, opened)
    yield from _very_large(options.least(VERY_LARGE), opened)
    yield from _many_workers(rounds.part(0, min(len(rounds), 4)))


def _beside_threads(history: History, opened: Open) -> Iterator[Result]:
    n_players = len(history.handles)
    with Threads(WORKERS) as threads_engine, opened(WORKERS) as engine:
        (threads, expected), (seconds, outcome) = _fastest([threads_engine, engine], history.rounds, n_players)
    beyond = 1e3 * (seconds - threads) / len(history.rounds)
    yield Result(
        "cluster", f"Codeforces, {WORKERS} workers; peer: {WORKERS} threads", seconds, threads,
        difference=float(np.max(np.abs(outcome.mu - expected.mu))),
        targets={
            f"{beyond:.1f} ms a round beyond threads <= 6": beyond <= 6.0,
            "the same bits": outcome.mu.tobytes() == expected.mu.tobytes(),
        },
        figures={"ms_beyond_threads": beyond},
    )  # fmt: skip


def _side_by_side(history: History, opened: Open) -> Iterator[Result]:
    """Runs in parallel on one worker each, beside runs in sequence on all workers."""
    n_players, systems = len(history.handles), [SYSTEMS[name] for name in SIDE_BY_SIDE]

    def rate(system: System, engine: Engine) -> bytes:
        rater = open_rater(system, system.params(), n_players, engine)
        outcomes = _walk(rater, history.rounds)
        rater.close()
        return b"".join(outcome.mu.tobytes() for outcome in outcomes)

    with opened(WORKERS) as engine, ThreadPoolExecutor(len(systems)) as drivers:
        assert isinstance(engine, DistributedEngine)
        began = time.perf_counter()
        expected = [rate(system, engine) for system in systems]
        spread = time.perf_counter() - began
        pinned = PinnedPlacement(engine)
        began = time.perf_counter()
        found = list(drivers.map(lambda system: rate(system, pinned), systems))
        seconds = time.perf_counter() - began
    yield Result(
        "cluster",
        f"Codeforces, {len(systems)} systems side by side on {WORKERS} workers; peer: one after the other, spread",
        seconds, spread, targets={"the same bits": found == expected},
    )  # fmt: skip


def _second_worker(rounds: Rounds, opened: Open) -> Iterator[Result]:
    with opened(1) as alone, opened(WORKERS) as together:
        (one, expected), (two, outcome) = _fastest([alone, together], rounds, POPULATION)
    gain = one / two
    yield Result(
        "cluster", f"rounds of {FIELD:,} of {POPULATION:,}, {WORKERS} workers; peer: one", two, one,
        targets={
            f"{gain:.2f} times faster >= 1.5": gain >= 1.5,
            "the same bits": outcome.mu.tobytes() == expected.mu.tobytes(),
        },
        figures={"gain": gain, "ms_a_round": 1e3 * two / len(rounds)},
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
        figures={"driver_bytes": driver, "worker_bytes": worker},
    )  # fmt: skip


def _many_workers(rounds: Rounds) -> Iterator[Result]:
    n, table = len(rounds) * FIELD, []
    costs, sent, received = _costs(rounds)
    each = {name: seconds / n for name, seconds in costs.items()}
    for workers in (1, 2, 10, 100, 1000):
        down = FIELD * (workers * sent["field"] + sent["own"])
        phases = {
            "driver packs": FIELD * (each["plan"] + each["pack and unpack"]),
            "driver's link": (down + FIELD * received) / LINK,
            "trips": 3 * (TRIP + FURTHER * workers),
            "workers, all of the field": FIELD * each["replicated"],
            "workers, their share": FIELD * each["shared"] / workers,
        }
        slowest = max(phases, key=lambda name: phases[name])
        total = sum(phases.values())
        told = ", ".join(f"{name} {1e3 * seconds:.0f}" for name, seconds in phases.items())
        table.append((workers, total))
        yield Result(
            "cluster", f"on paper, {workers:,} workers: ms of a round: {told}; most: {slowest}", total, table[0][1],
            figures={name: 1e3 * seconds for name, seconds in phases.items()},
        )  # fmt: skip
    yield Result(
        "cluster",
        f"bytes a row of a large round: to each worker {sent['field']:.0f} (the field's mu, sigma and n_before; "
        f"beta is one number, and nobody ties here), to its holder {sent['own']:.0f} (place, row, performance), "
        f"back {received:.0f} (prior, performance, mu, sigma)",
        figures={"sent_field": sent["field"], "sent_own": sent["own"], "received": received},
    )


class _Scale:
    """An engine of two workers in this process, with the time and size of their calls."""

    workers = 2
    on_this_machine = False

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.received = self.size = 0
        self._actors: list[Any] = []

    def describe(self) -> str:
        return "scales"

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> _Scale:
        self.size = self.workers
        self._actors = [make(*init_args(place, self.size)) for place in range(self.size)]
        self._sequence = 0
        return self

    def call_all(
        self, calls: Sequence[Sequence[RemoteCall]], rows: int = 0, to_all: Sequence[RemoteCall] = ()
    ) -> list[list[Any]]:
        self._sequence += 1
        replies: list[list[Any]] = [[] for _ in calls]
        for place, (one, own) in enumerate(zip(self._actors, calls, strict=True)):
            one._sequence = self._sequence
            for name, given in [*to_all, *own]:
                began = time.perf_counter()
                replies[place].append(getattr(one, name)(*given))
                self.seconds[name] += time.perf_counter() - began
            self.sent["field"] += _weight([given for _, given in to_all])
            self.sent["own"] += _weight([given for _, given in own])
        self.received += _weight(replies)
        return replies

    def close(self) -> None:
        self._actors = []

    def __enter__(self) -> _Scale:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _costs(rounds: Rounds) -> tuple[dict[str, float], dict[str, float], float]:
    """Seconds by phase for all rows; bytes a row to every worker and to its holder; and back."""
    scale = _Scale()
    rater = PartitionedRater(SYSTEM, SYSTEM.params(), POPULATION, scale)
    list(rater.rate_batches([rounds]))  # the first call allocates memory
    before = dict(rater.phases)
    scale.seconds.clear()
    scale.sent.clear()
    scale.received = 0
    list(rater.rate_batches([rounds]))
    driver = {name: rater.phases[name][0] - before[name][0] for name in ("plan", "pack and unpack")}
    n = rounds.n_rows
    replicated = _replicated(rounds)
    shared = (
        sum(
            scale.seconds[name]
            for name in ("prior", "receive_priors", "finish_round", "receive_partials", "resume_summary", "absorb")
        )
        - scale.workers * replicated
    )
    costs = driver | {"replicated": replicated, "shared": shared}
    sent = {"field": scale.sent["field"] / 2 / n, "own": scale.sent["own"] / n}
    return costs, sent, scale.received / n


def _replicated(rounds: Rounds) -> float:
    """Seconds of the work of every worker for the whole field: two summaries with empty maps."""
    n = FIELD
    params, outcome = SYSTEM.params(), Outcome.empty(FIELD)
    draw = np.random.default_rng(1)
    prior = outcome.prior
    prior.mu[:], prior.sigma[:], prior.beta[:] = draw.normal(1500, 300, n), 100.0, 200.0
    one = rounds.part(0, 1)
    SYSTEM.summarise(params, prior, one, lambda work, n, *filled: None)
    began = time.perf_counter()
    for _ in range(2):
        SYSTEM.summarise(params, prior, one, lambda work, n, *filled: None)
    return (time.perf_counter() - began) * len(rounds)


def _weight(message: Any) -> int:
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, dict):
        return _weight(list(message.values()))
    return sum(map(_weight, message)) if isinstance(message, list | tuple) else 0


def _fastest(engines: Sequence[Engine], rounds: Rounds, n_players: int) -> list[tuple[float, Outcome]]:
    """Seconds of the fastest pass of each engine, one round at a time; the engines alternate."""
    best = [(float("inf"), Outcome.empty(0))] * len(engines)
    for _ in range(REPEATS):
        for i, engine in enumerate(engines):
            rater = open_rater(SYSTEM, SYSTEM.params(), n_players, engine)
            began = time.perf_counter()
            outcomes = _walk(rater, rounds)
            seconds = time.perf_counter() - began
            rater.close()
            best[i] = min(best[i][0], seconds), _joined(outcomes)
    return best


def _walk(rater: Rater, rounds: Rounds) -> list[Outcome]:
    return list(rater.rate_batches(rounds.part(i, i + 1) for i in range(len(rounds))))


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(*(np.concatenate([getattr(one, name) for one in outcomes]) for name in Outcome.__slots__))


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
