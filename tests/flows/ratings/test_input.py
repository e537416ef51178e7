"""What methods of ratings are given: all of it counts and is kept, or it is refused with a reason."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.frames import frame_of
from helpers.lakes import synthetic

from ranklake import Ratings, compare, evaluate_history, tune

RACES = pd.DataFrame(
    {
        "contest": ["spring"] * 3 + ["autumn"] * 3,
        "player": ["ada", "grace", "linus", "linus", "ada", "grace"],
        "rank": [1, 2, 2, 1, 2, 3],
    }
)
MORE = pd.DataFrame({"contest": "winter", "player": ["ada", "linus"], "rank": [2, 1]})


@pytest.fixture(scope="module")
def races() -> Ratings:
    return Ratings.rate(RACES)


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_history__keeps_columns_whose_names_it_uses_itself(kind: Any) -> None:
    own = RACES.assign(rating=[5, 4, 3, 2, 1, 0], lo=9, hi=9)
    history = Ratings.rate(kind(own), rank="rank").history
    assert list(history.columns)[-4:] == ["rank", "rating_results", "lo_results", "hi_results"]
    assert list(history["rating_results"]) == [5, 4, 3, 2, 1, 0]
    assert list(history["lo"]) == [0, 1, 1, 0, 1, 2]
    renamed = own.rename(columns={"contest": "race", "lo": "contest"})
    other = Ratings.rate(kind(renamed), contest="race", rank="rank").history
    assert list(other["contest"]) == list(RACES["contest"])
    assert list(other["contest_results"]) == [9] * 6


def test_history__may_be_rated_again(races: Ratings) -> None:
    again = Ratings.rate(races.history, "elo").history
    assert again["mu"].tolist() == Ratings.rate(RACES, "elo").history["mu"].tolist()
    assert again["mu_results"].tolist() == races.history["mu"].tolist()


def test_update__refuses_columns_of_other_types() -> None:
    frames = (MORE.assign(contest=7), MORE.assign(rank=["2", "1"]))
    ratings = Ratings.rate(pl.from_pandas(RACES))
    for more in frames:
        with pytest.raises(ValueError, match="results have other types of columns than the history before: Unable to"):
            ratings.update(pl.from_pandas(more))


def test_pickle__holds_a_history_of_duckdb() -> None:
    connection = duckdb.connect()
    connection.register("races", RACES)
    ratings = Ratings.rate(connection.sql("SELECT * FROM races"))
    for one in (pickle.loads(pickle.dumps(ratings)), copy.deepcopy(ratings)):
        assert isinstance(one.history, duckdb.DuckDBPyRelation)
        assert one.history.fetchall() == ratings.history.fetchall()


def test_save__keeps_types_of_objects_text_and_categories(tmp_path: Path) -> None:
    days = pd.to_datetime(["2024-03-01"] * 3 + ["2024-09-01"] * 3)
    ordered = pd.CategoricalDtype([4, 3, 2, 1], ordered=True)
    for types in (
        {"rank": object},
        {"player": "string[python]"},
        {"player": "string[pyarrow]", "contest": object},
        {"rank": ordered, "day": "category"},
    ):
        ratings = Ratings.rate(RACES.assign(day=days).astype(types), columns={"time": ""})
        ratings.save(tmp_path / "ratings.parquet")
        pd.testing.assert_frame_equal(Ratings.load(tmp_path / "ratings.parquet").history, ratings.history)


def test_files__have_their_own_names_in_errors(races: Ratings, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing/ratings.parquet'"):
        races.save(tmp_path / "missing" / "ratings.parquet")
    with pytest.raises(FileNotFoundError, match="No such file"):
        Ratings.load(tmp_path / "ratings.parquet")
    with pytest.raises(OSError, match=tmp_path.name):  # a folder, whose files might be read as one table
        Ratings.load(tmp_path)


def test_evaluate__uses_the_system_and_the_weights() -> None:
    order = np.random.default_rng(3)
    orders = [order.permutation(40) for _ in range(4)]
    contests = pd.DataFrame({"player": np.concatenate(orders), "rank": np.tile(np.arange(1, 41), 4)})
    contests["contest"] = np.repeat(np.arange(4), 40)
    share = contests["contest"] % 3 + 0.5
    ratings = Ratings.rate(contests.assign(share=share), rho=2.0, columns={"weight": "share"})
    expected = evaluate_history(ratings.history.rename(columns={"share": "weight"}), system="elo-mmr", rho=2.0)
    found = ratings.evaluate()
    pd.testing.assert_frame_equal(found, expected)
    assert np.isfinite(found.loc["everyone", "rank_information"])
    rows = ratings.history["round_index"] % 2 == 1
    odd = ratings.evaluate(rounds=range(1, 99, 2))
    assert odd["pair_inversion"].equals(evaluate_history(ratings.history[rows])["pair_inversion"])


def test_arguments__are_refused_with_a_reason(races: Ratings) -> None:
    with pytest.raises(ValueError, match="top must be >= 0 rows, got -1"):
        races.leaderboard(-1)
    with pytest.raises(TypeError, match="players must be a list, got 'ada'"):
        races.predict("ada")
    for wrong in (races, [races, 1], {"one": RACES}):
        with pytest.raises(TypeError, match="ratings must be a list"):
            compare(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"history must be a pandas, Polars, .* or Dask frame, got Ratings\("):
        evaluate_history(races)
    assert evaluate_history(pl.from_pandas(races.history)).equals(evaluate_history(races.history))


def test_tune__reads_results_as_rate_does() -> None:
    frame = frame_of(synthetic(12, spice=False)).drop(columns="hi").rename(columns={"lo": "rank"})
    frame["rank"] += 1
    expected = tune(frame, "elo", {"k": [10, 40]}, method="grid", trials=None, filter="everyone")
    races = pd.concat([frame, frame[:1]]).rename(columns={"contest": "race", "time_seconds": "day"})
    found = tune(
        races, "elo", {"k": [10, 40]}, method="grid", trials=None, filter="everyone",
        contest="race", columns={"time": "day"}, duplicates="last",
    )  # fmt: skip
    pd.testing.assert_frame_equal(found, expected)


def test_prediction__is_a_table_in_a_notebook(races: Ratings) -> None:
    prediction = races.predict(["ada", "<i>newcomer</i>", "linus"])
    assert repr(prediction) == "Prediction(elo-mmr: 3 players)"
    html = prediction._repr_html_()
    assert "Prediction(elo-mmr: 3 players)" in html
    assert html.index("ada") < html.index("&lt;i&gt;newcomer")
    assert "<i>" not in html
    assert "<table" not in races.predict([f"player {i}" for i in range(99)] + ["ada", "linus"])._repr_html_()
