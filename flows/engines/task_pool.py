"""Pools for independent tasks: threads of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Protocol, Self, TypeVar

from ..common.cpus import available_cpus
from .connection import connect, disconnect, import_dask
from .factory import choose_engine

T = TypeVar("T")
TIMEOUT_SECONDS = 10.0  # for the connection to a scheduler
RETRIES = 3  # of a task whose worker died


class TaskPool(Protocol):
    """Calls a function many times on one large object that all calls share."""

    def run(self, work: Callable[..., T], shared: Any, jobs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, T]]:
        """Call ``work(shared, *job)`` for every job; yields the job's number and its result as they finish."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *ended: object) -> None: ...


def open_task_pool(workers: int | None = None, scheduler: str | None = None) -> TaskPool:
    """Threads, one for each core by default, or the cluster at an address.

    Raises ValueError: both are given.
    Raises MissingExtraError, EngineError: as :func:`.connection.connect`.
    """
    if scheduler is None:
        return _Threads(workers or available_cpus())
    if workers is not None:
        raise ValueError("--workers counts threads of this machine, --scheduler has its own workers; give one of them")
    return _Cluster(scheduler)


def open_whole_pool(engine: str | None = None, workers: int | None = None, scheduler: str | None = None) -> TaskPool:
    """A pool for tasks that use a whole worker each: one after the other here, or one on each worker of a cluster.

    ``engine``, ``workers``, ``scheduler``: as for :func:`.factory.open_engine`.
    Raises ValueError: as :func:`.factory.choose_engine`.
    Raises MissingExtraError, EngineError: the cluster does not start, or does not answer.
    """
    if choose_engine(engine, workers, scheduler) != "dask":
        return _Here()
    return _LocalCluster(workers or available_cpus()) if scheduler is None else _Cluster(scheduler)


class _Here:
    """Tasks in the calling thread, where an interrupt ends them."""

    def run(self, work: Callable[..., T], shared: Any, jobs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, T]]:
        for at, job in enumerate(jobs):
            yield at, work(shared, *job)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        return None


class _Threads:
    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="ranklake-trial")

    def run(self, work: Callable[..., T], shared: Any, jobs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, T]]:
        futures = {self._pool.submit(work, shared, *job): at for at, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            for future in futures:
                future.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Cluster:
    def __init__(self, scheduler: str, security: Any = None) -> None:
        distributed = import_dask("--scheduler")
        self._as_completed, self._address = distributed.as_completed, scheduler
        self._lost = (distributed.KilledWorker, distributed.client.FutureCancelledError)
        self._client = connect(scheduler, TIMEOUT_SECONDS, security)
        self._shared: Any = None
        self._scattered: Any = None

    def run(self, work: Callable[..., T], shared: Any, jobs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, T]]:
        if shared is not self._shared:  # sent once for all batches of a search
            self._scattered, self._shared = self._client.scatter(shared, broadcast=True), shared
        # if a worker dies, its job is retried: jobs depend on their arguments alone
        futures = {self._client.submit(work, self._scattered, *job, pure=False, retries=RETRIES): at
                   for at, job in enumerate(jobs)}  # fmt: skip
        came, why = 0, "its workers ended, with the shared data"
        try:
            for future, result in self._as_completed(list(futures), with_results=True, loop=self._client.loop):
                if future.status != "finished":  # cancelled: its arguments are lost
                    break
                came += 1
                yield futures[future], result
        except self._lost as error:
            why = str(error)
        finally:
            self._client.cancel([future for future in futures if not future.done()])
        if came < len(jobs):
            raise OSError(f"the cluster at {self._address} lost a task: {why}; see its logs, the same command goes on")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        disconnect(self._client)


class _LocalCluster(_Cluster):
    """A cluster on this machine, which ends with this object."""

    def __init__(self, workers: int) -> None:
        import_dask("the engine dask")
        from .local_cluster import LocalCluster

        self._started = LocalCluster(workers)
        try:
            with self._started.settings():
                super().__init__(self._started.address, self._started.security)
        except BaseException:
            self._started.close()
            raise

    def __exit__(self, *ended: object) -> None:
        try:
            super().__exit__(*ended)
        finally:
            self._started.close()
