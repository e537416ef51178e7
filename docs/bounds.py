"""The table of bounds in SECURITY.md: the value of each constant, and the test modules that name it.

``python docs/bounds.py`` writes both again; a test compares them with the code. The other words of a row, and the unit
of its value, are written by hand.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

from imports import ROOT, modules, source_of, statements

__all__ = ["PAGE", "amount", "constant", "rows", "table", "tests", "write"]

PAGE = ROOT / "SECURITY.md"
BEGIN, END = "<!-- bounds: begin -->", "<!-- bounds: end -->"
BYTES = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "bytes": 1}
UNITS = BYTES | {"days": 86_400}  # other units are 1
_ROW = re.compile(r"^\| .*`ranklake\..*$", re.MULTILINE)
_MODULES = modules()


def rows(text: str) -> list[list[str]]:
    """The cells of each row of the table in a text: words, value, constant, what is beyond it, tests."""
    return [cells(line) for line in _ROW.findall(text.partition(BEGIN)[2].partition(END)[0])]


def cells(line: str) -> list[str]:
    """The five cells of a row; the last one is empty in a new row."""
    return [*(cell.strip() for cell in line.strip()[1:-1].split("|")), ""][:5]


def constant(name: str) -> Any:
    """The value of a constant, or of an attribute of one, by its full name."""
    module = _module_of(name)
    found: Any = importlib.import_module(f"ranklake.{module}")
    for part in name.removeprefix(f"ranklake.{module}.").split("."):
        found = getattr(found, part)
    return found


def tests(constants: list[str]) -> dict[str, set[str]]:
    """The test modules that name each constant, below ``tests/``.

    They import, patch or pass it, as in ``client.MAX_BYTES``, ``setattr(client, "MAX_BYTES", 9)`` and
    ``Limits(rows=9)``, or have its full name as a text, as in ``@pytest.mark.bound``.
    """
    first = {name.removeprefix(f"ranklake.{_module_of(name)}.").partition(".")[0] for name in constants}
    wanted = re.compile(rf"\b({'|'.join(first)})\b")
    found = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if wanted.search(text):
            for name in set(_named(ast.parse(text))) & set(constants):
                found[name].add(path.relative_to(ROOT / "tests").as_posix())
    return found


def _named(tree: ast.Module) -> Iterator[str]:
    """The full names of all objects of ranklake that a test module names."""
    local = _names(tree)

    def full(node: ast.AST) -> str:
        if isinstance(node, ast.Call):
            return full(node.func)
        if isinstance(node, ast.Attribute):
            return f"{full(node.value)}.{node.attr}"
        if isinstance(node, ast.Constant):
            return str(node.value)
        return local.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    for node in ast.walk(tree):
        if not isinstance(node, ast.Name | ast.Attribute | ast.Constant | ast.Call):
            continue
        parts = [full(node)]
        if isinstance(node, ast.Call):
            owners = [full(node.func), *map(full, node.args)]
            keys = [keyword.arg for keyword in node.keywords] + [full(argument) for argument in node.args[1:2]]
            parts += [f"{owner}.{key}" for owner in owners for key in keys]
        yield from (_defined(name) for name in parts if name.startswith("ranklake."))


def _defined(name: str) -> str:
    """A full name where it is defined, not where it is imported."""
    module = _module_of(name)
    first, _, rest = name.removeprefix(f"ranklake.{module}.").partition(".")
    source = _names_of(module).get(first)
    return _defined(".".join(filter(None, [source, rest]))) if source else name


def _module_of(name: str) -> str:
    """The module of a full name, as :func:`.imports.modules` has it; empty if it is none of ours."""
    parts = name.split(".")
    return next((found for n in range(len(parts), 1, -1) if (found := ".".join(parts[1:n])) in _MODULES), "")


@cache
def _names_of(module: str) -> dict[str, str]:
    return _names(ast.parse(_MODULES[module].read_text(encoding="utf-8")), module) if module else {}


def _names(tree: ast.Module, module: str = "") -> dict[str, str]:
    """The full name of each object that a module imports under another one, by its name there."""
    found = {}
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom):
            source = source_of(module, node, _MODULES) if module else node.module
            found |= {name.asname or name.name: f"{source}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.asname: name.name for name in node.names if name.asname}
    return found


def table(text: str) -> str:
    """The text with the value and the tests of each row as the code has them."""
    found = tests([row[2].strip("`") for row in rows(text)])

    def row(line: re.Match[str]) -> str:
        words, written, name, beyond, _ = cells(line[0])
        value = amount(constant(name.strip("`")), written)
        where = ", ".join(f"`{path}`" for path in sorted(found[name.strip("`")]))
        return f"| {words} | {value} | {name} | {beyond} | {where} |"

    before, begin, rest = text.partition(BEGIN)
    part, end, after = rest.partition(END)
    return before + begin + _ROW.sub(row, part) + end + after


def amount(value: float, written: str) -> str:
    """A value in the unit of the one that was written; bytes in the largest unit without a fraction."""
    unit = written.lstrip("0123456789.,").strip()
    if unit in BYTES:
        unit = next(name for name, size in BYTES.items() if value % size == 0)
    number = f"{value / UNITS.get(unit, 1):,.12f}".rstrip("0").rstrip(".")
    return f"{number} {unit}".strip()


def write() -> None:
    """Write the values and tests into the page."""
    PAGE.write_text(table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
