"""The kernels stand alone: beside numpy and numba, and what these bring, nothing is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded(modules: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after importing these."""
    code = f"import sys, {modules}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split()) - sys.stdlib_module_names


@pytest.mark.parametrize(
    ("modules", "ours"),
    [
        ("rating_kernels", {"rating_kernels"}),
        ("flows.rounds, flows.engines.serial, flows.engines.threads", {"flows", "rating_kernels"}),
    ],
    ids=["kernels", "local-engines"],
)
def test_import__brings_numpy_and_numba_alone(modules: str, ours: set[str]) -> None:
    brought = loaded(modules)
    assert not brought & {"pyarrow", "pandas", "dask", "distributed", "prefect", "storage", "fsspec"}
    assert brought - loaded("numpy, numba") == ours
