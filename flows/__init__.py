"""Joins kernels to storage: sources, the walk over the rounds, the command line, and :func:`rate_history`."""

from __future__ import annotations

from typing import Any

__all__ = ["rate_history"]


def __getattr__(name: str) -> Any:  # the command line starts in a blink because this is read only when asked for
    if name == "rate_history":
        from .history import rate_history

        return rate_history
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
