"""Row of eight hosts whose links have a limited rate: a round of a large field, beside :mod:`cluster_model`.

The hosts are network namespaces of this machine: one with the driver and the scheduler, the others with a worker each.
They share its processors, which the model does not know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from cluster_model import RELAY_BYTES, Costs, round_seconds
from many_workers import SYSTEM, measured_costs
from on_cluster import large_rounds
from some_workers import SomeWorkers
from timing import Best, Options, Result, SkippedRow, from_tests

from ranklake.flows.engines.cluster import Cluster
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.raters import open_rater

WORKERS, FEW_WORKERS = (2, 4, 7), (2, 6)
SHORT_WORKERS, SHORT_FEW_WORKERS = (2, 4), (2, 4)
RATES = (1000, 100, 20)  # Mbit/s
BYTES_OF_MBIT = 125_000
FIELD, POPULATION, N_ROUNDS = 300_000, 600_000, 4
LIMITS = ClusterLimits(reply_seconds=600.0)  # on the slowest links, a round takes some
THREADS = 2


class _Run(NamedTuple):
    """Seconds of a round; bytes that the driver's host sends and receives for a row of it; the last ratings."""

    seconds: Best
    sent: float
    received: float
    bits: bytes


def links(options: Options) -> Iterator[Result]:
    """A round of a large field on few and on all workers, at each rate, relayed and with a copy for each worker."""
    field, population = options.smaller(FIELD), options.smaller(POPULATION)
    rounds = large_rounds(N_ROUNDS, field=field, population=population)
    short = options.quick or options.limit is not None
    workers, few_workers, rates = WORKERS, FEW_WORKERS, RATES
    if short:
        workers, few_workers, rates = SHORT_WORKERS, SHORT_FEW_WORKERS, RATES[:2]

    def rate(engine: Engine, counted: Callable[[], tuple[int, int]], relay_bytes: int = RELAY_BYTES) -> _Run:
        with patch.object(cluster, "limits", replace(cluster.limits, relay_bytes=relay_bytes)):
            rater = open_rater(SYSTEM, SYSTEM.params(), population, engine)
            list(rater.rate_batches([rounds.part(0, 1)]))  # now the players differ: newcomers are one number
            before, ended, bits = counted(), list[float](), b""
            for outcome in rater.rate_batches(rounds.part(i, i + 1) for i in range(len(rounds))):
                ended.append(time.perf_counter())
                bits = outcome.mu.tobytes()
            sent, received = ((now - then) / rounds.n_rows for now, then in zip(counted(), before, strict=True))
            rater.close()
        between = np.diff(ended)[:-1]  # rounds overlap; nothing overlaps the last one
        return _Run(Best(between.tolist()), sent, received, bits)

    with _hosts(max(workers)) as hosts, Cluster(hosts.address, limits=LIMITS) as cluster, Threads(THREADS) as threads:
        expected = rate(threads, hosts.bytes)
        costs = measured_costs(rounds, population, lambda n: SomeWorkers(cluster, n), few_workers, short=short)
        for mbit in rates:
            hosts.limit(mbit)
            few: _Run | None = None
            for n in workers:
                relayed, copied = (
                    rate(SomeWorkers(cluster, n), hosts.bytes, each) for each in (RELAY_BYTES, 1 << 60)
                )  # fmt: skip
                few = relayed if few is None else few
                yield _result(field, costs, mbit, n, relayed, copied, few, relayed.bits == copied.bits == expected.bits)


def _result(
    field: int, costs: Costs, mbit: int, workers: int, relayed: _Run, copied: _Run, few: _Run, same: bool
) -> Result:  # fmt: skip
    model, model_copied = (
        sum(round_seconds(costs, field, workers, passed_on, mbit * BYTES_OF_MBIT).values())
        for passed_on in (True, False)
    )
    growth = relayed.sent / few.sent
    return Result(
        "links",
        f"a round of {field:,}, {workers} workers, links of {mbit:,} Mbit/s; peer: a copy of the field for each; "
        f"model {model:.2f} s (peer {model_copied:.2f} s); bytes that the driver's host sends and receives a row: "
        f"{relayed.sent:.1f} and {relayed.received:.1f} (peer {copied.sent:.1f} and {copied.received:.1f})",
        relayed.seconds, copied.seconds,
        targets={"the same bits": same, f"{growth:.2f} of the bytes sent to the fewest workers <= 1.1": growth <= 1.1},
        figures={
            "model_seconds": model, "model_peer_seconds": model_copied, "bytes_sent": relayed.sent,
            "bytes_received": relayed.received, "peer_bytes_sent": copied.sent, "peer_bytes_received": copied.received,
        },
        case=f"{workers} workers, {mbit} Mbit/s",
    )  # fmt: skip


@contextmanager
def _hosts(workers: int) -> Iterator[Any]:
    """The hosts of the tests; the row is skipped where they cannot be made."""
    made = from_tests("helpers.hosts")
    with TemporaryDirectory() as folder:
        try:
            hosts = made.Hosts(workers, Path(folder))
        except made.NoHostsError as why:
            raise SkippedRow(str(why)) from None
        with hosts:
            yield hosts
