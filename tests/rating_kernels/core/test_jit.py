"""Kernels need no numba to be declared: it is imported by the first call, which creates a dispatcher once."""

from __future__ import annotations

import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ranklake.rating_kernels.core import dispatchers
from ranklake.rating_kernels.core.jit import exact, inner_exact
from ranklake.rating_kernels.core.numerics import fused


def thrice(x):
    """Three times x."""
    return 3 * x


def test_kernel__has_the_name_the_docstring_and_the_parameters_of_its_function() -> None:
    declared = exact(thrice)
    assert (declared.__name__, declared.__doc__, declared.py_func) == ("thrice", "Three times x.", thrice)
    assert list(inspect.signature(declared).parameters) == ["x"]


def test_kernel__has_one_dispatcher_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    both, create = Barrier(2), dispatchers.dispatcher

    def at_the_same_time(*arguments):
        both.wait(60.0)
        return create(*arguments)

    declared = exact(thrice)
    monkeypatch.setattr(dispatchers, "dispatcher", at_the_same_time)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: type(declared).dispatcher.func(declared), range(2))
    assert one is other is declared.dispatcher
    assert declared(2) == 6


def test_inner_kernel__can_be_called_from_python_and_from_another_kernel() -> None:
    assert inner_exact(thrice)(2) == 6
    assert twice_the_triple(2) == 12


_triple = inner_exact(thrice)


@exact
def twice_the_triple(x):
    return 2 * _triple(x)


def test_intrinsic__is_called_by_kernels_only() -> None:
    assert multiply_and_add(2.0, 3.0, 4.0) == 10.0
    with pytest.raises(TypeError, match="fused generates instructions: only kernels"):
        fused(2.0, 3.0, 4.0)


@exact
def multiply_and_add(a, b, c):
    return fused(a, b, c)


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
