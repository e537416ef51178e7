"""The kernels import numpy, numba and their dependencies only."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded(modules: str) -> set[str]:
    """Top-level modules, and packages of ours, that a fresh interpreter has after importing these."""
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    names = {name.removeprefix("ranklake.").partition(".")[0] for name in done.stdout.split()}
    return names - sys.stdlib_module_names - {"ranklake"}


@pytest.mark.parametrize(
    ("modules", "ours"),
    [
        ("ranklake.rating_kernels", {"rating_kernels"}),
        (
            "ranklake.flows.execution.rounds, ranklake.flows.engines.serial, ranklake.flows.engines.threads",
            {"flows", "rating_kernels"},
        ),
    ],
    ids=["kernels", "local-engines"],
)
def test_import__brings_numpy_and_numba_alone(modules: str, ours: set[str]) -> None:
    brought = loaded(modules)
    assert not brought & {"pyarrow", "pandas", "dask", "distributed", "prefect", "storage", "fsspec"}
    assert brought - loaded("numpy, numba") == ours
