"""Metrics of the server in the text format of Prometheus."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...answers.kept import Kept
from .served_runs import ServedRuns

ENDPOINT = "ranklake.endpoint"  # key of a request's scope: the name of its endpoint
PAGE = "page"  # the endpoint of all requests without a name
_BOUNDS = (0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0)  # seconds


class Metrics(Collector):
    """Requests by endpoint and status, and their seconds; safe for threads."""

    def __init__(self, served: ServedRuns, cache: Kept[Any]) -> None:
        self._served, self._cache = served, cache
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def add(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._requests[endpoint, status] += 1
            self._seconds[endpoint] += seconds
            self._buckets[endpoint][bisect_left(_BOUNDS, seconds)] += 1

    def text(self) -> bytes:
        """All metrics."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """All metrics, for the registry."""
        with self._lock:
            requests, seconds = sorted(self._requests.items()), sorted(self._seconds.items())
            buckets = {endpoint: list(accumulate(counts)) for endpoint, counts in self._buckets.items()}
        total = CounterMetricFamily("ranklake_requests", "Requests that were answered.", labels=("endpoint", "status"))
        for (endpoint, status), n in requests:
            total.add_metric((endpoint, str(status)), n)
        spent = CounterMetricFamily("ranklake_request_seconds", "Seconds of all answers.", labels=("endpoint",))
        durations = HistogramMetricFamily("ranklake_request_duration_seconds", "Seconds of an answer.",
                                          labels=("endpoint",))  # fmt: skip
        bounds = [*map(str, _BOUNDS), "+Inf"]
        for endpoint, value in seconds:
            spent.add_metric((endpoint,), value)
            durations.add_metric((endpoint,), list(zip(bounds, buckets[endpoint], strict=True)), value)
        cached = CounterMetricFamily("ranklake_cache_requests", "Answers that were kept, or made.", labels=("result",))
        cached.add_metric(("hit",), self._cache.hits)
        cached.add_metric(("miss",), self._cache.misses)
        failures = CounterMetricFamily(
            "ranklake_refresh_failures", "Looks for new versions that failed.", value=self._served.n_failures
        )
        published = GaugeMetricFamily("ranklake_published_seconds", "Time of the last publish, UTC.", labels=("run",))
        rounds = GaugeMetricFamily("ranklake_rounds", "Published rounds.", labels=("run",))
        for name, run in self._served.runs.items():
            published.add_metric((name,), run.manifest.time_seconds)
            rounds.add_metric((name,), run.manifest.n_rounds)
        yield from (total, spent, durations, cached, failures, published, rounds)


class Counting:
    """A middleware that counts requests, and the seconds until the head of their answer is sent."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, counted = time.perf_counter(), False

        def count(status: int) -> None:
            nonlocal counted
            counted = True
            self._metrics.add(scope.get(ENDPOINT, PAGE), status, time.perf_counter() - began)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                count(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            if not counted:  # the application failed
                count(500)
