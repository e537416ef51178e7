"""The page about even matches: its examples print what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from helpers.documents import Follow, blocks_of, page, rows

TEXT = page("matchmaking")


@pytest.mark.slow  # 300 contests, rated twice
def test_page__shows_what_its_examples_print(
    follow: Follow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    club, notebook = (compile(block, "matchmaking.md", "exec") for block in blocks_of(TEXT, "python"))
    exec(club, names)
    printed = "\n".join(follow("".join(blocks_of(TEXT, "sh"))))
    capsys.readouterr()
    exec(notebook, names)
    printed = rows(printed + capsys.readouterr().out)
    for line in "".join(blocks_of(TEXT, "text")).splitlines():
        assert re.sub(r"\s+", " ", line) in printed
