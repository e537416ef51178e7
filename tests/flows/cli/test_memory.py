"""The memory pool of commands that write many tables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest

from ranklake.flows.cli.terminal.process import keep_freed_memory


@pytest.fixture(autouse=True)
def default_pool() -> Iterator[pa.MemoryPool]:
    pool = pa.default_memory_pool()
    yield pool
    pa.set_memory_pool(pool)


def test_keep_freed_memory__jemalloc_where_the_build_has_it(monkeypatch, default_pool) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    keep_freed_memory()
    expected = "jemalloc" if "jemalloc" in pa.supported_memory_backends() else default_pool.backend_name
    assert pa.default_memory_pool().backend_name == expected


def test_keep_freed_memory__the_environment_takes_precedence(monkeypatch) -> None:
    pa.set_memory_pool(pa.system_memory_pool())
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "system")
    keep_freed_memory()
    assert pa.default_memory_pool().backend_name == "system"


def test_keep_freed_memory__without_jemalloc_nothing_changes(monkeypatch, default_pool) -> None:
    def missing() -> pa.MemoryPool:
        raise NotImplementedError("This Arrow build does not enable jemalloc")

    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    monkeypatch.setattr(pa, "jemalloc_memory_pool", missing)
    keep_freed_memory()
    assert pa.default_memory_pool().backend_name == default_pool.backend_name


SNAPSHOT = """
import os
from ranklake.flows.cli.terminal.process import keep_freed_memory
keep_freed_memory()
assert "ARROW_DEFAULT_MEMORY_POOL" not in os.environ  # child processes choose their own
import numpy as np
import pyarrow as pa
from ranklake.storage.runs.snapshot_columns import encode, to_table
encode(to_table({"mu": np.zeros(100_000)}, 0, 100_000))
print(pa.mimalloc_memory_pool().max_memory())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Arrow chooses its pool by itself")
@pytest.mark.skipif("jemalloc" not in pa.supported_memory_backends(), reason="this build of Arrow has no jemalloc")
@pytest.mark.skipif("mimalloc" not in pa.supported_memory_backends(), reason="this build of Arrow has no mimalloc")
def test_keep_freed_memory__compression_of_snapshots_has_the_same_pool() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    command = [sys.executable, "-c", SNAPSHOT]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (ended.stdout.strip(), ended.stderr) == ("0", "")
