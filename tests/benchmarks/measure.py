"""Run one command and print, as JSON, what it said, how long it took, on the clock and on all cores together, and the
most memory it held.

A program of its own, and a small one: on Linux a child begins with the peak memory of the process that started it, so a
command started by a benchmark with gigabytes in its arms would seem to hold them too.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

if __name__ == "__main__":
    began = time.perf_counter()
    done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = {
        "code": done.returncode,
        "output": done.stdout,
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    json.dump(told, sys.stdout)
