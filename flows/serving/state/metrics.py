"""Counters of the server in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from ...answers.kept import Kept
from .served_runs import ServedRuns

__all__ = ["Metrics"]


class Metrics:
    """Requests by endpoint and status, and their seconds; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()

    def add(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._requests[endpoint, status] += 1
            self._seconds[endpoint] += seconds  # type: ignore[assignment]

    def text(self, served: ServedRuns, cache: Kept[Any]) -> str:
        """All metrics."""
        with self._lock:
            requests, seconds = dict(self._requests), dict(self._seconds)
        lines = ["# TYPE ranklake_requests_total counter"]
        for (endpoint, status), n in sorted(requests.items()):
            lines.append(f'ranklake_requests_total{{endpoint="{endpoint}",status="{status}"}} {n}')
        lines.append("# TYPE ranklake_request_seconds_total counter")
        lines += [f'ranklake_request_seconds_total{{endpoint="{name}"}} {time:.6f}' for name, time in seconds.items()]
        lines += ["# TYPE ranklake_cache_requests_total counter"]
        lines += [f'ranklake_cache_requests_total{{result="hit"}} {cache.hits}']
        lines += [f'ranklake_cache_requests_total{{result="miss"}} {cache.misses}']
        lines += ["# TYPE ranklake_refresh_failures_total counter"]
        lines += [f"ranklake_refresh_failures_total {served.n_failures}"]
        lines += ["# TYPE ranklake_published_seconds gauge"]
        for name, run in served.runs.items():
            lines.append(f'ranklake_published_seconds{{run="{name}"}} {run.manifest.time_seconds:.0f}')
        lines += ["# TYPE ranklake_rounds gauge"]
        lines += [f'ranklake_rounds{{run="{name}"}} {run.manifest.n_rounds}' for name, run in served.runs.items()]
        return "\n".join(lines) + "\n"
