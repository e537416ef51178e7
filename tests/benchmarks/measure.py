"""Run one command and print, as JSON, its output, wall time, processor time and peak memory.

This is a separate small program, because on Linux the peak memory of a child begins with that of its parent.
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
