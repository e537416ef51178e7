"""Runs over periods of games: corrections as of a plain list of games, stops at any write, and distributed engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from helpers.builders import Killed, WatchedLake
from helpers.games import DAY, Game, as_contests, as_periods, ingest_periods, league
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import copy_of, files, ingest, often, rate_run, rated

from ranklake.flows.answers.run import open_published
from ranklake.flows.evaluation.evaluate import evaluate
from ranklake.flows.publication.publish import publish
from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.lake.layout import dataset_folder
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset
from ranklake.storage.maintenance.verify import verify_dataset, verify_rows, verify_run

OFTEN = often(segment_rows=30, snapshot_rows=40)

GAMES = league(150, n_players=40)
NUMBERS = ("player", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before")
IDS = [period.contest_id for period in as_periods(GAMES)]


@pytest.fixture
def league_of(lake: Lake) -> Lake:
    """A lake with the games and a run over them, of many small files."""
    ingest_periods(lake, as_periods(GAMES))
    rate_run(lake, dataset="league", system="elo", policy=OFTEN)
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


def late_game(model: Model, lake: Lake) -> None:
    model.games.append(Game("late", GAMES[0].white, 1.0, GAMES[40].time_seconds + 1))
    ingest_periods(lake, as_periods(sorted(model.games, key=lambda game: game.time_seconds)))


def other_result(model: Model, lake: Lake) -> None:
    model.games[70] = model.games[70]._replace(score=0.5 if model.games[70].score != 0.5 else 0.0)
    ingest_periods(lake, as_periods(sorted(model.games, key=lambda game: game.time_seconds)))


def disqualification(model: Model, lake: Lake) -> None:
    player, period = model.games[60].white, period_of(model.games[60])
    model.without.add((period, player))
    with Dataset.ingest(lake, "league") as changing:
        changing.disqualify(period, player)


def reinstatement(model: Model, lake: Lake) -> None:
    period, player = model.without.pop()
    with Dataset.ingest(lake, "league") as changing:
        changing.reinstate(period, player)


def alias(model: Model, lake: Lake) -> None:
    old, new = strangers(GAMES)
    model.names[old] = new
    with Dataset.ingest(lake, "league") as changing:
        changing.alias(old, new)


def end_of_alias(model: Model, lake: Lake) -> None:
    old, _ = model.names.popitem()
    with Dataset.ingest(lake, "league") as changing:
        changing.unalias(old)


def removal(model: Model, lake: Lake) -> None:
    model.removed.add(IDS[1])
    with Dataset.ingest(lake, "league") as changing:
        changing.remove(IDS[1])


def compaction(model: Model, lake: Lake) -> None:
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
        report = rate_run(league_of, dataset="league", system="elo", policy=OFTEN)
        assert (report.rated > 0) == (step is not compaction), step.__name__
        expected = Lake.open(tmp_path / f"{number}", create=True)
        ingest(expected, as_contests(model.corrected()), "contests")
        rate_run(expected, dataset="contests", system="elo", policy=OFTEN)
        one, other = rated(league_of), rated(expected)
        assert one.select(NUMBERS).equals(other.select(NUMBERS)), step.__name__
        run, dataset = Run.open(league_of, "run"), Dataset.open(league_of, "league")
        problems = [*verify_dataset(dataset), *verify_run(run), *verify_rows(run, dataset, run.segments().stop_round)]
        assert problems == [], step.__name__


def test_period__without_games_is_refused_or_excluded(lake: Lake) -> None:
    games = [Game("a", "b", 1.0, 100), Game("b", "a", 0.5, 2 * DAY), Game("a", "c", 1.0, 3 * DAY)]
    ingest_periods(lake, as_periods(games))
    left = "period period-2: none of its games would be left; remove the whole period"
    with pytest.raises(LakeError, match=left), Dataset.ingest(lake, "league") as changing:
        changing.disqualify("period-2", "b")
    assert rate_run(lake, dataset="league", system="elo", exclude=("period-2",), policy=OFTEN).rows == 4
    assert rated(lake).column("contest_id").unique().to_pylist() == ["period-0", "period-3"]
    scores = evaluate(lake, "run")
    assert scores.n_players.tolist() == [2, 0, 2]
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
@pytest.mark.parametrize("settings", [{}, {"games": "simultaneous"}], ids=["sequential", "simultaneous"])
def test_stop__at_any_write_of_a_rating_changes_no_file_after_the_next_one(
    lake: Lake, tmp_path: Path, done: bool, settings: dict[str, str]
) -> None:
    ingest_periods(lake, as_periods(GAMES))
    chosen = {"dataset": "league", "system": "glicko2", **settings}
    whole = WatchedLake(copy_of(lake, tmp_path / "whole"))
    rate_run(whole, **chosen, policy=OFTEN)
    places = [i for i, path in enumerate(whole.writes) if "/rounds/" in path or "/snapshots/" in path]
    assert len(places) > 8
    for at in places:
        stopped = copy_of(lake, tmp_path / f"{at}")
        with pytest.raises(Killed):
            rate_run(WatchedLake(stopped, fail_at=at, done=done, error=Killed()), **chosen, policy=OFTEN)
        rate_run(stopped, steal=True, **chosen, policy=OFTEN)
        rounds, expected = (files(tmp_path / name / "runs" / "run" / "rounds") for name in (f"{at}", "whole"))
        assert rounds == expected, whole.writes[at]


@pytest.mark.parametrize("system", ["elo-mmr", "glicko2"])
def test_rating__on_workers_has_the_same_bits(lake: Lake, system: str) -> None:
    ingest_periods(lake, as_periods(GAMES))
    chosen = {"dataset": "league", "system": system}
    rate_run(lake, run="serial", **chosen, policy=OFTEN)
    rate_run(lake, run="workers", engine=InProcessEngine(3), max_rounds=2, **chosen, policy=OFTEN)
    assert rate_run(lake, run="workers", engine=InProcessEngine(2), **chosen, policy=OFTEN).kept == 2
    assert rated(lake, "workers").equals(rated(lake, "serial"))
