"""Limits of a cluster: how long its answers may take, and how its messages are cut."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClusterLimits:
    """Limits of one cluster; local engines have none.

    ``connect_seconds``, ``workers_seconds``: for the scheduler's first answer, and for the first worker.
    ``link_seconds``: for the answer of one worker to another.
    ``return_seconds``: for the return of a lost scheduler or lost workers.
    ``compile_seconds``: for the kernels of new actors.
    ``reply_seconds``: for a reply; more for many rows.
    ``relay_bytes``: bytes of all copies of a message beyond the first, from which workers pass it on.
    ``chunk_bytes``: of each part of a message that is passed on.
    ``shared_summary_rows``: participants from which sharing the summary of a round is worth two more trips to each
    worker.
    ``overlap_rows``: participants from which a thread pays for the driver's own work.
    """

    connect_seconds: float = 6.0
    workers_seconds: float = 7.0
    link_seconds: float = 7.0
    return_seconds: float = 60.0
    compile_seconds: float = 600.0
    reply_seconds: float = 60.0
    relay_bytes: int = 1 << 20
    chunk_bytes: int = 1 << 20
    shared_summary_rows: int = 50_000
    overlap_rows: int = 20_000
