"""`ranklake` with a clock that jumps by a day at SIGUSR1: the day of the log ends while the benchmark waits.

python live_clock.py rated --run R ...
"""

from __future__ import annotations

import signal
import time

DAY = 86_400.0
_ahead, _clock = 0.0, time.time


def _jump(signum: int, frame: object) -> None:
    global _ahead
    _ahead += DAY


if __name__ == "__main__":
    time.time = lambda: _clock() + _ahead  # before anything takes it
    signal.signal(signal.SIGUSR1, _jump)

    from ranklake.flows.cli.main import main

    main()
