"""The imports of the packages equal the table in docs/architecture.md."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import imports
import pytest

MOST_MODULES = 15  # in a package


@pytest.fixture(scope="module")
def paths() -> dict[str, Path]:
    """The file of each module."""
    return imports.modules()


@pytest.fixture(scope="module")
def modules(paths: dict[str, Path]) -> dict[str, set[str]]:
    """The modules that each module imports."""
    return imports.imports(paths)


@pytest.fixture(scope="module")
def packages(modules: dict[str, set[str]], paths: dict[str, Path]) -> dict[str, set[str]]:
    """The packages that each package imports."""
    return imports.package_imports(modules, paths)


def test_modules__import_each_other_in_no_circle(modules: dict[str, set[str]]) -> None:
    imports.layers(modules)


def test_packages__import_what_the_table_allows(packages: dict[str, set[str]]) -> None:
    assert packages.keys() == imports.allowed().keys()
    for package, targets in packages.items():
        assert targets == imports.allowed()[package], f"{package}; `python docs/imports.py` writes the table again"


def test_packages__import_downwards() -> None:
    height = imports.layers(imports.allowed())
    assert all(height[package] > height[target] for package, below in imports.allowed().items() for target in below)
    kernels, storage = ({name for name in height if name.startswith(top)} for top in ("rating_kernels", "storage"))
    assert all(imports.allowed()[package] <= kernels for package in kernels)
    assert all(imports.allowed()[package] <= storage for package in storage)


def test_packages__are_small_and_described(packages: dict[str, set[str]], paths: dict[str, Path]) -> None:
    sizes = Counter(imports.package_of(module, paths) for module in paths)
    assert [package for package, size in sizes.items() if size - 1 > MOST_MODULES] == []
    assert [name for name in sizes if not ast.get_docstring(ast.parse(paths[name].read_text("utf-8")))] == []
    assert imports.table(packages, paths) in imports.PAGE.read_text("utf-8")


def test_drawing__has_every_package(packages: dict[str, set[str]]) -> None:
    drawing = imports.DRAWING.read_text("utf-8")
    assert [name for name, targets in packages.items() if targets and f">{name}<" not in drawing] == []


def test_imports__are_found_in_every_form(modules: dict[str, set[str]]) -> None:
    assert "flows.frames.history" in modules["ranklake"]
    assert "storage.lake.layout" in modules["flows.rating.config"]
    assert "storage.lake.errors" in modules["storage"]
