"""Real histories from archive to leaderboard, with their known faults."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.data import shared
from helpers.lakes import start

from ranklake.rating_kernels.registry import of_contests
from ranklake.storage import Dataset, Lake, Run

TIMEOUT = 600.0


@pytest.fixture(scope="session")
def archives() -> Path:
    return shared("elo-datasets")


def run(*arguments: str, code: int = 0) -> tuple[str, str]:
    with start(*arguments, env=os.environ | {"PYTHONIOENCODING": "utf-8"}) as process:
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
    assert process.returncode == code, err.decode()
    return out.decode(), err.decode()


def board_of(lake: Path, name: str) -> list[dict[str, object]]:
    out, _ = run("leaderboard", "--run", name, "--all", "--format", "json", "--lake", str(lake))
    board: list[dict[str, object]] = json.loads(out)
    return board


@pytest.mark.slow
def test_reddit__leaves_its_empty_contest_out(archives: Path, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    out, err = run("ingest", "files", str(archives / "reddit.tar.xz"), "--dataset", "reddit", "--lake", lake)
    assert "data set reddit: 999 new" in out
    assert err.startswith("left out: ")
    assert err.count("\n") == 1
    out, _ = run("rate", "--dataset", "reddit", "--lake", lake)
    assert "rated 999 rounds with 13,061 participations" in out
    assert "skipped" not in out
    board = board_of(tmp_path / "lake", "reddit-elo-mmr")
    assert len(board) == 275
    busiest = max(board, key=lambda entry: entry["n_rounds"])  # type: ignore[arg-type, return-value]
    assert busiest["handle"] == "TotesMessenger"


@pytest.mark.slow
def test_ctf__names_that_differ_by_case_or_white_space_are_different_players(archives: Path, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    run("ingest", "files", str(archives / "ctf.tar.xz"), "--dataset", "ctf", "--lake", lake)
    out, _ = run("rate", "--dataset", "ctf", "--lake", lake)
    assert "rated 990 rounds with 347,299 participations" in out
    board = board_of(tmp_path / "lake", "ctf-elo-mmr")
    handles = [entry["handle"] for entry in board]
    assert len(handles) == len(set(handles)) == 138_260
    assert {"Unknown", "unknown\t", "\u00a0"} <= set(handles)
    assert max(board, key=lambda entry: entry["n_rounds"])["handle"] == "dcua"  # type: ignore[arg-type, return-value]
    assert next(entry for entry in board if entry["handle"] == "dcua")["n_rounds"] == 583
    out, _ = run("player", "unknown\t", "--run", "ctf-elo-mmr", "--format", "json", "--lake", lake)
    assert len(json.loads(out)) == next(entry["n_rounds"] for entry in board if entry["handle"] == "unknown\t")
    _, err = run("player", "UNKNOWN", "--run", "ctf-elo-mmr", "--lake", lake, code=1)
    assert "'Unknown'" in err
    assert "'unknown\\t'" in err
    table, _ = run("leaderboard", "--run", "ctf-elo-mmr", "--top", "1000", "--lake", lake)
    assert all(c.isprintable() or c in "\n\u00a0" for c in table)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["reddit", "ctf", "tennis"])
def test_every_system__rates_real_histories(archives: Path, tmp_path: Path, data: str) -> None:
    """Large rounds by half of the systems, duels by the others. Every system rates Codeforces for Table 2."""
    lake = str(tmp_path / "lake")
    path = archives / f"{data}.tar.xz" if data != "tennis" else archives.parent / "tennis_atp.parquet"
    columns = ("--column", "contest=contest_id", "--column", "player=player_id") if data == "tennis" else ()
    run("ingest", "files", str(path), "--dataset", data, "--on-error", "skip", *columns, "--lake", lake)
    contests = Dataset.open(Lake.open(lake), data).contests.num_rows
    for system in {"reddit": of_contests(), "ctf": of_contests()[::2], "tennis": of_contests()[1::2]}[data]:
        out, _ = run("rate", "--dataset", data, "--system", system, "--lake", lake)
        assert f"rated {contests:,} rounds with " in out
        rows = Run.open(Lake.open(lake), f"{data}-{system}").read_rounds(columns=["mu", "sigma"])
        assert all(np.isfinite(rows.column(name).to_numpy()).all() for name in rows.column_names)
        out, _ = run("leaderboard", "--run", f"{data}-{system}", "--top", "3", "--lake", lake)
        assert "3 of " in out
        shutil.rmtree(tmp_path / "lake" / "runs")


@pytest.mark.slow
def test_codeforces__first_sixty_rounds_have_the_same_bits_with_both_engines(archives: Path, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    out, err = run("ingest", "files", str(archives / "codeforces.tar.xz"), "--dataset", "codeforces", "--lake", lake)
    assert "data set codeforces: 1,194 new" in out
    assert "time goes back at 2 contests" in err
    for engine in ("serial", "threads"):
        more = ("--run", engine, "--engine", engine, "--max-rounds", "60", "--lake", lake)
        out, _ = run("rate", "--dataset", "codeforces", *more)
        assert "rated 60 rounds with " in out
    runs = [Run.open(Lake.open(lake), name) for name in ("serial", "threads")]
    one, other = ([s.file_digest for s in opened.segments().segments] for opened in runs)
    assert one == other
    board = board_of(tmp_path / "lake", "threads")
    assert board[0]["place"] == 1
    assert max(entry["n_rounds"] for entry in board) <= 60  # type: ignore[type-var]
