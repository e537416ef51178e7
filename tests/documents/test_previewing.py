"""The commands and the example of docs/previewing.md work."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.documents import ROOT, blocks_of
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.preview.preview import COLUMNS

PAGE = (ROOT / "docs" / "previewing.md").read_text(encoding="utf-8")


def test_previewing__commands_show_the_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Command
) -> None:
    rate_run(lake_of(tmp_path / "lake", [contest("1", "ada", "grace", "linus")]), run="club-elo-mmr")
    standings = "player,rank\nlinus,1\nada,2\n"
    (tmp_path / "standings.csv").write_text(standings, encoding="utf-8")
    (tmp_path / "entrants.txt").write_text("grace\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (block,) = blocks_of(PAGE, "sh")
    answers = []
    for line in block.splitlines():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(standings.encode())))
        words = shlex.split(line.partition(" < ")[0])
        answers.append(invoke(*words[1:]))
    assert [answer.code for answer in answers] == [0, 0, 0]
    assert "2 participants" in answers[0].out
    assert "grace" in answers[1].out
    assert [row["handle"] for row in json.loads(answers[2].out)] == ["linus", "ada"]


def test_previewing__lists_the_columns() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    listed = [name.strip(" `") for row in rows for name in row.split(",")]
    assert sorted(listed) == sorted(COLUMNS)


def test_previewing__examples_print_previews(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for example in blocks_of(PAGE, "python"):
        exec(compile(example, "previewing.md", "exec"), names)
    out = capsys.readouterr().out
    assert "red" in out
    assert "next_title_place" in out
    assert "a newcomer" in out
