"""SECURITY.md equals the code: its limits, tests and links."""

from __future__ import annotations

import re

import bounds
import imports
from helpers.documents import README, ROOT

PAGE = ROOT / "SECURITY.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_limits__equal_the_constants_and_their_tests() -> None:
    """`python docs/bounds.py` writes the table again."""
    written = bounds.table(TEXT)
    assert bounds.rows(written) == bounds.rows(TEXT)
    assert written == TEXT
    assert [row[2] for row in bounds.rows(TEXT) if not row[4]] == []  # each bound has a test


NAMED = re.compile(r"^(_?(?:MAX|LONGEST|MOST)_?[A-Z_]*)\b[^=\n]* = ", re.MULTILINE)
NUMBER = re.compile(r"lru_cache\((?:maxsize=)?\d\d|(?:retries|timeout|maxsize|maxlen)=[1-9]|Semaphore\([1-9]")
HARMLESS = {
    "flows.publication.states.MAX_DIGESTS",  # the size of a summary, not a limit of input
    "flows.pages.axes.MOST_TIMES",  # labels below a graph
}


def test_limits__has_every_bound_of_the_code() -> None:
    """Bounds are found by their names; a number in a call would have none."""
    rows = bounds.rows(TEXT)
    listed = [row[2].strip("`").removeprefix("ranklake.") for row in rows]
    assert len(listed) == len(set(listed))
    for module, path in imports.modules().items():
        if module.startswith(("flows", "storage")):
            code = path.read_text("utf-8")
            assert {f"{module}.{name}" for name in NAMED.findall(code)} <= HARMLESS.union(listed)
            assert NUMBER.findall(code) == [], path


def test_page__names_existing_tests_and_links() -> None:
    paths = re.findall(r"`(tests/[^`]+)`", TEXT)
    assert len(paths) >= 8
    for path in paths:
        assert (ROOT / path).exists(), path
    for link, anchor in re.findall(r"\]\(([^)#:]+)(?:#([^)]+))?\)", TEXT):
        assert (ROOT / link).exists(), link
        heads = re.findall(r"^#+ (.+)$", (ROOT / link).read_text("utf-8"), re.MULTILINE)
        assert not anchor or anchor in [head.lower().replace(" ", "-") for head in heads]


def test_page__is_linked_and_has_a_way_to_report() -> None:
    assert "](SECURITY.md)" in README.read_text("utf-8")
    assert any("SECURITY.md" in page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert "Report a vulnerability" in TEXT
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(mail in project for mail in re.findall(r"[\w.]+@[\w.]+", TEXT))  # only addresses of the project
