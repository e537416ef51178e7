"""A league with known draws and a known advantage: what runs learn of it, and the figure of chances and shares seen."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import Command
from helpers.documents import ROOT
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake.flows.chances.record import learnt_chances
from ranklake.flows.evaluation.seen_chances import PredictedGames, SeenChances
from ranklake.flows.results.rated_rounds import RatedRounds
from ranklake.rating_kernels.chances.three_way import ThreeWay
from ranklake.storage import Lake, LakeError

SAMPLE = ROOT / "docs" / "_static" / "league.csv"
BY = ("--chances-by", "neutral", "--no-advantage", "true")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("league")


def rated(invoke: Command, folder: Path, system: str, *more: str) -> RatedRounds:
    """The sample league, rated by a system."""
    lake = ("--lake", folder / "lake")
    columns = ("--column", "white=home", "--column", "black=away", "--keep", "neutral", "--period", "week")
    assert invoke("ingest", "games", SAMPLE, *columns, "--dataset", "league", *lake).code == 0
    answer = invoke("rate", "--dataset", "league", "--system", system, "--run", system, *more, *lake)
    assert answer.code == 0, answer.err
    return RatedRounds(Lake.open(str(folder / "lake")), system)


@pytest.mark.parametrize("system", ["elo", pytest.param("glicko", marks=pytest.mark.slow)])
def test_sample_league__is_recovered_within_three_standard_errors(invoke: Command, folder: Path, system: str) -> None:
    rounds, truth = rated(invoke, folder, system, *BY), json.loads(SAMPLE.with_suffix(".json").read_text("utf-8"))
    found = learnt_chances(rounds)
    assert found is not None
    assert found.note == ""
    home, everywhere = found.last.of("false"), found.last.of()
    for learnt in (home, everywhere):
        assert abs(learnt.nu - truth["nu"]) < 3.0 * learnt.nu_error < 0.2
    assert abs(home.advantage - truth["advantage"]) < 3.0 * home.advantage_error < 40.0
    assert found.last.of("true").advantage == 0.0


@pytest.mark.slow
def test_league_of_equals__whose_scores_are_known_is_recovered(invoke: Command, tmp_path: Path) -> None:
    """24,000 games; ratings hardly move, so that they are the skills."""
    lake = ("--lake", tmp_path / "lake")
    preset = ("n_games=24000", "games_a_day=240", "skill_sd=0", "drift_sd=0")
    settings = [word for setting in preset for word in ("--set", setting)]
    assert invoke("ingest", "synthetic", "--preset", "league", *settings, *lake).code == 0
    assert (
        invoke("rate", "--dataset", "league", "--system", "elo", "--set", "k=0.001", "--run", "r", *BY, *lake).code == 0
    )
    found = learnt_chances(RatedRounds(Lake.open(str(tmp_path / "lake")), "r"))
    assert found is not None
    home = found.last.of("false")
    assert abs(home.nu - 0.8) < 3.0 * home.nu_error < 0.05
    assert abs(home.advantage - 60.0) < 3.0 * home.advantage_error < 8.0


def test_figure__has_the_chances_before_games_and_the_shares_seen(invoke: Command, folder: Path) -> None:
    """Shares of outcomes add up, and the lines are within four deviations of the dots."""
    pytest.importorskip("matplotlib")
    rounds = rated(invoke, folder, "elo", *BY)
    games, _ = PredictedGames.of(rounds)
    lines = [line.split(",") for line in SAMPLE.read_text("utf-8").splitlines()[1:]]
    results = [("1-0", "1/2-1/2", "0-1").index(line[3]) for line in lines]
    assert np.bincount(games.outcome).tolist() == np.bincount(results).tolist()
    seen = SeenChances.of(games)
    assert (len(seen.games), int(seen.games.sum())) == (12, 1_200)
    np.testing.assert_allclose(seen.chance.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(seen.seen.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(np.diff(seen.ahead) > 0.0)
    assert np.all(np.abs(seen.seen - seen.chance) < 4.0 * seen.error)
    answer = invoke("plot", "chances", "--run", "elo", "--lake", folder / "lake", "-o", folder / "chances.svg")
    assert (answer.code, answer.err) == (0, "")
    assert (folder / "chances.svg").read_bytes().startswith(b"<?xml")


def test_bins__have_ten_games_at_least() -> None:
    third = np.full(25, 1.0 / 3.0)
    games = PredictedGames(np.arange(25.0), ThreeWay(third, third, third), np.zeros(25, np.int64))
    seen = SeenChances.of(games)
    assert seen.games.tolist() == [13, 12]
    assert seen.seen[:, 0].tolist() == [1.0, 1.0]


def test_figure__of_contests_is_refused(tmp_path: Path, invoke: Command) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(6))
    rate_run(lake)
    with pytest.raises(LakeError, match="has contests of three entrants or more"):
        PredictedGames.of(RatedRounds(lake, "run"))
    (tmp_path / "games.csv").write_text("white,black,result,time\nann,bob,0.7,2024-01-01\n", encoding="utf-8")
    at = ("--dataset", "shares", "--lake", tmp_path / "lake")
    assert invoke("ingest", "games", tmp_path / "games.csv", "--fractional", *at).code == 0
    assert invoke("rate", "--system", "elo", "--run", "shares", *at).code == 0
    with pytest.raises(LakeError, match="has no game that was won, drawn or lost"):
        PredictedGames.of(RatedRounds(lake, "shares"))
