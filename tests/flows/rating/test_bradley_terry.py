"""Runs of static Bradley-Terry: refits as games grow, the ratings of all games, covariates, the same bits always."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from helpers.games import DAY, Game, as_periods, ingest_periods, league, with_advantages, with_covariates
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import copy_of, often, rate_run, rated, same_tables

from ranklake import Ratings, rate_history
from ranklake.flows.answers.explanations.explanation import explain
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.common.refits import refit_rounds
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.entrants.explained import facts_of_games
from ranklake.flows.results.rated_rounds import RatedRounds
from ranklake.rating_kernels.bradley_terry.comparisons import Comparisons, merged
from ranklake.rating_kernels.bradley_terry.covariance import covariance
from ranklake.rating_kernels.bradley_terry.fit import fit
from ranklake.rating_kernels.bradley_terry.params import UNIT, BradleyTerry
from ranklake.storage import Lake

GAMES = with_advantages(with_covariates(league(300, n_players=8, days=12)))
PERIODS = as_periods(GAMES)
PLAIN = as_periods([game._replace(covariates=None) for game in GAMES])
NUMBERS = ("player", "lo", "hi", "mu_prior", "sigma_prior", "mu", "sigma", "n_before")
COVARIATES = {"covariates": ("length", "first")}

rate_votes = partial(rate_run, system="bt", dataset="league", policy=often(segment_rows=60, snapshot_rows=120))


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A rated lake of votes with advantages and covariates: the runs ``plain`` and ``run``, which has covariates."""
    lake = Lake.open(tmp_path_factory.mktemp("votes") / "lake", create=True)
    ingest_periods(lake, PERIODS)
    rate_votes(lake, run="plain")
    rate_votes(lake, run="run", **COVARIATES)
    return lake


def fitted(games: list[Game], handles: list[str], params: BradleyTerry) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratings, deviations and coefficients by the kernels, from games as they were told."""
    number = {handle: row for row, handle in enumerate(handles)}
    first, second = (np.array([number[game[side]] for game in games]) for side in (0, 1))
    told = {"length": [game.covariates[0] for game in games], "first": np.ones(len(games))}
    x = np.column_stack([told[name] for name in params.covariates]) if params.covariates else None
    score, weight, ahead = (np.array([game[at] for game in games]) for at in (2, 4, 5))
    rows = merged(Comparisons.of(first, second, score, x, weight, ahead / UNIT))
    found = fit(rows, len(handles), params)
    return params.mu_init + UNIT * found.theta, covariance(found, rows, params).sigma, found.gamma


@pytest.mark.parametrize("run", ["plain", "run"])
def test_rounds__have_the_ratings_of_the_last_fit_before(votes: Lake, run: str) -> None:
    params = BradleyTerry(**COVARIATES) if run == "run" else BradleyTerry()
    rounds = RatedRounds(votes, run)
    rows, handles = rounds.rows(), rounds.dataset.handles().to_pylist()
    counts = [len(period) for period in PERIODS]
    due = [0, *refit_rounds(np.array(counts))]
    assert len(due) > 8
    for round_index in range(len(counts)):
        last = max(at for at in due if at <= round_index)
        before = GAMES[: sum(counts[:last])]
        mu, sigma, _ = fitted(before, handles, params) if before else (np.full(8, 1500.0), np.full(8, 1000.0), None)
        seen = {game[side] for game in before for side in (0, 1)}
        of = rows.filter(pc.equal(rows.column("round_index"), round_index))
        player = of.column("player").to_numpy()
        known = np.isin(np.array(handles)[player], list(seen))
        assert of.column("mu").equals(of.column("mu_prior"))
        np.testing.assert_allclose(of.column("mu").to_numpy(), np.where(known, mu[player], 1500.0), rtol=1e-9)
        np.testing.assert_allclose(of.column("sigma").to_numpy(), np.where(known, sigma[player], 1000.0), rtol=1e-9)


@pytest.mark.parametrize("run", ["plain", "run"])
def test_leaderboard__has_the_ratings_of_all_games(votes: Lake, run: str) -> None:
    opened = RatedRun(votes, run)
    params = BradleyTerry(**COVARIATES) if run == "run" else BradleyTerry()
    handles = opened.dataset.handles().to_pylist()
    for at, games in ((None, GAMES), (1_006 * DAY - 1, [game for game in GAMES if game.time_seconds < 1_006 * DAY])):
        mu, sigma, _ = fitted(games, handles, params)
        board = opened.leaderboard(at)
        player = board.column("player").to_numpy()
        np.testing.assert_allclose(board.column("mu").to_numpy(), mu[player], rtol=1e-10)
        np.testing.assert_allclose(board.column("sigma").to_numpy(), sigma[player], rtol=1e-10)
        assert board.column("rating").equals(board.column("mu"))
        assert board.column("max_rating").equals(board.column("rating"))
        assert abs(board.column("mu").to_numpy().mean() - 1500.0) < 1e-9
        played = sum(handles[player[0]] in game[:2] for game in games)
        assert board.column("n_rounds")[0].as_py() == played


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(Serial, marks=pytest.mark.slow),
        pytest.param(partial(Threads, 2), marks=pytest.mark.slow),
        partial(InProcessEngine, 2),
    ],
)
def test_rating__has_the_same_bits_in_steps_and_on_any_engine(tmp_path: Path, votes: Lake, engine: object) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest_periods(lake, PERIODS)
    with engine() as opened:  # type: ignore[operator]
        for rounds in (1, 4, 5, 9, None):
            rate_votes(lake, run="run", engine=opened, max_rounds=rounds, **COVARIATES)
    assert same_tables(rated(lake, "run"), rated(votes, "run"))
    assert same_tables(RatedRun(lake, "run").leaderboard(), RatedRun(votes, "run").leaderboard())


def test_correction__gives_the_bits_of_the_corrected_history(tmp_path: Path, votes: Lake) -> None:
    lake, fresh = copy_of(votes, tmp_path / "lake"), Lake.open(tmp_path / "fresh", create=True)
    changed = [game._replace(score=1.0 - game.score) if 120 <= at < 130 else game for at, game in enumerate(GAMES)]
    ingest_periods(lake, as_periods(changed))
    report = rate_votes(lake, run="run", **COVARIATES)
    assert 0 < report.kept < len(PERIODS)
    ingest_periods(fresh, as_periods(changed))
    rate_votes(fresh, run="run", **COVARIATES)
    assert same_tables(rated(lake, "run"), rated(fresh, "run"))
    assert same_tables(RatedRun(lake, "run").leaderboard(), RatedRun(fresh, "run").leaderboard())


def test_snapshot_that_is_lost__changes_no_rating(tmp_path: Path, votes: Lake) -> None:
    lake = copy_of(votes, tmp_path / "lake")
    run = RatedRounds(lake, "run").run
    before = RatedRun(lake, "run").leaderboard()
    shutil.rmtree(tmp_path / "lake" / run.path_of_snapshot(run.snapshots()[-1]))
    assert same_tables(RatedRun(lake, "run").leaderboard(), before)


def test_evaluate__knows_the_covariates_of_a_game(votes: Lake) -> None:
    rounds = RatedRounds(votes, "run")
    handles, counts = rounds.dataset.handles().to_pylist(), [len(period) for period in PERIODS]
    facts = facts_of_games(rounds, RatedRun(votes, "run").system, BradleyTerry(**COVARIATES))
    assert facts is not None
    last = len(PERIODS) - 1
    rows = rounds.rows(last, last + 1)
    given = facts.of(last, last + 1, np.array([0, rows.num_rows]), rows.column("player").to_numpy())
    due = max(at for at in refit_rounds(np.array(counts)) if at <= last)
    _, _, gamma = fitted(GAMES[: sum(counts[:due])], handles, BradleyTerry(**COVARIATES))
    told = GAMES[-counts[-1] :]
    ahead = [UNIT * (game.covariates[0] * gamma[0] + gamma[1]) + game.advantage for game in told]
    sides = np.array([1.0 if game.score >= 0.5 else -1.0 for game in told])
    np.testing.assert_allclose(given.advantage[::2] - given.advantage[1::2], sides * ahead, rtol=1e-9)


def test_data_set__without_a_covariate_is_refused(votes: Lake) -> None:
    with pytest.raises(
        ValueError, match=r"no covariate 'lengths'; it has length, side and first\. `ranklake ingest games FILE"
    ):
        rate_votes(votes, run="other", covariates=("lengths",))


def test_player_who_only_won__is_named_without_a_prior(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    won = [game._replace(score=1.0) if game.white == "p3" else game for game in GAMES]
    won = [game._replace(score=0.0) if game.black == "p3" else game for game in won]
    ingest_periods(lake, as_periods(won))
    with pytest.raises(ValueError, match=r"^player 'p3' only won against all others, .* use a finite ridge$"):
        rate_votes(lake, ridge=np.inf)
    assert rate_votes(lake, ridge=1000.0, replace=True).rated > 0
    assert RatedRun(lake, "run").leaderboard().column("handle")[0].as_py() == "p3"


def test_curves_and_changes_of_one_game__are_refused(votes: Lake) -> None:
    ratings = Ratings.open(votes.url, "run")
    with pytest.raises(ValueError, match="bt explains all games at once, and has no curve of a player's ratings"):
        ratings.plot_player("p1")
    with pytest.raises(ValueError, match="bt explains all games at once, and has no change by one game"):
        explain(votes, "run", "p1", "period-1000")


def test_ratings__of_a_frame_are_those_of_periods_of_one_game() -> None:
    rows = [
        {"contest": str(at), "player": game[side], "rank": 1.5 if game.score == 0.5 else 1 + (game.score != 1 - side)}
        for at, game in enumerate(GAMES)
        for side in (0, 1)
    ]
    import pandas as pd

    history, beliefs = rate_history(pd.DataFrame(rows), system="bt", return_beliefs=True)
    assert len(history) == 2 * len(GAMES)
    games = [game._replace(weight=1.0, advantage=0.0) for game in GAMES]
    handles = list(beliefs.index)
    mu, sigma, _ = fitted(games, handles, BradleyTerry())
    np.testing.assert_allclose(beliefs["mu"], mu, rtol=1e-10)
    np.testing.assert_allclose(beliefs["sigma"], sigma, rtol=1e-10)
    with pytest.raises(ValueError, match="bt explains all games at once, and has no beliefs to begin with"):
        rate_history(pd.DataFrame(rows), beliefs=beliefs)
