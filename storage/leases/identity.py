"""Who is at work, as leases and the log of corrections name them."""

from __future__ import annotations

import getpass
import os
import socket

__all__ = ["author"]


def author() -> str:
    """Who runs this: user@host."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may run as a number that has no name
        user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"  # Windows has no numbers
    return f"{user}@{socket.gethostname()}"
