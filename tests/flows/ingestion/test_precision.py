"""The precision of contests and games, from files to ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command

from ranklake import Lake, Ratings, predict, preview, rate_history
from ranklake.flows.common.adapters import all_rounds
from ranklake.storage import Dataset
from ranklake.storage.lake import layout
from ranklake.storage.maintenance.verify import verify_dataset

PLAYERS, N = ["ann", "bob", "cyd"], 6
LONG = pd.DataFrame(
    {
        "contest": np.repeat([f"c{i}" for i in range(N)], 3),
        "player": PLAYERS * N,
        "rank": [1, 2, 3, 3, 1, 2] * (N // 2),
        "time": np.repeat([f"2024-0{i + 1}-01" for i in range(N)], 3),
        "duration": np.repeat([7200, 3600, 7200, 18000, 7200, 1800], 3),
    }
)
PRECISION = (LONG["duration"] / 7200).tolist()
PRECISE = LONG.drop(columns="duration").assign(precision=PRECISION)


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Command) -> Lake:
    monkeypatch.setenv("RANKLAKE_LAKE", str(tmp_path / "lake"))
    return Lake.open(tmp_path / "lake", create=True)


def ingest(invoke: Command, path: Path, frame: pd.DataFrame, dataset: str, *options: str) -> str:
    frame.to_csv(path / "results.csv", index=False)
    answer = invoke("ingest", "files", path / "results.csv", "--dataset", dataset, *options)
    assert answer.code == 0, answer.err
    return answer.out


def digests(lake: Lake, name: str) -> list[str]:
    return Dataset.open(lake, name).contests.column("content_digest").to_pylist()


def test_durations__in_units_are_precisions(tmp_path: Path, lake: Lake, invoke: Command) -> None:
    ingest(invoke, tmp_path, PRECISE, "given")
    ingest(invoke, tmp_path, LONG, "long", "--column", "duration=duration", "--duration-unit", "2h")
    ingest(invoke, tmp_path, LONG, "ignored")
    assert digests(lake, "given") == digests(lake, "long")
    assert all_rounds(Dataset.open(lake, "long")).precision.tolist() == PRECISION[::3]
    usual = [precision == 1.0 for precision in PRECISION[::3]]
    same = [one == other for one, other in zip(digests(lake, "long"), digests(lake, "ignored"), strict=True)]
    assert same == usual
    assert list(verify_dataset(Dataset.open(lake, "long"))) == []
    with Dataset.ingest(lake, "long") as body:
        body.disqualify("c1", "cyd")
    assert all_rounds(Dataset.open(lake, "long")).precision.tolist() == PRECISION[::3]
    said = ingest(invoke, tmp_path, LONG, "long", "--column", "duration=duration", "--duration-unit", "1h")
    assert "6 corrected contests" in said


def test_contests__of_the_precision_1_have_the_bytes_of_contests_without(
    tmp_path: Path, lake: Lake, invoke: Command
) -> None:
    without = LONG.drop(columns="duration")
    ingest(invoke, tmp_path, without, "a")
    ingest(invoke, tmp_path, without.assign(precision=1.0), "b")
    folders = [tmp_path / "lake" / layout.dataset_folder(name) for name in ("a", "b")]
    contents = [[path.read_bytes() for path in sorted(folder.rglob("*.parquet"))] for folder in folders]
    assert contents[0] == contents[1]
    assert len(contents[0]) > 2


def test_rating__of_precisions_is_the_same_at_every_door(tmp_path: Path, lake: Lake, invoke: Command) -> None:
    ingest(invoke, tmp_path, PRECISE, "d")
    invoke("rate", "--dataset", "d", "--system", "elo-mmr")
    board = json.loads(invoke("leaderboard", "--run", "d-elo-mmr", "--format", "json").out)
    rows = board["rows"] if isinstance(board, dict) else board
    renamed = PRECISE.rename(columns={"precision": "length"})
    history, beliefs = rate_history(renamed, "elo-mmr", columns={"precision": "length"}, return_beliefs=True)
    usual = rate_history(LONG.drop(columns="duration"), "elo-mmr")
    assert {row["handle"]: row["mu"] for row in rows} == pytest.approx(beliefs.mu.to_dict(), abs=0)
    assert not np.array_equal(history["mu"], usual["mu"])
    folder = tmp_path / "contests"
    folder.mkdir()
    for i in range(N):
        own = PRECISE[3 * i : 3 * i + 3].sort_values("rank")
        places = [[name, k, k] for k, name in enumerate(own["player"])]
        seconds = int(pd.Timestamp(own["time"].iloc[0]).timestamp())
        facts = {"name": f"c{i}", "time_seconds": seconds, "precision": PRECISION[3 * i], "standings": places}
        (folder / f"{i + 1}.json").write_text(json.dumps(facts))
    invoke("ingest", "files", folder, "--dataset", "json")
    assert all_rounds(Dataset.open(lake, "json")).precision.tolist() == PRECISION[::3]


def test_prediction__has_a_precision(tmp_path: Path, invoke: Command) -> None:
    ingest(invoke, tmp_path, PRECISE, "d")
    invoke("rate", "--dataset", "d", "--system", "elo-mmx")
    chances = []
    for precision in ("1", "9"):
        asked = "predict", *PLAYERS, "--run", "d-elo-mmx", "--precision", precision, "--pairs", "--format", "json"
        chances.append(json.loads(invoke(*asked).out))
    assert chances[0] != chances[1]
    ratings = Ratings.rate(PRECISE, "elo-mmx")
    sure, usual = (ratings.predict(PLAYERS, precision=p).chances() for p in (9.0, 1.0))
    assert (abs(sure - 0.5) >= abs(usual - 0.5)).all()
    assert (sure != usual).any()
    with pytest.raises(ValueError, match=r"precision must be within 1e-09\.\.1e\+09, got 0"):
        predict(ratings, PLAYERS, precision=0.0)
    line = invoke.refuses("predict", *PLAYERS, "--run", "d-elo-mmx", "--precision", "0", code=2)
    assert "--precision must be within 1e-09..1e+09, got 0.0" in line


def test_frame__with_durations_is_refused() -> None:
    with pytest.raises(ValueError, match="a frame has no durations; divide them"):
        rate_history(LONG, "elo-mmx", columns={"duration": "duration"})


def test_preview__has_the_precision_of_the_standings(tmp_path: Path, invoke: Command) -> None:
    ratings = Ratings.rate(PRECISE, "elo-mmr")
    standings = pd.DataFrame({"player": PLAYERS, "rank": [3, 2, 1]})
    usual, precise = (preview(ratings, standings.assign(precision=p)) for p in (1.0, 4.0))
    assert (precise["sigma"] < usual["sigma"]).all()
    expected = rate_history(
        pd.concat([PRECISE, standings.assign(contest="next", precision=4.0, time="2024-06-01")]), "elo-mmr"
    )
    assert sorted(precise["mu"]) == pytest.approx(sorted(expected["mu"][-3:]), abs=1e-9)


def test_ignored_precisions__are_said_once(tmp_path: Path, invoke: Command) -> None:
    ingest(invoke, tmp_path, PRECISE, "d")
    said = invoke("rate", "--dataset", "d", "--system", "glicko").err
    line = "glicko ignores precision, and 3 rounds have a precision other than 1; `ranklake systems` shows"
    assert said.count(line) == 1
    with pytest.warns(UserWarning, match="elo ignores precision, and 3 rounds have a precision other than 1"):
        rate_history(PRECISE, "elo")


@pytest.mark.parametrize(
    ("columns", "options", "code", "rule"),
    [
        ({}, ("--column", "duration=duration"), 2, "--column duration=duration needs a unit; give the duration of"),
        ({}, ("--duration-unit", "2h"), 2, "--duration-unit 7200s needs durations; name their column"),
        ({}, ("--column", "duration=duration", "--duration-unit", "2x"), 2, "must be a duration as 90s, 15m, 1h or 1d"),
        ({"precision": 1.0}, ("--column", "duration=duration", "--duration-unit", "2h"), 1, "exclude each other"),
        (
            {"duration": 0},
            ("--column", "duration=duration", "--duration-unit", "2h"),
            1,
            "a duration must be a number of",
        ),
        ({"precision": -2}, (), 1, "a precision must be within 1e-09..1e+09, got precision = '-2'"),
        ({"precision": [1, 2, 1] * N}, (), 1, "precision differs inside the contest: 1 and 2"),
    ],
)
def test_input__that_is_no_precision_is_refused(
    columns: dict[str, Any], options: tuple[str, ...], code: int, rule: str, tmp_path: Path, invoke: Command
) -> None:
    LONG.assign(**columns).to_csv(tmp_path / "bad.csv", index=False)
    assert rule in invoke.refuses("ingest", "files", tmp_path / "bad.csv", "--dataset", "d", *options, code=code)


GAMES = pd.DataFrame(
    {"white": ["ann", "bob", "cyd", "ann"], "black": ["bob", "cyd", "ann", "cyd"], "result": [1, 0.5, 0, 1]}
).assign(time=["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-03"], seconds=[600, 300, 600, 150])


def test_games__have_precisions_from_either_column(tmp_path: Path, lake: Lake, invoke: Command) -> None:
    path = tmp_path / "games.csv"
    GAMES.assign(precision=[1.0, 0.5, 1.0, 0.25]).to_csv(path, index=False)
    invoke("ingest", "games", path, "--dataset", "given")
    GAMES.to_csv(path, index=False)
    invoke("ingest", "games", path, "--dataset", "long", "--column", "duration=seconds", "--duration-unit", "10m")
    invoke("ingest", "games", path, "--dataset", "plain")
    assert digests(lake, "given") == digests(lake, "long")
    same = [one == other for one, other in zip(digests(lake, "long"), digests(lake, "plain"), strict=True)]
    assert same == [False, True, False]
    assert all_rounds(Dataset.open(lake, "long")).precision.tolist() == [1.0, 0.5, 1.0, 0.25]
    for name in ("long", "plain"):
        invoke("rate", "--dataset", name, "--system", "trueskill")
        invoke("evaluate", f"{name}-trueskill")
    boards = [invoke("leaderboard", "--run", f"{name}-trueskill", "--format", "csv").out for name in ("long", "plain")]
    assert boards[0] != boards[1]
    unit = invoke.refuses("ingest", "games", path, "--dataset", "d", "--duration-unit", "10m", code=2)
    assert "--duration-unit 600s needs durations" in unit
    GAMES.assign(precision=0).to_csv(path, index=False)
    assert "a precision must be within" in invoke.refuses("ingest", "games", path, "--dataset", "d")
