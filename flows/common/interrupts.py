"""Ctrl-C that always ends a command.

Python raises ``KeyboardInterrupt`` at any instruction of the main thread. A lock that the thread waits for may then
raise another error, or never be released (CPython's issues 92530, 118433). Errors in destructors, and in functions that
the compiler of the kernels calls, are dropped. Here every error after an interrupt counts as the interrupt, and an
interrupt that was dropped is raised again. In the functions that hand kernels to LLVM it is never raised: the code of
a kernel would be missing, and its first use would write to address 0. A process that does not end in time is killed;
committed data in the lake are not affected.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["GRACE_SECONDS", "interruptible"]

GRACE_SECONDS = 8.0  # an interrupted process is killed after this time; service managers wait 10 s
_AGAIN_SECONDS = 0.05  # at most, from an interrupt that was dropped to the next one
_CALLBACKS = ("_raw_object_cache_notify", "_raw_object_cache_getbuffer")  # called by LLVM through ctypes


@contextmanager
def interruptible(last_words: str, *more: signal.Signals) -> Iterator[None]:
    """A block in which Ctrl-C, or another signal, raises ``KeyboardInterrupt``; the process must end soon after.

    A second signal ends the process at once. A signal that is ignored stays ignored, as for background processes of a
    script. Outside the main thread this does nothing.

    Parameters
    ----------
    last_words
        Line written to the standard error when the process is killed; the exit code is 1.
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
