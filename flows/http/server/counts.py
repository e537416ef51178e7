"""Requests by endpoint and status, and their seconds, as metrics of Prometheus."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENDPOINT = "ranklake.endpoint"  # key of a request's scope: the name of its endpoint
PAGE = "page"  # the endpoint of all requests without a name
SECONDS = (0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0)


class Histogram:
    """Numbers by a label, counted below ``bounds``; not safe for threads."""

    def __init__(self, name: str, meaning: str, label: str = "", bounds: Sequence[float] = SECONDS) -> None:
        self._facts, self._bounds = (name, meaning), bounds
        self._labels = (label,) if label else ()
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(bounds) + 1))
        if not label:
            self._buckets[""]  # shown from the begin

    def add(self, value: float, label: str = "") -> None:
        """Count one number."""
        self._sums[label] += value
        self._buckets[label][bisect_left(self._bounds, value)] += 1

    @property
    def sums(self) -> dict[str, float]:
        """The sum of the numbers by label."""
        return dict(self._sums)

    def family(self) -> HistogramMetricFamily:
        """The metric."""
        found = HistogramMetricFamily(*self._facts, labels=self._labels)
        names = [*map(str, self._bounds), "+Inf"]
        for label, counts in sorted(self._buckets.items()):
            buckets = list(zip(names, accumulate(counts), strict=True))
            found.add_metric((label,) if self._labels else (), buckets, self._sums[label])
        return found


class RequestCounts:
    """Requests by endpoint and status, and their seconds; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds = Histogram("ranklake_request_duration_seconds", "Seconds of an answer.", "endpoint")

    def add(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._requests[endpoint, status] += 1
            self._seconds.add(seconds, endpoint)

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        total = CounterMetricFamily("ranklake_requests", "Requests that were answered.", labels=("endpoint", "status"))
        spent = CounterMetricFamily("ranklake_request_seconds", "Seconds of all answers.", labels=("endpoint",))
        with self._lock:
            requests, seconds, durations = sorted(self._requests.items()), self._seconds.sums, self._seconds.family()
        for (endpoint, status), n in requests:
            total.add_metric((endpoint, str(status)), n)
        for endpoint, value in sorted(seconds.items()):
            spent.add_metric((endpoint,), value)
        yield from (total, spent, durations)


class Counting:
    """A middleware that counts requests, and the seconds until the head of their answer is sent."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app, self._counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, counted = time.perf_counter(), False

        def count(status: int) -> None:
            nonlocal counted
            counted = True
            self._counts.add(scope.get(ENDPOINT, PAGE), status, time.perf_counter() - began)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                count(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            if not counted:  # the application failed
                count(500)
