"""The page about votes and panels: its examples print what it shows, and the truth is what they were made from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from helpers.documents import Follow, blocks_of, page, rows

TEXT = page("arenas")


@pytest.mark.slow  # a data set of 8,000 votes, rated twice
def test_page__shows_what_its_examples_print(
    follow: Follow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    votes, compare, panel = (compile(block, "arenas.md", "exec") for block in blocks_of(TEXT, "python"))
    exec(votes, names)
    plain, explained, divided, published, tasted = blocks_of(TEXT, "sh")
    printed = "\n".join([(tmp_path / "votes.jsonl").read_text().partition("\n")[0], *follow(plain), *follow(explained)])
    exec(compare, names)
    printed += capsys.readouterr().out + "\n".join(follow(divided) + follow(published))
    exec(panel, names)
    printed = rows("\n".join([printed, *follow(tasted)]))
    for line in "".join(blocks_of(TEXT, "text")).splitlines():
        assert re.sub(r"\s+", " ", line) in printed
    assert "amber" in (tmp_path / "site" / "index.html").read_text()
    (difference,) = follow("ranklake compare --run panel new old --lake lake")
    points, deviation = re.search(r"\+(\d+) ± (\d+)", difference).groups()  # type: ignore[union-attr]
    assert f"better by {points} points with a deviation of {deviation}" in TEXT
