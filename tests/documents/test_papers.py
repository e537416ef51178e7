"""The page from the papers to the code names functions and tests that exist, and leaves out no numbered item."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import imports
import pytest
from helpers.documents import ROOT, page

SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", page("papers"), re.MULTILINE))


def rows(section: str) -> list[list[str]]:
    """The cells of a section's table."""
    lines = [
        line for line in section.splitlines() if line.startswith("| ") and not line.startswith(("| place", "| ---"))
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@cache
def in_tests(module: str) -> set[str]:
    """The functions of the test modules of a name."""
    return set().union(*(defined(path) for path in (ROOT / "tests").rglob(f"{module}.py")))


@cache
def defined(path: Path) -> set[str]:
    """The functions and classes of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("document", list(SECTIONS))
def test_papers__name_functions_and_tests_that_exist(document: str) -> None:
    found = rows(SECTIONS[document])
    assert len(found) >= 7
    modules = imports.modules()
    for place, subject, functions, test in found:
        assert place
        assert subject
        for name in re.findall(r"`([^`]+)`", functions):
            module, _, function = name.rpartition(".")
            assert function in defined(modules[module]), f"{document}, {place}: there is no {name}"
        module, _, function = test.strip("`").partition(".")
        assert function in in_tests(module), f"{document}, {place}: there is no {test}"


def numbered(section: str, word: str) -> set[int]:
    """The numbers of items of a kind, such as "equations 1, 2 and 3"."""
    places = [row[0] for row in rows(section)]
    lists = re.findall(rf"{word}s? ([0-9]+(?:(?:, | and )[0-9]+)*)(?![.0-9])", "\n".join(places), re.IGNORECASE)
    return {int(number) for found in lists for number in re.findall("[0-9]+", found)}


@pytest.mark.parametrize(
    ("document", "word", "last"),
    [
        ("Elo-MMR", "equation", 9), ("Elo-MMR", "algorithm", 3), ("Elo-MMR", "table", 3), ("Elo-MMR", "figure", 1),
        ("Elo-R", "algorithm", 2), ("Elo-R", "property", 3),
        ("EloSRM", "equation", 21), ("EloSRM", "figure", 9), ("EloSRM", "table", 5),
    ],
)  # fmt: skip
def test_papers__leave_out_no_numbered_item(document: str, word: str, last: int) -> None:
    assert numbered(SECTIONS[document], word) == set(range(1, last + 1))


def test_papers__have_all_theorems_and_lemmas_of_elo_mmr() -> None:
    places = " ".join(row[0] for row in rows(SECTIONS["Elo-MMR"]))
    for item in ("Lemma 3.1", "Theorem 3.2", "Theorem 4.1", "Lemma 5.1", "Theorem 5.2", "Lemma 5.3", "Lemma 5.4",
                 "Theorem 5.5", "Theorem 5.6", "Theorem 5.7"):  # fmt: skip
        assert item in places
