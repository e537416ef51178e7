"""The commands of docs/migrating.md, and those of docs/tables.md about days and groups, work."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from helpers.answers import leaderboard
from helpers.commands import Command
from helpers.documents import ROOT, blocks_of
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.answers.diff import compare_boards
from ranklake.storage import Lake

PAGE = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")
DAY = 86_400


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A data set ``codeforces`` in the lake of the documents."""
    monkeypatch.chdir(tmp_path)
    names = ["ada", "grace", "linus", "edsger"]
    contests = [contest(f"{i}", *names[i % 3 :], *names[: i % 3], time_seconds=(18_200 + i) * DAY) for i in range(5)]
    return lake_of(tmp_path / "lake", [*contests, contest("spring", *names, time_seconds=18_300 * DAY)], "codeforces")


def test_migrating__commands_compare_and_explain(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    compare, explain = blocks_of(PAGE, "sh")
    answers = [invoke(*shlex.split(line)[1:]) for line in [*compare.splitlines(), *explain.splitlines()]]
    assert [answer.code for answer in answers] == [0] * len(answers)
    found = compare_boards(("before", "after"), *(leaderboard(lake, run) for run in ("before", "after")))
    assert f"rank correlation {found.rank_correlation():.4f}" in answers[2].out
    assert (tmp_path / "comparison.svg").exists()
    assert "place 1 of 4" in answers[-1].out


def test_migrating__lists_the_columns(lake: Lake) -> None:
    rate_run(lake, dataset="codeforces", system="codeforces")
    board = leaderboard(lake, "run")
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    listed = [name.strip(" `") for row in rows for name in row.split(",")]
    assert sorted(listed) == sorted(compare_boards(("one", "two"), board, board).players.column_names)


def test_tables__commands_show_a_day(lake: Lake, invoke: Command) -> None:
    rate_run(lake, run="codeforces-elo-mmr", dataset="codeforces")
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    (block,) = [block for block in blocks_of(page, "sh") if "--at" in block]
    for line in block.splitlines():
        answer = invoke(*shlex.split(line)[1:])
        assert (answer.code, answer.err) == (0, "")
        assert "ada" in answer.out


def test_tables__commands_show_groups(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    rate_run(lake, run="codeforces-elo-mmr", dataset="codeforces")
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    (people,) = [block for block in blocks_of(page, "text") if block.startswith("handle,")]
    (tmp_path / "people.csv").write_text(people.replace("FI,", "FR,"), encoding="utf-8")
    (block,) = [block for block in blocks_of(page, "sh") if "--by" in block]
    answers = [invoke(*shlex.split(line)[1:]) for line in block.splitlines()]
    assert [answer.code for answer in answers] == [0] * 4
    assert "country, organisation of 3 players" in answers[0].out
    assert "linus" in answers[1].out
    assert "3 of 3 groups" in answers[2].out
    assert answers[3].out.startswith('"place","group"')
