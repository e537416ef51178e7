"""What frames may look like, with columns of any type; nothing about beliefs, times or faults passes in silence."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.frames import frame_of
from helpers.lakes import synthetic

import ranklake
from ranklake import SYSTEMS, Ratings, predict, preview, rate_history, tune
from ranklake.flows.common.configuration.settings import SystemName

RACES = pd.DataFrame(
    {
        "race_id": [1, 1, 1, 2, 2, 2],
        "driver": list("abcbca"),
        "position": [1, 2, 2, 1, 2, 3],
        "day": pd.to_datetime(["2024-01-05"] * 3 + ["2024-02-05"] * 3),
    },
    index=list("uvwxyz"),
)
KEYS = {"contest": "race_id", "player": "driver", "rank": "position", "time": "day"}
PLAIN = RACES.rename(columns={column: key for key, column in KEYS.items()}).reset_index(drop=True)


def test_names__are_those_of_the_systems() -> None:
    assert set(get_args(SystemName)) == set(SYSTEMS)


# Frames


@pytest.mark.parametrize("given", [KEYS, {"columns": KEYS}], ids=["keywords", "columns"])
def test_columns__may_have_any_names(given: dict[str, Any]) -> None:
    expected = rate_history(PLAIN, drift_per_day=1.0)
    pd.testing.assert_frame_equal(rate_history(RACES, drift_per_day=1.0, **given), expected)


def test_columns__are_checked() -> None:
    for given, said in (
        ({"columns": {"racer": "driver"}}, "there is no key 'racer'; did you mean 'rated'"),
        ({"contest": "raceid", "player": "driver", "rank": "position"}, r"no column 'raceid' .contest."),
        ({}, r"columns=\{'contest': 'race_id', 'player': 'driver', 'rank': 'position'\}"),
        ({"columns": "race_id"}, r"columns must be a mapping or None, got 'race_id'"),
        ({"contest": "race_id", "columns": {"contest": "day"}}, r"contest='race_id' and columns=\{.* differ"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            rate_history(RACES, **given)
    with pytest.raises(ValueError, match=r"no column player .*; 'player' is in the index: results.reset_index\(\)"):
        rate_history(PLAIN.set_index("player"))


KINDS: dict[str, Any] = {
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "string views": lambda frame: pa.table(
        {name: pa.array(frame[name], pa.string_view() if name == "player" else None) for name in frame}
    ),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "record batches": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).to_reader(),
    "duckdb": lambda frame: duckdb.from_df(frame),
    "pyarrow types": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "nullable types": lambda frame: frame.convert_dtypes(),
    "categories": lambda frame: frame.astype({"player": "category", "contest": "category"}),
    "object": lambda frame: frame.astype({"player": object}),
    "dask": lambda frame: dd.from_pandas(frame, npartitions=3),
    "odd index": lambda frame: frame.set_index(np.arange(len(frame)) * 0 + 7),
    "more columns": lambda frame: frame.assign(country="x", score=[object()] * len(frame)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds__give_the_same_ratings(kind: str) -> None:
    expected, beliefs = rate_history(PLAIN, drift_per_day=1.0, return_beliefs=True)
    history, final = rate_history(KINDS[kind](PLAIN), drift_per_day=1.0, return_beliefs=True)
    for name in ("mu", "sigma", "perf"):
        assert history[name].to_numpy().tobytes() == expected[name].to_numpy().tobytes()
    assert history["player"].tolist() == expected["player"].tolist()
    assert history["contest"].tolist() == expected["contest"].tolist()
    assert final.index.tolist() == beliefs.index.tolist()
    for name in beliefs:
        assert [np.asarray(one).tobytes() for one in final[name]] == [
            np.asarray(one).tobytes() for one in beliefs[name]
        ]


def test_faults__are_named_by_the_index() -> None:
    with pytest.raises(ValueError, match=r"contest 1, row 3 \(index 'w'\): a place must be a finite number"):
        rate_history(RACES.assign(position=[1, 2, np.nan, 1, 2, 3]), **KEYS)  # type: ignore[call-overload]


def test_faults__may_be_left_out_with_a_warning() -> None:
    bad = PLAIN.assign(rank=[1, 2, np.nan, 1, 2, 3], player=list("dbcbca"))
    with pytest.warns(UserWarning, match="left out 1 contest, 3 participations: .*contest 1, row 3"):
        history, beliefs = rate_history(bad, on_error="skip", return_beliefs=True)
    assert history["contest"].unique().tolist() == [2]
    assert len(history.attrs["left_out"]) == 1
    assert beliefs.index.tolist() == ["b", "c", "a"]  # nobody who is in no contest
    expected = rate_history(PLAIN[3:])
    assert history["mu"].tolist() == expected["mu"].tolist()
    with pytest.raises(ValueError, match="contest 1, row 3"):
        rate_history(bad[:3], on_error="skip")


def test_faults__of_players_who_stand_twice_may_be_settled() -> None:
    twice = PLAIN.assign(player=list("aacbca"))
    with pytest.raises(ValueError, match="is listed twice; duplicates='best' or 'last' keeps one row"):
        rate_history(twice)
    assert rate_history(twice, duplicates="best")["player"].tolist()[:2] == ["a", "c"]
    assert len(rate_history(twice, duplicates="last")) == 5


# Nothing silent


def test_times__that_go_back_are_told() -> None:
    back = PLAIN.assign(time=PLAIN["time"][::-1].to_numpy())
    with pytest.warns(UserWarning, match="time goes back at 1 contest; the order was kept as given"):
        rate_history(back)


def test_warnings__are_at_the_line_of_the_user() -> None:
    back = PLAIN.assign(time=PLAIN["time"][::-1].to_numpy())
    for rate in (rate_history, Ratings.rate):
        with pytest.warns(UserWarning, match="time goes back") as caught:
            rate(back)
        assert [warning.filename for warning in caught] == [__file__]


def test_times__are_missed_after_contests_that_have_them() -> None:
    ratings = Ratings.rate(PLAIN)
    more = pd.DataFrame({"contest": 3, "player": ["a", "b"], "rank": [1, 2]})
    with pytest.warns(UserWarning, match="results have no column time, and beliefs have times"):
        rate_history(more, beliefs=ratings)
    with pytest.raises(ValueError, match="results have no column time, which the contests before them have"):
        ratings.update(more)


def test_times__are_needed_for_a_drift() -> None:
    with pytest.raises(ValueError, match="drift_per_day = 5 counts the days between contests, and the results have no"):
        rate_history(PLAIN.drop(columns="time"), drift_per_day=5.0)


def test_times__are_not_needed_for_a_default_drift() -> None:
    dated, undated = (rate_history(frame, "elo-mms") for frame in (PLAIN, PLAIN.drop(columns="time")))
    first, later = dated["contest"] == 1, dated["contest"] == 2
    assert (dated["sigma"][first] == undated["sigma"][first]).all()
    assert (dated["sigma"][later] > undated["sigma"][later]).all()


@pytest.fixture(scope="module")
def beliefs() -> pd.DataFrame:
    return rate_history(frame_of(synthetic(10, spice=False)), "trueskill", tau=0.2, return_beliefs=True)[1]


def test_beliefs__tell_their_system_and_hyperparameters(beliefs: pd.DataFrame) -> None:
    names = list(beliefs.index[:2])
    expected = predict(beliefs, names, "trueskill", tau=0.2).table()
    pd.testing.assert_frame_equal(predict(beliefs, names).table(), expected)
    results = pd.DataFrame({"contest": 1, "player": names, "rank": [1, 2], "time": 2**31})
    again = rate_history(results, beliefs=beliefs)
    pd.testing.assert_frame_equal(again, rate_history(results, "trueskill", tau=0.2, beliefs=beliefs))
    with pytest.raises(ValueError, match="beliefs are those of trueskill, not of elo-mmr"):
        rate_history(results, "elo-mmr", beliefs=beliefs)
    with pytest.raises(ValueError, match=r"beliefs were computed with tau = 0.2, not 0.3"):
        predict(beliefs, names, tau=0.3)


def test_beliefs__without_their_record_are_known_by_their_columns(beliefs: pd.DataFrame) -> None:
    bare = beliefs.copy()
    bare.attrs.clear()
    with pytest.raises(ValueError, match="of another system or not complete"):
        predict(bare, list(bare.index[:2]))


def test_beliefs__that_lost_their_record_are_a_warning() -> None:
    _, beliefs = rate_history(PLAIN, rho=2.0, return_beliefs=True)
    bare = pl.from_pandas(beliefs.reset_index())
    with pytest.warns(UserWarning, match="beliefs do not record what computed them.* read as of elo-mmr"):
        predict(bare, ["a", "b"])  # type: ignore[arg-type]
    again = rate_history(PLAIN, "elo-mmr", rho=2.0, beliefs=bare)  # type: ignore[call-overload]
    assert again["mu"].tolist() == rate_history(PLAIN, beliefs=beliefs)["mu"].tolist()


def test_beliefs__of_infinite_hyperparameters_survive_parquet(tmp_path: Any) -> None:
    _, beliefs = rate_history(PLAIN, rho=float("inf"), return_beliefs=True)
    beliefs.to_parquet(tmp_path / "beliefs.parquet")
    again = rate_history(PLAIN, beliefs=pd.read_parquet(tmp_path / "beliefs.parquet"))
    pd.testing.assert_frame_equal(again, rate_history(PLAIN, rho=float("inf"), beliefs=beliefs))


def test_beliefs__from_csv_are_refused() -> None:
    _, beliefs = rate_history(PLAIN, return_beliefs=True)
    read = pd.read_csv(io.StringIO(beliefs.to_csv()))
    with pytest.raises(ValueError, match=r"player 'a': history_perf must be a list of numbers, .*CSV has no lists"):
        predict(read, ["a", "b"])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_beliefs__may_have_their_players_in_a_column(kind: Any) -> None:
    given = kind({"player": ["a", "b"], "mu": [2000.0, 1000.0]})
    assert rate_history(PLAIN, beliefs=given)["mu_prior"].tolist()[:2] == [2000.0, 1000.0]


def test_beliefs__of_nobody_who_plays_are_refused() -> None:
    with pytest.raises(ValueError, match="numbers such as 1 in beliefs and texts such as 'a' in results"):
        rate_history(PLAIN, beliefs={1: 2000.0})
    with pytest.raises(ValueError, match="no player of beliefs, such as 'ada', is in results, such as 'a'"):
        rate_history(PLAIN, beliefs={"ada": 2000.0})
    with pytest.raises(ValueError, match="no player of beliefs, such as 'ada', is in the players"):
        predict({"ada": 2000.0}, ["a", "b"])
    _, known = rate_history(PLAIN, return_beliefs=True)
    with pytest.warns(UserWarning, match="no player of beliefs.*; all are newcomers"):
        rate_history(PLAIN.assign(player=list("xyzyzx")), beliefs=known)


def test_beliefs__go_on_within_an_event() -> None:
    """Contests of one time are divisions of one event, also when the history is cut between them."""
    divisions: Any = pd.concat([PLAIN[:3].assign(contest=i) for i in range(4)])
    whole, final = rate_history(divisions, "elo-srm", return_beliefs=True)
    _, first = rate_history(divisions[:6], "elo-srm", return_beliefs=True)
    rest, again = rate_history(divisions[6:], beliefs=first, return_beliefs=True)
    assert rest["mu"].tolist() == whole["mu"].tolist()[6:]
    assert again.attrs == final.attrs


def test_predict__takes_a_time_of_any_kind() -> None:
    _, beliefs = rate_history(PLAIN, drift_per_day=50.0, return_beliefs=True)
    day = pd.Timestamp("2030-01-01")
    chances = {
        predict(beliefs, ["a", "b"], time=time).chance("a", "b")
        for time in (day, day.date(), "2030-01-01", int(day.timestamp()), day.tz_localize("UTC"))
    }
    assert chances == {predict(beliefs, ["a", "b"], time_seconds=int(day.timestamp())).chance("a", "b")}
    with pytest.raises(ValueError, match=r"time must be a time as 2020-01-31, .*, got 'soon'"):
        predict(beliefs, ["a", "b"], time="soon")
    with pytest.raises(ValueError, match=r"time_seconds must be a time .*; divide milliseconds by 1,000, got"):
        predict(beliefs, ["a", "b"], time_seconds=1_893_456_000_000)
    with pytest.raises(ValueError, match="time='2030-01-01' and time_seconds=0 exclude each other"):
        predict(beliefs, ["a", "b"], time="2030-01-01", time_seconds=0)


def test_renamed__function_keeps_its_old_name_with_a_notice() -> None:
    with pytest.warns(FutureWarning, match=r"^ranklake\.search is ranklake\.tune now"):
        assert ranklake.search is ranklake.tune
    assert "search" not in dir(ranklake)


# Columns of any type


FOUR = {"contest": ["x", "x", "y", "y"], "player": ["ann", "bob", "bob", "ann"], "rank": [1, 2, 1, 2]}


def mu_of(history: Any) -> np.ndarray[Any, Any]:
    return np.asarray(history["mu"] if hasattr(history, "__getitem__") else pa.table(history).column("mu"), float)


@pytest.fixture(scope="module")
def expected() -> np.ndarray[Any, Any]:
    return mu_of(Ratings.rate(pd.DataFrame(FOUR)).history)


def check(make: Callable[[], Any], expected: np.ndarray[Any, Any], path: Path | None = None) -> Any:
    """Rate a frame, and ask everything that converts its history to another kind."""
    ratings = Ratings.rate(make())
    history = ratings.history
    assert type(history) is type(make())
    np.testing.assert_array_equal(mu_of(history), expected)
    assert len(ratings.player("ann")) == 2
    np.testing.assert_array_equal(mu_of(pickle.loads(pickle.dumps(ratings)).history), expected)
    if path is not None:
        ratings.save(path)
        np.testing.assert_array_equal(mu_of(Ratings.load(path).history), expected)
    return history


def dictionary(codes: list[int], values: Any) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), values)


NAMED: dict[str, Callable[[str, str], pa.Array]] = {
    "null": lambda a, b: dictionary([1, 2, 2, 1], pa.array([None, a, b])),
    "repeated": lambda a, b: dictionary([0, 1, 2, 3], pa.array([a, b, b, a])),
    "view": lambda a, b: pa.array([a, b, b, a], pa.string_view()),
    "dictionary of views": lambda a, b: dictionary([0, 1, 1, 0], pa.array([a, b], pa.string_view())),
    "runs": lambda a, b: pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4], pa.int32()), pa.array([a, b, a])),
}


@pytest.mark.parametrize("kind", NAMED)
def test_names__in_any_dictionary_are_read(kind: str, expected: np.ndarray[Any, Any], tmp_path: Path) -> None:
    players = NAMED[kind]("ann", "bob")
    history = check(lambda: pa.table(FOUR | {"player": players}), expected, tmp_path / "saved")
    assert history.column("player").to_pylist() == FOUR["player"]


@pytest.mark.parametrize("kind", ["null", "repeated"])
def test_names__of_contests_in_any_dictionary_are_read(kind: str, expected: np.ndarray[Any, Any]) -> None:
    codes, values = ([1, 1, 2, 2], [None, "x", "y"]) if kind == "null" else ([0, 1, 2, 3], ["x", "x", "y", "y"])
    check(lambda: pa.table(FOUR | {"contest": dictionary(codes, pa.array(values))}), expected)


UNUSED: dict[str, Any] = {
    "runs": NAMED["runs"]("a", "b"),
    "binary view": pa.array([b"a"] * 4, pa.binary_view()),
    "list of views": pa.array([["a"]] * 4, pa.list_(pa.string_view())),
    "list of dictionaries": pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3, 4], pa.int32()), NAMED["repeated"]("a", "b")
    ),
    "dictionary of lists": dictionary([0, 1, 1, 0], pa.array([[1], [1]])),
    "dictionary": NAMED["null"]("a", "b"),
    "map": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [pa.array([1] * 4)]),
    "extension": pa.array([bytes(16)] * 4, pa.uuid()),
    "year 2,941,775": pa.array([2**30] * 4, pa.date32()),
    "text that is not UTF-8": pa.Array.from_buffers(
        pa.string(), 4, [None, pa.array([0, 1, 2, 3, 4], pa.int32()).buffers()[1], pa.py_buffer(b"\xff" * 4)]
    ),
}


@pytest.mark.parametrize("kind", UNUSED)
def test_arrow__columns_without_use_come_back(kind: str, expected: np.ndarray[Any, Any]) -> None:
    history = check(lambda: pa.table(FOUR | {"more": UNUSED[kind]}), expected)
    if kind not in ("text that is not UTF-8", "year 2,941,775"):  # which Python does not have
        assert history.column("more").to_pylist() == UNUSED[kind].to_pylist()


@pytest.mark.parametrize("lazy", [False, True])
def test_polars__integers_of_128_bits_are_read(lazy: bool, expected: np.ndarray[Any, Any], tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")

    def make() -> Any:
        wide = polars.DataFrame(FOUR).with_columns(polars.col("rank").cast(polars.Int128), k=polars.lit(2**70))
        deep = wide.with_columns(
            deep=polars.struct(a=polars.concat_list(polars.lit(7, polars.Int128))),
            long=polars.lit(2**127 - 1, polars.Int128), other=polars.Series([object()] * 4, dtype=polars.Object),
        )  # fmt: skip
        return deep.lazy() if lazy else deep

    ratings = Ratings.rate(make())
    history = ratings.history.collect() if lazy else ratings.history
    np.testing.assert_array_equal(mu_of(history), expected)
    assert history["k"].to_list() == [2**70] * 4
    assert history["long"].to_list() == [str(2**127 - 1)] * 4  # more than 38 digits
    assert history["deep"].to_list() == [{"a": [7]}] * 4
    players = polars.DataFrame(FOUR | {"player": [1, 2, 2, 1]}).with_columns(polars.col("player").cast(polars.Int128))
    np.testing.assert_array_equal(mu_of(Ratings.rate(players).history), expected)


@pytest.mark.parametrize("value", ["1::hugeint", "union_value(a := 1)", "map {'a': 1}", "'01:00:00+01'::timetz"])
def test_duckdb__columns_without_use_come_back(value: str, expected: np.ndarray[Any, Any]) -> None:
    duckdb = pytest.importorskip("duckdb")
    results = pa.table(FOUR)
    history = Ratings.rate(duckdb.sql(f"select *, {value} as more from results")).history
    np.testing.assert_array_equal(mu_of(history.to_arrow_table()), expected)
    assert "more" in history.columns
    assert results.num_rows == 4  # the query reads the name


MIXED: dict[str, Any] = {
    "kinds": [1, "a", b"x", None],
    "objects": [object()] * 4,
    "lists": [[1], 2, {}, None],
    "periods": pd.period_range("2020", periods=4),
    "complex": [1j] * 4,
    "sparse": pd.arrays.SparseArray([1, 0, 0, 1]),
    "categories": pd.Categorical([1, "a", None, 1]),
}


@pytest.mark.parametrize("kind", MIXED)
def test_pandas__columns_without_use_come_back(kind: str, expected: np.ndarray[Any, Any]) -> None:
    history = check(lambda: pd.DataFrame(FOUR | {"more": MIXED[kind]}), expected)
    assert history["more"].dtype == pd.DataFrame({"more": MIXED[kind]})["more"].dtype


def test_pandas__a_sparse_column_is_read(expected: np.ndarray[Any, Any]) -> None:
    check(lambda: pd.DataFrame(FOUR | {"rank": pd.arrays.SparseArray(FOUR["rank"])}), expected)


def test_dask__columns_without_use_do_not_stop_the_frame(expected: np.ndarray[Any, Any]) -> None:
    dask = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame(FOUR | {"more": [object(), 1, "a", None]})
    history = Ratings.rate(dask.from_pandas(rows, npartitions=2)).history
    np.testing.assert_array_equal(mu_of(history.compute()), expected)


@pytest.mark.parametrize(
    ("column", "values", "got"),
    [("player", ["ann", 2, "bob", None], "'ann' in row 0 and 2 in row 1"), ("rank", [1j] * 4, "1j in row 0")],
)
def test_pandas__a_used_column_that_is_none_of_arrow_is_named(column: str, values: Any, got: str) -> None:
    frame = pd.DataFrame(FOUR | {column: values})
    message = f"column '{column}': the values of a column must be all texts, .* got {got}"
    with pytest.raises(ValueError, match=message):
        Ratings.rate(frame)
    with pytest.raises(ValueError, match=message):
        preview({"ann": 1500.0}, frame[:2])


def test_save__names_a_column_that_parquet_cannot_hold(tmp_path: Path) -> None:
    frame = pa.table(FOUR | {"more": pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval())})
    with pytest.raises(ValueError, match=r"Parquet cannot hold a column: .*interval; drop it from the results"):
        Ratings.rate(frame).save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


# Winners and losers


TENNIS = Path(__file__).parents[2] / "data" / "tennis-grand-slams-2015-2024.csv"
GAMES = pd.DataFrame(
    {
        "winner": ["ann", "bob", "ann", "cat"], "loser": ["bob", "cat", "cat", "bob"],
        "draw": [False, True, None, False],
        "date": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-05"]), "court": list("qwer"),
    },
    index=list("klmn"),
)  # fmt: skip


def as_results(games: pd.DataFrame, drawn: list[int]) -> pd.DataFrame:
    """The same games with a row for each player, made by hand."""
    rows = []
    for number, (winner, loser) in enumerate(zip(games["winner"], games["loser"], strict=True)):
        rows += [(number + 1, winner, 1), (number + 1, loser, 1 if number in drawn else 2)]
    return pd.DataFrame(rows, columns=["contest", "player", "rank"])


@pytest.mark.parametrize("system", ["elo-mmr", "glicko2"])
@pytest.mark.parametrize(
    "make", [lambda games: games, pl.from_pandas, lambda games: pl.from_pandas(games).lazy(), pa.Table.from_pandas]
)
def test_games__of_winners_and_losers_have_the_ratings_of_contests_of_two(
    system: Any, make: Callable[[pd.DataFrame], Any]
) -> None:
    expected = as_results(GAMES, [1]).assign(date=np.repeat(GAMES["date"].to_numpy(), 2))
    rated = Ratings.rate(make(GAMES), system)
    history = rated.history.collect() if hasattr(rated.history, "collect") else rated.history
    assert np.array_equal(np.asarray(history["mu"]), Ratings.rate(expected, system).history["mu"])
    assert np.asarray(history["court"]).tolist() == list("qqwweerr")
    if isinstance(history, pd.DataFrame):
        assert history.index.tolist() == list("kkllmmnn")


def test_games__of_real_matches_are_rated_and_searched() -> None:
    matches = pd.read_csv(TENNIS)
    history = rate_history(matches, columns={"time": "start"})
    expected = as_results(matches, []).assign(time=np.repeat(matches["start"].to_numpy(), 2))
    assert np.array_equal(history["mu"], rate_history(expected)["mu"])
    assert len(history) == 540
    folded = matches.rename(columns={"winner": "Winner", "loser": " LOSER"})
    assert len(tune(folded, "elo", {"k": [10, 20]}, trials=2)) == 2


def test_updates__number_further_games_on() -> None:
    whole, first = Ratings.rate(GAMES), Ratings.rate(GAMES[:2])
    parts = first.update(GAMES[2:3]).update(GAMES[3:])
    assert parts.history["contest"].tolist() == whole.history["contest"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert parts.history["mu"].tolist() == whole.history["mu"].tolist()


def test_columns__are_named_and_contests_keep_their_names() -> None:
    games = GAMES.rename(columns={"winner": "won", "loser": "lost", "draw": "tie"}).assign(contest=list("abcd"), rank=7)
    history = rate_history(games, columns={"winner": "won", "loser": "lost", "draw": "tie"})
    assert history["contest"].tolist() == list("aabbccdd")
    assert history["hi"].tolist() == [0, 1, 1, 1, 0, 1, 0, 1]
    assert rate_history(GAMES, columns={"draw": ""})["hi"].tolist() == [0, 1] * 4
    mixed = as_results(GAMES, []).assign(winner=True, loser=False)  # columns of another meaning beside a player
    assert rate_history(mixed)["hi"].tolist() == [0, 1] * 4


@pytest.mark.parametrize(
    ("games", "columns", "rule"),
    [
        (GAMES.assign(draw=["no", "perhaps", "", "1"]), {}, r"row 2 \(index 'l'\): draw must be true or .*'perhaps'"),
        (GAMES.assign(contest=list("abba")), {}, r"row 3 \(index 'm'\): contest 'b' is in two rows"),
        (GAMES.assign(loser=["bob", None, "cat", "bob"]), {}, r"row 2 \(index 'l'\): a player needs a name"),
        (GAMES.assign(loser=["bob", "cat", "ann", "bob"]), {}, r"row 3 \(index 'm'\): player 'ann' is listed twice"),
        (GAMES.drop(columns="loser"), {"winner": "winner"}, r"no column 'loser' \(loser\) among .*columns=\{'loser': "),
        (GAMES, {"winner": "victor"}, r"no column 'victor' \(winner\) among"),
        (GAMES.assign(Winner="x", winner_="y").rename(columns={"winner": "WINNER"}), {},
         "'WINNER' and 'Winner' differ in case only"),
    ],
)  # fmt: skip
def test_faults__name_the_row_of_the_game(games: pd.DataFrame, columns: dict[str, str], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        rate_history(games, columns=columns)
