"""An interrupted block ends with KeyboardInterrupt, or its process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers.timeouts import TIMEOUT

from ranklake.flows.cli.terminal.process import interruptible


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ranklake-interrupts"]


def test_interruptible__restores_the_handlers() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    earlier = watchers()  # of other tests
    with interruptible("", signal.SIGTERM):
        (watcher,) = [thread for thread in watchers() if thread not in earlier]
        assert signal.getsignal(signal.SIGTERM) != before[1]
    watcher.join(TIMEOUT)
    assert watcher not in watchers()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    with pytest.raises(ValueError, match="ours"), interruptible(""):
        raise ValueError("ours")


def test_interruptible__an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible(""):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_interruptible__in_another_thread_does_nothing() -> None:
    done: list[str] = []

    def work() -> None:
        with interruptible(""):
            done.append("work")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(TIMEOUT)
    assert done == ["work"]


HEAD = """
import os, signal, sys, threading, time
import ranklake.flows.cli.terminal.process as interrupts
interrupts.GRACE_SECONDS = {grace}
def interrupt(number=signal.SIGINT):
    os.kill(os.getpid(), number)
try:
    with interrupts.interruptible("last words", signal.SIGTERM):
"""
TAIL = """
except KeyboardInterrupt:
    sys.exit(7)
except BaseException as error:
    sys.exit(f"{error!r} came out")
"""

AT_ONCE = "        interrupt()\n        time.sleep(100)"
TERMINATED = "        interrupt(signal.SIGTERM)\n        time.sleep(100)"
SOMETHING_ELSE = """
        try:
            interrupt()
            time.sleep(100)
        finally:
            raise RuntimeError("release unlocked lock")
"""
DROPPED = """
        import ctypes
        calls = []
        @ctypes.CFUNCTYPE(None)
        def callback():
            calls.append(interrupt() if not calls else None)
        callback()
        while True:
            time.sleep(0.001)
"""


def ends(block: str, grace: float) -> tuple[int, str]:
    """Exit code and output of a process that runs the block."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD.format(grace=grace) + block.rstrip() + TAIL],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "block",
    [AT_ONCE, TERMINATED, SOMETHING_ELSE, DROPPED],
    ids=["at-once", "terminated", "something-else", "dropped-in-a-callback"],
)
def test_interruptible__ends_with_keyboard_interrupt(block: str) -> None:
    assert ends(block, 1000.0) == (7, "")


KERNEL = """
import numba
@numba.njit(cache=True)
def double(x):
    return 2.0 * x
"""
LOADED = """
        import numba.core.codegen as codegen
        whole, calls = codegen.CPUCodeLibrary._object_getbuffer_hook, []
        def hook(cls, module):
            code = whole(module)
            if code is not None and not calls:
                calls.append(interrupt())
            return code
        codegen.CPUCodeLibrary._object_getbuffer_hook = classmethod(hook)
        import kernel
        while kernel.double(2.0) == 4.0:
            time.sleep(0.001)
"""


@pytest.mark.slow
def test_interruptible__an_interrupt_does_not_lose_the_code_of_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    path = f"        sys.path.insert(0, {str(tmp_path)!r})\n"
    assert ends(path + "        import kernel\n        kernel.double(2.0)", 1000.0) == (0, "")
    assert ends(path + LOADED.lstrip("\n"), 1000.0) == (7, "")


SWALLOWED = """
        said = []
        while True:
            try:
                if not said:
                    said.append(interrupt())
                time.sleep(100)
            except KeyboardInterrupt:
                pass
"""
NEVER_FREE = """
        lock, timers = threading.Lock(), [threading.Timer(0.0, interrupt)]
        lock.acquire()
        while True:
            try:
                for timer in timers:
                    timers = []
                    timer.start()
                lock.acquire()
            except KeyboardInterrupt:
                pass
"""
TWICE = """
        for _ in range(2):
            try:
                interrupt()
                time.sleep(100)
            except KeyboardInterrupt:
                pass
"""


@pytest.mark.bound("ranklake.flows.cli.terminal.process.GRACE_SECONDS")
@pytest.mark.parametrize(
    ("block", "grace"), [(SWALLOWED, 0.1), (NEVER_FREE, 0.1), (TWICE, 1000.0)], ids=["swallowed", "never-free", "twice"]
)
def test_interruptible__a_process_that_does_not_end_is_killed(block: str, grace: float) -> None:
    assert ends(block, grace) == (1, "last words\n")
