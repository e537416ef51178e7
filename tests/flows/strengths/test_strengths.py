"""Strengths of a run that explains all games at once: categories, coefficients, pairs, differences, the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command

from ranklake import Ratings
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.results.rated_rounds import RatedRounds
from ranklake.flows.strengths.strengths import RunStrengths, first_of_each
from ranklake.rating_kernels.bradley_terry.comparisons import Comparisons, merged
from ranklake.rating_kernels.bradley_terry.covariance import covariance
from ranklake.rating_kernels.bradley_terry.fit import fit
from ranklake.rating_kernels.bradley_terry.params import UNIT, BradleyTerry
from ranklake.storage import Lake
from ranklake.storage.datasets.selection import Selection

PLAYERS = ("ada", "bob", "cleo", "dan", "eve")
SKILL = dict(zip(PLAYERS, (1.0, 0.5, 0.0, -0.4, -1.1), strict=True))


def votes(n: int = 500) -> pd.DataFrame:
    """Votes with a covariate and a topic, ties among them."""
    draw = np.random.default_rng(7)
    pair = np.array([draw.choice(5, 2, replace=False) for _ in range(n)])
    first, second = (np.array(PLAYERS)[side] for side in pair.T)
    length = np.round(draw.normal(0.0, 1.0, n), 1)
    lead = np.array([SKILL[a] - SKILL[b] for a, b in zip(first, second, strict=True)]) + 0.4 * length
    score = np.where(draw.random(n) < 1.0 / (1.0 + np.exp(-lead)), 1.0, 0.0)
    score[draw.random(n) < 0.1] = 0.5
    topic = np.array(["code", "chat"])[draw.integers(0, 2, n)]
    time = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n), "h")
    return pd.DataFrame(
        {"white": first, "black": second, "result": score, "time": time, "length": length, "topic": topic}
    )


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the runs ``arena``, which has the covariate, and ``elo``."""
    folder = tmp_path_factory.mktemp("arena")
    votes().to_csv(folder / "votes.csv", index=False)
    from click.testing import CliRunner

    from ranklake.flows.cli.main import cli

    lake = ("--lake", str(folder / "lake"))
    keeping = ("--keep", "topic", "--covariate", "length")
    steps: list[tuple[str, ...]] = [
        ("ingest", "games", str(folder / "votes.csv"), *keeping, "--dataset", "votes"),
        ("rate", "--dataset", "votes", "--system", "bt", "--set", "covariates=length", "--run", "arena"),
        ("rate", "--dataset", "votes", "--system", "elo", "--run", "elo"),
    ]
    for step in steps:
        found = CliRunner().invoke(cli, [*step, *lake])
        assert found.exit_code == 0, found.output
    return folder / "lake"


def fitted(games: pd.DataFrame) -> tuple[Comparisons, object, object]:
    number = {handle: row for row, handle in enumerate(PLAYERS)}
    first, second = (games[side].map(number).to_numpy() for side in ("white", "black"))
    rows = merged(Comparisons.of(first, second, games["result"].to_numpy(), games[["length"]].to_numpy()))
    found = fit(rows, 5, BradleyTerry(covariates=("length",)))
    return rows, found, covariance(found, rows, BradleyTerry(covariates=("length",)))


def test_categories__have_the_fits_of_their_games_alone(arena: Path) -> None:
    strengths = RunStrengths(RatedRounds(Lake.open(arena), "arena"), by="topic")
    table, coefficients = strengths.table().to_pandas(), strengths.coefficients().to_pandas()
    assert table["category"].fillna("").unique().tolist() == ["", "chat", "code"]
    whole = votes()
    for category, games in (("", whole), *whole.groupby("topic")):
        _, found, deviations = fitted(games)
        of = table[table["category"].fillna("") == category].set_index("handle")
        np.testing.assert_allclose(of.loc[list(PLAYERS), "rating"], 1500.0 + UNIT * found.theta, rtol=1e-9)
        np.testing.assert_allclose(of.loc[list(PLAYERS), "sigma"], deviations.sigma, rtol=1e-9)
        assert of["rating"].is_monotonic_decreasing
        played = pd.concat([games["white"], games["black"]]).value_counts()
        assert (of["n_games"] == played[of.index]).all()
        assert (of[["wins", "draws", "losses"]].sum(axis=1) == of["n_games"]).all()
        row = coefficients[coefficients["category"].fillna("") == category].iloc[0]
        assert (row["name"], row["value"]) == ("length", pytest.approx(found.gamma[0], rel=1e-9))
        assert row["z"] == pytest.approx(found.gamma[0] / deviations.coefficient_errors[0], rel=1e-9)


def test_selected_games__are_those_of_all_conditions(arena: Path) -> None:
    strengths = RunStrengths(RatedRounds(Lake.open(arena), "arena"), where=Selection.parse(["topic=code"]))
    games = votes()
    _, found, _ = fitted(games[games["topic"] == "code"])
    rating = strengths.table().to_pandas().set_index("handle")["rating"]
    np.testing.assert_allclose(rating[list(PLAYERS)], 1500.0 + UNIT * found.theta, rtol=1e-9)


def test_pairs__have_the_results_that_were_seen_and_expected(arena: Path) -> None:
    pairs = RunStrengths(RatedRounds(Lake.open(arena), "arena")).pairs().to_pandas()
    games, (_, found, _) = votes(), fitted(votes())
    theta = dict(zip(PLAYERS, found.theta, strict=True))
    assert len(pairs) == 10
    for row in pairs.to_dict("records"):
        direct = games[(games["white"] == row["a"]) & (games["black"] == row["b"])]
        turned = games[(games["white"] == row["b"]) & (games["black"] == row["a"])]
        score = np.concatenate([direct["result"], 1.0 - turned["result"]])
        length = np.concatenate([direct["length"], -turned["length"]])
        assert (row["games"], row["draws"]) == (len(score), int((score == 0.5).sum()))
        assert (row["wins"], row["losses"], row["score"]) == ((score == 1).sum(), (score == 0).sum(), score.sum())
        expected = 1.0 / (1.0 + np.exp(-(theta[row["a"]] - theta[row["b"]] + found.gamma[0] * length)))
        assert row["expected"] == pytest.approx(expected.sum(), rel=1e-9)


def test_differences__are_those_of_one_fit(arena: Path, invoke: Command) -> None:
    _, found, deviations = fitted(votes())
    one, other = np.array([0], np.int32), np.array([1], np.int32)
    exact = deviations.of_differences(one, other)[0]
    assert exact != pytest.approx(np.hypot(*deviations.sigma[:2]), rel=1e-3)
    opened = RatedRun(Lake.open(arena), "arena")
    [pair] = opened.compare(["ada", "bob"])["pairs"]
    assert (pair["deviation"], pair["difference"]) == pytest.approx((exact, UNIT * (found.theta[0] - found.theta[1])))
    told = json.loads(invoke("predict", "ada", "bob", "--run", "arena", "--format", "json", "--lake", arena).out)
    assert f"{exact:.6f}"[:8] in json.dumps(told)


def test_prediction__knows_the_covariates_of_a_game(arena: Path, invoke: Command) -> None:
    _, found, _ = fitted(votes())
    words = ("predict", "bob", "ada", "--run", "arena", "--neutral", "--format", "json", "--lake", arena)
    for x in (0.0, 1.5, -2.0):
        rows = json.loads(invoke(*words, "--covariate", f"length={x}").out)
        lead = found.theta[1] - found.theta[0] + found.gamma[0] * x
        [row] = [row for row in rows if row["handle"] == "bob"]
        chance = pytest.approx(1.0 / (1.0 + np.exp(-lead)), rel=1e-6)
        assert (row["chance"], row["expected"]) == (chance, chance)
    for given, message in (
        ("width=1", "run arena has no covariate 'width'; it has length"),
        ("length=long", "--covariate is NAME=NUMBER, got 'length=long'"),
    ):
        assert message in invoke(*words, "--covariate", given).err
    assert (
        "covariates are of a game between two entrants, and there are 3"
        in invoke("predict", "ada", "bob", "eve", "--run", "arena", "--covariate", "length=1", "--lake", arena).err
    )
    assert (
        "run elo is rated by elo, game after game"
        in invoke("predict", "ada", "bob", "--run", "elo", "--covariate", "length=1", "--lake", arena).err
    )


def test_ratings__have_the_same_tables(arena: Path) -> None:
    ratings = Ratings.open(str(arena), "arena")
    strengths = RunStrengths(RatedRounds(Lake.open(arena), "arena"), by="topic")
    pd.testing.assert_frame_equal(ratings.strengths(by="topic"), strengths.table().to_pandas(), check_dtype=False)
    assert ratings.coefficients()["name"].tolist() == ["length"]
    assert len(ratings.pairs(where={"topic": "chat"})) == 10
    with pytest.raises(ValueError, match="run elo is rated by elo, game after game; bt explains all games at once"):
        Ratings.open(str(arena), "elo").strengths()


def test_command__shows_tables_and_refuses_what_is_not_there(arena: Path, invoke: Command) -> None:
    of_run = ("strengths", "--run", "arena", "--lake", arena)
    assert "ada" in invoke(*of_run).out
    rows = json.loads(invoke(*of_run, "--by", "topic", "--top", "2", "--format", "json").out)
    assert [row["category"] for row in rows] == [None, None, "chat", "chat", "code", "code"]
    assert "length" in invoke(*of_run, "--coefficients").out
    assert "expected" in invoke(*of_run, "--pairs").out
    for arguments, message in (
        (("--where", "topic=maths"), "no game of data set votes has this value; there are 'chat', 'code'"),
        (("--by", "language"), "no game of data set votes has a column 'language'; `ranklake ingest games FILE"),
        (("--where", "topic"), "--where is COLUMN=VALUE, got 'topic'"),
        (("--pairs", "--coefficients"), "--coefficients and --pairs exclude each other"),
    ):
        assert message in " ".join(invoke(*of_run, *arguments).err.split())
    assert "rated by elo, game after game" in invoke("strengths", "--run", "elo", "--lake", arena).err


def test_first_rows__are_of_each_category(arena: Path) -> None:
    table = RunStrengths(RatedRounds(Lake.open(arena), "arena"), by="topic").table()
    assert first_of_each(table, 1).column("place").to_pylist() == [1, 1, 1]
    assert first_of_each(table, 99).num_rows == table.num_rows
