"""Time of a round on many workers, from costs that are measured on few.

A relayed message is simulated chunk by chunk: a worker has one processor, which receives a chunk and sends it to each
child, and one link, which carries one chunk at a time; both work at once. The other phases of a round follow one
another: the driver packs, its link carries what is sent or received once for each participant, three trips reach all
workers, and each worker prepares the summary of the whole field and computes its share of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.relay import tree

CHUNK_BYTES, RELAY_BYTES = ClusterLimits.chunk_bytes, ClusterLimits.relay_bytes
LINK = 1.25e9  # bytes a second, by default: 10 Gbit/s
LATENCY = 1e-4  # seconds from one machine to another
TRIP = 1e-3  # seconds for one call of one worker
TRIPS = 3


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds and bytes of a large round; those of one row unless stated otherwise."""

    packs: float  # seconds of the driver's own work
    replicated: float  # seconds of every worker for the whole field
    shared: float  # seconds of all workers together for its parts
    field: float  # bytes to all workers before the round
    partials: float  # bytes to all workers between the parts of its summary
    own: float  # bytes to one worker each
    received: float  # bytes that the driver receives
    further: float  # seconds of the driver for each worker in one trip
    chunk: float  # seconds of a processor to send or to receive one full chunk


def relay_seconds(n_bytes: float, workers: int, chunk: float, link: float = LINK) -> float:
    """Time until the last worker has a relayed message; the driver has the root as its only child."""
    sizes = np.full(int(n_bytes // CHUNK_BYTES), float(CHUNK_BYTES))
    sizes = np.append(sizes, n_bytes - sizes.sum())
    children = [range(1), *(range(below.start, below.stop) for below in tree(workers))]
    arrivals = [np.zeros(len(sizes)), *(np.zeros(len(sizes)) for _ in range(workers))]  # the driver, then the workers
    for node, below in enumerate(children):
        processor = busy = 0.0
        for at, size in enumerate(sizes.tolist()):
            share = chunk * size / CHUNK_BYTES
            processor = max(processor, float(arrivals[node][at])) + (share if node else 0.0)
            for child in below:
                processor += share
                busy = max(busy, processor) + size / link
                arrivals[1 + child][at] = busy + LATENCY
    return float(max(times[-1] for times in arrivals)) + chunk


def copies_seconds(n_bytes: float, workers: int, chunk: float, link: float = LINK) -> float:
    """Time until the driver has sent a message to each worker."""
    return LATENCY + workers * n_bytes * max(1 / link, chunk / CHUNK_BYTES)


def round_seconds(costs: Costs, n: int, workers: int, relayed: bool, link: float = LINK) -> dict[str, float]:
    """Seconds of a round of ``n`` participants, by phase, on links of so many bytes a second."""

    def broadcast(n_bytes: float) -> float:
        if relayed and n_bytes * (workers - 1) >= RELAY_BYTES:
            return relay_seconds(n_bytes, workers, costs.chunk, link)
        return copies_seconds(n_bytes, workers, costs.chunk, link)

    return {
        "driver packs": n * costs.packs,
        "to all": broadcast(n * costs.field) + (broadcast(n * costs.partials) if workers > 1 else 0.0),
        "to and from each": n * (costs.own + costs.received) * max(1 / link, costs.chunk / CHUNK_BYTES),
        "trips": TRIPS * (TRIP + costs.further * workers),
        "workers, all of the field": n * costs.replicated,
        "workers, their share": n * costs.shared / workers,
    }
