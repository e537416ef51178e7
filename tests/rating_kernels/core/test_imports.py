"""The kernels import numpy and its dependencies only; numba is imported by the first call of a kernel."""

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
def test_import__brings_numpy_alone(modules: str, ours: set[str]) -> None:
    brought = loaded(modules)
    assert not brought & {"pyarrow", "pandas", "dask", "distributed", "prefect", "storage", "fsspec"}
    assert brought - loaded("numpy") == ours


EVERY_MODULE = """
import sys
from importlib import import_module
from pkgutil import walk_packages
from ranklake import rating_kernels
from ranklake.rating_kernels.inference.diffusion import elapsed_days

for module in walk_packages(rating_kernels.__path__, f"{rating_kernels.__name__}."):
    if module.name.rpartition(".")[2] != "dispatchers":
        import_module(module.name)
assert "numba" not in sys.modules
assert elapsed_days(86_400, 0) == 1.0
assert "numba" in sys.modules
"""


@pytest.mark.slow
def test_import__of_every_kernel_imports_no_numba_before_a_call() -> None:
    subprocess.run([sys.executable, "-c", EVERY_MODULE], check=True)
