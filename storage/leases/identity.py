"""The name of the user and the host, for leases and the log of corrections."""

from __future__ import annotations

import getpass
import os
import socket


def author() -> str:
    """The current user and host: user@host."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may run under a number without a name
        user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"  # Windows has no numbers
    return f"{user}@{socket.gethostname()}"
