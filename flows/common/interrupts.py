"""Ctrl-C that always ends a command.

Python raises ``KeyboardInterrupt`` at any instruction of the main thread. A lock that the thread waits for may then
raise another error, or never be released (CPython's issues 92530, 118433), and errors in destructors are dropped. Here
every error after an interrupt counts as the interrupt. A process that does not end in time is killed; committed data in
the lake are not affected.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["GRACE_SECONDS", "interruptible"]

GRACE_SECONDS = 20.0  # an interrupted process is killed after this time


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
    interrupted = False
    waiting, wake = os.pipe()  # the handler only writes: the interrupted code may hold any lock

    def end_by_force() -> None:
        os.write(2, f"{last_words}\n".encode())
        os._exit(1)

    def watch() -> None:
        if os.read(waiting, 1):
            time.sleep(GRACE_SECONDS)
            end_by_force()
        os.close(waiting)

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if interrupted:
            end_by_force()
        interrupted = True
        os.write(wake, b"!")
        raise KeyboardInterrupt

    threading.Thread(target=watch, name="ranklake-interrupts", daemon=True).start()
    signals = [one for one in (signal.SIGINT, *more) if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, interrupt) for one in signals}
    try:
        yield
    except Exception as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        if not interrupted:
            for one, handler in before.items():
                signal.signal(one, signal.SIG_DFL if handler is None else handler)  # None: set outside Python
            os.close(wake)
