"""The memory pool of commands that write many tables."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from ranklake.flows.cli.terminal.memory import keep_freed_memory


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
