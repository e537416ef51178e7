"""Runs over periods of games: the ratings are those of one contest a game, to the bit; resumed and corrected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from helpers.answers import leaderboard
from helpers.games import DAY, Game, as_contests, as_periods, ingest_periods, league
from helpers.lakes import copy_of, ingest, often, rate_run, rated

from ranklake.flows.engines.serial import Serial
from ranklake.flows.evaluation.tuning.trials import load_history
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.verification import verify_published
from ranklake.flows.results.smoothed import RunSmoothing
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.maintenance.verify import verify_rows, verify_run

OFTEN = often(segment_rows=30, snapshot_rows=40)

GAMES = league(150)
NUMBERS = ("player", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with periods of games, and with one contest a game."""
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
    ingest_periods(lake, as_periods(GAMES))
    ingest(lake, as_contests(GAMES), "contests")
    return lake


@pytest.fixture
def copied(both: Lake, tmp_path: Path) -> Lake:
    return copy_of(both, tmp_path / "lake")


def numbers(lake: Lake, run: str) -> pa.Table:
    return rated(lake, run).select(NUMBERS).replace_schema_metadata()


def assert_sound(lake: Lake, run: str) -> None:
    opened = Run.open(lake, run)
    dataset = Dataset.open(lake, opened.config["dataset"])
    assert list(verify_run(opened)) == []
    assert list(verify_rows(opened, dataset, opened.segments().stop_round)) == []


@pytest.mark.quick("elo-mmr", "trueskill")
@pytest.mark.parametrize("system", list(SYSTEMS))
def test_rating__of_periods_is_that_of_one_contest_a_game(copied: Lake, system: str) -> None:
    report = rate_run(copied, run="periods", dataset="league", system=system, policy=OFTEN)
    rate_run(copied, run="contests", dataset="contests", system=system, policy=OFTEN)
    assert (report.rated, report.rows, report.skipped) == (6, 2 * len(GAMES), 0)
    assert numbers(copied, "periods").equals(numbers(copied, "contests"))
    assert_sound(copied, "periods")


def test_rounds__are_periods_in_order(copied: Lake) -> None:
    rate_run(copied, run="periods", dataset="league", system="elo", policy=OFTEN)
    rows, periods = rated(copied, "periods"), as_periods(GAMES)
    assert rows.column("contest_id").unique().to_pylist() == [period.contest_id for period in periods]
    assert np.bincount(rows.column("round_index").to_numpy()).tolist() == [2 * len(period) for period in periods]


def test_rating__resumes_after_any_period(copied: Lake) -> None:
    rate_run(copied, run="whole", dataset="league", system="elo", policy=OFTEN)
    for stop in range(1, 7):
        report = rate_run(copied, run="parts", dataset="league", system="elo", max_rounds=stop, policy=OFTEN)
        assert report.rated == 1
    assert rated(copied, "parts").equals(rated(copied, "whole"))
    assert_sound(copied, "parts")


def test_correction__rates_from_the_changed_period_on(copied: Lake) -> None:
    rate_run(copied, run="periods", dataset="league", system="elo", policy=OFTEN)
    at = next(i for i, game in enumerate(GAMES) if game.time_seconds // DAY == GAMES[0].time_seconds // DAY + 3)
    corrected = [*GAMES[:at], GAMES[at]._replace(white="late"), *GAMES[at + 1 :]]
    assert ingest_periods(copied, as_periods(corrected)) == [*["unchanged"] * 3, "corrected", *["unchanged"] * 2]
    report = rate_run(copied, run="periods", dataset="league", system="elo", policy=OFTEN)
    assert (report.kept, report.rated) == (3, 3)
    fresh = Lake.open(Path(copied.url).parent / "fresh", create=True)
    ingest_periods(fresh, as_periods(corrected))
    rate_run(fresh, run="periods", dataset="league", system="elo", policy=OFTEN)
    assert rated(copied, "periods").select(NUMBERS).equals(rated(fresh, "periods").select(NUMBERS))


def test_exclusion__leaves_out_a_whole_period(copied: Lake) -> None:
    periods = as_periods(GAMES)
    left_out = periods[2].contest_id
    report = rate_run(copied, run="without", dataset="league", system="elo", exclude=(left_out,), policy=OFTEN)
    assert report.excluded == 1
    rest = [game for game in GAMES if f"period-{game.time_seconds // DAY}" != left_out]
    ingest(copied, as_contests(rest), "rest")
    rate_run(copied, run="rest", dataset="rest", system="elo", policy=OFTEN)
    assert numbers(copied, "without").equals(numbers(copied, "rest"))


def test_leaderboard__is_that_of_one_contest_a_game(copied: Lake) -> None:
    for name, dataset in (("periods", "league"), ("contests", "contests")):
        rate_run(copied, run=name, dataset=dataset, system="elo", policy=OFTEN)
    one, other = leaderboard(copied, "periods"), leaderboard(copied, "contests")
    same = ["place", "handle", "rating", "mu", "sigma", "n_rounds", "max_rating"]
    assert one.select(same).equals(other.select(same))


def test_games_of_one_time__keep_their_order(lake: Lake) -> None:
    games = [Game("a", "b", 1.0, 500), Game("b", "c", 1.0, 500), Game("a", "c", 0.0, 500)]
    ingest_periods(lake, as_periods(games))
    ingest(lake, as_contests(games), "contests")
    rate_run(lake, run="periods", dataset="league", system="elo", policy=OFTEN)
    rate_run(lake, run="contests", dataset="contests", system="elo", policy=OFTEN)
    assert numbers(lake, "periods").equals(numbers(lake, "contests"))


def test_publication__has_a_row_for_each_participation_in_a_game(copied: Lake) -> None:
    rate_run(copied, run="periods", dataset="league", system="elo", max_rounds=3, policy=OFTEN)
    publish(copied, "periods")
    rate_run(copied, run="periods", dataset="league", system="elo", policy=OFTEN)
    publish(copied, "periods")
    notes: list[str] = []
    assert list(verify_published(copied, "periods", notes)) == []
    rows = rated(copied, "periods")
    ratings = DeltaTable(f"{copied.url}/published/periods/ratings").to_pyarrow_table()
    ratings = ratings.sort_by([("round_index", "ascending")])
    assert ratings.num_rows == rows.num_rows == 2 * len(GAMES)
    counts = [ratings.column("handle").value_counts().to_pylist(), rows.column("player").value_counts().to_pylist()]
    one, other = ({row["values"]: row["counts"] for row in counted} for counted in counts)
    assert one == other
    assert ratings.column("round_index").equals(rows.column("round_index"))


def test_search__has_each_game_as_a_round(both: Lake) -> None:
    one, other = (Dataset.open(both, name) for name in ("league", "contests"))
    stop = len(as_periods(GAMES)[0]) + len(as_periods(GAMES)[1])
    (history, first), (expected, expected_first) = load_history(one, 2), load_history(other, stop)
    assert (first, expected_first) == (stop, stop)
    assert len(history.rounds) == len(expected.rounds) == len(GAMES)
    for name in ("offsets", "lo", "hi", "time_seconds", "weight", "event"):
        assert np.array_equal(getattr(history.rounds, name), getattr(expected.rounds, name))


@pytest.mark.slow
def test_smoothing__of_periods_is_close_to_that_of_one_contest_a_game(copied: Lake) -> None:
    tables = []
    for name, dataset in (("periods", "league"), ("contests", "contests")):
        rate_run(
            copied,
            run=name,
            dataset=dataset,
            system="elo-mmr",
            max_rounds=4 if name == "periods" else stop_of(4),
            policy=OFTEN,
        )
        smooth_run(copied, name, Serial())
        opened = Run.open(copied, name)
        tables.append(RunSmoothing(opened, opened.segments()).read())
    for name in ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma"):
        one, other = (table.column(name).to_numpy() for table in tables)
        # the players have other numbers, and sums over players another order
        assert np.abs(one - other).max() < 1e-6, name


def stop_of(periods: int) -> int:
    """Number of games in the first periods."""
    return sum(map(len, as_periods(GAMES)[:periods]))
