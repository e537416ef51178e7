"""Costs of a large round, measured with few workers, and the time of a round on many by :mod:`cluster_model`.

The costs are the processor time of one row in each phase, in this process; the bytes of the messages; and the
driver's processor time for a worker in a trip, and for a chunk of a relayed message. The driver's own work on a row
grows with the number of workers, as rows of one worker are further apart: it is measured with many.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from cluster_designs import accumulated_seconds, accumulator_seconds, gathered_seconds
from cluster_model import Costs, round_seconds
from timing import Result

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import ActorGroup, DistributedEngine, Engine, RemoteCall
from ranklake.flows.execution import partitioned
from ranklake.flows.execution.partition_worker import PartitionWorker
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.rating_kernels.core.standings import OF_ROUNDS

Open = Callable[[int], AbstractContextManager[Engine]]

SYSTEM = SYSTEMS["elo-mmr"]
MILLION, REPEATS = 1_000_000, 3
WORK = ("prior", "receive_priors", "finish_round", "receive_partials", "resume_summary", "absorb")
MANY_WORKERS = (2, 4, 8, 16, 32, 100, 300, 1000)
ROWS_OF_THE_DRIVER = ("driver packs", "to and from each")
DRIVER_WORKERS, DRIVER_ROUNDS = 100, 2
SHORT_DRIVER_WORKERS = 10
CALLS = 20  # in a row, to measure the cost of one
TURNS, SHORT_TURNS = 10, 3  # of these
CHUNKS = 10  # in each of four arrays, to measure the cost of one


def many_workers(
    rounds: Rounds, population: int, opened: Open, few: Sequence[int], *, short: bool = False
) -> Iterator[Result]:  # fmt: skip
    """Time of a round on 2 to 1,000 workers, with the field relayed and with a copy for each worker.

    ``few``: two numbers of workers, on which the costs of messages are measured. ``short``: measure a small round with
    fewer workers of the driver and fewer repeats.
    """
    costs = measured_costs(rounds, population, opened, few, short=short)
    for n in (rounds.n_rows // len(rounds), MILLION):
        alone = sum(round_seconds(costs, n, 1, relayed=True).values())
        for workers in MANY_WORKERS:
            phases, before = (round_seconds(costs, n, workers, relayed) for relayed in (True, False))
            total, copied = sum(phases.values()), sum(before.values())
            told = ", ".join(f"{name} {1e3 * seconds:.0f}" for name, seconds in phases.items())
            yield Result(
                "cluster",
                f"model, a round of {n:,}, {workers:,} workers; peer: a copy of the field for each worker; ms: {told}; "
                f"speed-up {alone / total:.1f} (peer {alone / copied:.1f})",
                total, copied,
                figures={f"{name}_ms": 1e3 * seconds for name, seconds in phases.items()}
                | {"speed_up": alone / total, "speed_up_copied": alone / copied},
                case=f"{workers} in the model, {n}",
            )  # fmt: skip
    yield from _designs(costs)
    yield Result(
        "cluster",
        f"costs of the model: ns of a row: driver {1e9 * costs.packs:.0f}, every worker {1e9 * costs.replicated:.0f}, "
        f"shared {1e9 * costs.shared:.0f}; ms of a chunk {1e3 * costs.chunk:.2f}, of a worker in a trip "
        f"{1e3 * costs.further:.2f}; bytes of a row: to all {costs.field + costs.partials:.1f} (mu, sigma and "
        f"n_before; beta is one number, and nobody ties here), to its holder {costs.own:.1f}, back "
        f"{costs.received:.1f}",
        figures={"chunk_ms": 1e3 * costs.chunk, "further_ms": 1e3 * costs.further}, case="costs",
    )  # fmt: skip


def measured_costs(
    rounds: Rounds, population: int, opened: Open, few: Sequence[int], *, short: bool = False
) -> Costs:  # fmt: skip
    """Costs of a row in this process, and of messages on two numbers of workers."""
    messages = _messages(opened, few, SHORT_TURNS if short else TURNS)
    return _costs(rounds, population, *messages, SHORT_DRIVER_WORKERS if short else DRIVER_WORKERS)


def _designs(costs: Costs) -> Iterator[Result]:
    """Speed-up of a round of a million by other exchanges; in brackets without the driver's rows."""
    further = accumulator_seconds()
    alone = sum(round_seconds(costs, MILLION, 1, relayed=True).values())
    for workers in MANY_WORKERS:
        relayed = round_seconds(costs, MILLION, workers, relayed=True)
        designs = {
            "relay": relayed,
            "all-gather": gathered_seconds(costs, MILLION, workers, relayed),
            "exact accumulators": accumulated_seconds(costs, MILLION, workers, further, relayed),
        }
        gains = {name: alone / sum(phases.values()) for name, phases in designs.items()}
        without = {
            name: alone / sum(seconds for phase, seconds in phases.items() if phase not in ROWS_OF_THE_DRIVER)
            for name, phases in designs.items()
        }
        told = ", ".join(f"{name} {gains[name]:.1f} ({without[name]:.0f})" for name in designs)
        yield Result(
            "cluster",
            f"model, a round of {MILLION:,}, {workers:,} workers, speed-up by the exchange (without the driver): "
            f"{told}",
            figures={f"{name} speed_up": gain for name, gain in gains.items()}
            | {f"{name} speed_up without rows": gain for name, gain in without.items()},
            case=f"{workers} by exchange",
        )  # fmt: skip


def _messages(opened: Open, numbers: Sequence[int], turns: int) -> tuple[float, float]:
    """Processor seconds of the driver for each worker in a trip, and for one chunk that it sends."""
    none = np.empty(0, dtype=np.int32)
    many = np.random.default_rng(1).normal(size=CHUNKS * ClusterLimits.chunk_bytes // 8)
    one = Rounds.from_columns([0, 1], [0], [0], [0], [0])
    metadata = {name: getattr(one, name) for name in OF_ROUNDS}
    trips, chunks = {}, []
    for workers in numbers:
        with opened(workers) as engine:
            assert isinstance(engine, DistributedEngine)
            group = engine.start_actors(PartitionWorker, lambda i, size: (SYSTEM.name, SYSTEM.params(), 1, i, size))
            take: list[list[RemoteCall]] = [[("take", (none,))] for _ in range(group.size)]
            trips[group.size] = min(_processor_seconds(partial(_repeat, group, take)) for _ in range(turns)) / CALLS
            nothing: list[list[RemoteCall]] = [[] for _ in range(group.size)]
            to_all: list[RemoteCall] = [("receive_priors", (metadata, len(many), None, [many] * 4))]
            send = partial(group.call_all, nothing, len(many), to_all)
            chunks.append(min(_processor_seconds(send) for _ in range(REPEATS)) / (4 * CHUNKS))
            group.close()
    (few, least), (more, most) = sorted(trips.items())
    return max(most - least, 0.0) / (more - few), min(chunks)


def _repeat(group: ActorGroup, calls: Sequence[Sequence[RemoteCall]]) -> None:
    for _ in range(CALLS):
        group.call_all(calls)


def _processor_seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


class _Scale:
    """An engine of some workers in this process, with the time and size of their calls."""

    on_this_machine = False
    limits = ClusterLimits()

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.seconds: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.received = self.size = 0
        self._actors: list[Any] = []

    def describe(self) -> str:
        return "scales"

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> _Scale:
        self.size, self.addresses = self.workers, [f"actor {place}" for place in range(self.workers)]
        self.left_out: dict[str, str] = {}
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
                began = time.thread_time()
                replies[place].append(getattr(one, name)(*given))
                self.seconds[name] += time.thread_time() - began
            for name, given in to_all:
                self.sent[name] += _weight(given)
            self.sent["own"] += _weight([given for _, given in own])
        self.received += _weight(replies)
        return replies

    def close(self) -> None:
        self._actors = []

    def __enter__(self) -> _Scale:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _costs(rounds: Rounds, population: int, further: float, chunk: float, driver_workers: int) -> Costs:
    """Costs of a row, in this process; those of messages are given."""
    scale, n = _Scale(2), rounds.n_rows
    rater = PartitionedRater(SYSTEM, SYSTEM.params(), population, scale)
    list(rater.rate_batches([rounds]))  # the first call allocates memory
    for _ in range(REPEATS):
        scale.seconds.clear()
        scale.sent.clear()
        scale.received = 0
        list(rater.rate_batches([rounds]))
    rater.close()
    replicated = _replicated(rounds)
    shared = sum(scale.seconds[name] for name in WORK) - scale.workers * replicated
    field, partials = (scale.sent[name] / scale.workers for name in ("receive_priors", "receive_partials"))
    packs = _driver_seconds(rounds.part(0, min(len(rounds), DRIVER_ROUNDS)), population, driver_workers)
    return Costs(
        packs, replicated / n, shared / n, field / n, partials / n, scale.sent["own"] / n, scale.received / n, further,
        chunk,
    )  # fmt: skip


def _driver_seconds(rounds: Rounds, population: int, workers: int) -> float:
    """Processor seconds of the driver's own work on a row."""
    rater = PartitionedRater(SYSTEM, SYSTEM.params(), population, _Scale(workers))
    spent: list[float] = []
    with patch.object(partitioned, "time", SimpleNamespace(perf_counter=time.thread_time)):
        for _ in range(1 + REPEATS):
            rater.phases.clear()
            list(rater.rate_batches([rounds]))
            spent.append(sum(rater.phases[name][0] for name in ("plan", "pack and unpack")))
    rater.close()
    return min(spent[1:]) / rounds.n_rows


def _replicated(rounds: Rounds) -> float:
    """Seconds of the work of every worker for the whole field: two summaries with empty maps."""
    n = rounds.n_rows // len(rounds)
    params, outcome = SYSTEM.params(), Outcome.empty(n)
    draw = np.random.default_rng(1)
    prior = outcome.prior
    prior.mu[:], prior.sigma[:], prior.beta[:] = draw.normal(1500, 300, n), 100.0, 200.0
    one = rounds.part(0, 1)
    SYSTEM.summarise(params, prior, one, lambda work, n, *filled: None)
    began = time.thread_time()
    for _ in range(2):
        SYSTEM.summarise(params, prior, one, lambda work, n, *filled: None)
    return (time.thread_time() - began) * len(rounds)


def _weight(message: Any) -> int:
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, dict):
        return _weight(list(message.values()))
    return sum(map(_weight, message)) if isinstance(message, list | tuple) else 0
