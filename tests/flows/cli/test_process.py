"""The memory pool of commands that write many tables, and imports that commands save."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from helpers.timeouts import TIMEOUT

from ranklake.flows.cli.terminal.process import keep_freed_memory


@pytest.fixture
def default_pool() -> Iterator[pa.MemoryPool]:
    pool = pa.default_memory_pool()
    yield pool
    pa.set_memory_pool(pool)


def test_keep_freed_memory__jemalloc_where_the_build_has_it(monkeypatch, default_pool) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    keep_freed_memory()
    expected = "jemalloc" if "jemalloc" in pa.supported_memory_backends() else default_pool.backend_name
    assert pa.default_memory_pool().backend_name == expected


def test_keep_freed_memory__the_environment_takes_precedence(monkeypatch, default_pool) -> None:
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


PROGRAM = """
import importlib.util, sys
import numpy as np
import pyarrow as pa
from ranklake.flows.cli.terminal.process import without_pandas
without_pandas()
assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("ranklake")]
assert pa.array([1.5, None], from_pandas=True).to_numpy(zero_copy_only=False)[0] == 1.5
assert pa.table({"name": ["a"], "n": np.arange(1)}).column("name").to_numpy()[0] == "a"
assert "pandas" not in sys.modules
assert importlib.util.find_spec("pandas") is not None
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_pandas__conversions_do_not_import_it() -> None:
    run(PROGRAM)


@pytest.mark.slow
def test_without_pandas__it_can_be_imported_later() -> None:
    run(f"{PROGRAM}\nassert pa.table({{'n': [1, 2]}}).to_pandas()['n'].sum() == 3")


@pytest.mark.slow
def test_without_pandas__has_no_effect_after_its_import() -> None:
    late = "import pandas\nfrom ranklake.flows.cli.terminal.process import without_pandas\nwithout_pandas()\n"
    run(f"{late}import pyarrow as pa\nassert pa.array([pandas.NA, 1], from_pandas=True).null_count == 1")
