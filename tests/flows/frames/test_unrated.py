"""Frames with unrated participants and limits of the rating are rated as by a run in a lake."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.frames import frame_of
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake import Ratings, evaluate_history, preview, rate_history, smooth_history, tune
from ranklake.flows.common.configuration.settings import PRESETS
from ranklake.flows.frames import rating
from ranklake.storage import Dataset, Run
from ranklake.storage.runs.run import concatenate_rounds

START = 1500.0  # rating of a newcomer of the system elo
RANGES = ((-np.inf, np.inf), (-np.inf, START + 5.0), (START, np.inf), (-np.inf, np.inf), (START - 8.0, START + 8.0))
NUMBERS = ["lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before", "rated"]
CONTESTS = [
    replace(
        one,
        rated=np.arange(len(one)) != 1 if i % 4 == 3 and len(one) > 2 else None,
        rated_above=RANGES[i % len(RANGES)][0],
        rated_below=RANGES[i % len(RANGES)][1],
    )
    for i, one in enumerate(synthetic(24, seed=5, n_players=16))
]
FRAME = frame_of(CONTESTS).assign(
    rated=np.concatenate([np.ones(len(one), bool) if one.rated is None else one.rated for one in CONTESTS]),
    rated_above=np.repeat([one.rated_above for one in CONTESTS], [len(one) for one in CONTESTS]),
    rated_below=np.repeat([one.rated_below for one in CONTESTS], [len(one) for one in CONTESTS]),
).replace({"rated_above": {-np.inf: np.nan}, "rated_below": {np.inf: np.nan}})  # fmt: skip
HISTORY = rate_history(FRAME, "elo")
RATED = HISTORY[HISTORY["rated"]].reset_index(drop=True)
NO_LIMITS = {"rated_above": "", "rated_below": ""}


def rows_of(path: Path, **settings: Any) -> pd.DataFrame:
    """All rows of a run over the same contests."""
    lake = lake_of(path, CONTESTS)
    rate_run(lake, **settings)
    tables = [table.replace_schema_metadata() for _, table in Run.open(lake, "run").iter_segments(unrated=True)]
    rows = concatenate_rounds(tables)
    handles = Dataset.open(lake, "games").handles().take(rows["player"].combine_chunks())
    return rows.to_pandas().assign(player=handles.to_pylist())


@pytest.mark.parametrize("settings", [{"system": "elo"}, {"system": "codeforces", "display_2020": True}], ids=str)
def test_history__is_that_of_a_lake(tmp_path: Path, settings: dict[str, Any]) -> None:
    found, wanted = rate_history(FRAME, **settings), rows_of(tmp_path / "lake", **settings)
    assert found["player"].tolist() == wanted["player"].tolist()
    pd.testing.assert_frame_equal(found[NUMBERS], wanted[NUMBERS], check_exact=True)
    given = FRAME.set_index(["contest", "player"])["rated"].sum()
    assert 0.3 * len(found) < found["rated"].sum() < 0.8 * given


@pytest.mark.parametrize("engine", ["serial", InProcessEngine(2)], ids=["serial", "workers"])
def test_engines__decide_the_same(monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
    if not isinstance(engine, str):
        monkeypatch.setattr(rating, "open_given_engine", lambda *_: engine)
    pd.testing.assert_frame_equal(rate_history(FRAME, "elo", engine=engine), HISTORY, check_exact=True)


def test_history__that_is_resumed_is_that_of_all_contests() -> None:
    first = FRAME["contest"].isin([one.contest_id for one in CONTESTS[:9]])
    part, beliefs = rate_history(FRAME[first], "elo", return_beliefs=True)
    rest = rate_history(FRAME[~first], beliefs=beliefs)
    both = pd.concat([part, rest.assign(round_index=rest["round_index"] + 9)], ignore_index=True)
    pd.testing.assert_frame_equal(both.astype(HISTORY.dtypes), HISTORY, check_exact=True)


def test_ratings__have_rated_participations_alone() -> None:
    ratings = Ratings.rate(FRAME, "elo")
    first = FRAME["contest"].isin([one.contest_id for one in CONTESTS[:9]])
    for one in (ratings, Ratings.rate(FRAME[first], "elo").update(FRAME[~first])):
        history = one.history.reset_index(drop=True)
        pd.testing.assert_frame_equal(history[NUMBERS[:-1]], RATED[NUMBERS[:-1]], check_exact=True)
        pd.testing.assert_frame_equal(one.evaluate(), ratings.evaluate())
    board = ratings.leaderboard().set_index("player")["n_rounds"]
    assert board.to_dict() == RATED["player"].value_counts().to_dict()
    smoothed = smooth_history(ratings.history, columns=NO_LIMITS, skip_uninformative=False)
    several = ratings.history[ratings.history.groupby("contest")["player"].transform("size") > 1]
    assert smoothed["player"].tolist() == several["player"].tolist()
    assert len(ratings.smooth()) == len(RATED)


def test_evaluate_history__leaves_unrated_participants_out() -> None:
    pd.testing.assert_frame_equal(evaluate_history(HISTORY), evaluate_history(RATED))
    assert not evaluate_history(HISTORY.drop(columns="rated")).equals(evaluate_history(RATED))


def test_flags__are_as_if_the_others_had_not_taken_part() -> None:
    flagged = FRAME.drop(columns=[*NO_LIMITS, "lo", "hi"]).assign(rank=FRAME["lo"] + 1)
    alone = flagged[flagged["rated"]]
    history = rate_history(flagged, "elo")
    wanted = rate_history(alone.drop(columns="rated"), "elo")
    rated = history[history["rated"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(rated[NUMBERS[:-1]], wanted[NUMBERS[:-1]], check_exact=True)
    pd.testing.assert_frame_equal(smooth_history(flagged), smooth_history(alone), check_exact=True)
    space = {"k": [20.0, 40.0]}
    found, expected = (tune(one, "elo", space, method="grid", trials=None) for one in (flagged, alone))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize("read", [smooth_history, lambda results: tune(results, "elo")], ids=["smooth", "tune"])
def test_limits__are_refused_where_nothing_is_rated_in_order(read: Any) -> None:
    with pytest.raises(ValueError, match=r"contest 1 has rated_above and rated_below: .* columns=\{'rated_above': ''"):
        read(FRAME)


@pytest.mark.filterwarnings("ignore:no contest was rated")
def test_faults__are_named() -> None:
    two = pd.DataFrame({"contest": [1, 1], "player": ["a", "b"], "rank": [1, 2]})
    for results, columns, said in (
        (
            two.assign(rated_above=5, rated_below=5),
            {},
            "contest 1: rated_above = 5 is not less than rated_below = 5: no",
        ),
        (two.assign(rated_below=[5, None]), {}, r"rated_below differs inside the contest: 5\.0 and inf"),
        (two.assign(rated="maybe"), {}, r"rated must be true or false, or empty for true, got rated = 'maybe'"),
        (two.assign(rank=1, crew="x", rated=[True, False]), {"team": "crew"}, "contest 1: a contest of teams has unra"),
    ):
        with pytest.raises(ValueError, match=said):
            rate_history(results, columns=columns)
    assert rate_history(two.assign(rated="maybe"), columns={"rated": ""})["mu"].notna().all()
    assert rate_history(two.assign(rated=False)).attrs["reasons"] == {"no rated participant": 1}


@pytest.mark.filterwarnings("ignore:no contest was rated")
def test_limits__are_compared_with_the_display_rating_of_a_preset() -> None:
    """DMOJ shows a newcomer one deviation below mu, the system elo-mmr three."""
    two = pd.DataFrame({"contest": [1, 1], "player": ["a", "b"], "rank": [1, 2], "rated_above": 1001.0})
    shown = rate_history(two, preset="dmoj")
    assert shown["rated"].all()
    assert PRESETS["dmoj"].display["deviations"] == 1.0
    assert rate_history(two, "elo-mmr").empty


def test_preview__leaves_unrated_participants_out() -> None:
    ratings = Ratings.rate(FRAME, "elo")
    standings = FRAME[FRAME["contest"] == CONTESTS[9].contest_id].drop(columns="contest")
    last = FRAME["time_seconds"].max()
    standings = standings.assign(rated_above=1525.0, rated_below=np.nan, time_seconds=last)
    found = preview(ratings, standings)
    contest = rate_history(standings.assign(contest="x"), beliefs=ratings)
    wanted = contest[contest["rated"]]
    assert 1 < len(wanted) < len(standings)
    assert found["player"].tolist() == wanted["player"].tolist()
    assert found["mu"].tolist() == wanted["mu"].tolist()
    flagged = standings.drop(columns=[*NO_LIMITS]).assign(rated=contest["rated"].to_numpy())
    pd.testing.assert_frame_equal(preview(ratings, flagged), found)
    with pytest.raises(ValueError, match="no participant is rated"):
        preview(ratings, flagged.assign(rated=False))
