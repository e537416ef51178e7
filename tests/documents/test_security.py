"""SECURITY.md equals the code: its limits, tests and links."""

from __future__ import annotations

import re
from collections.abc import Iterator

import bounds
from helpers.documents import README, ROOT

PAGE = ROOT / "SECURITY.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_limits__equal_the_constants_and_their_tests() -> None:
    """`python docs/bounds.py` writes the table again."""
    written = bounds.table(TEXT)
    assert bounds.rows(written) == bounds.rows(TEXT)
    assert written == TEXT
    assert [row[2] for row in bounds.rows(TEXT) if not row[4]] == []  # each bound has a test


def limits() -> Iterator[str]:
    """All public limits of the code, found by their names."""
    for folder in ("flows", "storage"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            module = ".".join(("ranklake", *path.relative_to(ROOT).with_suffix("").parts))
            for name in re.findall(
                r"^((?:MAX|LONGEST|MOST)_?[A-Z_]*)\b[^=\n]* = ", path.read_text("utf-8"), re.MULTILINE
            ):
                yield f"{module}.{name}"


def test_limits__has_every_bound_of_the_code() -> None:
    rows = bounds.rows(TEXT)
    listed = {row[2].strip("`") for row in rows}
    harmless = {"ranklake.flows.publication.prefix_digests.MAX_DIGESTS"}  # the size of a summary, not a limit of input
    assert set(limits()) - harmless <= listed
    assert len(listed) == len(rows)


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
