"""``Ratings`` of contests of teams: the numbers of the functions of frames, and those of a run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from helpers.lakes import lake_of, rate_run
from helpers.teams import draw_team_contests, team_contests, team_frame

from ranklake import SYSTEMS, Ratings, evaluate_history, preview, rate_history, smooth_history, tune
from ranklake.flows.engines.serial import Serial
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.smoothing.params import params_of
from ranklake.flows.smoothing.smooth import smooth_run

CONTESTS = draw_team_contests(7, 120, 8)  # large enough for rank information
# The teams are in the column crew, and a column without meaning has the name team.
FRAME = team_frame(CONTESTS).rename(columns={"team": "crew"}).assign(team="other")
COLUMNS = {"team": "crew", "share": "share"}
NUMBERS = ["round_index", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before"]
SMOOTHED = ["lo", "hi", "perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma"]
PARAMS = dataclasses.asdict(params_of(SYSTEMS["elo-mmx"].params(), {}))


def rate(frame: Any = FRAME, **columns: str) -> Ratings:
    return Ratings.rate(frame, "elo-mmx", columns=COLUMNS | columns, engine="serial")


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return rate()


def test_ratings__of_teams_are_those_of_rate_history(ratings: Ratings) -> None:
    expected = rate_history(FRAME, "elo-mmx", columns=COLUMNS, engine="serial")
    pd.testing.assert_frame_equal(ratings.history[list(expected)].reset_index(drop=True), expected, check_exact=True)
    assert ratings.history["team"].equals(ratings.history["crew"])
    assert set(ratings.history["team_results"]) == {"other"}
    smoothed = smooth_history(FRAME, columns=COLUMNS, engine="serial", **PARAMS)
    found = ratings.smooth(engine="serial")
    assert found.index.equals(ratings.history.index)
    pd.testing.assert_frame_equal(found.reset_index(drop=True), smoothed, check_exact=True)


def test_update__of_teams_has_the_bits_of_the_whole_history(ratings: Ratings, tmp_path: Path) -> None:
    first = FRAME["contest"].isin(list("0123"))
    rate(FRAME[first]).save(tmp_path / "ratings.parquet")
    updated = Ratings.load(tmp_path / "ratings.parquet").update(FRAME[~first], engine="serial")
    pd.testing.assert_frame_equal(updated.history, ratings.history, check_exact=True)
    pd.testing.assert_frame_equal(updated.evaluate(), ratings.evaluate(), check_exact=True)
    one, other = (given.smooth(engine="serial") for given in (updated, ratings))
    pd.testing.assert_frame_equal(one, other, rtol=1e-10)  # the players are in another order
    with pytest.raises(ValueError, match=r"there is no column 'crew' \(team\)"):
        ratings.update(FRAME[~first].drop(columns="crew"))


def test_evaluate__of_teams_has_one_row_a_team(ratings: Ratings) -> None:
    history = ratings.history
    expected = evaluate_history(history, columns=COLUMNS, system="elo-mmx")
    pd.testing.assert_frame_equal(ratings.evaluate(), expected)
    assert np.isfinite(expected.loc["everyone", "rank_information"])
    assert expected.loc["everyone", "weight"] < evaluate_history(history).loc["everyone", "weight"]


def test_column__of_teams_that_is_not_named_has_no_teams() -> None:
    frame = FRAME.assign(team=FRAME["crew"]).drop(columns="share")
    frame["rank"] = frame.groupby("contest").cumcount() + 1
    alone = Ratings.rate(frame, "elo-mmx", engine="serial")
    without = Ratings.rate(frame.drop(columns="team"), "elo-mmx", engine="serial")
    for name in ("evaluate", "smooth"):
        pd.testing.assert_frame_equal(getattr(alone, name)(), getattr(without, name)(), check_exact=True)
    assert "team" in alone.history


def test_columns__with_names_of_the_history_keep_their_values(ratings: Ratings) -> None:
    own = FRAME.rename(columns={"share": "rating", "weight": "mu"})
    renamed = rate(own, share="rating", weight="mu")
    assert renamed.history[NUMBERS].equals(ratings.history[NUMBERS])
    for name in ("evaluate", "smooth"):
        pd.testing.assert_frame_equal(getattr(renamed, name)(), getattr(ratings, name)(), check_exact=True)


def test_polars__teams_of_whole_numbers_stay_as_they_are(ratings: Ratings) -> None:
    numbers = FRAME["crew"].str.removeprefix("team ").astype(int)
    sizes = FRAME.groupby(["contest", "crew"])["player"].transform("size")
    frame = pl.from_pandas(FRAME.assign(team=numbers.astype("Int64").where(sizes > 1)))
    numbered = rate(frame, team="team")
    assert isinstance(numbered.history, pl.DataFrame)
    assert numbered.history["team"].dtype == pl.Int64
    assert 0 < numbered.history["team"].null_count() < len(FRAME)
    pd.testing.assert_frame_equal(numbered.evaluate(), ratings.evaluate())
    found = numbered.smooth(engine="serial")
    assert found.select(SMOOTHED).equals(pl.from_pandas(ratings.smooth(engine="serial")[SMOOTHED]))


def test_preview__of_teams_takes_names_of_columns(ratings: Ratings) -> None:
    final = FRAME[FRAME["contest"] == "7"].drop(columns="contest").assign(time_seconds=100_000_000)
    found = ratings.preview(final, columns=COLUMNS)
    pd.testing.assert_frame_equal(found, preview(ratings, final, columns=COLUMNS))
    after = ratings.update(final.assign(contest="final"), engine="serial").history.tail(len(final))
    changes = after.set_index("player")["mu"]
    assert found.set_index("player")["mu"].to_dict() == changes.to_dict()


def test_tune__of_teams_has_the_scores_of_ratings() -> None:
    options: dict[str, Any] = {"filter": "everyone", "train_share": 0.75, "trials": None, "columns": COLUMNS}
    table = tune(FRAME, "elo-mmx", {"team": ["mean", "best"]}, method="grid", metric="rank_information", **options)
    train = FRAME[FRAME["contest"].isin(list("012345"))]
    for row in table.itertuples():
        trained = Ratings.rate(train, "elo-mmx", columns=COLUMNS, team=row.team, engine="serial")
        expected = trained.evaluate().loc["everyone", "rank_information"]
        assert row.train_rank_information == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="an em search cannot use contests of teams"):
        tune(FRAME, "elo-mmx", method="em", **options)
    with pytest.raises(ValueError, match=r"elo has no rule for rounds of teams; elo-mmr, .* have one"):
        tune(FRAME, "elo", {"k": [20]}, method="grid", **options)


def test_open__has_the_teams_and_shares_of_a_run(ratings: Ratings, tmp_path: Path) -> None:
    lake = lake_of(tmp_path, team_contests(CONTESTS[:6]))
    rate_run(lake, system="elo-mmx")
    opened, frame = Ratings.open(lake, "run"), FRAME.assign(team=FRAME["crew"])
    whole = rate(frame[frame["contest"].isin(list("012345"))])
    assert opened.history[[*NUMBERS, "team"]].equals(whole.history[[*NUMBERS, "team"]].reset_index(drop=True))
    assert opened.history["share"].tolist() == whole.history["share"].fillna(1.0).tolist()
    scores = evaluate(lake, "run").filters["everyone"].summary()
    found = opened.evaluate().loc["everyone"]
    assert found.to_dict() == {name: pytest.approx(value, rel=1e-12, nan_ok=True) for name, value in scores.items()}
    smooth_run(lake, "run", Serial())
    (file,) = (tmp_path / "runs" / "run" / "smoothing").glob("smoothed-*.parquet")
    expected = pq.read_table(file).to_pandas()
    assert np.array_equal(opened.smooth(engine="serial")[SMOOTHED], expected[SMOOTHED])
    updated = opened.update(frame[~frame["contest"].isin(list("012345"))], engine="serial")
    assert np.array_equal(updated.history[NUMBERS], ratings.history[NUMBERS])
    one, other = (given.smooth(engine="serial")[SMOOTHED] for given in (updated, ratings))
    np.testing.assert_allclose(one, other, rtol=1e-10)  # the players are in another order
    with pytest.raises(ValueError, match=r"there is no column 'share' \(share\)"):
        opened.update(frame.drop(columns="share"))
