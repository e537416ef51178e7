"""Ctrl-C while a cluster of this machine starts or closes ends its process with the interrupt, and no traceback.

Dask closes a cluster again at the end of the process; two concurrent closes raise an error there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers.timeouts import TIMEOUT

from ranklake.flows.engines.connection import call_with_timeout

pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")

PROGRAM = """
import asyncio, os, signal, sys
import distributed
import ranklake.flows.cli.terminal.process as interrupts
from ranklake.flows.engines.cluster import Cluster

def strike(kind, name):
    method, struck = getattr(kind, name), []
    async def struck_once(self, *given, **named):
        if not struck:
            struck.append(os.kill(os.getpid(), signal.{signal}))
            await asyncio.sleep(0.5)  # the main thread is interrupted meanwhile
        return await method(self, *given, **named)
    setattr(kind, name, struck_once)

if __name__ == "__main__":
    interrupts.GRACE_SECONDS = 1000.0
    try:
        with interrupts.interruptible("last words", signal.SIGTERM):
            {before}
            with Cluster.local(1):
                print("started")
                {inside}
    except KeyboardInterrupt:
        sys.exit(7)
"""
STARTING = "strike(distributed.SpecCluster, '_start')"
MOMENTS = {
    "starting": (STARTING, ""),
    "closing the client": ("pass", "strike(distributed.Client, '_close')"),
    "closing the cluster": ("pass", "strike(distributed.SpecCluster, '_correct_state')"),
}


@pytest.mark.slow
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_local_cluster__interrupted_at_its_start_or_end_is_closed(moment: str, sent: str, tmp_path: Path) -> None:
    before, inside = MOMENTS[moment]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(before=before, inside=inside or "pass", signal=sent))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, program],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3]), "TMPDIR": str(scratch)},
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == ("" if before == STARTING else "started\n")
    assert list(scratch.iterdir()) == []


def test_call_with_timeout__is_ended_before_an_interrupt_is_raised() -> None:
    free, ended = threading.Event(), threading.Event()

    def call() -> None:
        signal.pthread_kill(main, signal.SIGINT)
        free.wait(0.05)
        ended.set()

    main = threading.get_ident()
    with pytest.raises(KeyboardInterrupt):
        call_with_timeout(TIMEOUT, call, to_its_end=True)
    assert ended.is_set()
