"""Elo and EloSRM: settings as text, a K for each player, divisions of one event."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command

from ranklake import rate_history
from ranklake.flows.common.configuration.settings import build_params, find_system
from ranklake.flows.common.small_tables import MAX_TABLE_BYTES
from ranklake.flows.rating.config import RunConfig
from ranklake.rating_kernels import Elo, EloSRM
from ranklake.rating_kernels.fields.score_curve import expected_of, shape_of
from ranklake.storage import Lake, Run

GAMES = pd.DataFrame({"contest": [1, 1, 2, 2], "player": ["ann", "bob", "ann", "bob"], "rank": [1, 2, 1, 2]})


@pytest.mark.parametrize(
    ("system", "settings", "expected"),
    [
        ("elo-srm", {"preset": "B"}, EloSRM(preset="B")),
        ("elo-srm", {"preset": "Elo2", "m": "inf", "use_weight": "false"}, EloSRM(m=math.inf, use_weight=False)),
        ("elo-srm", {"k": "65", "use_weight": "false"}, EloSRM(k=65.0, alpha=0.0)),
        ("elo-srm", {"preset": "K", "alpha": "0.25"}, EloSRM(preset="K", alpha=0.25)),
        ("elo", {"k_rule": "fide", "cdf": "normal"}, Elo(k_rule="fide", cdf="normal")),
        (
            "elo",
            {"k": "40", "round_digits": "0", "round_what": "change"},
            Elo(k=40, round_digits=0, round_what="change"),
        ),
    ],
)
def test_settings__of_a_run_have_the_same_values_after_reading(system, settings, expected) -> None:
    found = find_system(system)
    params = build_params(found, settings)
    assert params == expected
    result = json.loads(json.dumps(RunConfig("d", "r", system, params).to_json()))
    assert build_params(found, result["params"]) == params


def test_history__accepts_a_k_for_each_player() -> None:
    known = pd.DataFrame({"mu": [1500.0, 1500.0], "k": [10.0, math.nan]}, index=["ann", "bob"])
    history, beliefs = rate_history(GAMES, "elo", beliefs=known, return_beliefs=True, k=40)
    assert history.mu.tolist()[:2] == [1505.0, 1480.0]
    assert beliefs.loc["ann", ["k", "games", "peak"]].tolist() == [10.0, 2.0, beliefs.mu["ann"]]
    assert rate_history(GAMES, "elo", beliefs=known[["k"]], k=40).equals(history)
    whole = rate_history(pd.concat([GAMES, GAMES.assign(contest=GAMES.contest + 2)]), "elo", beliefs=known, k=40)
    again = rate_history(GAMES, "elo", beliefs=beliefs, k=40)
    assert again.mu.tolist() == whole.mu.tolist()[4:]


def test_history__accepts_a_k_for_each_contest() -> None:
    history = rate_history(GAMES.assign(weight=[60, 60, 20, 20]), "elo", k=1)
    assert history.mu.tolist()[:2] == [1530.0, 1470.0]
    assert history.mu_prior.tolist()[2] == 1530.0


def test_history__divisions_of_one_event_have_one_initial_rating() -> None:
    frame = pd.DataFrame(
        {
            "contest": ["one"] * 2 + ["div 1"] * 2 + ["div 2"] * 2,
            "player": list("abcdef"),
            "rank": [1, 2] * 3,
            "time_seconds": [100] * 2 + [200] * 4,
        }
    )
    assert rate_history(frame, "elo-srm").mu_prior.tolist() == pytest.approx([1200.0] * 2 + [1200.63] * 4)


def write(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


POINTS = (100.0, 0.6, 300.0, 0.85, 500.0, 0.99)


def test_table__of_a_curve_is_read_from_files_frames_and_numbers(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "curve.csv", '"lead","expected"', "100,0.6", "300,0.85", "", "500,0.99"),
        write(tmp_path / "other.csv", "\ufeffExpected;note;Lead", ".6;a;100", ".85;b;3e2", ".99;c;500"),
    ]
    frame = pd.DataFrame({"lead": POINTS[::2], "expected": POINTS[1::2], "note": "x"})
    pairs = [[100, 0.6], [300, 0.85], [500, 0.99]]
    for given in (
        *files,
        Path(files[0]),
        frame,
        np.array(pairs),
        pairs,
        list(POINTS),
        "100, 0.6, 300, 0.85, 500, 0.99",
    ):
        assert build_params(find_system("elo"), {"cdf": "table", "cdf_table": given}).cdf_table == POINTS
    history = rate_history(GAMES, "elo", cdf="table", cdf_table=frame)
    assert history.mu.tolist()[2] == pytest.approx(
        1516 + 32 * (1 - float(expected_of(np.array(32.0), shape_of(POINTS))))
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["lead,chance", "1,1"], "has no column expected; it has 'lead', 'chance' and needs lead and expected"),
        (["lead,expected", "100,0.6", "200,high"], "line 3: expected must be a number, got 'high'"),
        (["lead,expected", "100"], "line 2: expected must be a number, got ''"),
        (["lead,expected", "100,0.6", "90,0.7"], "cdf_table, row 2: leads and expected scores must both increase"),
        (["lead,expected"], "cdf_table must have rows of a lead and an expected score, got 0 numbers"),
        ([], "has no column lead; it has none and needs lead and expected"),
        (["lead,expected", "9" * 140_000 + ",1"], "cannot be read as CSV: field larger than field limit"),
    ],
)
def test_table__that_is_no_curve_is_refused_at_its_line(tmp_path: Path, lines: list[str], said: str) -> None:
    path = write(tmp_path / "curve.csv", *lines)
    with pytest.raises(ValueError, match=said):
        build_params(find_system("elo"), {"cdf": "table", "cdf_table": path})


def test_table__in_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cdf_table: file '.*nowhere.csv' cannot be read: No such file or directory"):
        build_params(find_system("elo"), {"cdf": "table", "cdf_table": str(tmp_path / "nowhere.csv")})
    (tmp_path / "latin.csv").write_bytes(b"lead,expected,\xe9\n1,1,1\n")
    with pytest.raises(ValueError, match="is not UTF-8; save it as CSV in UTF-8"):
        build_params(find_system("elo"), {"cdf": "table", "cdf_table": tmp_path / "latin.csv"})
    with open(tmp_path / "large.csv", "wb") as file:
        file.truncate(MAX_TABLE_BYTES + 1)
    with pytest.raises(ValueError, match="has 4,194,305 bytes, more than 4,194,304"):
        build_params(find_system("elo"), {"cdf": "table", "cdf_table": tmp_path / "large.csv"})
    with pytest.raises(ValueError, match="cdf_table has no column expected; it has 'lead' and needs lead and expected"):
        rate_history(GAMES, "elo", cdf="table", cdf_table=pd.DataFrame({"lead": [1.0]}))


def test_run__records_the_numbers_of_a_curve_and_not_its_file(tmp_path: Path, invoke: Command) -> None:
    path = write(tmp_path / "curve.csv", "lead,expected", "100,0.6", "300,0.85", "500,0.99")
    games = write(
        tmp_path / "g.csv", "white,black,result,time", "a,b,1,2026-01-01", "b,c,0.5,2026-01-02", "a,c,1,2026-01-03"
    )
    lake = ("--lake", str(tmp_path / "lake"))
    assert invoke("ingest", "games", games, "--dataset", "g", *lake).code == 0
    chosen = ("--dataset", "g", "--run", "r", "--system", "elo", "--set", "cdf=table", *lake)
    assert invoke("rate", *chosen, "--set", f"cdf_table={path}").code == 0
    recorded = Run.open(Lake.open(tmp_path / "lake"), "r").config["params"]
    assert (recorded["cdf_table"], recorded["n"]) == (list(POINTS), None)
    write(tmp_path / "curve.csv", "lead,expected", "100,0.9")
    assert "rated 0 rounds" in invoke("rate", "--run", "r", *lake).out
    assert invoke("predict", "a", "c", "--run", "r", *lake).code == 0
    assert invoke("evaluate", "--run", "r", *lake).code == 0
    refused = invoke("rate", *chosen, "--set", f"cdf_table={path}")
    assert (refused.code, "cdf_table [100.0, 0.6, 300.0, 0.85, 500.0, 0.99]" in refused.err) == (2, True), refused.err
