"""A Dask cluster as its users start one: a scheduler and workers by Dask's own commands."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import distributed
from helpers.certificates import Certificates
from helpers.timeouts import TIMEOUT


class Site:
    """A scheduler and workers, each a process that is ended by its handle.

    ``tls``: certificates, given as options; with ``environ``, added to the environment of all processes, only to
    clients of the tests. ``answers``: a client is let in; otherwise nothing but the port is waited for.
    """

    def __init__(self, folder: Path, workers: int, tls: Certificates | None = None, answers: bool = True,
                 environ: Mapping[str, str] | None = None) -> None:  # fmt: skip
        self._folder, self._security, self._environ = folder, tls and tls.security(), environ or {}
        self._options = tls.options() if tls and not environ else []
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        self.address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{port}"
        self.start_scheduler()
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(workers):
            self.add_worker()
        try:
            self.wait(workers) if answers else self._wait_for_port(port)
        except BaseException:
            self.close()
            raise

    def start_scheduler(self) -> None:
        """Start a scheduler, also in the place of an ended one."""
        host, _, port = self.address.rpartition(":")
        self.scheduler = self._start("scheduler", "--host", host, "--port", port)

    def add_worker(self, *options: str) -> None:
        """Start a worker, by default without a nanny."""
        at = ["--nthreads", "1", "--local-directory", str(self._folder)]
        self.workers.append(self._start("worker", self.address, *at, *(options or ["--no-nanny"])))

    def wait(self, workers: int) -> None:
        wait_for_workers(self.address, workers, self._security)

    def _wait_for_port(self, port: int) -> None:
        give_up = time.monotonic() + TIMEOUT
        while time.monotonic() < give_up:
            with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(0.01)
        raise TimeoutError(f"nothing listens on port {port}")

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        root = Path(__file__).parents[2]
        path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, "--no-dashboard", *self._options],
            env=os.environ | {"PYTHONPATH": path} | self._environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def wait_for_workers(address: str, workers: int, security: distributed.Security | None = None) -> None:
    """Wait until a scheduler has so many workers, and these have imported ranklake.

    An import takes seconds on a slow machine. An engine takes a worker that does not answer in a few seconds for lost.
    """
    with distributed.Client(address, timeout=TIMEOUT, security=security, set_as_default=False) as client:
        if workers:
            client.wait_for_workers(workers, timeout=TIMEOUT)
            client.run(exec, "import ranklake.flows.engines.actors, ranklake.flows.execution.partition_worker")
