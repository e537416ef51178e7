"""The imports of the packages equal the table in docs/architecture.md."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from types import ModuleType

import pytest
from helpers.documents import ROOT

MOST_MODULES = 15  # in a package


@pytest.fixture(scope="module")
def drawn() -> ModuleType:
    """The program that makes the table and the drawing of imports."""
    spec = importlib.util.spec_from_file_location("docs_imports", ROOT / "docs" / "imports.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_modules__import_each_other_in_no_circle(drawn: ModuleType) -> None:
    drawn.layers(drawn.imports(drawn.modules()))


def test_packages__import_what_the_table_allows(drawn: ModuleType) -> None:
    graph = drawn.package_imports(drawn.modules())
    assert graph.keys() == drawn.allowed().keys()
    for package, targets in graph.items():
        assert targets == drawn.allowed()[package], f"{package}; `python docs/imports.py` writes the table again"


def test_packages__import_downwards(drawn: ModuleType) -> None:
    height = drawn.layers(drawn.allowed())
    assert all(height[package] > height[target] for package, below in drawn.allowed().items() for target in below)
    kernels, storage = ({name for name in height if name.startswith(top)} for top in ("rating_kernels", "storage"))
    assert all(drawn.allowed()[package] <= kernels for package in kernels)
    assert all(drawn.allowed()[package] <= storage for package in storage)


def test_packages__are_small_and_described(drawn: ModuleType) -> None:
    paths = drawn.modules()
    sizes = Counter(drawn.package_of(module, paths) for module in paths)
    assert [package for package, size in sizes.items() if size - 1 > MOST_MODULES] == []
    assert [name for name in sizes if not ast.get_docstring(ast.parse(paths[name].read_text("utf-8")))] == []
    assert drawn.table(paths) in drawn.PAGE.read_text("utf-8")


def test_drawing__has_every_package(drawn: ModuleType) -> None:
    drawing = drawn.DRAWING.read_text("utf-8")
    graph = drawn.package_imports(drawn.modules())
    assert [name for name, targets in graph.items() if targets and f">{name}<" not in drawing] == []


def test_imports__are_found_in_every_form(drawn: ModuleType) -> None:
    paths = drawn.modules()
    found = drawn.imports(paths)
    assert "flows.frames.history" in found["ranklake"]
    assert "storage.lake.layout" in found["flows.rating.config"]
    assert "storage.lake.errors" in found["storage"]
