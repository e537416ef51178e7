"""Runs over games with advantages of the first player: the ratings are those of the kernels, through a run's life."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.answers import leaderboard
from helpers.games import Game, as_periods, ingest_periods, league, with_advantages
from helpers.lakes import often, rate_run, rated

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.tuning.trials import load_history
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.verification import verify_published
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset
from ranklake.storage.maintenance.verify import verify_dataset, verify_rows, verify_run

OFTEN = often(segment_rows=30, snapshot_rows=40)

GAMES = with_advantages(league(150))
PLAIN = [game._replace(advantage=0.0) for game in GAMES]
NUMBERS = ("mu_prior", "sigma_prior", "mu", "sigma", "n_before")


def rated_alone(games: list[Game], system: str) -> tuple[list[str], Outcome]:
    """The player of each row, and what the kernels make of the games, each written down here as a round."""
    names = sorted({name for game in games for name in (game.white, game.black)})
    rows, lo, hi, advantage = [], [], [], []
    for game in games:
        white, black = (names.index(game.white), game.advantage / 2), (names.index(game.black), -game.advantage / 2)
        rows += [white, black] if game.score >= 0.5 else [black, white]
        lo += [0, 0] if game.score == 0.5 else [0, 1]
        hi += [1, 1] if game.score == 0.5 else [0, 1]
    player, advantage = zip(*rows, strict=True)
    times, weights = [game.time_seconds for game in games], [game.weight for game in games]
    offsets = np.arange(0, 2 * len(games) + 1, 2)
    rounds = Rounds.from_columns(offsets, player, lo, hi, times, weights, advantage=advantage)
    found = SYSTEMS[system]
    outcome = rate_rounds(found, found.params(), found.newcomers(found.params(), len(names)), rounds, Serial())
    return [names[number] for number in player], outcome


def assert_rated(lake: Lake, run: str, games: list[Game], system: str) -> None:
    """The rows of a run are those of the kernels, to the bit."""
    rows, (names, expected) = rated(lake, run), rated_alone(games, system)
    assert rows.column("player").to_pylist() == names
    for name in NUMBERS:
        assert np.array_equal(rows.column(name).to_numpy(), getattr(expected, name)), name


@pytest.mark.parametrize("system", ["elo", "elo-mmr", "elo-mms", "glicko", "glicko2", "trueskill"])
def test_rating__is_that_of_the_kernels(lake: Lake, system: str) -> None:
    ingest_periods(lake, as_periods(GAMES))
    rate_run(lake, run="run", dataset="league", system=system, policy=OFTEN)
    assert_rated(lake, "run", GAMES, system)
    without = rated_alone(PLAIN, system)[1]
    assert not np.array_equal(rated(lake, "run").column("mu").to_numpy(), without.mu)


@pytest.mark.parametrize("system", ["elo", "elo-mmr"])
def test_rating__is_the_same_with_threads_and_small_commits(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    ingest_periods(lake, as_periods(GAMES))
    monkeypatch.setattr("ranklake.flows.execution.rounds.LEAST_GAMES", 2)
    with Threads(2) as engine:
        rate_run(lake, run="run", dataset="league", system=system, engine=engine, policy=OFTEN)
    assert_rated(lake, "run", GAMES, system)


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("system", ["elo", "elo-mmr"])
def test_life_of_a_run__ends_with_the_ratings_of_the_kernels(lake: Lake, system: str) -> None:
    ingest_periods(lake, as_periods(PLAIN))
    rate_run(lake, run="run", dataset="league", system=system, policy=OFTEN)
    sizes = [len(period) for period in as_periods(GAMES)]
    first = sum(sizes[:3])
    games = [*PLAIN[:first], *GAMES[first:]]  # the advantages are known from the fourth period on
    assert ingest_periods(lake, as_periods(games)) == [*["unchanged"] * 3, *["corrected"] * 3]
    report = rate_run(lake, run="run", dataset="league", system=system, max_rounds=4, policy=OFTEN)
    assert (report.kept, report.rated) == (3, 1)
    report = rate_run(lake, run="run", dataset="league", system=system, policy=OFTEN)
    assert (report.kept, report.rated) == (4, 2)
    assert_rated(lake, "run", games, system)
    publish(lake, "run")
    assert list(verify_published(lake, "run", [])) == []

    victim = GAMES[first].white
    period = as_periods(GAMES)[3].contest_id
    with Dataset.ingest(lake, "league") as body:
        body.disqualify(period, victim)
    left = [
        game for at, game in enumerate(games)
        if not (first <= at < first + sizes[3] and victim in (game.white, game.black))
    ]  # fmt: skip
    report = rate_run(lake, run="run", dataset="league", system=system, policy=OFTEN)
    assert (report.kept, report.rated) == (3, 3)
    with hold_lease(lake, dataset_folder("league"), "compact league") as lease:
        compact_dataset(lake, "league", lease)
    assert rate_run(lake, run="run", dataset="league", system=system, policy=OFTEN).rated == 0
    assert_rated(lake, "run", left, system)
    publish(lake, "run")

    run, dataset = Run.open(lake, "run"), Dataset.open(lake, "league")
    assert list(verify_dataset(dataset)) == []
    assert list(verify_run(run)) == []
    assert list(verify_rows(run, dataset, run.segments().stop_round)) == []
    assert list(verify_published(lake, "run", [])) == []
    names, outcome = rated_alone(left, system)
    last = dict(zip(names, outcome.mu.tolist(), strict=True))
    board = leaderboard(lake, "run")
    assert dict(zip(board["handle"].to_pylist(), board["mu"].to_pylist(), strict=True)) == last


def test_evaluation__after_a_correction_has_the_advantages_in_force(lake: Lake) -> None:
    ingest_periods(lake, as_periods(PLAIN))
    rate_run(lake, run="run", dataset="league", system="elo", policy=OFTEN)
    ingest_periods(lake, as_periods(GAMES))
    with Dataset.ingest(lake, "league") as body:
        body.alias("p0", "renamed")
    rate_run(lake, run="run", dataset="league", system="elo", policy=OFTEN)
    rows = rated(lake, "run").to_pylist()
    squares = []
    for game, first, second in zip(GAMES, rows[::2], rows[1::2], strict=True):
        if min(first["n_before"], second["n_before"]) < 1:
            continue
        ahead = game.advantage if game.score >= 0.5 else -game.advantage
        score = 0.5 if game.score == 0.5 else 1.0
        difference = first["mu_prior"] - second["mu_prior"] + ahead
        squares.append((score - 1.0 / (1.0 + 10.0 ** (-difference / 400.0))) ** 2)
    found = evaluate(lake, "run").to_json()["games"]["everyone"]
    assert found["games"] == len(squares)
    assert found["squared_error"] == pytest.approx(np.mean(squares), rel=1e-12)


def test_history__of_a_search_has_the_advantages(lake: Lake) -> None:
    ingest_periods(lake, as_periods(GAMES))
    history, _ = load_history(Dataset.open(lake, "league"), 2)
    expected = [game.advantage / 2 if game.score >= 0.5 else -game.advantage / 2 for game in GAMES]
    assert history.rounds.advantage[::2].tolist() == expected
    assert history.rounds.advantage[1::2].tolist() == [-value for value in expected]
