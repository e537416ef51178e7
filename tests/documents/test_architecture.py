"""The imports of the packages equal the table in docs/architecture.md."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from pathlib import Path
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


@pytest.fixture(scope="module")
def paths(drawn: ModuleType) -> dict[str, Path]:
    """The file of each module."""
    return drawn.modules()


@pytest.fixture(scope="module")
def modules(drawn: ModuleType, paths: dict[str, Path]) -> dict[str, set[str]]:
    """The modules that each module imports."""
    return drawn.imports(paths)


@pytest.fixture(scope="module")
def packages(drawn: ModuleType, modules: dict[str, set[str]], paths: dict[str, Path]) -> dict[str, set[str]]:
    """The packages that each package imports."""
    return drawn.package_imports(modules, paths)


def test_modules__import_each_other_in_no_circle(drawn: ModuleType, modules: dict[str, set[str]]) -> None:
    drawn.layers(modules)


def test_packages__import_what_the_table_allows(drawn: ModuleType, packages: dict[str, set[str]]) -> None:
    assert packages.keys() == drawn.allowed().keys()
    for package, targets in packages.items():
        assert targets == drawn.allowed()[package], f"{package}; `python docs/imports.py` writes the table again"


def test_packages__import_downwards(drawn: ModuleType) -> None:
    height = drawn.layers(drawn.allowed())
    assert all(height[package] > height[target] for package, below in drawn.allowed().items() for target in below)
    kernels, storage = ({name for name in height if name.startswith(top)} for top in ("rating_kernels", "storage"))
    assert all(drawn.allowed()[package] <= kernels for package in kernels)
    assert all(drawn.allowed()[package] <= storage for package in storage)


def test_packages__are_small_and_described(
    drawn: ModuleType, packages: dict[str, set[str]], paths: dict[str, Path]
) -> None:
    sizes = Counter(drawn.package_of(module, paths) for module in paths)
    assert [package for package, size in sizes.items() if size - 1 > MOST_MODULES] == []
    assert [name for name in sizes if not ast.get_docstring(ast.parse(paths[name].read_text("utf-8")))] == []
    assert drawn.table(packages, paths) in drawn.PAGE.read_text("utf-8")


def test_drawing__has_every_package(drawn: ModuleType, packages: dict[str, set[str]]) -> None:
    drawing = drawn.DRAWING.read_text("utf-8")
    assert [name for name, targets in packages.items() if targets and f">{name}<" not in drawing] == []


def test_imports__are_found_in_every_form(modules: dict[str, set[str]]) -> None:
    assert "flows.frames.history" in modules["ranklake"]
    assert "storage.lake.layout" in modules["flows.rating.config"]
    assert "storage.lake.errors" in modules["storage"]
