"""Choose and open an engine by its name."""

from __future__ import annotations

from .limits import ClusterLimits
from .protocols import Engine

ENGINES = ("serial", "threads", "dask")


def choose_engine(name: str | None = None, workers: int | None = None, scheduler: str | None = None) -> str:
    """The name of the engine; by default ``dask`` if a scheduler is given, else ``threads``.

    Raises ValueError: for an unknown name, fewer than one worker, or a scheduler with another engine or with workers.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be >= 1, got {workers}")
    name = name or ("dask" if scheduler else "threads")
    if name not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {name!r}")
    if scheduler is not None and name != "dask":
        raise ValueError(f"a scheduler goes with engine dask, got engine {name}")
    if scheduler is not None and workers is not None:
        raise ValueError("give a scheduler or workers, not both: a cluster has its own workers")
    return name


def open_engine(
    name: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    limits: ClusterLimits | None = None,
) -> Engine:
    """An engine; ``workers`` defaults to the machine's cores.

    ``scheduler``: address of a Dask cluster; without it ``dask`` starts one on this machine.
    Raises ValueError: as :func:`choose_engine`.
    Raises EngineError: the scheduler does not answer.
    """
    name = choose_engine(name, workers, scheduler)
    if name != "dask":
        from .threads import Threads

        return Threads(1 if name == "serial" else workers)
    from .cluster import Cluster

    return Cluster(scheduler, limits=limits) if scheduler else Cluster.local(workers, limits)
