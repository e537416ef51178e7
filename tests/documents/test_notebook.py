"""The page about notebooks does what it says, and its code is typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.documents import README, ROOT, blocks_of

PAGE = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")

TYPES = """
from typing import assert_type

import polars as pl

assert_type(ratings.history, pd.DataFrame)
assert_type(ratings.update(results).player("ada"), pd.DataFrame)
assert_type(Ratings.open("lake", "run").leaderboard(), pd.DataFrame)
of_polars = Ratings.rate(pl.from_pandas(results))
assert_type(of_polars.history, pl.DataFrame)
assert_type(of_polars.leaderboard(3), pl.DataFrame)
loaded: Ratings[pl.DataFrame] = Ratings.load("ratings.parquet")
assert_type(loaded.player("ada"), pl.DataFrame)


def best(ratings: Ratings) -> pd.DataFrame:
    return ratings.leaderboard(1)


best(ratings)
"""


@pytest.mark.slow
def test_notebook__examples_run_one_after_the_other(tmp_path: Path) -> None:
    program = "\n".join(blocks_of(PAGE, "python"))
    run = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    for word in ("autumn", "winter", "mu_init", "pair_inversion", "everyone"):
        assert word in done.stdout
    assert (tmp_path / "ratings.parquet").is_file()


@pytest.mark.slow
def test_readme__example_is_typed_for_users_of_the_wheel(tmp_path: Path) -> None:
    """``mypy --strict`` of a user, with the package installed from a wheel."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", tmp_path / "site", ROOT], check=True, timeout=600)
    (example,) = (block for block in blocks_of(README.read_text(encoding="utf-8"), "python") if "Ratings" in block)
    wrong = 'Ratings.rate(results, system="elo-mnr")\nratings.leaderbord()\n'
    for name, program, code in (("good", example + TYPES, 0), ("bad", example + wrong, 1)):
        (tmp_path / f"{name}.py").write_text(program, encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", f"{name}.py"]
        env = os.environ | {"MYPYPATH": str(tmp_path / "site")}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == code, done.stdout
        if code:
            assert "elo-mnr" in done.stdout
            assert "leaderbord" in done.stdout
