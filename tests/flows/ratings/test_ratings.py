"""One object with all ratings: the numbers of ``rate_history``, updated, saved, drawn and compared without loss."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import multiprocessing
import pickle
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.answers import leaderboard, leaderboard_at
from helpers.frames import frame_of
from helpers.lakes import lake_of, rate_run, synthetic

import ranklake
from ranklake import (
    SYSTEMS,
    Lake,
    Ratings,
    compare,
    evaluate_history,
    predict,
    rate_history,
    smooth_history,
    systems,
    tune,
)
from ranklake.flows.engines.serial import Serial
from ranklake.flows.frames.kinds import concat, open_frame, to_pandas
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.rating.rate import rate
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.ratings import growing
from ranklake.flows.results.groups import board_values, group_table
from ranklake.flows.results.ranks import active
from ranklake.flows.smoothing.params import params_of
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.storage import Dataset

CONTESTS = synthetic(24, seed=5)
FRAME = (
    frame_of(CONTESTS).assign(country="de").set_index(pd.Index([f"row {i}" for i in range(sum(map(len, CONTESTS)))]))
)
NUMBERS = ("round_index", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before")
SMOOTHED = ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma")
SMALL = pd.DataFrame(
    {
        "contest": ["spring"] * 3 + ["autumn"] * 3,
        "player": ["ada", "<b>grace</b>", "linus", "linus", "ada", "<b>grace</b>"],
        "rank": [1, 2, 2, 1, 2, 3],
        "time": pd.to_datetime(["2024-03-01"] * 3 + ["2024-09-01"] * 3),
    }
)


def bits(history: pd.DataFrame, *names: str) -> list[bytes]:
    return [history[name].to_numpy().tobytes() for name in names or NUMBERS]


def same(one: Ratings, other: Ratings) -> bool:
    """Whether ratings are equal to the bit: history with its index, and beliefs in any order of the players."""
    pd.testing.assert_frame_equal(one.history, other.history, check_exact=True)
    first, second = one.beliefs, other.beliefs.loc[one.beliefs.index]
    cells = zip(first.to_numpy().ravel(), second.to_numpy().ravel(), strict=True)
    return first.attrs == second.attrs and all(np.array_equal(a, b, equal_nan=True) for a, b in cells)


def rated_in_process(frame: pd.DataFrame) -> Ratings:
    return Ratings.rate(frame, "elo", engine="serial")


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.rate(FRAME, rho=0.5)


# Made from frames


def test_ratings__are_those_of_rate_history(ratings: Ratings) -> None:
    history, beliefs = rate_history(FRAME, "elo-mmr", rho=0.5, return_beliefs=True)
    assert bits(ratings.history) == bits(history)
    pd.testing.assert_frame_equal(ratings.beliefs, beliefs)
    assert (ratings.system, ratings.hyperparameters["rho"], ratings.n_contests) == ("elo-mmr", 0.5, 24)
    assert len(ratings) == history["player"].nunique()
    assert ratings.history.attrs == history.attrs
    assert repr(ratings) == f"Ratings(elo-mmr rho=0.5: {len(ratings)} players, 24 contests)"
    last = history.iloc[-1]
    assert ratings.last_round == (last["round_index"], last["contest"], int(FRAME["time_seconds"].iloc[-1]))


def test_history__keeps_index_and_columns(ratings: Ratings) -> None:
    assert list(ratings.history.columns[-4:]) == ["rating", "weight", "perf_ceiling", "country"]
    joined = FRAME.join(ratings.history[["mu", "player"]].rename(columns={"player": "again"}))
    rated = joined["mu"].notna()
    assert rated.sum() == len(ratings.history)
    assert (joined["player"] == joined["again"])[rated].all()


KINDS: dict[str, tuple[Any, type]] = {
    "pandas": (lambda frame: frame, pd.DataFrame),
    "polars": (pl.from_pandas, pl.DataFrame),
    "polars lazy": (lambda frame: pl.from_pandas(frame).lazy(), pl.LazyFrame),
    "arrow": (lambda frame: pa.Table.from_pandas(frame, preserve_index=False), pa.Table),
    "duckdb": (lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)), duckdb.DuckDBPyRelation),
    "dask": (lambda frame: dd.from_pandas(frame, npartitions=2), dd.DataFrame),
}


@pytest.mark.quick("pandas", "polars", "arrow")
@pytest.mark.parametrize("kind", KINDS)
def test_frames__come_back_in_the_kind_that_came_in(kind: str, tmp_path: Path) -> None:
    make, expected = KINDS[kind]
    ratings = Ratings.rate(make(SMALL[:3])).update(make(SMALL[3:]))
    ratings.save(tmp_path / "ratings.parquet")
    plain = Ratings.rate(SMALL)
    for one in (ratings, Ratings.load(tmp_path / "ratings.parquet")):
        for frame in (one.history, one.leaderboard(), one.player("ada")):
            assert isinstance(frame, expected)
        frames = one.history, one.leaderboard()
        if kind == "polars lazy":
            frames = tuple(frame.collect() for frame in frames)
        if kind == "dask":
            frames = tuple(frame.compute() for frame in frames)
        history, leaderboard = (to_pandas(frame) for frame in frames)
        assert bits(history) == bits(plain.history)
        assert leaderboard["player"].tolist() == plain.leaderboard()["player"].tolist()
        assert one.evaluate().equals(plain.evaluate())


# Updated


@pytest.mark.parametrize("system", ["elo-mmr", "codeforces", "elo-srm", "glicko2", "trueskill"])
def test_update__is_to_the_bit_what_the_whole_history_gives(system: Any) -> None:
    whole = Ratings.rate(FRAME, system)
    for cut in (1, 11, 23):
        first = FRAME["contest"].isin(FRAME["contest"].unique()[:cut])
        before = Ratings.rate(FRAME[first], system)
        kept = pickle.dumps(before)
        after = before.update(FRAME[~first])
        assert same(after, whole)
        assert same(before, pickle.loads(kept))


def test_update__takes_further_contests_of_the_same_columns_only() -> None:
    races = SMALL.rename(columns={"contest": "race_id", "rank": "position"})
    ratings = Ratings.rate(races[:3], contest="race_id", rank="position", rho=2.0)
    with pytest.raises(ValueError, match="contest 'spring' is rated already"):
        ratings.update(races)
    assert same(ratings.update(races[3:]), Ratings.rate(races, contest="race_id", rank="position", rho=2.0))
    with pytest.warns(UserWarning, match="time goes back at the first contest"):
        Ratings.rate(SMALL[3:]).update(SMALL[:3])


@pytest.mark.quick("text-pandas")
@pytest.mark.filterwarnings("ignore:no contest was rated")
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("names", ["text", "numbers"])
def test_update__contest_by_contest_is_the_whole_history(kind: str, names: str) -> None:
    """Ratings before an update stay as they were, and can be updated a second time."""
    frame = FRAME.reset_index(drop=True)
    if names == "numbers":
        frame = frame.assign(contest=pd.factorize(frame["contest"])[0], player=pd.factorize(frame["player"])[0])
    contests, make = [part for _, part in frame.groupby("contest", sort=False)], KINDS[kind][0]
    ratings = [Ratings.rate(make(contests[0]), "elo-mmr")]
    for contest in contests[1:]:
        ratings.append(ratings[-1].update(make(contest), engine="serial"))
        assert ratings[-1].last_round.contest == to_pandas(ratings[-1].history)["contest"].iloc[-1]
    whole = Ratings.rate(make(frame), "elo-mmr")
    assert whole.beliefs.equals(pickle.loads(pickle.dumps(ratings[-1])).beliefs)
    assert open_frame(ratings[-1].history).arrow().equals(open_frame(whole.history).arrow())
    assert bits(to_pandas(ratings[10].update(make(pd.concat(contests[11:]))).history)) == bits(to_pandas(whole.history))
    assert to_pandas(ratings[10].history)["round_index"].iloc[-1] <= 10
    with pytest.raises(ValueError, match=r"contest '?0'? is rated already"):
        ratings[-1].update(make(contests[0]))


def test_update__copies_no_row_more_often_than_parts_are_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = Counter[str]()

    def counted(parts: Sequence[Any]) -> Any:
        copied["rows"] += sum(map(len, parts))
        return concat(parts)

    def latest(*parts: Any) -> Any:
        copied["players"] += sum(len(part.numbers) for part in parts)
        return latest_of(*parts)

    latest_of = growing._latest
    monkeypatch.setattr(growing, "concat", counted)
    monkeypatch.setattr(growing, "_latest", latest)
    games = pd.DataFrame({"contest": np.repeat(np.arange(20_000), 2), "rank": [1, 2] * 20_000})
    games["player"] = np.arange(40_000) % 9_973
    ratings = Ratings.rate(games[:-64], "elo")
    for first in range(len(games) - 64, len(games), 2):
        ratings = ratings.update(games[first : first + 2], engine="serial")
    assert 64 < copied["rows"] <= 64 * 6
    assert 64 < copied["players"] <= 64 * (6 + 2)  # and those whose beliefs are read, of each part
    assert bits(ratings.history, "mu") == bits(Ratings.rate(games, "elo").history, "mu")


def test_update__keeps_the_index_and_the_columns_of_each_part() -> None:
    parts = [SMALL.assign(contest=SMALL["contest"] + f" {year}", year=year).drop(columns="time") for year in range(6)]
    parts[3] = parts[3].drop(columns="year")
    parts[4] = parts[4].set_index(pd.Index(list("abcdef")))
    ratings = Ratings.rate(parts[0])
    for part in parts[1:]:
        ratings = ratings.update(part)
    history = ratings.history
    assert history.index.tolist() == [*range(24), *"abcdef", *range(6)]
    assert history["year"].isna().tolist() == [18 <= row < 24 for row in range(36)]
    assert ratings.player("ada").index.tolist() == list(history.index[history["player"] == "ada"])


# Asked


def test_leaderboard__is_sorted_and_filtered(ratings: Ratings) -> None:
    board = ratings.leaderboard()
    numbers = ["rating", "mu", "sigma", "n_rounds", "last_time_seconds", "percentile"]
    sure = ["provisional", "place_high", "place_low", "tier"]
    assert list(board.columns) == ["place", "player", *numbers, *sure]
    lower = [100 * (board["rating"] < rating).sum() / (len(board) - 1) for rating in board["rating"]]
    assert board["percentile"].tolist() == pytest.approx(lower)
    some = board["player"][::3]
    assert ratings.leaderboard(among=some)["player"].tolist() == some.tolist()
    assert ratings.leaderboard(among=some)["place"].tolist() == list(range(1, len(some) + 1))
    assert board["rating"].is_monotonic_decreasing
    last = ratings.history.groupby("player").last()
    for name in ("mu", "sigma", "rating"):
        assert board.set_index("player")[name].sort_index().tolist() == last[name].sort_index().tolist()
    assert len(ratings.leaderboard(3)) == 3
    few = ratings.leaderboard(min_rounds=5)
    assert few["n_rounds"].min() >= 5
    assert few["place"].tolist() == few["rating"].rank(ascending=False, method="min").tolist()
    assert few.attrs["n_provisional"] == (board["n_rounds"] < 5).sum() == len(board) - len(few)
    everybody = ratings.leaderboard(min_rounds=5, provisional="show").set_index("player")
    assert everybody[~everybody["provisional"]].astype(few.dtypes.drop("player")).equals(few.set_index("player"))
    assert everybody.loc[everybody["provisional"], ["place", "percentile", *sure[1:]]].isna().all(axis=None)
    assert everybody.index.tolist() == board["player"].tolist()
    only = ratings.leaderboard(min_rounds=5, provisional="only")
    assert set(only["player"]) == set(board["player"]) - set(few["player"])
    since = int(board["last_time_seconds"].median())
    assert ratings.leaderboard(since=since)["last_time_seconds"].min() >= since
    tied = Ratings.rate(SMALL.assign(rank=1), "elo").leaderboard()
    assert tied["place"].tolist() == [1, 1, 1]
    assert tied["player"].tolist() == sorted(tied["player"])


def test_leaderboard__says_how_sure_a_place_is(ratings: Ratings, tmp_path: Path) -> None:
    board = ratings.leaderboard()
    low, high = (board["mu"] + sign * 1.96 * board["sigma"] for sign in (-1, 1))
    assert board["place_high"].tolist() == [1 + (low > one).sum() for one in high]
    assert board["place_low"].tolist() == [len(board) - (high < one).sum() for one in low]
    own = ratings.leaderboard(rule="own", interval=0.5)
    assert (own["place_low"] - own["place_high"]).sum() < (board["place_low"] - board["place_high"]).sum()
    some = board["player"][::3]
    among = ratings.leaderboard(among=some)
    assert among["place_low"].max() == len(some)
    assert [row["place_high"] for row in ratings.leaderboard(3).to_dict("records")] == board["place_high"][:3].tolist()


def test_leaderboard__names_bad_options_of_places(ratings: Ratings) -> None:
    without = Ratings.rate(SMALL, "elo")
    assert "tier" not in without.leaderboard()
    assert "provisional" in without.leaderboard()
    assert without.leaderboard(min_rounds=3).attrs["n_provisional"] == 3
    for given in ({"interval": 0.9}, {"rule": "own"}, {"max_sigma": 90.0}):
        with pytest.raises(ValueError, match=f"^{next(iter(given))} needs the uncertainty of skills, which elo has no"):
            without.leaderboard(**given)
    for given, rule in (
        ({"min_rounds": -1}, "min_rounds must be a whole number within 0"),
        ({"interval": 1.0}, "interval must be > 0 and < 1, got 1.0"),
        ({"provisional": "no"}, "provisional must be one of hide, show, only, got 'no'"),
    ):
        with pytest.raises(ValueError, match=rule):
            ratings.leaderboard(**given)


def test_player__has_a_history_or_similar_names() -> None:
    ratings = Ratings.rate(SMALL)
    assert ratings.player("ada")["contest"].tolist() == ["spring", "autumn"]
    with pytest.raises(ValueError, match="there is no player 'adda'; did you mean 'ada'"):
        ratings.player("adda")
    with pytest.raises(ValueError, match="there is no player 1; the names of players are texts, such as 'ada'"):
        ratings.plot_player(1)


def test_beliefs__are_taken_with_their_system(ratings: Ratings) -> None:
    names = list(ratings.beliefs.index[:3])
    expected = predict(ratings.beliefs, names, rho=0.5).table()
    pd.testing.assert_frame_equal(ratings.predict(names).table(), expected)
    pd.testing.assert_frame_equal(predict(ratings, names).table(), expected)
    more = pd.DataFrame({"contest": "next", "player": names, "rank": [1, 2, 3], "time": 2**31})
    assert bits(rate_history(more, beliefs=ratings)) == bits(rate_history(more, beliefs=ratings.beliefs))
    with pytest.raises(ValueError, match="beliefs are those of elo-mmr, not of elo"):
        rate_history(more, "elo", beliefs=ratings)


def test_compare__scores_the_rounds_that_all_rated(ratings: Ratings) -> None:
    elo = Ratings.rate(FRAME, "elo")  # rates contests in which all tie, which elo-mmr skips
    table = compare([ratings, elo])
    assert table.index.tolist() == ["elo-mmr rho=0.5", "elo"]
    common = elo.history["round_index"].isin(ratings.history["round_index"])
    assert not common.all()
    expected = evaluate_history(elo.history[common], system="elo").loc["everyone"]
    assert np.array_equal(table.loc["elo"], expected, equal_nan=True)
    with pytest.raises(ValueError, match="different names"):
        compare([elo, elo])
    with pytest.raises(ValueError, match="not ratings of the same contests: round 0 is another contest"):
        compare([elo, Ratings.rate(SMALL)])


def test_systems__are_described() -> None:
    assert systems().index.tolist() == list(ranklake.SYSTEMS)
    assert systems("elo-mmr").loc["rho", "default"] == ranklake.SYSTEMS["elo-mmr"].params().rho


def test_tune__finds_hyperparameters_for_any_number_of_workers() -> None:
    frame = frame_of(synthetic(40, spice=False))
    space = {"k": "4:400:log", "mu_init": [1200.0, 1500.0]}
    found = [tune(frame, "elo", space, trials=6, seed=3, workers=workers, filter="everyone") for workers in (1, 3)]
    pd.testing.assert_frame_equal(*found)
    assert found[0]["train_pair_inversion"].is_monotonic_decreasing
    assert found[0]["test_pair_inversion"].notna().sum() == 3
    best = found[0].attrs["best"]
    assert best == found[0].loc[0, ["k", "mu_init"]].to_dict()
    ratings = Ratings.rate(frame[frame["contest"].isin(frame["contest"].unique()[:20])], "elo", **best)
    score = ratings.evaluate().loc["everyone", "pair_inversion"]
    assert score == pytest.approx(found[0].loc[0, "train_pair_inversion"])
    with pytest.raises(ValueError, match=r"needs at least 4 contests to tune on, .* of 2 rated contests is 1"):
        tune(SMALL, "elo")


# Smoothed


def test_smooth__is_smooth_history_with_the_index_of_the_history(ratings: Ratings) -> None:
    smoothed = ratings.smooth(beta=150.0)
    params = {**dataclasses.asdict(params_of(SYSTEMS["elo-mmr"].params(rho=0.5), {})), "beta": 150.0}
    expected = smooth_history(FRAME, **params)
    assert list(smoothed.columns) == list(expected.columns)
    assert bits(smoothed, *SMOOTHED) == bits(expected, *SMOOTHED)
    assert smoothed["contest"].tolist() == expected["contest"].tolist()
    assert smoothed.index.equals(ratings.history.index)
    assert smoothed.attrs == {"sweeps": expected.attrs["sweeps"]}
    with pytest.raises(ValueError, match="smoothing has no parameter 'rho'"):
        ratings.smooth(rho=1.0)


def test_smooth__takes_names_of_columns_and_histories_without_times_or_weights() -> None:
    timeless = SMALL.drop(columns="time")
    weighted = timeless.assign(weight=[0.5] * 3 + [2.0] * 3)
    more = pd.DataFrame({"contest": "third", "player": ["ada", "linus"], "rank": [2, 1]})
    params = dataclasses.asdict(params_of(SYSTEMS["elo-mmr"].params(), {"drift_per_day": 0.0}))
    named = Ratings.rate(pl.from_pandas(weighted.rename(columns={"weight": "share"})), columns={"weight": "share"})
    updated = Ratings.rate(pl.from_pandas(weighted)).update(pl.from_pandas(more))
    for ratings, whole in ((named, weighted), (updated, pd.concat([weighted, more.assign(weight=1.0)]))):
        smoothed = ratings.smooth()
        assert isinstance(smoothed, pl.DataFrame)
        assert bits(smoothed.to_pandas(), *SMOOTHED) == bits(smooth_history(whole, **params), *SMOOTHED)
    with pytest.raises(ValueError, match="drift_per_day = 3 counts the days between contests"):
        named.smooth(drift_per_day=3.0)


# Shown


def test_html__shows_the_best_and_escapes_names() -> None:
    html = Ratings.rate(SMALL, rho=2.0)._repr_html_()
    assert "Ratings(elo-mmr rho=2.0: 3 players, 2 contests)" in html
    assert "&lt;b&gt;grace" in html
    assert "<b>" not in html


@pytest.mark.slow
def test_plots__are_pictures(ratings: Ratings) -> None:
    pytest.importorskip("matplotlib", reason="the extra report is not installed")
    best, second = ratings.leaderboard(2)["player"]
    for figure in (ratings.plot_player(best), ratings.plot_player(best, second), ratings.plot_distribution()):
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="a figure shows 1 to 10 players, got 0"):
        ratings.plot_player()


# Saved


@pytest.mark.quick("index")
@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        SMALL.astype({"player": pd.CategoricalDtype(["zoe", "linus", "ada", "<b>grace</b>"]), "contest": "category"}),
        SMALL.convert_dtypes(dtype_backend="pyarrow"),
        SMALL.assign(player=[1, 2, 3, 3, 1, 2], note=[None, "x", None, "y", None, None]),
    ],
    ids=["index", "categories", "pyarrow", "numbers"],
)
def test_save__loses_nothing(frame: pd.DataFrame, tmp_path: Path) -> None:
    ratings = Ratings.rate(frame, rho=float("inf"))
    ratings.save(tmp_path / "ratings.parquet")
    loaded = Ratings.load(tmp_path / "ratings.parquet")
    assert same(loaded, ratings)
    assert (loaded.label, loaded.n_contests, loaded.last_round) == (
        ratings.label,
        ratings.n_contests,
        ratings.last_round,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["ratings.parquet"]
    more = frame[:3].assign(contest=frame["contest"].iloc[:3].astype(object).map(lambda name: f"{name} again"))
    if frame is not FRAME:
        assert same(loaded.update(more), ratings.update(more))


def test_save__is_a_table_that_any_tool_reads(ratings: Ratings, tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    ratings.save(path)
    query = f"SELECT count(*), (SELECT count(*) FROM (SELECT unnest(rounds) FROM '{path}')) FROM '{path}'"
    assert duckdb.sql(query).fetchall()[0] == (len(ratings.beliefs), len(ratings.history))


def test_load__refuses_other_files(ratings: Ratings, tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("ada,1500")
    ratings.beliefs.to_parquet(tmp_path / "beliefs.parquet")
    ratings.save(tmp_path / "later.parquet")
    table = pq.read_table(tmp_path / "later.parquet")
    text = table.schema.metadata[b"ranklake.ratings"].replace(b'"format": 1', b'"format": 9')
    pq.write_table(table.replace_schema_metadata({b"ranklake.ratings": text}), tmp_path / "later.parquet")
    for name, said in (
        ("text", "cannot be read as Parquet"),
        ("beliefs", "no ratings"),
        ("later", "format 9, this code reads 1"),
    ):
        with pytest.raises(ValueError, match=said):
            Ratings.load(tmp_path / f"{name}.parquet")
    with pytest.raises(ValueError, match="Parquet cannot hold a column"):
        Ratings.rate(SMALL.assign(note=[object()] * 6)).save(tmp_path / "objects.parquet")


# From a lake


def test_open__has_the_ratings_of_a_run(tmp_path: Path) -> None:
    settings = {"rho": 0.3, "drift_per_day": 10.0, "noob_delay": (0.5, 0.9)}
    stored = lake_of(tmp_path / "lake", CONTESTS)
    rate_run(stored, **settings)
    name = ranklake.Run.names(stored)[0]
    frame = FRAME.drop(columns="country")
    whole = Ratings.rate(frame, **settings)
    for ratings in (Ratings.open(tmp_path / "lake", name), Lake(tmp_path / "lake").run(name).ratings()):
        assert bits(ratings.history) == bits(whole.history)
        for column in ("contest", "player", "time_seconds", "rating"):
            assert ratings.history[column].tolist() == whole.history[column].tolist()
        pd.testing.assert_frame_equal(ratings.leaderboard(), whole.leaderboard())
        more = (
            frame[:12]
            .assign(contest="new", time_seconds=frame["time_seconds"].max() + 86_400)
            .drop_duplicates("player")
        )
        more = more.assign(lo=range(len(more)), hi=range(len(more)))
        assert bits(ratings.update(more).history) == bits(whole.update(more).history)


@pytest.mark.parametrize("system", ["elo-mmr", "elo"])
def test_smooth__of_a_run_is_that_of_the_command(system: str, tmp_path: Path) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    rate_run(lake, system=system)
    smooth_run(lake, "run", Serial())
    (file,) = (tmp_path / "runs" / "run" / "smoothing").glob("smoothed-*.parquet")
    expected, found = pq.read_table(file).to_pandas(), Ratings.open(lake, "run").smooth()
    assert bits(found, "round_index", "lo", "hi", *SMOOTHED) == bits(expected, "round_index", "lo", "hi", *SMOOTHED)


def test_lake__is_opened_by_its_class(tmp_path: Path) -> None:
    with pytest.raises(ranklake.storage.MissingError, match="no lake at"):
        Lake(tmp_path / "lake")
    made = Lake(tmp_path / "lake", create=True)
    made.write_bytes("note", b"text")
    for lake in (Lake(str(tmp_path / "lake")), Lake.open(tmp_path / "lake"), pickle.loads(pickle.dumps(made))):
        assert type(lake) is Lake
        assert (lake.url, lake.read_bytes("note")) == (made.url, b"text")


def test_open__refuses_an_interrupted_run(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, CONTESTS)
    rate_run(lake)
    for snapshot in (tmp_path / "runs" / "run" / "snapshots").iterdir():
        (snapshot / "manifest.json").unlink()
    with pytest.raises(ranklake.storage.LakeError, match="was interrupted after round 23; `ranklake rate --run run`"):
        Ratings.open(lake, "run")


# Anywhere


def test_rate__works_in_a_running_event_loop() -> None:
    async def work() -> Ratings:
        return Ratings.rate(SMALL)

    assert same(asyncio.run(work()), Ratings.rate(SMALL))


def test_rate__works_in_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: Ratings.rate(SMALL), range(8)))
    assert all(same(one, found[0]) for one in found)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_rate__works_in_processes(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    expected = rated_in_process(SMALL)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert same(pool.submit(Ratings.rate, SMALL, "elo", engine="serial").result(), expected)


@pytest.mark.slow
def test_rate__works_in_processes_of_joblib() -> None:
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    from joblib.externals.loky import get_reusable_executor

    names = ["elo", "glicko", "elo"]
    try:
        jobs = (joblib.delayed(Ratings.rate)(SMALL, name) for name in names)
        found = joblib.Parallel(n_jobs=2, backend="loky")(jobs)
    finally:
        get_reusable_executor().shutdown(wait=True)
    assert all(same(one, Ratings.rate(SMALL, name)) for one, name in zip(found, names, strict=True))


def test_ranklake__completes_its_public_names_alone() -> None:
    assert dir(ranklake) == sorted(ranklake.__all__)
    own = {name for name in dir(Ratings) if not name.startswith("_")}
    assert own == {
        "balance", "beliefs", "between", "coefficients", "compare", "components", "evaluate", "groups", "history",
        "hyperparameters", "label", "last_round", "leaderboard", "load", "open", "pairs", "player", "plot_distribution",
        "plot_player", "predict", "preview", "problems", "quality", "rate", "save", "smooth", "strengths", "system",
        "update",
    }  # fmt: skip


# Leaderboards of a day, and groups


DAY = 86_400
GAMES = synthetic(16, spice=False, n_players=12, size=6)
BOARD = ["place", "rating", "mu", "sigma", "n_rounds", "last_time_seconds", "percentile"]
COUNTRIES = {f"player {i}": ("PL", "DE", None)[i % 3] for i in range(10)}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("ratings")
    lake = Lake(lake_of(folder / "lake", GAMES).url)
    rate_run(lake, system="glicko", period_days=100.0)
    rows = [f"{handle},{country or ''},{handle[-1]}" for handle, country in COUNTRIES.items()]
    (folder / "people.csv").write_text("\n".join(["handle,country,digit", *rows]), "utf-8")
    record_attributes(lake, "games", str(folder / "people.csv"))
    return lake


def test_leaderboard__of_a_day_is_that_of_the_command(lake: Lake) -> None:
    at = GAMES[15].time_seconds + 999 * DAY
    expected, ratings = leaderboard_at(lake, "run", at), lake.run("run").ratings()
    in_memory = Ratings.rate(frame_of(GAMES), "glicko", period_days=100.0)
    for one in (ratings, in_memory):
        found = one.leaderboard(at=at)
        assert found[BOARD].equals(expected.select(BOARD).to_pandas())
        assert found["player"].tolist() == expected.column("handle").to_pylist()
        recent = active(expected, 20 * DAY, at)
        assert one.leaderboard(since=at - 20 * DAY, at=at)["percentile"].tolist() == recent["percentile"].to_pylist()
    assert found["sigma"].tolist() != in_memory.leaderboard()["sigma"].tolist()


def test_ratings__of_a_run_with_a_preset_are_shown_by_its_rule(tmp_path: Path) -> None:
    lake = Lake(lake_of(tmp_path / "lake", GAMES).url)
    (config,) = resolve_runs(lake, "games", ["run"], preset="dmoj")
    rate(lake, config, Serial())
    expected = leaderboard(lake, "run").column("rating").to_pylist()
    ratings = lake.run("run").ratings()
    ratings.save(tmp_path / "saved.parquet")
    for one in (ratings, Ratings.load(tmp_path / "saved.parquet")):
        board = one.leaderboard()
        assert board["rating"].tolist() == expected
        last = one.history.drop_duplicates("player", keep="last").set_index("player")["rating"]
        assert last[board["player"]].tolist() == expected
        table = one.predict(board["player"][:2].tolist()).table()
        assert table["rating"].tolist() == pytest.approx(expected[:2])


def test_leaderboard__before_the_first_contest_is_refused() -> None:
    results = frame_of(GAMES)
    with pytest.raises(
        ValueError, match="no contest had ended by at = 1970-01-01 00:00:01 UTC; the first one ended at"
    ):
        Ratings.rate(results).leaderboard(at=1)
    with pytest.raises(ValueError, match="the contests have no times"):
        Ratings.rate(results.drop(columns="time_seconds")).leaderboard(at=10**9)


def test_groups__are_those_of_the_command(lake: Lake) -> None:
    board, run = leaderboard(lake, "run"), lake.run("run")
    values = board_values(Dataset.open(lake, "games"), "country", board)
    expected: Any = group_table(board, values).to_pylist()
    attributes, ratings = run.attributes(), run.ratings()
    assert attributes["digit"].to_dict() == {handle: handle[-1] for handle in COUNTRIES}
    for by in (COUNTRIES, pd.Series(COUNTRIES), attributes["country"]):
        assert ratings.groups(by).to_dict("records") == expected
    some = ratings.groups(COUNTRIES, among=[handle for handle, country in COUNTRIES.items() if country == "PL"])
    assert some["group"].tolist() == ["PL"]
    assert len(ratings.groups({})) == 0


def test_groups__are_a_frame_of_the_kind_of_the_results() -> None:
    ratings = Ratings.rate(pl.from_pandas(frame_of(GAMES)), "elo")
    assert isinstance(ratings.groups(COUNTRIES), pl.DataFrame)
    assert isinstance(ratings.leaderboard(at=GAMES[3].time_seconds), pl.DataFrame)


# What methods are given: all of it counts and is kept, or it is refused with a reason


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
    without = evaluate_history(ratings.history, 2)["pair_inversion"]
    assert ratings.evaluate(2)["pair_inversion"].equals(without)
    rows = ratings.history["round_index"] % 2 == 1
    odd = ratings.evaluate(rounds=range(1, 99, 2))
    assert odd["pair_inversion"].equals(evaluate_history(ratings.history[rows])["pair_inversion"])


def test_arguments__are_refused_with_a_reason(races: Ratings) -> None:
    for call, said in (
        (lambda: races.leaderboard(-1), "top must be >= 0 rows, got -1"),
        (lambda: races.predict("ada"), "players must be a list, got 'ada'"),
        (lambda: compare(races), "ratings must be a list"),
        (lambda: compare([races, 1]), "ratings must be a list"),
        (lambda: compare({"one": RACES}), "ratings must be a list"),
        (lambda: evaluate_history(races), r"history must be a pandas, Polars, .* or Dask frame, got Ratings\("),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            call()
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
