"""Metrics of the server in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ...answers.kept import Kept
from ...http.server.counts import RequestCounts
from .served_runs import ServedRuns


class Metrics(Collector):
    """The requests, the answers that were kept, and the served runs; safe for threads."""

    def __init__(self, requests: RequestCounts, served: ServedRuns, cache: Kept[Any]) -> None:
        self._requests, self._served, self._cache = requests, served, cache
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """All metrics."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """All metrics, for the registry."""
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
        yield from self._requests.collect()
        yield from (cached, failures, published, rounds)
