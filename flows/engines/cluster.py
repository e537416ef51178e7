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
from typing import Any, Self, TypeVar

from ..common.cpus import available_cpus
from ..common.text import count, with_reasons
from .actors import DaskActorGroup, WorkerActor, one_line
from .connection import call_with_timeout, connect, disconnect, import_dask
from .environment import check_environments, environment
from .limits import ClusterLimits
from .protocols import EngineError, WorkersLostError

T = TypeVar("T")

PENALTY = 1000  # groups that are added to the count of a lost worker

_SUBMITTING = threading.Lock()  # the current client is global to Dask in a process: one thread at a time sets it

log = logging.getLogger("ranklake.cluster")


class Cluster:
    """The workers of a scheduler at an address, as ``tcp://host:8786``; errors are as of :func:`.connection.connect`.

    ``security``: a ``distributed.Security``; by default that of Dask's settings.
    """

    def __init__(self, address: str, security: Any = None, limits: ClusterLimits | None = None) -> None:
        self.address, self.limits = address, limits or ClusterLimits()
        self._security, self._wanted = security, 1
        self._local: Any = None  # the cluster started by :meth:`local`
        self._out_of_memory: set[str] = set()
        self._busy: Counter[str] = Counter()  # groups that use a worker
        self._starting = threading.Lock()
        self._started = self.closed = False
        self._client: Any = None
        self._connect()

    @classmethod
    def of(cls, client: Any) -> Cluster:
        """The cluster of a Dask client, through a separate connection."""
        return cls(client.scheduler.address, client.security)

    @classmethod
    def local(cls, workers: int | None = None, limits: ClusterLimits | None = None) -> Cluster:
        """A cluster on this machine, which ends with this object."""
        import_dask("the engine dask")
        from .local_cluster import LocalCluster

        count = workers or available_cpus()
        started = LocalCluster(count)
        try:
            with started.settings():
                cluster = cls(started.address, started.security, limits)
        except BaseException:
            _try_to(started.close)
            raise
        cluster._local, cluster._wanted = started, count
        return cluster

    @property
    def workers(self) -> int:
        return len(self._addresses())

    @property
    def on_this_machine(self) -> bool:
        """Whether the workers are processes of this machine, which share its cache of compiled kernels."""
        return self._local is not None

    def describe(self) -> str:
        text = f"Dask cluster {self.address}, {self.workers} workers"
        dashboard = self._client.scheduler_info(n_workers=0).get("services", {}).get("dashboard")
        if dashboard is None:
            return text
        open_to = "; every user of this machine can read it" if self.on_this_machine else ""
        return f"{text}; dashboard {self._client.dashboard_link}{open_to}"

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> DaskActorGroup:
        limits = self.limits
        with self._starting:
            deadline = time.monotonic() + (limits.return_seconds if self._started else 0.0)
            while self._client is None or self._client.status != "running":
                if self.closed:
                    raise EngineError(f"the connection to {self.address} was closed")
                try:
                    self._connect()
                except EngineError:
                    if time.monotonic() > deadline:
                        raise
            addresses = sorted(self._wait_for_workers(), key=lambda one: self._busy[one])
            left_out = dict.fromkeys(sorted(self._out_of_memory), "ran out of memory before")
            if (missing := self._wanted - len(addresses)) > 0:  # of a cluster started here
                left_out[f"{missing} of {count(self._wanted, 'worker')} of this machine"] = "not started in time"
            addresses = addresses[:max_workers]
            self._busy.update(addresses)
            self._wanted = 1
        actors, silent = self._submit_actors(addresses)
        if left_out := left_out | silent:
            log.warning("workers of %s without a part of this work: %s", self.address, with_reasons(left_out))
        self._started = True
        group = DaskActorGroup(self, actors, addresses, left_out)
        try:
            if not actors:
                raise WorkersLostError(f"none of the {len(addresses)} workers of {self.address} answers")
            check_environments(group.call("environment", [()] * group.size, limits.reply_seconds))
            states = [(make, init_args(i, group.size)) for i in range(group.size)]
            group.call("set_state", states, limits.compile_seconds)
            group.connect_relays(min(limits.reply_seconds, limits.link_seconds))
        except BaseException:
            group.close()
            raise
        log.info("started actors on %d of %d workers of %s", group.size, len(addresses), self.address)
        return group

    def release(self, addresses: Sequence[str]) -> None:
        """Subtract a group from the count of these workers."""
        self._busy.subtract(addresses)

    def penalise(self, address: str) -> None:
        """Record the loss of this worker: groups that do not need all workers prefer others."""
        self._busy[address] += PENALTY

    def exclude(self, address: str) -> None:
        """Start no more actors on this worker, as it ran out of memory."""
        self._out_of_memory.add(address)

    def sync(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Run a coroutine on the client's event loop; returns its result."""
        result: T = self._client.sync(call, callback_timeout=seconds)
        return result

    def _connect(self) -> None:
        self._disconnect()
        seconds = self.limits.connect_seconds
        self._client = connect(self.address, seconds, self._security, direct_to_workers=True, name="ranklake")

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            _try_to(lambda: disconnect(client))

    def _addresses(self) -> list[str]:
        try:
            # by default Dask lists at most five workers
            info = call_with_timeout(self.limits.connect_seconds, lambda: self._client.scheduler_info(n_workers=-1))
        except (OSError, TimeoutError, RuntimeError) as error:
            raise WorkersLostError(f"the scheduler at {self.address} does not answer ({one_line(error)})") from error
        return sorted(address for address in info.get("workers", {}) if address not in self._out_of_memory)

    def _wait_for_workers(self) -> list[str]:
        deadline = time.monotonic() + (self.limits.return_seconds if self._started else self.limits.workers_seconds)
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

    def _submit_actors(self, addresses: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
        """Start an actor on each worker that answers; returns these, and the other workers with the reasons."""
        generation = uuid.uuid4().hex  # for a key used before, Dask returns the old actor with its state
        actors: dict[str, Any] = {}
        silent: dict[str, str] = {}
        with _SUBMITTING, self._client.as_current():
            futures = {
                address: self._client.submit(
                    WorkerActor,
                    key=f"ranklake-{generation}-{i}",
                    actor=True,
                    workers=[address],
                    allow_other_workers=True,  # without it, Dask waits for a lost worker forever
                    pure=False,
                )
                for i, address in enumerate(addresses)
            }
            seconds = min(self.limits.reply_seconds, self.limits.workers_seconds)
            deadline = time.monotonic() + seconds
            for address, future in futures.items():
                try:
                    placed = future.result(timeout=max(deadline - time.monotonic(), 0.05))
                    actors[address] = future, copy(placed)  # a copy made here uses the current client
                except ImportError as error:
                    raise EngineError(
                        f"worker {address} has no ranklake ({error}); install {environment()['ranklake']} there"
                    ) from error
                except TimeoutError:
                    silent[address] = f"started no actor within {seconds:.0f} s"
                except Exception as error:
                    silent[address] = one_line(error)
        return actors, silent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.closed = True
        try:
            self._disconnect()
        finally:
            if self._local is not None:
                _try_to(self._local.close)


def _try_to(close: Callable[[], Any]) -> None:
    """Close something that is not used any more; errors are only logged."""
    try:
        call_with_timeout(ClusterLimits.connect_seconds, close, to_its_end=True)
    except Exception as error:
        log.debug("while closing: %r", error)
