"""The page about web sites: its commands and its example work."""

from __future__ import annotations

import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.answers import player_history
from helpers.documents import ROOT, blocks_of
from helpers.lakes import contest, lake_of, rate_run

from ranklake.flows.cli.main import cli

RUN = "codeforces-elo-mmr"
PAGE = (ROOT / "docs" / "site.md").read_text("utf-8")


def test_page__publishes_a_site_and_reads_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = [("ada", "tourist", "bob"), ("tourist", "ada"), ("ada", "bob"), ("bob", "tourist")]
    lake = lake_of(tmp_path / "lake", [contest(str(i), *order) for i, order in enumerate(orders)], "codeforces")
    rate_run(lake, dataset="codeforces", run=RUN)
    monkeypatch.chdir(tmp_path)
    (command,) = (line for block in blocks_of(PAGE, "sh") for line in block.splitlines() if line.startswith("ranklake"))
    assert CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False).exit_code == 0
    (example,) = blocks_of(PAGE, "python")
    output = StringIO()
    with redirect_stdout(output):
        exec(compile(example, "site.md", "exec"), {})
    rows = player_history(lake, RUN, "tourist").rows
    shown = [
        f"{name} {round(rating)}"
        for name, rating in zip(*(rows.column(c).to_pylist() for c in ("name", "rating")), strict=True)
    ]
    assert output.getvalue().splitlines() == shown
