"""Kernels are declared without numba; their dispatchers are created once."""

from __future__ import annotations

import inspect
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
