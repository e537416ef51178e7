"""The pages of docs/ingest: the index leads to each of them, and what they say about places and lake tables is true."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.commands import Command
from helpers.data import shared
from helpers.documents import ROOT, blocks_of

FOLDER = ROOT / "docs" / "ingest"


def page(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def test_index__leads_to_each_page() -> None:
    index = (ROOT / "docs" / "ingest.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("*.md"):
        assert f"](ingest/{path.name})" in index, path.name
        assert f"\ningest/{path.stem}\n" in index, path.name


def test_lake_tables__are_read_by_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Command
) -> None:
    deltalake = pytest.importorskip("deltalake", reason="the extra publish is not installed")
    read, again = (shlex.split(line)[1:] for line in blocks_of(page("lake-tables"), "sh"))
    monkeypatch.chdir(tmp_path)
    deltalake.write_deltalake(
        "results", pa.table({"contest": ["a"] * 3, "player": ["ada", "bob", "cy"], "rank": [1, 2, 3]})
    )
    deltalake.DeltaTable("results").delete("player = 'bob'")
    assert "read 1 contest, 2 participations" in invoke(*read).out
    for command in ("rate", "--dataset", "club"), ("publish", "--run", "club-elo-mmr"):
        assert invoke(*command, "--lake", "lake").code == 0
    assert "read 1 contest, 2 participations" in invoke(*again).out


def test_files__are_read_by_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Command) -> None:
    board, reddit = (shlex.split(line)[1:] for line in blocks_of(page("files"), "sh"))
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(shared("elo-datasets/reddit.tar.xz"), "reddit.tar.xz")
    Path(board[2]).parent.mkdir()
    rows = [{"team_id": "7", "rank": 1}, {"team_id": "8", "rank": 2}]
    Path(board[2]).write_text(json.dumps({"state": {"ended": "2024-06-25T14:00:00Z"}, "rows": rows}), "utf-8")
    assert "read 1 contest, 2 participations" in invoke(*board).out
    answer = invoke(*reddit)
    (expected,) = blocks_of(page("files"), "text")
    assert sorted((answer.out + answer.err).split("\n")) == sorted(expected.split("\n"))
