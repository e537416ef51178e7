"""A Dask cluster on this machine: the scheduler in this process, and each worker in a process of its own.

Dask runs code of every client that connects, and all users of a machine can reach its loopback address. Therefore every
connection is encrypted and needs a certificate, which is made for this cluster only and held in memory. There is no
HTTP server without a request for a dashboard. The cluster has Dask's defaults, as the user's settings for other
clusters could break it.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import distributed
import locket
from dask import config
from distributed.system import MEMORY_LIMIT

from ..common.extras import need
from .connection import call_with_timeout
from .protocols import EngineError

DASHBOARD = "RANKLAKE_DASHBOARD"  # environment variable: the dashboard's port; without it there is none
HOST = "127.0.0.1"
SCRATCH = "ranklake-dask-"  # prefix of the names of temporary folders
MIN_AGE_SECONDS = 60.0  # minimum age of a removed folder without a lock; its owner may not have locked it yet

# Environment of the workers, as in deploy/dask.yaml (with the reasons); one thread each
WORKER_ENVIRON = {
    "MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "MALLOC_MMAP_THRESHOLD_": 1 << 25,
    "OMP_NUM_THREADS": 1,
    "MKL_NUM_THREADS": 1,
    "OPENBLAS_NUM_THREADS": 1,
}

_STARTING = threading.Lock()  # Dask's settings are global to the process: one thread at a time replaces them


class _WithoutHttp:
    """No HTTP server. Dask starts one even without a dashboard: metrics, state and health, open to any client."""

    def start_http_server(self, *_: Any, **__: Any) -> None: ...


class Scheduler(_WithoutHttp, distributed.Scheduler): ...


class Worker(_WithoutHttp, distributed.Worker): ...


class LocalCluster:
    """A scheduler at the ``address`` of a free port, and workers of one thread; clients need its ``security``.

    Raises MissingExtraError: the package ``cryptography`` is not installed.
    Raises EngineError: processes or ports are not available, or ``RANKLAKE_DASHBOARD`` is not a port.
    """

    _cluster: Any = None

    def __init__(self, workers: int) -> None:
        need("cryptography", "cluster", "the engine dask")
        dashboard = _dashboard_port()
        self._scratch = _Scratch()
        try:
            with self.settings():
                self.security = distributed.Security.temporary()  # type: ignore[no-untyped-call]
                call_with_timeout(None, lambda: self._start(workers, dashboard), to_its_end=True)
        except BaseException as error:
            if self._cluster is not None:
                self._cluster.close()
            self._scratch.remove()
            if isinstance(error, OSError | TimeoutError | RuntimeError):
                raise EngineError(f"no Dask cluster starts on this machine: {error}") from error
            raise
        self.address: str = self._cluster.scheduler_address

    def _start(self, workers: int, dashboard: int | None) -> None:
        _ignore_interrupts()
        quiet = {"silence_logs": logging.CRITICAL}  # the engine logs a lost worker in one line
        shared: dict[str, Any] = {"host": HOST, "protocol": "tls://", "security": self.security, "dashboard": False}
        scheduler = {"cls": Scheduler, "options": shared | {"port": 0}}
        if dashboard is not None:
            shown = {"port": 0, "dashboard": True, "dashboard_address": f"{HOST}:{dashboard}"}
            scheduler = {"cls": distributed.Scheduler, "options": shared | shown}
        own = {"worker_class": Worker, "nthreads": 1, "memory_limit": MEMORY_LIMIT // workers}
        nanny = {"cls": distributed.Nanny, "options": shared | own | quiet}
        self._cluster = distributed.SpecCluster(  # type: ignore[no-untyped-call]
            scheduler=scheduler, workers=dict.fromkeys(range(workers), nanny), security=self.security, **quiet
        )

    @contextmanager
    def settings(self) -> Iterator[None]:
        """Dask's defaults in this process, without the settings of the user's files and environment."""
        defaults = deepcopy(config.merge(*config.defaults))
        defaults["distributed"]["nanny"]["pre-spawn-environ"] = dict(WORKER_ENVIRON)
        ours = {"distributed": defaults["distributed"], "temporary-directory": str(self._scratch.path)}
        with _STARTING, config.set(ours):
            yield

    def close(self) -> None:
        """End all processes and remove their files."""
        try:
            self._cluster.close()
        finally:
            self._scratch.remove()


class _Scratch:
    """A private folder of this user for all temporary files of a cluster.

    If the driver is killed, the folder stays without a lock. The user's next cluster removes it.
    """

    def __init__(self) -> None:
        _remove_left_behind()
        self.path = Path(tempfile.mkdtemp(prefix=SCRATCH))  # with mode 0700
        self._lock = locket.lock_file(str(self.path / "lock"), timeout=0)
        self._lock.acquire()

    def remove(self) -> None:
        self._lock.release()
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_left_behind() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        try:
            status = path.lstat()
            owned = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if not (stat.S_ISDIR(status.st_mode) and owned and time.time() - status.st_mtime > MIN_AGE_SECONDS):
                continue
            lock = locket.lock_file(str(path / "lock"), timeout=0)
            lock.acquire()
        except (OSError, locket.LockError):  # of another user, removed meanwhile, or in use
            continue
        lock.release()
        shutil.rmtree(path, ignore_errors=True)


def _dashboard_port() -> int | None:
    asked = os.environ.get(DASHBOARD, "")
    if not asked:
        return None
    if not (asked.isascii() and asked.isdigit() and 0 < int(asked) < 1 << 16):
        raise EngineError(f"{DASHBOARD} must be the port of a dashboard, 1 to 65535, got {asked!r}")
    return int(asked)


def _ignore_interrupts() -> None:
    """Let this thread, and processes started by it, ignore Ctrl-C, which a terminal sends to all: the driver ends them.

    The main thread is still interrupted. The signal is blocked: to ignore it is possible only for the whole process.
    """
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        resource_tracker.ensure_running()  # its start unblocks the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
