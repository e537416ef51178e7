"""The page on races: its examples print what it shows, and Formula 1 has the figures that it states."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.data import shared
from helpers.documents import ROOT, blocks_of

from ranklake import Ratings

PAGE = (ROOT / "docs" / "ingest" / "races.md").read_text(encoding="utf-8")
REFUSED, READ, FORMULA_1 = blocks_of(PAGE, "sh")
TABLE, ERROR, REPORT = blocks_of(PAGE, "text")


def test_examples__print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], invoke: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("races.csv").write_text(TABLE, encoding="utf-8")
    refused = invoke(*shlex.split(REFUSED)[1:])
    assert (refused.code, refused.err.strip()) == (1, ERROR.strip())
    read = invoke(*shlex.split(READ)[1:])
    assert sorted((read.out + read.err).splitlines()) == sorted(REPORT.splitlines())
    (example,) = blocks_of(PAGE, "python")
    namespace: dict[str, Ratings] = {}
    exec(compile(example, "races.md", "exec"), namespace)
    history = namespace["ratings"].history
    spa = history[history["contest"] == "spa"]
    assert spa[["player", "lo", "hi"]].to_numpy().tolist() == [
        ["ada", 0, 0], ["ben", 1, 2], ["cid", 1, 2], ["dot", 3, 4], ["eve", 3, 4]
    ]  # fmt: skip
    assert "eve" in capsys.readouterr().out


@pytest.mark.slow
def test_formula_one__has_the_figures_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Command
) -> None:
    source = shared("f1_races.parquet")
    monkeypatch.chdir(tmp_path)
    shutil.copy(source, "f1.parquet")
    rows = {}
    for command in FORMULA_1.splitlines():
        done = invoke(*shlex.split(command)[1:])
        assert done.code == 0, done.err
        if found := re.search(r"run (\S+): rated .* with (\S+) participations", done.out):
            drift = re.search(r"changed by (\S+) points a year", done.err)
            rows[found[1]] = found[2], drift[1] if drift else "less than 10"
    for run, facts in rows.items():
        ratings = Ratings.open("lake", run)
        best = f"{ratings.leaderboard(top=1)['rating'].iloc[0]:,.0f}"
        pairs = f"{ratings.evaluate().loc['everyone', 'pair_inversion']:.1f}"
        assert f"| {facts[0]} | {best} | {facts[1]} | {pairs}" in PAGE, (run, facts, best, pairs)
    assert len(rows) == 3
