"""Measure the structure of commits: lines, modules, imports, exported names, arguments, walks, time of the tests.

    python tests/benchmarks/structure.py [COMMIT ...] [--packages] [--tests] [--json FILE]

One column a commit, HEAD without one. ``--packages`` adds lines and modules of every package; ``--tests`` times the
quick tests with an empty kernel cache. README.md beside this file describes the figures.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from commits import CommitError, Side, export
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[2]
sys.path.append(os.fspath(ROOT / "docs"))
from imports import Graph, imports, package_imports, package_of  # noqa: E402

SMALL = 90  # lines of a module that its one importer could have
WALKS = ("ingest files", "rate", "page of a player")

Figures = dict[str, float]


def main(arguments: Sequence[str] | None = None, repository: Path = ROOT) -> int:
    """Print the figures of the commits, one column each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", default=["HEAD"])
    parser.add_argument("--packages", action="store_true", help="also each package")
    parser.add_argument(
        "--tests", action="store_true", help="also the time of the quick tests with an empty kernel cache"
    )
    parser.add_argument("--json", type=Path, help="file for the figures")
    given = parser.parse_args(arguments)
    figures = {}
    for name in given.commits:
        with tempfile.TemporaryDirectory() as folder:
            try:
                side = export(repository, name, Path(folder))
                figures[name] = {**structure(side), **walks(side)}
                if given.tests:
                    figures[name]["quick tests, s"] = _test_seconds(repository, side, Path(folder, "clone"))
            except CommitError as error:
                print(error, file=sys.stderr)
                return 2
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    table = Table("figure", *figures)
    for row in dict.fromkeys(row for column in figures.values() for row in column):
        if given.packages or not row.startswith("  "):
            table.add_row(row, *(_text(column[row]) if row in column else "" for column in figures.values()))
    Console(width=max(80, 60 + 14 * len(figures))).print(table)
    return 0


def _text(figure: float) -> str:
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.1f}"


def structure(side: Side) -> Figures:
    """Figures of the files of a commit."""
    paths = dict(_modules(side.packages))
    lines = {module: _lines(path) for module, path in paths.items()}
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in paths.items()}
    graph = imports(paths)
    packages = package_imports(graph, paths)
    importers = Counter(target for targets in graph.values() for target in targets)
    alone = [module for module in paths if importers[module] == 1 and paths[module].name != "__init__.py"]
    figures: Figures = {
        "lines of the product": sum(lines.values()),
        "lines of tests": sum(_lines(path) for path in sorted((side.folder / "tests").rglob("*.py"))),
        "modules": len(paths),
        "packages": len(packages),
        "imports of a package from others": sum(map(len, packages.values())) / len(packages),
        "exported names": sum(len(_exported(tree)) for tree in trees.values()),
        "modules with one importer": len(alone),
        f"of these, under {SMALL} lines": sum(lines[module] < SMALL for module in alone),
    }
    for top in ("rating_kernels", "storage", "flows"):
        counts = sorted(n for module in paths if _top(module) == top for n in _arguments(trees[module]))
        figures[f"{top}: arguments, mean"] = sum(counts) / len(counts)
        figures[f"{top}: arguments, 99 %"] = counts[math.ceil(0.99 * len(counts)) - 1]
        figures[f"{top}: arguments, most"] = counts[-1]
    return figures | _packages(paths, lines, packages)


def walks(side: Side) -> Figures:
    """Files whose functions a command calls, and the calls; imports are not counted."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for walk in WALKS:
            command = [sys.executable, Path(__file__).with_name("walk.py"), walk, folder]
            done = subprocess.run(command, capture_output=True, text=True, env=side.environment, check=True)
            n_files, n_calls = json.loads(done.stdout.splitlines()[-1])
            figures[f"{walk}: files"], figures[f"{walk}: calls"] = n_files, n_calls
    return figures


def _packages(paths: dict[str, Path], lines: dict[str, int], packages: Graph) -> Figures:
    figures: Figures = {}
    for package in sorted(packages):
        inside = [module for module in paths if package_of(module, paths) == package]
        figures[f"  {package}: lines"] = sum(lines[module] for module in inside)
        figures[f"  {package}: modules"] = len(inside)
    return figures


def _modules(packages: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(packages.rglob("*.py")):
        parts = path.relative_to(packages).with_suffix("").parts
        inside = parts[1:] if parts[1] != "__init__" and parts[1] != "__main__" else parts
        yield ".".join(inside[:-1] if inside[-1] == "__init__" else inside), path


def _top(module: str) -> str:
    return module.partition(".")[0]


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _exported(tree: ast.Module) -> list[str]:
    """The names that a module defines for others: without a leading underscore."""
    defined = [
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    ]
    defined += [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [name for name in defined if not name.startswith("_")]


def _arguments(tree: ast.Module) -> Iterator[int]:
    """The number of arguments of each function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)


def _test_seconds(repository: Path, side: Side, clone: Path) -> float:
    """Seconds of the quick tests on two workers, kernels compiled again, in a clone; ``CommitError``: one fails."""
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", repository, clone], check=True)
    subprocess.run(["git", "-C", clone, "checkout", "--quiet", side.commit], check=True)
    with tempfile.TemporaryDirectory() as cache:
        environment, began = {**side.environment, "XDG_CACHE_HOME": cache}, time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2"], cwd=clone, env=environment, check=False
        )
        seconds = time.perf_counter() - began
    if done.returncode:
        raise CommitError(f"{side.commit}: the quick tests fail")
    return seconds


if __name__ == "__main__":
    raise SystemExit(main())
