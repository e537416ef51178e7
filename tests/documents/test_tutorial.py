"""The tutorial, followed step by step, ends with a page."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.documents import TUTORIAL, blocks_of

TEXT = TUTORIAL.read_text(encoding="utf-8")


def run_line(line: str, folder: Path) -> str:
    """Both outputs of a ranklake command, which must succeed."""
    program = [sys.executable, "-m", "ranklake", *shlex.split(line)[1:]]
    env = os.environ | {"PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        program,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
def test_tutorial__ends_with_a_page(tmp_path: Path) -> None:
    pytest.importorskip("deltalake", reason="the extra publish is not installed")
    pytest.importorskip("matplotlib", reason="the extra report is not installed")
    (table,) = blocks_of(TEXT, "csv")
    (tmp_path / "club.csv").write_text(table, encoding="utf-8")
    lines = "".join(blocks_of(TEXT, "sh")).splitlines()
    outputs = [run_line(line, tmp_path) for line in lines if line.startswith("ranklake ")]
    ingested, rated, board, player, prediction, amended, rated_again, published, plotted = outputs
    (printed,) = blocks_of(TEXT, "text")
    assert sorted(ingested.splitlines()) == sorted(printed.splitlines())
    assert "rated 4 rounds with 15 participations" in rated
    assert "5 of 5 players" in board
    assert "2024 autumn" in player
    assert "before grace" in prediction
    assert "1 contest changed" in amended
    assert "rated 4 rounds with 14 participations" in rated_again
    assert "leaderboard" in published
    assert "distribution.svg" in plotted
    (script,) = blocks_of(TEXT, "python")
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=600)
    page = (tmp_path / "club.html").read_text(encoding="utf-8")
    assert "<td>ada</td>" in page
    assert (tmp_path / "distribution.svg").is_file()
