"""What processes hold at the most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["forget_peaks", "peak_bytes"]


def forget_peaks(processes: Sequence[int]) -> None:
    """Count from what they hold now."""
    for process in processes:
        Path(f"/proc/{process}/clear_refs").write_text("5")


def peak_bytes(process: int) -> int:
    """The most that a process has held in memory since."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])
