"""Joins kernels to storage: sources, the walk over the rounds, the command line, and the notebook door."""

from __future__ import annotations

from typing import Any

__all__ = ["predict", "rate_history"]


def __getattr__(name: str) -> Any:  # the command line starts in a blink because this is read only when asked for
    if name == "rate_history":
        from .frames.history import rate_history

        return rate_history
    if name == "predict":
        from .frames.prediction import predict

        return predict
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
