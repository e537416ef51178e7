"""What frames may look like, and that nothing about beliefs, times or faults passes in silence."""

from __future__ import annotations

import io
from typing import Any, get_args

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.frames import frame_of
from helpers.lakes import synthetic

import ranklake
from ranklake import SYSTEMS, Ratings, predict, rate_history
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
    with pytest.raises(ValueError, match="there is no key 'racer'; did you mean 'rated'"):
        rate_history(RACES, columns={"racer": "driver"})
    with pytest.raises(ValueError, match=r"no column 'raceid' .contest."):
        rate_history(RACES, contest="raceid", player="driver", rank="position")
    with pytest.raises(ValueError, match=r"columns=\{'contest': 'race_id', 'player': 'driver', 'rank': 'position'\}"):
        rate_history(RACES)
    with pytest.raises(TypeError, match=r"columns must be a mapping or None, got 'race_id'"):
        rate_history(RACES, columns="race_id")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"contest='race_id' and columns=\{'contest': 'day'\} differ"):
        rate_history(RACES, contest="race_id", columns={"contest": "day"})
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
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds__give_the_same_ratings(kind: str) -> None:
    expected, beliefs = rate_history(PLAIN, drift_per_day=1.0, return_beliefs=True)
    history, final = rate_history(KINDS[kind](PLAIN), drift_per_day=1.0, return_beliefs=True)
    for name in ("mu", "sigma", "perf"):
        assert history[name].to_numpy().tobytes() == expected[name].to_numpy().tobytes()
    assert history["player"].tolist() == expected["player"].tolist()
    assert final.index.tolist() == beliefs.index.tolist()


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
