"""The example of contests for a range of ratings has the result that the page states."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.documents import ROOT, blocks_of

from ranklake.flows.cli.main import cli
from ranklake.storage import Dataset, Lake, Run

PAGE = (ROOT / "docs" / "ingest" / "unrated.md").read_text(encoding="utf-8")


def test_example__rates_those_whose_rating_is_in_the_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (table,) = (
        block for block in blocks_of(PAGE, "text") if block.startswith("contest,player,rank,time_seconds,rated_")
    )
    (commands,) = (block for block in blocks_of(PAGE, "sh") if "divisions.csv" in block)
    (tmp_path / "divisions.csv").write_text(table)
    monkeypatch.chdir(tmp_path)
    for command in commands.splitlines():
        done = CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    lake = Lake.open("lake")
    ((_, rows),) = Run.open(lake, "divisions-elo").iter_segments(unrated=True)
    names = Dataset.open(lake, "divisions").handles().take(rows["player"].combine_chunks()).to_pylist()
    found = list(
        zip(rows["contest_id"].to_pylist(), names, rows["rated"].to_pylist(), rows["mu"].to_pylist(), strict=True)
    )
    assert round(found[0][3]) == 1516
    assert "is 1,516" in PAGE
    assert [(name, rated) for contest, name, rated, _ in found if contest == "2"] == [
        ("ada", False),
        ("cid", True),
        ("ben", True),
        ("dot", True),
    ]
