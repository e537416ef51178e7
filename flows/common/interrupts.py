"""Ctrl-C that always ends a command.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be. A lock that the thread waits for may
then raise another error, or never be released (CPython's issues 92530, 118433), and what a destructor raises is
dropped. Here every error that follows an interrupt counts as the interrupt. A process that does not end in time is
killed; a lake loses nothing by that.
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

GRACE_SECONDS = 20.0  # until an interrupted process must have ended


@contextmanager
def interruptible(last_words: str, *more: signal.Signals) -> Iterator[None]:
    """A block that Ctrl-C, or another signal, ends with ``KeyboardInterrupt``; the process ends soon after.

    A second signal ends the process at once. Where Ctrl-C is ignored it stays ignored, as
    for background processes of a script. Outside the main thread this does nothing.

    Parameters
    ----------
    last_words
        Line written to the standard error when the process is ended by force; the exit code is 1.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False
    waiting, wake = os.pipe()  # a handler can do little more than write: any lock may be held by what it interrupts

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
                signal.signal(one, signal.SIG_DFL if handler is None else handler)  # none of Python's: it stays unknown
            os.close(wake)
