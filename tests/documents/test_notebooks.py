"""The notebooks of the documentation run from the first cell to the last."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.documents import ROOT

FOLDER = ROOT / "docs" / "notebooks"
PAGES = sorted(FOLDER.glob("*.md"))
RESULTS = {
    "tennis": ("Ratings(glicko: 70 players, 270 contests)", "chance of Sinner: 0.", "Rafael Nadal"),
    "systems": ("is listed twice; duplicates='best'", "pair_inversion", "weight_limit", "juan-manuel-fangio"),
    "lake": ("64 contests, 1,437 participations", "Ratings(elo-mmr: 267 players, 64 contests)", "stirling-moss"),
}


def program(page: Path) -> str:
    """All cells of a notebook, each of which prints its last expression."""
    cells = re.findall(
        r"^```\{code-cell\} python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = ["import ast", "names = {'__name__': '__main__'}", f"cells = {cells!r}", "for cell in cells:"]
    lines += ["    tree = ast.parse(cell)", "    last = tree.body[-1]"]
    lines += ["    tree.body[-1:] = ast.parse('_ = 0').body if isinstance(last, ast.Expr) else [last]"]
    lines += ["    exec(compile(tree, 'cell', 'exec'), names)"]
    lines += ["    if isinstance(last, ast.Expr):"]
    lines += ["        value = eval(compile(ast.Expression(last.value), 'cell', 'eval'), names)"]
    lines += ["        print(getattr(value, '_repr_html_', lambda: value)() or value)"]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_notebooks__run_from_the_first_cell_to_the_last(page: Path) -> None:
    command = [sys.executable, "-W", "error::UserWarning", "-c", program(page)]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    for text in RESULTS[page.stem]:
        assert text in done.stdout, text
