"""Runs over periods of games: the ratings of one contest a game and of the kernels, resumed, corrected and stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from helpers.answers import leaderboard
from helpers.builders import Killed, WatchedLake
from helpers.commands import Command
from helpers.games import DAY, Game, as_contests, as_periods, ingest_periods, league, with_advantages
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import copy_of, files, ingest, often, rate_run, rated
from helpers.rated_runs import problems

from ranklake import rate_history
from ranklake.flows.answers.run import open_published
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.evaluation.tuning.history import load_history
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.verification import verify_published
from ranklake.flows.results.smoothed import RunSmoothing
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.rating_kernels.registry import of_contests
from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset
from ranklake.storage.maintenance.verify import verify_dataset

GAMES = league(150)
PERIODS = as_periods(GAMES)
NUMBERS = ("player", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before")
ADVANTAGES = with_advantages(GAMES)
WITHOUT = [game._replace(advantage=0.0) for game in ADVANTAGES]
TOGETHER = {"games": "simultaneous"}

rate_games = partial(rate_run, dataset="league", policy=often(segment_rows=30, snapshot_rows=40))
rate_contests = partial(rate_games, dataset="contests")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with periods of games, and with one contest a game."""
    lake = Lake.open(tmp_path_factory.mktemp("games") / "lake", create=True)
    ingest_periods(lake, PERIODS)
    ingest(lake, as_contests(GAMES), "contests")
    return lake


@pytest.fixture
def copied(both: Lake, tmp_path: Path) -> Lake:
    return copy_of(both, tmp_path / "lake")


def numbers(lake: Lake, run: str = "run") -> pa.Table:
    return rated(lake, run).select(NUMBERS).replace_schema_metadata()


def late_at(day: int) -> list[Game]:
    """The games with another player in the first one of a day."""
    at = next(i for i, game in enumerate(GAMES) if game.time_seconds // DAY == GAMES[0].time_seconds // DAY + day)
    return [*GAMES[:at], GAMES[at]._replace(white="late"), *GAMES[at + 1 :]]


# --- ratings of one contest a game ---


@pytest.mark.slow
@pytest.mark.parametrize("system", of_contests())
def test_rating__of_periods_is_that_of_one_contest_a_game(copied: Lake, system: str) -> None:
    report = rate_games(copied, run="periods", system=system)
    rate_contests(copied, run="contests", system=system)
    assert (report.rated, report.rows, report.skipped) == (6, 2 * len(GAMES), 0)
    assert numbers(copied, "periods").equals(numbers(copied, "contests"))
    rows = rated(copied, "periods")
    assert rows.column("contest_id").unique().to_pylist() == [period.contest_id for period in PERIODS]
    assert np.bincount(rows.column("round_index").to_numpy()).tolist() == [2 * len(period) for period in PERIODS]
    one, other = leaderboard(copied, "periods"), leaderboard(copied, "contests")
    same = ["place", "handle", "rating", "mu", "sigma", "n_rounds", "max_rating"]
    assert one.select(same).equals(other.select(same))
    assert problems(copied, "periods", again=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [{"system": "elo"}, {"system": "glicko2", **TOGETHER}], ids=["elo", "together"])
def test_rating__resumes_after_any_period_and_from_a_changed_one(
    copied: Lake, tmp_path: Path, chosen: dict[str, Any]
) -> None:
    rate_games(copied, run="whole", **chosen)
    for stop in range(1, 7):
        assert rate_games(copied, run="parts", max_rounds=stop, **chosen).rated == 1
    assert rated(copied, "parts").equals(rated(copied, "whole"))
    states = ingest_periods(copied, as_periods(late_at(3)))
    assert states == [*["unchanged"] * 3, "corrected", *["unchanged"] * 2]
    report = rate_games(copied, run="parts", **chosen)
    assert (report.kept, report.rated) == (3, 3)
    fresh = Lake.open(tmp_path / "fresh", create=True)
    ingest_periods(fresh, as_periods(late_at(3)))
    rate_games(fresh, **chosen)
    assert rated(copied, "parts").select(NUMBERS).equals(rated(fresh).select(NUMBERS))
    assert problems(copied, "parts", again=False) == []


@pytest.mark.slow
def test_exclusion__leaves_out_a_whole_period(copied: Lake) -> None:
    left_out = PERIODS[2].contest_id
    assert rate_games(copied, run="without", system="elo", exclude=(left_out,)).excluded == 1
    ingest(copied, as_contests(game for game in GAMES if period_of(game) != left_out), "rest")
    rate_games(copied, run="rest", dataset="rest", system="elo")
    assert numbers(copied, "without").equals(numbers(copied, "rest"))


def test_games_of_one_time__keep_their_order(lake: Lake) -> None:
    games = [Game("a", "b", 1.0, 500), Game("b", "c", 1.0, 500), Game("a", "c", 0.0, 500)]
    ingest_periods(lake, as_periods(games))
    ingest(lake, as_contests(games), "contests")
    rate_games(lake, run="periods", system="elo")
    rate_contests(lake, run="contests", system="elo")
    assert numbers(lake, "periods").equals(numbers(lake, "contests"))


def test_publication__has_a_row_for_each_participation_in_a_game(copied: Lake) -> None:
    rate_games(copied, system="elo", max_rounds=3)
    publish(copied, "run")
    rate_games(copied, system="elo")
    publish(copied, "run")
    assert list(verify_published(copied, "run", [])) == []
    rows = rated(copied)
    ratings = DeltaTable(f"{copied.url}/published/run/ratings").to_pyarrow_table()
    ratings = ratings.sort_by([("round_index", "ascending")])
    assert ratings.num_rows == rows.num_rows == 2 * len(GAMES)
    counts = [ratings.column("handle").value_counts().to_pylist(), rows.column("player").value_counts().to_pylist()]
    one, other = ({row["values"]: row["counts"] for row in counted} for counted in counts)
    assert one == other
    assert ratings.column("round_index").equals(rows.column("round_index"))


def test_search__has_each_game_as_a_round(both: Lake) -> None:
    one, other = (Dataset.open(both, name) for name in ("league", "contests"))
    stop = len(PERIODS[0]) + len(PERIODS[1])
    history, expected = load_history(one), load_history(other)
    assert history.units[2] == len(history.first(2).rounds) == len(expected.first(stop).rounds) == stop
    assert len(history.rounds) == len(expected.rounds) == len(GAMES)
    for name in ("offsets", "lo", "hi", "time_seconds", "weight", "event"):
        assert np.array_equal(getattr(history.rounds, name), getattr(expected.rounds, name))


@pytest.mark.slow
def test_smoothing__of_periods_is_close_to_that_of_one_contest_a_game(copied: Lake) -> None:
    tables = []
    for name, dataset, stop in (("periods", "league", 4), ("contests", "contests", sum(map(len, PERIODS[:4])))):
        rate_games(copied, run=name, dataset=dataset, max_rounds=stop)
        smooth_run(copied, name, Serial())
        opened = Run.open(copied, name)
        tables.append(RunSmoothing(opened, opened.segments()).read())
    for name in ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma"):
        one, other = (table.column(name).to_numpy() for table in tables)
        # the players have other numbers, and sums over players another order
        assert np.abs(one - other).max() < 1e-6, name


# --- corrections and stops ---


@pytest.fixture
def league_of(lake: Lake) -> Lake:
    """A lake with the games and a run over them, of many small files."""
    ingest_periods(lake, PERIODS)
    rate_games(lake, system="elo")
    return lake


@dataclass
class Model:
    """A plain list of games, with corrections made by hand."""

    games: list[Game] = field(default_factory=lambda: list(GAMES))
    without: set[tuple[str, str]] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)

    def corrected(self) -> list[Game]:
        found = []
        for game in sorted(self.games, key=lambda game: game.time_seconds):
            period, players = period_of(game), {game.white, game.black}
            if period not in self.removed and not any((period, player) in self.without for player in players):
                white, black = (self.names.get(player, player) for player in (game.white, game.black))
                found.append(game._replace(white=white, black=black))
        return found


def period_of(game: Game) -> str:
    return f"period-{game.time_seconds // DAY}"


def strangers(games: list[Game]) -> tuple[str, str]:
    """Two players who play, but not against each other."""
    met = {frozenset(game[:2]) for game in games}
    names = sorted({name for game in games for name in game[:2]})
    return next((a, b) for a in names for b in names if a < b and frozenset((a, b)) not in met)


def change(lake: Lake, method: str, *how: str) -> None:
    with Dataset.ingest(lake, "league") as changing:
        getattr(changing, method)(*how)


def late_game(model: Model, lake: Lake) -> None:
    model.games.append(Game("late", GAMES[0].white, 1.0, GAMES[40].time_seconds + 1))
    ingest_periods(lake, as_periods(sorted(model.games, key=lambda game: game.time_seconds)))


def other_result(model: Model, lake: Lake) -> None:
    model.games[70] = model.games[70]._replace(score=0.5 if model.games[70].score != 0.5 else 0.0)
    ingest_periods(lake, as_periods(sorted(model.games, key=lambda game: game.time_seconds)))


def disqualification(model: Model, lake: Lake) -> None:
    player, period = model.games[60].white, period_of(model.games[60])
    model.without.add((period, player))
    change(lake, "disqualify", period, player)


def reinstatement(model: Model, lake: Lake) -> None:
    change(lake, "reinstate", *model.without.pop())


def alias(model: Model, lake: Lake) -> None:
    old, new = strangers(GAMES)
    model.names[old] = new
    change(lake, "alias", old, new)


def end_of_alias(model: Model, lake: Lake) -> None:
    old, _ = model.names.popitem()
    change(lake, "unalias", old)


def removal(model: Model, lake: Lake) -> None:
    model.removed.add(PERIODS[1].contest_id)
    change(lake, "remove", PERIODS[1].contest_id)


def compaction(model: Model | None, lake: Lake) -> None:
    with hold_lease(lake, dataset_folder("league"), "compact league") as lease:
        compact_dataset(lake, "league", lease)


@pytest.mark.slow
def test_corrections__are_those_of_a_list_of_games(league_of: Lake, tmp_path: Path) -> None:
    model = Model()
    steps: list[Callable[[Model, Lake], None]] = [
        late_game, disqualification, alias, other_result, compaction, reinstatement, end_of_alias, removal,
    ]  # fmt: skip
    for number, step in enumerate(steps):
        step(model, league_of)
        report = rate_games(league_of, system="elo")
        assert (report.rated > 0) == (step is not compaction), step.__name__
        expected = Lake.open(tmp_path / f"{number}", create=True)
        ingest(expected, as_contests(model.corrected()), "contests")
        rate_contests(expected, system="elo")
        assert numbers(league_of).equals(numbers(expected)), step.__name__
        assert problems(league_of, again=False) == []


def test_period__without_games_is_refused_or_excluded(lake: Lake) -> None:
    games = [Game("a", "b", 1.0, 100), Game("b", "a", 0.5, 2 * DAY), Game("a", "c", 1.0, 3 * DAY)]
    ingest_periods(lake, as_periods(games))
    with pytest.raises(LakeError, match="period period-2: none of its games would be left; remove the whole period"):
        change(lake, "disqualify", "period-2", "b")
    assert rate_games(lake, system="elo", exclude=("period-2",)).rows == 4
    assert rated(lake).column("contest_id").unique().to_pylist() == ["period-0", "period-3"]
    assert evaluate(lake, "run").n_players.tolist() == [2, 0, 2]
    publish(lake, "run")
    assert open_published(lake, "run").contest("period-2")[1].total == 0


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_stop__at_any_write_of_an_ingest_changes_nothing_or_everything(lake: Lake, tmp_path: Path, done: bool) -> None:
    ingest_periods(lake, as_periods(GAMES[:80]))
    late = as_periods([*GAMES[:3], GAMES[3]._replace(white="late"), *GAMES[4:]])
    watched = WatchedLake(copy_of(lake, tmp_path / "whole"))
    ingest_periods(watched, late)
    digests = [digests_of(lake), digests_of(watched)]
    for at in range(len(watched.writes)):
        stopped = copy_of(lake, tmp_path / f"{at}")
        with pytest.raises(Killed):
            ingest_periods(WatchedLake(stopped, fail_at=at, done=done, error=Killed()), late)
        assert digests_of(stopped) in digests, watched.writes[at]
        assert list(verify_dataset(Dataset.open(stopped, "league"))) == []
        with Dataset.ingest(stopped, "league", games=True, steal=True) as adding:
            for period in late:
                adding.add(period)
        assert digests_of(stopped) == digests[1]


def digests_of(lake: Lake) -> list[str]:
    return Dataset.open(lake, "league").contests.column("content_digest").to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("settings", [{}, TOGETHER], ids=["sequential", "simultaneous"])
def test_stop__at_any_write_of_a_rating_changes_no_file_after_the_next_one(
    lake: Lake, tmp_path: Path, done: bool, settings: dict[str, str]
) -> None:
    ingest_periods(lake, PERIODS)
    whole = WatchedLake(copy_of(lake, tmp_path / "whole"))
    rate_games(whole, system="glicko2", **settings)
    places = [i for i, path in enumerate(whole.writes) if "/rounds/" in path or "/snapshots/" in path]
    assert len(places) > 8
    for at in places:
        stopped = copy_of(lake, tmp_path / f"{at}")
        with pytest.raises(Killed):
            rate_games(WatchedLake(stopped, fail_at=at, done=done, error=Killed()), system="glicko2", **settings)
        rate_games(stopped, steal=True, system="glicko2", **settings)
        rounds, expected = (files(tmp_path / name / "runs" / "run" / "rounds") for name in (f"{at}", "whole"))
        assert rounds == expected, whole.writes[at]


@pytest.mark.quick("glicko2")
@pytest.mark.parametrize("system", ["elo-mmr", "glicko2"])
def test_rating__on_workers_has_the_same_bits(copied: Lake, system: str) -> None:
    rate_games(copied, run="serial", system=system)
    rate_games(copied, run="workers", engine=InProcessEngine(3), max_rounds=2, system=system)
    assert rate_games(copied, run="workers", engine=InProcessEngine(2), system=system).kept == 2
    assert rated(copied, "workers").equals(rated(copied, "serial"))


# --- advantages of the first player: the ratings are those of the kernels ---


def rated_alone(games: list[Game], system: str) -> tuple[list[str], Outcome]:
    """The player of each row, and what the kernels make of the games, each written down here as a round."""
    names = sorted({name for game in games for name in (game.white, game.black)})
    rows, lo, hi = [], [], []
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


def assert_rated(lake: Lake, games: list[Game], system: str) -> None:
    """The rows of a run are those of the kernels, to the bit."""
    rows, (names, expected) = rated(lake), rated_alone(games, system)
    assert rows.column("player").to_pylist() == names
    for name in ("mu_prior", "sigma_prior", "mu", "sigma", "n_before"):
        assert np.array_equal(rows.column(name).to_numpy(), getattr(expected, name)), name


@pytest.mark.quick("elo-1", "glicko2-1")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("system", ["elo", "elo-mmr", "elo-mms", "glicko", "glicko2", "trueskill"])
def test_advantages__are_rated_as_by_the_kernels(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, system: str, threads: int
) -> None:
    ingest_periods(lake, as_periods(ADVANTAGES))
    monkeypatch.setattr("ranklake.flows.execution.rounds.LEAST_GAMES", 2)
    with Threads(threads) as engine:
        rate_games(lake, system=system, engine=engine)
    assert_rated(lake, ADVANTAGES, system)
    assert not np.array_equal(rated(lake).column("mu").to_numpy(), rated_alone(WITHOUT, system)[1].mu)


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("system", ["elo", "elo-mmr"])
def test_life_of_a_run__ends_with_the_ratings_of_the_kernels(lake: Lake, system: str) -> None:
    ingest_periods(lake, as_periods(WITHOUT))
    rate_games(lake, system=system)
    sizes = [len(period) for period in as_periods(ADVANTAGES)]
    first = sum(sizes[:3])
    games = [*WITHOUT[:first], *ADVANTAGES[first:]]  # the advantages are known from the fourth period on
    assert ingest_periods(lake, as_periods(games)) == [*["unchanged"] * 3, *["corrected"] * 3]
    for stop, kept, rated_now in ((4, 3, 1), (None, 4, 2)):
        report = rate_games(lake, system=system, max_rounds=stop)
        assert (report.kept, report.rated) == (kept, rated_now)
    assert_rated(lake, games, system)
    publish(lake, "run")
    assert list(verify_published(lake, "run", [])) == []

    victim = ADVANTAGES[first].white
    change(lake, "disqualify", as_periods(ADVANTAGES)[3].contest_id, victim)
    left = [
        game for at, game in enumerate(games)
        if not (first <= at < first + sizes[3] and victim in (game.white, game.black))
    ]  # fmt: skip
    report = rate_games(lake, system=system)
    assert (report.kept, report.rated) == (3, 3)
    compaction(None, lake)
    assert rate_games(lake, system=system).rated == 0
    assert_rated(lake, left, system)
    publish(lake, "run")
    assert problems(lake, again=False) == []
    assert list(verify_published(lake, "run", [])) == []
    names, outcome = rated_alone(left, system)
    board = leaderboard(lake, "run")
    last = dict(zip(names, outcome.mu.tolist(), strict=True))
    assert dict(zip(board["handle"].to_pylist(), board["mu"].to_pylist(), strict=True)) == last


@pytest.mark.slow
def test_evaluation__after_a_correction_has_the_advantages_in_force(lake: Lake) -> None:
    ingest_periods(lake, as_periods(WITHOUT))
    rate_games(lake, system="elo")
    ingest_periods(lake, as_periods(ADVANTAGES))
    change(lake, "alias", "p0", "renamed")
    rate_games(lake, system="elo")
    rows = rated(lake).to_pylist()
    squares = []
    for game, first, second in zip(ADVANTAGES, rows[::2], rows[1::2], strict=True):
        if min(first["n_before"], second["n_before"]) < 1:
            continue
        ahead = game.advantage if game.score >= 0.5 else -game.advantage
        score = 0.5 if game.score == 0.5 else 1.0
        difference = first["mu_prior"] - second["mu_prior"] + ahead
        squares.append((score - 1.0 / (1.0 + 10.0 ** (-difference / 400.0))) ** 2)
    found = evaluate(lake, "run").to_json()["games"]["everyone"]
    assert found["games"] == len(squares)
    assert found["squared_error"] == pytest.approx(np.mean(squares), rel=1e-12)
    history = load_history(Dataset.open(lake, "league"))
    expected = [game.advantage / 2 if game.score >= 0.5 else -game.advantage / 2 for game in ADVANTAGES]
    assert history.rounds.advantage[::2].tolist() == expected
    assert history.rounds.advantage[1::2].tolist() == [-value for value in expected]


# --- simultaneous games ---


@pytest.mark.quick("glicko2")
@pytest.mark.parametrize("system", ["glicko", "glicko2"])
def test_simultaneous_games__of_a_period_share_its_beginning_and_its_end(copied: Lake, system: str) -> None:
    rate_games(copied, run="whole", system=system, **TOGETHER)
    rate_games(copied, run="threads", system=system, engine=Threads(2), **TOGETHER)
    rate_games(copied, run="sequential", system=system)
    rows = rated(copied, "whole").to_pandas()
    assert rated(copied, "threads").equals(rated(copied, "whole"))
    for _, period in rows.groupby(["round_index", "player"]):
        assert all(period[name].nunique() == 1 for name in ("mu_prior", "sigma_prior", "mu", "sigma"))
        assert np.all(np.diff(period["n_before"]) == 1)
    starts = rows.drop_duplicates(["round_index", "player"])
    before = starts.groupby("player")["mu"].shift()
    assert starts["mu_prior"].equals(before.fillna(1500.0))
    assert not np.array_equal(rows["mu"], rated(copied, "sequential").column("mu").to_numpy())
    assert Run.open(copied, "whole").config["params"]["games"] == "simultaneous"
    assert "games" not in Run.open(copied, "sequential").config["params"]
    assert problems(copied, "whole", again=False) == []


def test_simultaneous_games__are_refused_where_there_are_no_periods(copied: Lake, invoke: Command) -> None:
    said = r"games=simultaneous is for .*; data set contests has contests, and a contest"
    with pytest.raises(ValueError, match=said):
        rate_contests(copied, system="glicko", **TOGETHER)
    table = {"contest": ["c", "c"], "player": ["a", "b"], "rank": [1, 2]}
    with pytest.raises(
        ValueError, match=r"games=simultaneous rates all games of a period .*: name it, as period='month'"
    ):
        rate_history(pd.DataFrame(table), system="glicko2", engine=Serial(), **TOGETHER)
    command = ("rate", "--set", "games=simultaneous", "--lake", copied.url, "--dataset")
    assert "elo has no parameter 'games'" in invoke.refuses(*command, "league", "--system", "elo", code=2)
    assert "data set contests has contests" in invoke.refuses(*command, "contests", "--system", "glicko")
    assert invoke(*command, "league", "--system", "glicko").code == 0
