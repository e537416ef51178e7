"""Notices of compilations by numba; like :mod:`.dispatchers` imported inside of functions only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

__all__ = ["notify"]

Callback = Callable[[Any], None]  # takes the function in Python


def _ignore(function: Any) -> None:
    pass


class _Listener(event.Listener):
    def __init__(self, on_start: Callback, on_end: Callback) -> None:
        self._on_start, self._on_end = on_start, on_end

    def on_start(self, event: Any) -> None:
        self._on_start(event.data["dispatcher"].py_func)

    def on_end(self, event: Any) -> None:
        self._on_end(event.data["dispatcher"].py_func)


@contextmanager
def notify(on_start: Callback = _ignore, on_end: Callback = _ignore) -> Iterator[None]:
    """Call functions when the compilation of a function begins and ends inside the block."""
    with event.install_listener("numba:compile", _Listener(on_start, on_end)):
        yield
