"""Pools for tasks: the same results in the calling thread, in threads and on the workers of a cluster."""

from __future__ import annotations

import os
import threading

import pytest

from ranklake.flows.engines.task_pool import open_task_pool, open_whole_pool


def _work(shared: list[int], factor: int) -> tuple[int, int, str]:
    return sum(shared) * factor, os.getpid(), threading.current_thread().name


@pytest.mark.parametrize("engine", ["serial", "threads"])
def test_whole_pool__works_in_the_calling_thread(engine: str) -> None:
    with open_whole_pool(engine) as pool:
        found = list(pool.run(_work, [1, 2], [(1,), (10,)]))
    here = os.getpid(), threading.current_thread().name
    assert found == [(0, (3, *here)), (1, (30, *here))]


def test_whole_pool__refuses_what_no_engine_is() -> None:
    with pytest.raises(ValueError, match="engine must be one of serial, threads, dask, got 'fork'"):
        open_whole_pool("fork")
    with pytest.raises(ValueError, match="a scheduler goes with engine dask"):
        open_whole_pool("serial", scheduler="tcp://127.0.0.1:1")


@pytest.mark.slow
def test_whole_pool__starts_a_cluster_that_ends_with_it() -> None:
    pytest.importorskip("distributed", reason="needs pip install 'ranklake[cluster]'")
    with open_whole_pool("dask", 2) as pool, open_task_pool(2) as threads:
        found = dict(pool.run(_work, [1, 2], [(factor,) for factor in range(4)]))
        expected = dict(threads.run(_work, [1, 2], [(factor,) for factor in range(4)]))
    assert {at: row[0] for at, row in found.items()} == {at: row[0] for at, row in expected.items()}
    workers = {row[1] for row in found.values()}
    assert os.getpid() not in workers
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
