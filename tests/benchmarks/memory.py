"""Peak memory of processes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def forget_peaks(processes: Sequence[int]) -> None:
    """Reset the peaks to the current memory."""
    for process in processes:
        Path(f"/proc/{process}/clear_refs").write_text("5")


def peak_bytes(process: int) -> int:
    """Peak memory of a process since the reset."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])
