"""The number of processors that this process may use, on any platform."""

from __future__ import annotations

import os


def available_cpus() -> int:
    """Processors that this process may run on; where the platform has no affinity (macOS, Windows), all of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
