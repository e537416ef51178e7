"""SECURITY.md equals the code: its limits, tests and links."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.documents import README, ROOT

from ranklake.storage.lake.layout import check_dataset_name, check_run_name

PAGE = ROOT / "SECURITY.md"
TEXT = PAGE.read_text(encoding="utf-8")
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "days": 86_400}  # other units are 1


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its header and group lines."""
    part = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = [[cell.strip() for cell in line[2:-2].split(" | ")] for line in part.splitlines() if line.startswith("| ")]
    return [row for row in found[2:] if not row[0].startswith("**")]


def value(text: str) -> float:
    """A value of the table as a number."""
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * UNITS.get(unit, 1)


def constant(path: str) -> Any:
    """The object of a dotted path: a module, then names in it."""
    parts = path.split(".")
    for n in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError as error:
            if error.name not in [".".join(parts[:i]) for i in range(1, n + 1)]:
                raise
            continue
        for name in parts[n:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"no module in {path}")


LIMITS = rows("Limits")


@pytest.mark.parametrize("row", LIMITS, ids=[row[2].strip("`") for row in LIMITS])
def test_limits__equal_the_constants(row: list[str]) -> None:
    _, result, path, _ = row
    found = constant(path.strip("`"))
    if callable(found):  # a rule with a separate test
        assert found in (check_run_name,)
    else:
        assert value(result) == found


def test_limits__names_have_a_hundred_characters() -> None:
    for check in (check_run_name, check_dataset_name):
        assert check("x" * 100) == "x" * 100
        with pytest.raises(ValueError, match="1 to 100 of the letters"):
            check("x" * 101)


def bounds() -> Iterator[str]:
    """All public limits of the code, found by their names."""
    for folder in ("flows", "storage"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            module = ".".join(("ranklake", *path.relative_to(ROOT).with_suffix("").parts))
            for name in re.findall(
                r"^((?:MAX|LONGEST|MOST)_?[A-Z_]*)\b[^=\n]* = ", path.read_text("utf-8"), re.MULTILINE
            ):
                yield f"{module}.{name}"


def test_limits__has_every_bound_of_the_code() -> None:
    listed = {row[2].strip("`") for row in LIMITS}
    harmless = {"ranklake.flows.publication.prefix_digests.MAX_DIGESTS"}  # the size of a summary, not a limit of input
    assert set(bounds()) - harmless <= listed
    assert len(listed) == len(LIMITS)


def test_page__names_existing_tests_and_links() -> None:
    paths = [path for row in rows("How it is tested") for path in re.findall(r"`([^`]+)`", row[2])]
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
