"""Metrics of the process in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ...http.server.counts import Histogram, RequestCounts

_SECONDS = (0.0002, 0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5)
_STEPS = {
    "append": "Seconds of appending a group to the log, until it is durable.",
    "rate": "Seconds of accepting a group besides the log: checks, ratings, results.",
    "answer": "Seconds from the body of a request with matches to its answer.",
}


class Metrics(Collector):
    """Matches by what became of them, seconds of the steps, and the state of the runs."""

    def __init__(self, requests: RequestCounts, state: Callable[[], dict[str, float]]) -> None:
        """``state``: numbers by the names of :data:`_GAUGES`; those that are not known are left out."""
        self._requests, self._state = requests, state
        self._matches: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._steps = {
            name: Histogram(f"ranklake_rated_{name}_seconds", meaning, bounds=_SECONDS)
            for name, meaning in _STEPS.items()
        }
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)  # memory, CPU time, open files

    def count(self, result: str, n: int = 1) -> None:
        """Count matches that were ``accepted``, ``duplicate`` or ``conflict``."""
        self._matches[result] += n

    def refuse(self, reason: str, n: int = 1) -> None:
        """Count matches that were refused, by the reason."""
        self._refused[reason] += n

    def add(self, step: str, seconds: float) -> None:
        """Count the seconds of a step."""
        self._steps[step].add(seconds)

    def text(self) -> bytes:
        """All metrics."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """All metrics, for the registry."""
        matches = CounterMetricFamily("ranklake_rated_matches", "Matches by their result.", labels=("result",))
        for result in ("accepted", "duplicate", "conflict"):
            matches.add_metric((result,), self._matches[result])
        refused = CounterMetricFamily("ranklake_rated_refused", "Matches that were refused.", labels=("reason",))
        for reason in REASONS:
            refused.add_metric((reason,), self._refused[reason])
        yield from (matches, refused)
        yield from (step.family() for step in self._steps.values())
        for name, value in self._state().items():
            yield GaugeMetricFamily(f"ranklake_rated_{name}", _GAUGES[name], value=value)
        yield from self._requests.collect()


REASONS = ("invalid", "forbidden", "queue", "unavailable")
"""Why matches are refused: their content; no token; too many wait; the log, or the process, takes none."""

_GAUGES = {
    "ready": "1 if the process takes matches.",
    "queue": "Matches that wait for their answers.",
    "sequence": "Sequence number of the last record that is rated.",
    "unsaved_records": "Records of the log that the data set does not have yet.",
    "stale": "1 while a correction is not in the ratings yet.",
    "write_failed": "1 if a period could not be written to the data set; the log of the process has the reason.",
    "replay_mismatch": "1 if a period was rated again with another result; no further one is written.",
    "commit_age_seconds": "Seconds since this process wrote a period to the data set.",
    "players": "Players in memory.",
    "listeners": "Connections that wait for events.",
}
