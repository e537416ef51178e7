"""The page about problems: its examples print what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from helpers.documents import Follow, blocks_of, page, rows

TEXT = page("problems")


@pytest.mark.slow  # a history of 2,000 participations
def test_page__shows_what_its_examples_print(
    follow: Follow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    school, *compare = (compile(block, "problems.md", "exec") for block in blocks_of(TEXT, "python"))
    exec(school, names)
    printed = "\n".join(line for commands in blocks_of(TEXT, "sh") for line in follow(commands))
    for block in compare:
        exec(block, names)
    printed = rows(printed + capsys.readouterr().out)
    for line in "".join(block for block in blocks_of(TEXT, "text") if "sum of" not in block).splitlines():
        assert re.sub(r"\s+", " ", line) in printed
    truth = [f"{names['truth'][f'19{place}']:,.0f}" for place in "DCBA"]
    assert f"{', '.join(truth[:3])} and {truth[3]}" in TEXT


def test_columns__of_results_are_those_of_the_page() -> None:
    from ranklake.flows.problems.difficulties import COLUMNS
    from ranklake.flows.problems.players import COLUMNS as OF_PLAYERS
    from ranklake.flows.sources.problems.tables import PROBLEMS, RESULTS

    explained = set(re.findall(r"`([a-z_0-9]+)`", TEXT))
    assert {*RESULTS, *PROBLEMS} <= explained
    assert {*COLUMNS.names, *OF_PLAYERS.names} <= set(re.findall(r"`([a-z_0-9]+)`", page("columns")))
