"""The notebook door: any frame in, the same bits out, beliefs handed on, and one clear sentence for bad input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.frames import frame_of
from helpers.lakes import NUMBERS, lake_of, rate_run, rated, synthetic
from helpers.strategies import Contest as Round
from helpers.strategies import elo_mmr_params, histories, repeatable
from hypothesis import given
from hypothesis import strategies as st

import ranklake
from ranklake import rate_history

COLUMNS = {
    "round_index": "int32",
    "lo": "int32",
    "hi": "int32",
    "perf": "float64",
    "mu_prior": "float64",
    "sigma_prior": "float64",
    "mu": "float64",
    "sigma": "float64",
    "n_before": "int32",
}


def frame_of_rounds(rounds: list[Round], first: int = 0) -> pd.DataFrame:
    """The same for histories that hypothesis made up."""
    rows = [
        (first + i, player, lo, hi, one.time, one.weight, one.perf_ceiling)
        for i, one in enumerate(rounds)
        for player, lo, hi in one.standings
    ]
    columns = ["contest", "player", "lo", "hi", "time_seconds", "weight", "perf_ceiling"]
    return pd.DataFrame(rows, columns=columns)


def small(**columns: Any) -> pd.DataFrame:
    """Two contests of three."""
    values = {"contest": [1, 1, 1, 2, 2, 2], "player": list("abcbca"), "rank": [1, 2, 2, 1, 2, 3], **columns}
    return pd.DataFrame({name: value for name, value in values.items() if value is not ...})


def bits(history: pd.DataFrame) -> list[bytes]:
    return [history[name].to_numpy().tobytes() for name in COLUMNS]


def same_beliefs(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether frames of beliefs are equal to the bit, in whatever order their players are."""
    if set(one.index) != set(other.index) or list(one.columns) != list(other.columns):
        return False
    other = other.loc[one.index]
    for name in one.columns:
        if [np.asarray(v).tobytes() for v in one[name]] != [np.asarray(v).tobytes() for v in other[name]]:
            return False
    return True


MADE = synthetic(40, seed=5)
FRAME = frame_of(MADE)

# Frames


def test_history__columns_and_types_are_as_documented() -> None:
    history = rate_history(FRAME)
    names = [
        "round_index",
        "contest",
        "player",
        "lo",
        "hi",
        "perf",
        "mu_prior",
        "sigma_prior",
        "mu",
        "sigma",
        "n_before",
    ]
    assert list(history.columns) == names
    assert {name: str(history[name].dtype) for name in COLUMNS} == COLUMNS
    assert list(history.index) == list(range(len(history)))
    assert history["round_index"].is_monotonic_increasing
    within = history.groupby("round_index")["lo"]
    assert within.apply(lambda lo: lo.is_monotonic_increasing).all()
    assert history.attrs["skipped"] == sum(1 for c in MADE if c.hi[0] == len(c) - 1 != 1) > 0
    assert history["contest"].nunique() == len(MADE) - history.attrs["skipped"]


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "dask": lambda frame: dd.from_pandas(frame, npartitions=3),
    "odd index": lambda frame: frame.set_index(np.arange(len(frame)) * 0 + 7),
    "more columns": lambda frame: frame.assign(country="x", score=[object()] * len(frame)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_history__every_kind_of_frame_gives_the_same(kind: str) -> None:
    expected, final = rate_history(FRAME, return_beliefs=True)
    history, beliefs = rate_history(FRAMES[kind](FRAME), return_beliefs=True)
    assert bits(history) == bits(expected)
    assert history["contest"].tolist() == expected["contest"].tolist()
    assert history["player"].tolist() == expected["player"].tolist()
    assert same_beliefs(beliefs, final)


@pytest.mark.parametrize("engine", [("serial", None), ("threads", 1), ("threads", 3), ("threads", None)], ids=str)
def test_history__every_engine_gives_the_same(engine: tuple[str, int | None]) -> None:
    frame = frame_of(synthetic(8, large=3))
    expected = rate_history(frame, engine="serial")
    assert bits(rate_history(frame, engine=engine[0], workers=engine[1])) == bits(expected)


def test_history__ranks_of_any_scale_are_places() -> None:
    expected = rate_history(FRAME)
    for rank in (FRAME["lo"], FRAME["hi"] * 2.5 - 100, FRAME["lo"].astype(str)):
        by_rank = FRAME.drop(columns=["lo", "hi"]).assign(rank=rank)
        history = rate_history(by_rank)
        assert bits(history) == bits(expected)
        assert history["player"].tolist() == expected["player"].tolist()


@pytest.mark.parametrize("ties", [False, True], ids=["apart", "tied"])
def test_history__rows_of_a_contest_may_come_in_any_order(ties: bool) -> None:
    frame = (
        FRAME if ties else FRAME.assign(lo=FRAME.groupby("contest").cumcount(), hi=FRAME.groupby("contest").cumcount())
    )
    expected = rate_history(frame)
    order = np.random.default_rng(3).permutation(len(frame))
    first = frame.drop_duplicates("contest").index
    shuffled = frame.iloc[[*first, *[i for i in order if i not in set(first)]]]  # contests appear as before
    key = ["round_index", "player"]
    one, other = (rows.sort_values(key).reset_index(drop=True) for rows in (rate_history(shuffled), expected))
    if ties:  # sums over the field run in the order of its rows, also among equals
        pd.testing.assert_frame_equal(one, other, rtol=1e-12)
    else:
        assert bits(one) == bits(other)


def test_history__contests_are_rated_in_order_of_appearance() -> None:
    history = rate_history(small(contest=[9, 9, 9, 1, 1, 1]))
    assert history["contest"].tolist() == [9, 9, 9, 1, 1, 1]
    assert history["n_before"].tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("contests", "players"),
    [
        ([1, 1, 1, 2, 2, 2], [10, 7, -3, 7, -3, 10]),
        (["x"] * 3 + ["y"] * 3, list("abcbca")),
        ([2.0, 2.0, 2.0, 1.0, 1.0, 1.0], ["a ", "a", "A", "a", "A", "a "]),
        (pd.Categorical(["x"] * 3 + ["y"] * 3, ["z", "y", "x"]), pd.Categorical(list("abcbca"), list("xcbay"))),
        (pd.array([1, 1, 1, 2, 2, 2], dtype="Int64"), pd.array(list("abcbca"), dtype="string")),
        (np.array([1, 1, 1, 2, 2, 2], dtype="uint8"), ["", "b", "c", "b", "c", ""]),
    ],
    ids=["ints", "strings", "floats", "categories", "nullable", "empty names"],
)
def test_history__contest_and_player_come_back_as_given(request: Any, contests: Any, players: Any) -> None:
    frame = small(contest=contests, player=players)
    if "empty names" in request.node.name:
        with pytest.raises(ValueError, match="a player needs a name"):
            rate_history(frame)
        return
    history, beliefs = rate_history(frame, return_beliefs=True)
    assert history["contest"].dtype == frame["contest"].dtype
    assert history["player"].dtype == frame["player"].dtype
    assert history["contest"].tolist() == frame["contest"].tolist()
    assert history["player"].tolist() == frame["player"].tolist()
    assert set(beliefs.index) == set(frame["player"])
    again = rate_history(frame, beliefs=beliefs)
    assert again["n_before"].min() == 2


def test_history__is_what_the_lake_says_to_the_bit(tmp_path: Path) -> None:
    contests = synthetic(30, seed=8, large=10)
    settings = {"rho": 0.3, "drift_per_day": 10.0, "noob_delay": (0.5, 0.9)}
    lake = lake_of(tmp_path / "lake", contests)
    rate_run(lake, **settings)
    rows = rated(lake)
    history = rate_history(frame_of(contests), "elo-mmr", **settings)
    for name in NUMBERS:
        assert np.array_equal(rows.column(name).to_numpy().view(np.int64), history[name].to_numpy().view(np.int64))
    for ours, theirs in (("contest", "contest_id"), ("player", "player"), ("round_index", "round_index")):
        assert history[ours].tolist() == rows.column(theirs).to_pylist()


def test_history__leaves_its_input_alone() -> None:
    frame, beliefs = FRAME.copy(), rate_history(FRAME, return_beliefs=True)[1]
    kept = beliefs.copy(deep=True)
    cells = [np.array(cell) for cell in beliefs["history_perf"]]
    rate_history(frame, beliefs=beliefs)
    pd.testing.assert_frame_equal(frame, FRAME)
    pd.testing.assert_frame_equal(beliefs, kept)
    assert all(np.array_equal(a, b) for a, b in zip(cells, beliefs["history_perf"], strict=True))


def test_history__uninformative_contests_are_skipped_or_kept() -> None:
    frame = small(rank=[1, 1, 1, 1, 2, 3])
    history = rate_history(frame)
    assert history["round_index"].tolist() == [1, 1, 1]
    assert (history.attrs["skipped"], history["n_before"].max()) == (1, 0)
    history = rate_history(frame, skip_uninformative=False)
    assert len(history) == 6
    assert history.attrs["skipped"] == 0
    history, beliefs = rate_history(small(rank=[1] * 6), return_beliefs=True)
    assert len(history) == 0
    assert list(history.columns)[:3] == ["round_index", "contest", "player"]
    assert beliefs["n_rounds"].tolist() == [0, 0, 0]


# Hyperparameters


@pytest.mark.parametrize(
    "settings",
    [
        {"rho": float("inf")},
        {"rho": 0},
        {"noob_delay": (0.6, 0.8)},
        {"noob_delay": [0.6, 0.8]},
        {"history_len": None},
        {"history_len": 2},
        {"beta": 200, "gamma": 35},
        {"tie_mode": "split", "weight_limit": 0.1, "sig_limit": 60},
        {"mu_init": 1000, "sigma_init": 100.0},
        {"rho": np.float64(0.5), "history_len": np.int64(4)},
    ],
    ids=str,
)
def test_history__takes_hyperparameters_by_name(settings: dict[str, Any]) -> None:
    history = rate_history(FRAME, **settings)
    assert np.isfinite(history["mu"]).all()
    if settings != {"history_len": None}:
        assert bits(history) != bits(rate_history(FRAME))
    if "mu_init" in settings:
        assert set(history[history["n_before"] == 0]["mu_prior"]) == {1000.0}


def test_history__words_and_numbers_of_hyperparameters_mean_the_same() -> None:
    assert bits(rate_history(FRAME, rho="inf")) == bits(rate_history(FRAME, rho=float("inf")))
    assert bits(rate_history(FRAME, noob_delay="0.6,0.8")) == bits(rate_history(FRAME, noob_delay=(0.6, 0.8)))


# Beliefs


@pytest.mark.filterwarnings("ignore:no player of beliefs")
@repeatable(60)
@given(histories(max_rounds=6), elo_mmr_params(), st.data())
def test_history__split_anywhere_with_beliefs_passed_on_is_one_history(
    rounds: list[Round], settings: dict[str, Any], data: Any
) -> None:
    whole, final = rate_history(frame_of_rounds(rounds), return_beliefs=True, engine="serial", **settings)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(rounds) - 1, 1)))))
    beliefs, parts = None, []
    for start, stop in zip([0, *cuts], [*cuts, len(rounds)], strict=True):
        if start < stop:
            frame = frame_of_rounds(rounds[start:stop], start)
            part, beliefs = rate_history(frame, beliefs=beliefs, return_beliefs=True, engine="serial", **settings)
            part["round_index"] += np.int32(start)
            parts.append(part)
    assert bits(pd.concat(parts)) == bits(whole)
    assert beliefs is not None
    assert same_beliefs(beliefs, final)


def test_history__beliefs_survive_a_file(tmp_path: Path) -> None:
    cut = FRAME.index[FRAME["contest"] == "20"][0]
    _, beliefs = rate_history(FRAME[:cut], return_beliefs=True)
    beliefs.to_parquet(tmp_path / "beliefs.parquet")
    beliefs.to_pickle(tmp_path / "beliefs.pickle")
    expected = rate_history(FRAME)[lambda rows: rows["round_index"] >= 20]
    for read in (
        pd.read_parquet(tmp_path / "beliefs.parquet"),
        pd.read_pickle(tmp_path / "beliefs.pickle"),
        beliefs[::-1],
    ):
        history = rate_history(FRAME[cut:], beliefs=read)
        assert [history[name].to_numpy().tobytes() for name in NUMBERS] == [
            expected[name].to_numpy().tobytes() for name in NUMBERS
        ]


def test_history__beliefs_may_be_a_mapping_of_ratings() -> None:
    history = rate_history(small(), beliefs={"a": 2000, "b": 1000.0})
    first = history[history["round_index"] == 0].set_index("player")
    assert first["n_before"].tolist() == [0, 0, 0]
    assert first["mu_prior"].to_dict() == {"a": 2000.0, "b": 1000.0, "c": 1500.0}
    assert len(set(first["sigma_prior"])) == 1  # everybody as doubtful as a newcomer
    series = pd.Series({"a": 2000, "b": 1000.0})
    assert bits(rate_history(small(), beliefs=series)) == bits(history)
    assert bits(rate_history(small(), beliefs={})) == bits(rate_history(small()))


def test_history__beliefs_may_be_a_frame_of_a_few_columns() -> None:
    given = pd.DataFrame({"mu": [2000, 1000], "sigma": [50.0, 200.0], "n_rounds": [30, 2]}, index=["a", "b"])
    history = rate_history(small(), beliefs=given, noob_delay=(0.1, 0.1, 0.1))
    first = history[history["round_index"] == 0].set_index("player")
    assert first["n_before"].to_dict() == {"a": 30, "b": 2, "c": 0}
    assert first["mu_prior"].to_dict() == {"a": 2000.0, "b": 1000.0, "c": 1500.0}
    assert 50.0 <= first["sigma_prior"]["a"] < 200.0 <= first["sigma_prior"]["b"] < first["sigma_prior"]["c"]


def test_history__players_of_beliefs_who_do_not_play_are_kept_as_they_are() -> None:
    _, before = rate_history(FRAME, return_beliefs=True)
    playing = small(player=["player 1", "player 2", "stranger"] * 2)
    _, after = rate_history(playing, beliefs=before, return_beliefs=True)
    assert set(after.index) == {*before.index, "stranger"}
    idle = before.index.difference(["player 1", "player 2"])
    assert same_beliefs(after.loc[idle], before.loc[idle])
    assert after.loc["player 1", "n_rounds"] == before.loc["player 1", "n_rounds"] + 2
    _, kept = rate_history(small(), beliefs={"idle": 1234.5, "a": 1500.0}, return_beliefs=True)
    assert (kept.loc["idle", "mu"], kept.loc["idle", "n_rounds"]) == (1234.5, 0)


def test_history__beliefs_of_numbered_players_find_them() -> None:
    frame = small(player=[1, 2, 3, 2, 3, 1])
    for beliefs in ({1: 2000.0}, {np.int64(1): 2000.0}, pd.DataFrame({"mu": [2000.0]}, index=[1])):
        assert rate_history(frame, beliefs=beliefs)["mu_prior"][0] == 2000.0


def test_history__one_player_has_beliefs_too() -> None:
    frame = pd.DataFrame({"contest": [1], "player": ["a"], "rank": [1]})
    history, beliefs = rate_history(frame, return_beliefs=True, skip_uninformative=False)
    assert beliefs.loc["a", "mu"] == history["mu"][0]
    again = rate_history(frame, beliefs=beliefs, skip_uninformative=False)
    assert again["n_before"].tolist() == [1]


# Bad input


def beliefs_frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"mu": [1500.0, 1600.0], **columns}, index=["a", "b"])


@pytest.mark.parametrize(
    ("frame", "options", "said"),
    [
        ([1, 2], {}, "results must be a pandas, Polars, Arrow, DuckDB or Dask frame, got list"),
        (None, {}, "results must be .* got NoneType"),
        (small(contest=...), {}, "results: there is no column contest among the columns 'player', 'rank'"),
        (small(player=...), {}, "there is no column player among the columns 'contest', 'rank'"),
        (small(rank=...), {}, "there is no column rank .or lo and hi, or score. among"),
        (small(rank=..., lo=[0, 1, 1, 0, 1, 2]), {}, "there is no column hi among"),
        (small()[:0], {}, "no contests: the table has no rows"),
        (pd.concat([small(), small()[["rank"]]], axis=1), {}, "the column 'rank' is there twice"),
        (small(contest=[1, 1, None, 2, 2, 2]), {}, "results, row 3 .index 2.: the row names no contest"),
        (small(player=["a", None, "c"] * 2), {}, "contest 1, row 2 .index 1.: a player needs a name"),
        (small(player=list("aacbca")), {}, "contest 1, rows 1 and 2 .index 0, 1.: player 'a' stands twice"),
        (small(player=["a", 2, "c"] * 2), {}, "a column mixes kinds of values"),
        (small(player=[True, False, True] * 2), {}, "the player column holds bool"),
        (
            small(rank=[1, 2, np.nan, 1, 2, 3]),
            {},
            "contest 1, row 3 .index 2.: a place must be a finite number, got rank =",
        ),
        (small(rank=[1, 2, np.inf, 1, 2, 3]), {}, "contest 1, row 3 .index 2.: a place must be a finite number"),
        (small(rank=list("123x23")), {}, "contest 2, row 4 .index 3.: a place must be a finite number, got rank = 'x'"),
        (small(rank=..., lo=[0, 1, 2, 0, 1, 1], hi=[0, 1, 2, 0, 1, 2]), {}, "contest 2, .*a tie group shares one lo"),
        (small(rank=..., lo=[0, 1, 3, 0, 1, 2], hi=[0, 1, 3, 0, 1, 2]), {}, "contest 1, .*lo = 3 is outside the field"),
        (
            small(weight=[1, 1, 1, 0, 0, 0]),
            {},
            "contest 2, row 4 .index 3.: a weight must be within .*, got weight = 0",
        ),
        (
            small(weight=[1, 2, 1, 1, 1, 1]),
            {},
            "contest 1, rows 1 and 2 .index 0, 1.: weight differs inside the",
        ),
        (small(time_seconds=[1, 1, 2, 5, 5, 5]), {}, "contest 1, .*time_seconds differs inside the contest: 1 and 2"),
        (small(time_seconds=[0.5] * 6), {}, "contest 1, row 1 .index 0.: a time must be a whole number"),
        (small(perf_ceiling=[-np.inf] * 6), {}, "contest 1, row 1 .index 0.: a ceiling must be within "),
        (small(), {"system": "elo-mnr"}, "system must be one of elo-mmr"),
        (small(), {"engine": "steam"}, "engine must be one of serial, threads, dask, got 'steam'"),
        (small(), {"workers": 0}, "workers must be >= 1, got 0"),
        (small(), {"roh": 1.0}, "elo-mmr has no parameter 'roh'; it has rho"),
        (small(), {"rho": -1.0}, "rho must be within .*, got -1.0"),
        (small(), {"rho": None}, "rho must be a number, got None"),
        (small(), {"beta": 200.0}, "beta and gamma go together"),
        (small(), {"noob_delay": (0.5, 0.0)}, r"noob_delay\[1\] must be within "),
        (small(), {"beliefs": {"a": np.nan}}, "beliefs of player 'a': mu must be within .*, got nan"),
        (small(), {"beliefs": pd.DataFrame({"rating": [1.0]}, index=["a"])}, "beliefs need a column mu, got rating"),
        (small(), {"beliefs": beliefs_frame(sigma=[1.0, 0.0])}, "player 'b': sigma must be within .*, got 0"),
        (small(), {"beliefs": beliefs_frame(n_rounds=[-1, 2])}, "player 'a': n_rounds must be a count >= 0, got -1"),
        (small(), {"beliefs": beliefs_frame().set_axis(["a", "a"])}, "beliefs name player 'a' twice"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_history__bad_input_is_one_clear_sentence(frame: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        rate_history(frame, **options)
    assert str(caught.value).count("\n") == 0
    assert "object at 0x" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (5, "beliefs must be"),
        ({"a": "high"}, "beliefs of player 'a'"),
        (beliefs_frame(n_rounds=[0.5, 2]), "player 'a': n_rounds must be a count"),
        (beliefs_frame(n_rounds=[1e12, 2]), "player 'a': n_rounds must be a count"),
    ],
    ids=["number", "words", "half a round", "too many rounds"],
)
def test_history__beliefs_that_are_none_are_one_clear_sentence(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        rate_history(small(), beliefs=given)


def test_ranklake__has_what_it_names_and_nothing_else() -> None:
    assert ranklake.rate_history is rate_history
    assert all(getattr(ranklake, name) is not None for name in ranklake.__all__)
    assert set(ranklake.__all__) <= set(dir(ranklake))
    with pytest.raises(AttributeError, match="no attribute 'rate_histori'"):
        ranklake.rate_histori  # noqa: B018


def test_ranklake__imports_nothing_until_a_name_is_used() -> None:
    program = "import sys, ranklake; print([name for name in sys.modules if name.startswith(('ranklake.', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
