"""Some workers of a cluster, as an engine: rows start workers once and measure with fewer of them, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.protocols import ActorGroup, DistributedEngine


class SomeWorkers:
    """The first ``workers`` of a cluster that stays open."""

    def __init__(self, cluster: DistributedEngine, workers: int) -> None:
        self._cluster, self.workers = cluster, workers
        self.describe, self.on_this_machine = cluster.describe, cluster.on_this_machine

    @property
    def limits(self) -> ClusterLimits:
        return self._cluster.limits

    @limits.setter
    def limits(self, limits: ClusterLimits) -> None:
        self._cluster.limits = limits  # type: ignore[misc]

    def start_actors(
        self, make: Callable[..., Any], init_args: Callable[[int, int], tuple[Any, ...]], max_workers: int | None = None
    ) -> ActorGroup:
        """Start the actor on as many workers; ``RuntimeError``: some of them do not answer."""
        group = self._cluster.start_actors(make, init_args, self.workers)
        if group.size < self.workers:
            raise RuntimeError(f"{group.size} of {self.workers} workers answer: {group.left_out}")
        return group

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None
