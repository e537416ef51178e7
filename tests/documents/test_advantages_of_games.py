"""The example of the advantage of the first player has the figures that the page states."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.documents import ROOT, blocks_of

from ranklake.flows.cli.main import cli
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.sources.games.synthetic import GamesPreset, write_games
from ranklake.storage import Lake

PAGE = (ROOT / "docs" / "ingest" / "games.md").read_text(encoding="utf-8")
LEAGUE = GamesPreset(20, 4_000, 40, skill_sd=150.0, advantage=60.0, draws=0.25)


@pytest.mark.slow
def test_example__compares_advantages_by_the_predicted_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (commands,) = (block for block in blocks_of(PAGE, "sh") if "league.parquet" in block)
    monkeypatch.chdir(tmp_path)
    write_games(LEAGUE, 1, Path("league.parquet"))
    for command in commands.splitlines():
        done = CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    scores = {
        points: evaluate(Lake.open("lake"), f"home-{points}-elo").to_json()["games"]["everyone"]
        for points in (0, 60, 120)
    }
    for measure in ("cross_entropy", "squared_error"):
        assert min(scores, key=lambda points: scores[points][measure]) == 60
    shown = ", ".join(f"{score['cross_entropy']:.4f}" for score in scores.values())
    assert shown in " ".join(PAGE.split()), shown
