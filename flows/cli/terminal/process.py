"""The process of a command: its interrupts, its errors and log lines, the memory of pyarrow, and imports it saves.

All output is escaped and of limited length.
"""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

import click

from ...common.text import message
from .output import print_line


class _NoPandas:
    """Finds no pandas; other finders are not asked for it. A base class would import importlib.resources."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def without_pandas() -> None:
    """Let pyarrow work in this process as if pandas were not installed, unless it is imported already.

    At its first conversions, pyarrow imports pandas if it can, and it does not try again. Later imports of pandas
    succeed, but pyarrow does not know its missing values: this is for commands that never use data frames.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0]).to_numpy()  # there, and back: each direction looks for pandas
    finally:
        sys.meta_path.remove(finder)


_VARIABLE = "ARROW_DEFAULT_MEMORY_POOL"
_KEPT_MS = 10_000  # the default, a second, is shorter than the time between two snapshots of a slow run


def keep_freed_memory() -> None:
    """Let pyarrow use jemalloc in this process, where its build has it, and keep freed memory for some seconds.

    The default, mimalloc, gives memory back after each table, and the system clears it for the next one. Called before
    the first import of pyarrow, on Linux, this also holds for memory that Arrow allocates without a pool given to it.
    The environment variable ``ARROW_DEFAULT_MEMORY_POOL`` takes precedence.
    """
    if _VARIABLE in os.environ:
        return
    if sys.platform == "linux":  # other builds may lack jemalloc, and Arrow would print a warning
        os.environ[_VARIABLE] = "jemalloc"  # Arrow reads it when it is loaded
    try:
        import pyarrow as pa
    finally:
        os.environ.pop(_VARIABLE, None)  # not for child processes

    with suppress(NotImplementedError):  # Windows
        pa.set_memory_pool(pa.jemalloc_memory_pool())
        pa.jemalloc_set_decay_ms(_KEPT_MS)


def print_usage(error: click.UsageError) -> None:
    """Print a usage error, with click's lines about the usage; for a group without a command, its help."""
    if not isinstance(error, click.exceptions.NoArgsIsHelpError):  # whose message is our help text
        error.message = message(error.message)  # type: ignore[misc]  # escapes line breaks of the message only
    text = io.StringIO()
    error.show(text)
    for line in text.getvalue().removesuffix("\n").split("\n"):
        print_line(line.replace("\t", "    "), err=True)


def print_traceback(error: BaseException) -> None:
    """Print the traceback of an unexpected error, or of any error with ``--debug``."""
    import traceback

    for line in "".join(traceback.format_exception(error)).removesuffix("\n").split("\n"):
        print_line(line, err=True)


def escape_logs() -> None:
    """Escape log lines also without a handler: Python would write them to stderr unchanged."""
    import logging

    class Visible(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:
            return message(super().formatMessage(record))

        def formatException(self, ei: Any) -> str:
            return "\n".join(map(message, super().formatException(ei).split("\n")))

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Visible())


GRACE_SECONDS = 8.0  # an interrupted process is killed after this time; service managers wait 10 s
_AGAIN_SECONDS = 0.05  # at most, from an interrupt that was dropped to the next one
_CALLBACKS = ("_raw_object_cache_notify", "_raw_object_cache_getbuffer")  # called by LLVM through ctypes


@contextmanager
def interruptible(last_words: str, *more: signal.Signals) -> Iterator[None]:
    """A block in which Ctrl-C, or another signal, raises ``KeyboardInterrupt``; the process must end soon after.

    A second signal ends the process at once, with ``last_words`` on the standard error and exit code 1. A signal that
    is ignored stays ignored, as for background processes of a script. Outside the main thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = dropped = again = ended = False
    hook = sys.unraisablehook
    waiting, wake = os.pipe()  # the handler only writes: the interrupted code may hold any lock

    def end_by_force() -> None:
        os.write(2, f"{last_words}\n".encode())
        os._exit(1)

    def watch() -> None:
        nonlocal dropped, again
        if sent := os.read(waiting, 1):
            end = time.monotonic() + GRACE_SECONDS
            while (left := end - time.monotonic()) > 0.0:
                time.sleep(min(left, _AGAIN_SECONDS))
                if dropped:
                    dropped, again = False, True
                    _thread.interrupt_main(signal.Signals(sent[0]))
            end_by_force()
        os.close(waiting)

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted, dropped, again
        if again:
            again = False
        elif interrupted:
            end_by_force()
        else:
            interrupted = True
            os.write(wake, bytes([number]))
        if _in_callback(frame):
            dropped = True
        elif not ended:
            raise KeyboardInterrupt

    def unraisable(error: sys.UnraisableHookArgs) -> None:
        nonlocal dropped
        if interrupted and issubclass(error.exc_type, KeyboardInterrupt):
            dropped = True  # no lock is taken here, either
        else:
            hook(error)

    threading.Thread(target=watch, name="ranklake-interrupts", daemon=True).start()
    signals = [one for one in (signal.SIGINT, *more) if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, interrupt) for one in signals}
    sys.unraisablehook = unraisable
    try:
        yield
    except Exception as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        ended = True
        if not interrupted:
            sys.unraisablehook = hook
            for one, handler in before.items():
                signal.signal(one, signal.SIG_DFL if handler is None else handler)  # None: set outside Python
            os.close(wake)


def _in_callback(frame: FrameType | None) -> bool:
    """Whether LLVM waits for a function of llvmlite in which this frame runs."""
    while frame is not None:
        if frame.f_code.co_name in _CALLBACKS and frame.f_globals.get("__name__") == "llvmlite.binding.executionengine":
            return True
        frame = frame.f_back
    return False
