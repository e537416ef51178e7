"""A Dask cluster, an existing one or one started here, with one Actor on each worker.

Calls go straight to the workers and past the scheduler, which only lists them. Actors are not resilient: after
:class:`.protocols.WorkersLostError` a whole group is useless. Its caller starts a new group and continues from the
lake. Every wait has a timeout.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from types import TracebackType
from typing import Any, Self, TypeVar

from ..common.cpus import available_cpus
from .actors import DaskActorGroup, WorkerActor, one_line
from .connection import connect, import_dask, within
from .environment import about, compare
from .protocols import EngineError, WorkersLostError

__all__ = ["Cluster"]

T = TypeVar("T")

CONNECT_SECONDS = 6.0  # until a scheduler must have answered
WORKERS_SECONDS = 7.0  # until somebody must have come to work
RETURN_SECONDS = 60.0  # until a scheduler or workers that were there must have come back
COMPILE_SECONDS = 600.0  # until a new crew has its kernels
TIMEOUT_SECONDS = 60.0  # seconds until an answer must be there, and more for many rows
PENALTY = 1000  # crews that a worker that was lost counts as being in

_PLACING = threading.Lock()  # who is the current client is told to all of Dask in a process, by one thread at a time

log = logging.getLogger("ranklake.cluster")


class Cluster:
    """The workers of a scheduler.

    Parameters
    ----------
    address
        Of the scheduler, as ``tcp://host:8786`` or ``tls://host:8786``.
    security
        A ``distributed.Security``; by default that of Dask's settings.
    patience
        Seconds until an answer must be there.

    Raises
    ------
    MissingExtraError
        Dask is not installed.
    EngineError
        No scheduler answers, or the certificate of one side is refused (:func:`.connecting.connect`).
    """

    def __init__(self, address: str, security: Any = None, timeout: float = TIMEOUT_SECONDS) -> None:
        self.address, self.timeout = address, timeout
        self._security, self._wanted = security, 1
        self._local: Any = None  # a cluster that was started here
        self._out_of_memory: set[str] = set()
        self._busy: Counter[str] = Counter()  # crews that a worker is in
        self._hiring = threading.Lock()
        self._hired = self.closed = False
        self._client: Any = None
        self._connect()

    @classmethod
    def of(cls, client: Any, timeout: float = TIMEOUT_SECONDS) -> Cluster:
        """The cluster of somebody's Dask client, through a connection of its own."""
        return cls(client.scheduler.address, client.security, timeout)

    @classmethod
    def local(cls, workers: int | None = None, timeout: float = TIMEOUT_SECONDS) -> Cluster:
        """A cluster on this machine, ended with this object."""
        import_dask("the engine dask")
        from .local_cluster import LocalCluster

        count = workers or available_cpus()
        started = LocalCluster(count)
        try:
            with started.settings():
                cluster = cls(started.address, started.security, timeout)
        except BaseException:
            _try_to(started.close)
            raise
        cluster._local, cluster._wanted = started, count
        return cluster

    @property
    def workers(self) -> int:
        return len(self._addresses())

    @property
    def here(self) -> bool:
        """Whether the workers are processes of this machine, which share its cache of compiled kernels."""
        return self._local is not None

    def describe(self) -> str:
        told = f"Dask cluster {self.address}, {self.workers} workers"
        dashboard = self._client.scheduler_info(n_workers=0).get("services", {}).get("dashboard")
        if dashboard is None:
            return told
        open_to = "; every user of this machine can read it" if self.here else ""
        return f"{told}; dashboard {self._client.dashboard_link}{open_to}"

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> DaskActorGroup:
        with self._hiring:
            self._reconnect()
            addresses = sorted(self._wait_for_workers(), key=lambda one: self._busy[one])[:max_workers]
            self._busy.update(addresses)
            self._wanted = 1
        actors = self._place(addresses)
        self._hired = True
        group = DaskActorGroup(self, actors, addresses)
        try:
            if not actors:
                raise WorkersLostError(f"none of {len(addresses)} workers of {self.address} answers")
            compare(group.call("about", [()] * group.size, self.timeout))
            group.call("set_state", [(make, init_args(i, group.size)) for i in range(group.size)], COMPILE_SECONDS)
        except BaseException:
            group.close()
            raise
        log.info("hired %d of %d workers of %s", group.size, len(addresses), self.address)
        return group

    def release(self, addresses: Sequence[str]) -> None:
        self._busy.subtract(addresses)

    def penalise(self, address: str) -> None:
        self._busy[address] += PENALTY

    def exclude(self, address: str) -> None:
        self._out_of_memory.add(address)

    def sync(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        result: T = self._client.sync(call, callback_timeout=seconds)
        return result

    def _reconnect(self) -> None:
        deadline = time.monotonic() + (RETURN_SECONDS if self._hired else 0.0)
        while self._client is None or self._client.status != "running":
            if self.closed:
                raise EngineError(f"the connection to {self.address} was closed")
            try:
                self._connect()
            except EngineError:
                if time.monotonic() > deadline:
                    raise

    def _connect(self) -> None:
        self._disconnect()
        self._client = connect(self.address, CONNECT_SECONDS, self._security, direct_to_workers=True, name="ranklake")

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            _try_to(client.close)

    def _addresses(self) -> list[str]:
        try:
            # without a number it would name five of them and no more
            info = within(CONNECT_SECONDS, lambda: self._client.scheduler_info(n_workers=-1))
        except (OSError, TimeoutError, RuntimeError) as error:
            raise WorkersLostError(f"the scheduler at {self.address} does not answer ({one_line(error)})") from error
        return sorted(address for address in info.get("workers", {}) if address not in self._out_of_memory)

    def _wait_for_workers(self) -> list[str]:
        deadline = time.monotonic() + (RETURN_SECONDS if self._hired else WORKERS_SECONDS)
        while True:
            addresses = self._addresses()
            if len(addresses) >= self._wanted or (addresses and time.monotonic() > deadline):
                return addresses
            if time.monotonic() > deadline:
                left = f"; {len(self._out_of_memory)} ran out of memory" if self._out_of_memory else ""
                raise EngineError(
                    f"the scheduler at {self.address} has no workers{left}; start some with "
                    f"`dask worker {self.address} --nthreads 1`"
                )
            time.sleep(0.05)

    def _place(self, addresses: Sequence[str]) -> dict[str, Any]:
        """A member on each worker that answers."""
        hired = uuid.uuid4().hex  # a key that was there before would bring back its old state
        actors: dict[str, Any] = {}
        with _PLACING, self._client.as_current():
            futures = {
                address: self._client.submit(
                    WorkerActor,
                    key=f"ranklake-{hired}-{i}",
                    actor=True,
                    workers=[address],
                    allow_other_workers=True,  # otherwise the wait for one that is gone has no end
                    pure=False,
                )
                for i, address in enumerate(addresses)
            }
            deadline = time.monotonic() + min(self.timeout, WORKERS_SECONDS)
            for address, future in futures.items():
                try:
                    placed = future.result(timeout=max(deadline - time.monotonic(), 0.05))
                    actors[address] = future, copy(placed)  # a copy made here speaks through the current client
                except ImportError as error:
                    raise EngineError(
                        f"worker {address} has no ranklake ({error}); install {about()['ranklake']} there"
                    ) from error
                except Exception as error:
                    log.warning("worker %s is left out: %s", address, one_line(error))
        return actors

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed = True
        self._disconnect()
        if self._local is not None:
            _try_to(self._local.close)


def _try_to(close: Callable[[], Any]) -> None:
    """Close something that is of no more use either way."""
    try:
        within(CONNECT_SECONDS, close)
    except Exception as error:
        log.debug("while closing: %r", error)
