"""The imports between the project's packages, read from the code: their table and drawing in docs/architecture.md.

``python docs/imports.py`` writes both again. Tests compare them with the code.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

__all__ = [
    "PAGE",
    "ROOT",
    "allowed",
    "imports",
    "layers",
    "modules",
    "package_imports",
    "source_of",
    "statements",
    "table",
    "write",
]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
DRAWING = ROOT / "docs" / "_static" / "imports.svg"
FOLDERS = ("src", "flows", "storage", "rating_kernels")
BEGIN, END = "<!-- imports: begin -->", "<!-- imports: end -->"

_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")  # fields with statements

Graph: TypeAlias = dict[str, set[str]]


def modules() -> dict[str, Path]:
    """Each module's name below ``ranklake``, and its file; a package is its ``__init__``."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / "src" if folder == "src" else ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def package_of(module: str, paths: dict[str, Path]) -> str:
    """The package of a module; of a package, itself."""
    return module if paths[module].name == "__init__.py" else module.rpartition(".")[0]


def imports(paths: dict[str, Path]) -> Graph:
    """The modules that each module imports, also inside its functions and when a name of a package is first used.

    Imports for type checkers alone are left out.
    """
    return {module: set(_imports(module, paths)) for module in paths}


def package_imports(modules: Graph, paths: dict[str, Path]) -> Graph:
    """The packages that each package imports, itself left out, of the imports of all modules."""
    graph: Graph = defaultdict(set)
    for module, targets in modules.items():
        package = package_of(module, paths)
        graph[package] |= {package_of(target, paths) for target in targets} - {package}
    return dict(graph)


def _imports(module: str, paths: dict[str, Path]) -> Iterator[str]:
    tree = ast.parse(paths[module].read_text(encoding="utf-8"))
    is_door = any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)
    for node in statements(tree, with_types=is_door):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = source_of(module, node, paths)
            names = [f"{source}.{name.name}" if source else name.name for name in node.names]
            names = [name if _known(name) in paths else source for name in names]
        else:
            continue
        yield from (_known(name) for name in names if _known(name) in paths and _known(name) != module)


def statements(tree: ast.Module, with_types: bool = True) -> Iterator[ast.AST]:
    """The statements of a module, also inside of others, and perhaps those for type checkers alone.

    Expressions are left out: they have no imports, and most of the nodes.
    """
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        for_types = isinstance(node, ast.If) and not with_types and "TYPE_CHECKING" in ast.dump(node.test)
        for field in ("handlers", "cases", "orelse", "finalbody") if for_types else _BLOCKS:
            waiting += getattr(node, field, ())


def source_of(module: str, node: ast.ImportFrom, paths: dict[str, Path]) -> str:
    """The full name of what a module imports from."""
    if not node.level:
        return node.module or ""
    base = package_of(module, paths).split(".")
    base = base[: len(base) - node.level + 1]
    return ".".join(["ranklake", *base, *([node.module] if node.module else [])])


def _known(name: str) -> str:
    """A full name as :func:`modules` has it."""
    return name if name == "ranklake" or not name.startswith("ranklake.") else name.removeprefix("ranklake.")


def layers(graph: Graph) -> dict[str, int]:
    """How far each node is above those that import nothing.

    Raises
    ------
    graphlib.CycleError
        Names the nodes of an import circle.
    """
    found: dict[str, int] = {}
    for node in TopologicalSorter(graph).static_order():
        found[node] = 1 + max((found[target] for target in graph.get(node, ())), default=-1)
    return found


def table(graph: Graph, paths: dict[str, Path]) -> str:
    """The table of packages: what each is, from its docstring, and what it imports; the highest layer first."""
    height = layers(graph)
    rows = ["| package | what it is | imports |", "|---|---|---|"]
    for package in sorted(graph, key=lambda name: (-height[name], name)):
        what = (ast.get_docstring(ast.parse(paths[package].read_text(encoding="utf-8"))) or "").partition("\n")[0]
        targets = ", ".join(f"`{target}`" for target in sorted(graph[package])) or "nothing of ours"
        rows.append(f"| `{package}` | {what} | {targets} |")
    return "\n".join(rows)


def allowed() -> Graph:
    """The imports that the table in docs/architecture.md allows."""
    found: Graph = {}
    for line in PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].splitlines():
        if line.startswith("| `"):
            package, _, targets = (cell.strip() for cell in line.strip("|").split("|"))
            found[package.strip("`")] = set(re.findall(r"`([^`]+)`", targets))
    return found


def draw(packages: Graph) -> None:
    """Draw the packages in layers, each above all that it imports, without the arrows that follow from others."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    graph = {package: targets for package, targets in packages.items() if targets or package != "flows"}
    shown = {
        package: targets - set().union(*(_below(graph, one) for one in targets)) for package, targets in graph.items()
    }
    rows = defaultdict(list)
    for package, level in layers(graph).items():
        rows[level].append(package)
    widest = max(map(len, rows.values()))
    at: dict[str, tuple[float, float]] = {}
    for level in sorted(rows):  # each package about above what it imports
        means = {name: fmean([at[target][0] for target in shown[name]] or [widest / 2]) for name in rows[level]}
        for i, package in enumerate(sorted(rows[level], key=lambda name: (means[name], name))):
            at[package] = ((i + 0.5) * widest / len(rows[level]), float(level))
    settings = {"svg.fonttype": "none", "svg.hashsalt": "ranklake", "font.family": "sans-serif"}
    with mpl.rc_context(settings):
        figure, axes = plt.subplots(figsize=(2.3 * widest, 0.8 * len(rows)))
        for package, targets in sorted(shown.items()):
            for target in sorted(targets):
                (x, y), (to_x, to_y) = at[package], at[target]
                arrow = {"arrowstyle": "->", "color": "0.6", "shrinkA": 0, "shrinkB": 0, "lw": 0.8}
                axes.annotate("", xy=(to_x, to_y + 0.17), xytext=(x, y - 0.17), arrowprops=arrow)
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.3"}
        for package, (x, y) in at.items():
            axes.text(x, y, package, ha="center", va="center", fontsize=8, bbox=box)
        axes.set(xlim=(0, widest), ylim=(-0.5, max(rows) + 0.5))
        axes.axis("off")
        figure.savefig(DRAWING, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)


def _below(graph: Graph, node: str) -> set[str]:
    """All that a package imports, directly or not."""
    return set(graph.get(node, ())).union(*(_below(graph, target) for target in graph.get(node, ())))


def write() -> None:
    """Write the table into the page, and the drawing beside it."""
    paths = modules()
    packages = package_imports(imports(paths), paths)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(packages, paths)}\n\n{END}{after}", encoding="utf-8")
    draw(packages)


if __name__ == "__main__":
    write()
