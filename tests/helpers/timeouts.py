"""The time after which a test gives up a process or a thread that does not act."""

from __future__ import annotations

TIMEOUT = 300.0  # seconds: on a slow machine with other work, a process imports and compiles for minutes
