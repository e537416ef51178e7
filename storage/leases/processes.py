"""Whether a process of this machine, known by its number, is still running."""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Literal

PROC = Path("/proc")
WINDOWS = os.name == "nt"


def machine() -> str:
    """The scope of process numbers: host, boot and process namespace on Linux, elsewhere host and network address."""
    with suppress(OSError):  # Linux
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()} {boot} {os.readlink(PROC / 'self/ns/pid')}"
    return f"{socket.gethostname()} {uuid.getnode():012x}"  # several Macs may have one host name


def started(pid: int) -> str:
    """Start time of a process, in the system's own format; empty if the process has ended or the time is unknown."""
    with suppress(OSError):
        return _started_on_linux(pid)
    try:
        import psutil
    except ImportError:
        return ""
    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except (psutil.Error, OSError):
        return ""


def state(pid: int, started_before: str) -> Literal["alive", "ended", "unknown"]:
    """The state of the process that had the start time ``started_before``, see :func:`started`.

    ``unknown`` if neither can be proved; then only heartbeats decide.
    """
    with suppress(OSError):  # in ticks since the boot: another start time is another process
        return "alive" if _started_on_linux(pid) == started_before else "ended"
    if not _exists(pid):
        return "ended"
    # A start by the clock of the day changes when that clock is set; and /proc may hide what other users run.
    return "alive" if started_before and started(pid) == started_before else "unknown"


def _started_on_linux(pid: int) -> str:
    """Field 22 of ``/proc/PID/stat``; empty for a zombie, a process that has ended.

    Raises OSError: there is no such file.
    """
    stat = (PROC / f"{pid}/stat").read_text(encoding="utf-8", errors="replace")
    status, *rest = stat.rpartition(")")[2].split()
    return "" if status in "ZX" else rest[18]


def _exists(pid: int) -> bool:
    """Whether a process with that number may exist."""
    if WINDOWS:  # ``os.kill(pid, 0)`` would end it
        try:
            import psutil
        except ImportError:
            return True
        return bool(psutil.pid_exists(pid))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
