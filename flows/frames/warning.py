"""Warnings about input of users, at the line of their own code."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_user"]


def warn_user(text: str) -> None:
    """Warn at the innermost line outside of this package, so that Python shows the warning once for each such line."""
    frame, level = sys._getframe(1), 3
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
