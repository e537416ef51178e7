"""Runs of FIDE's rules: ratings at the start from the table of players, resumption, corrections, what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.games import DAY, Game, as_contests, as_periods, ingest_periods
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import copy_of, ingest, often, rate_run, rated
from helpers.rated_runs import problems
from twins.fide import Twin

from ranklake import evaluate, rate_history
from ranklake.flows.answers.run_prediction import predict_run
from ranklake.flows.engines.factory import open_engine
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.maintenance.freshness import freshness
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.verification import verify_published
from ranklake.storage import Dataset, Lake, LakeError, Run

MONTH = 30 * DAY
START = 19_700 * DAY  # in December 2023


def league(n_months: int = 5, per_month: int = 50, n_players: int = 16) -> list[Game]:
    """Games of players of whom each month a few more take part."""
    draw, games = np.random.default_rng(6), []
    for month in range(n_months):
        for day in np.sort(draw.integers(0, 27, per_month)).tolist():
            white, black = draw.choice(min(n_players, 12 + month), 2, replace=False).tolist()
            score = float(draw.choice([0.0, 0.5, 1.0]))
            games.append(Game(f"p{white}", f"p{black}", score, START + month * MONTH + day * DAY))
    return games


GAMES = league()
PERIODS = as_periods(GAMES, MONTH)
PLAYERS: dict[str, dict[str, int]] = {
    **{f"p{i}": {"rating": 1500 + 110 * i, "games": 12 * i} for i in range(10)},
    "p3": {"rating": 1830, "games": 90, "birth_year": 2008},
    "p8": {"rating": 2380, "games": 300, "peak": 2405},
    "p14": {"birth_year": 2012},
    "nobody": {"rating": 2000},
}


def record(lake: Lake, folder: Path, players: Mapping[str, Mapping[str, Any]], dataset: str = "league") -> None:
    names = ("rating", "games", "peak", "birth_year", "country")
    lines = [",".join(("handle", *names))]
    lines += [",".join([handle, *(str(facts.get(name, "")) for name in names)]) for handle, facts in players.items()]
    (folder / "players.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    record_attributes(lake, dataset, str(folder / "players.csv"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("fide")
    lake = Lake.open(folder / "lake", create=True)
    ingest_periods(lake, PERIODS)
    record(lake, folder, PLAYERS)
    return lake


@pytest.fixture
def copied(made: Lake, tmp_path: Path) -> Lake:
    return copy_of(made, tmp_path / "lake")


def rate_fide(lake: Lake, **chosen: Any) -> Any:
    return rate_run(lake, **({"dataset": "league", "system": "fide", "policy": often(segment_rows=60)} | chosen))


def final(lake: Lake, run: str = "run") -> dict[str, float]:
    rows = rated(lake, run)
    return dict(zip(*(rows.column(name).to_pylist() for name in ("player", "mu")), strict=True))


def test_run__agrees_with_the_twin(copied: Lake) -> None:
    rate_fide(copied)
    twin = Twin({name: dict(facts) for name, facts in PLAYERS.items()})
    for number, period in enumerate(PERIODS):
        names = period.handles.to_pylist()
        columns = (period.player.tolist(), period.opponent.tolist(), period.score.tolist())
        games = [(names[a], names[b], score) for a, b, score in zip(*columns, strict=True)]
        year, month = (int(part) for part in str(np.datetime64(int(period.games.time_seconds[-1]), "s"))[:7].split("-"))
        expected = twin.rate(games, year, month)
        rows = rated(copied).filter(np.equal(rated(copied).column("round_index"), number)).to_pylist()
        assert len(rows) == 2 * len(games)
        for row in rows:
            one = expected[row["player"]]
            assert (row["mu_prior"], row["mu"]) == (one.before or 0, one.rating or 0)
            assert row["perf"] == one.performance
    assert 0.0 in rated(copied).column("mu").to_pylist()
    assert any(twin.players[name].rating for name in twin.players.keys() - PLAYERS.keys())  # first ratings
    assert problems(copied) == []


@pytest.mark.slow
def test_run__resumes_after_any_period_and_by_other_engines(copied: Lake) -> None:
    rate_fide(copied, run="whole")
    for stop in range(1, len(PERIODS) + 1):
        engine = InProcessEngine(2) if stop % 2 else None
        assert rate_fide(copied, run="parts", max_rounds=stop, engine=engine).rated == 1
    assert rated(copied, "parts").equals(rated(copied, "whole"))
    assert problems(copied, "parts") == []


@pytest.mark.slow
def test_run__has_the_same_bits_on_a_cluster(copied: Lake) -> None:
    pytest.importorskip("distributed", reason="needs pip install 'ranklake[cluster]'")
    rate_fide(copied, run="whole")
    with open_engine("dask", 2) as engine:
        assert rate_fide(copied, run="first", max_rounds=3, engine=engine).rated == 3
        rate_fide(copied, run="first", engine=engine)
    assert rated(copied, "first").equals(rated(copied, "whole"))
    assert problems(copied, "first") == []


@pytest.mark.slow
def test_run__is_rated_again_from_the_first_period_of_a_player_whose_attribute_changed(
    copied: Lake, tmp_path: Path
) -> None:
    rate_fide(copied)
    before = final(copied)
    record(copied, tmp_path, {**PLAYERS, "p0": {**PLAYERS["p0"], "country": "NO"}, "nobody": {"rating": 1900}})
    assert rate_fide(copied).rated == 0  # neither a country nor a player without games
    first = min(i for i, period in enumerate(PERIODS) if "p14" in period.handles.to_pylist())
    assert first > 1
    record(copied, tmp_path, {**PLAYERS, "p14": {"rating": 1700, "birth_year": 2012}})
    run, dataset = Run.open(copied, "run"), Dataset.open(copied, "league")
    assert freshness(run, dataset).holds == first
    report = rate_fide(copied)
    assert (report.kept, report.rated) == (first, len(PERIODS) - first)
    rate_fide(copied, run="fresh")
    assert rated(copied).equals(rated(copied, "fresh"))
    assert problems(copied) == []
    record(copied, tmp_path, PLAYERS)
    rate_fide(copied)
    assert final(copied) == before


@pytest.mark.slow
def test_run__follows_a_corrected_game(copied: Lake) -> None:
    rate_fide(copied)
    at = next(i for i, game in enumerate(GAMES) if game.time_seconds >= PERIODS[2].games.time_seconds[0])
    changed = [*GAMES[:at], GAMES[at]._replace(score=0.0 if GAMES[at].score else 1.0), *GAMES[at + 1 :]]
    ingest_periods(copied, as_periods(changed, MONTH))
    assert rate_fide(copied).kept == 2
    rate_fide(copied, run="fresh")
    assert rated(copied).equals(rated(copied, "fresh"))


def test_newcomers__all_have_a_rating_by_mu_init(copied: Lake, tmp_path: Path) -> None:
    record(copied, tmp_path, {})
    rate_fide(copied, mu_init=1500)
    rows = rated(copied)
    assert set(rows.filter(np.equal(rows.column("round_index"), 0)).column("mu_prior").to_pylist()) == {1500.0}


@pytest.mark.slow
def test_doors__have_the_rating_the_performance_and_the_chances(copied: Lake, tmp_path: Path, invoke: Command) -> None:
    rate_fide(copied)
    publish(copied, "run")
    assert list(verify_published(copied, "run", [])) == []
    rows = json.loads(invoke("player", "p3", "--run", "run", "--format", "json", "--lake", copied.url).out)
    assert {row["perf"] for row in rows if row["contest_id"] == PERIODS[0].contest_id}.isdisjoint({None})
    found, _ = predict_run(copied, "run", ["p9", "p3"], newcomers=1)
    assert 0.5 < found.chance("p9", "p3") < 1.0
    with pytest.raises(ValueError, match=r"fide rates games of two rated players only; .* has 3 participants"):
        found.outcomes("p9")
    (tmp_path / "three.csv").write_text("player,rank\np1,1\np2,2\np3,3\n", encoding="utf-8")
    said = invoke.refuses("preview", tmp_path / "three.csv", "--run", "run", "--lake", copied.url, code=2)
    assert "fide rates games of two players only, and the standings have 3 participants" in said
    answer = invoke("evaluate", "--run", "run", "--format", "json", "--lake", copied.url)
    assert answer.code == 0


# What is refused


def test_players__without_any_rating_are_refused(copied: Lake, tmp_path: Path) -> None:
    record(copied, tmp_path, {"p1": {"birth_year": 2000}, "nobody": {"rating": 2000}})
    said = r"no player of data set league has a rating; record some .* `ranklake attributes`, .* --set mu_init=1500"
    with pytest.raises(ValueError, match=said):
        rate_fide(copied)
    assert Run.names(copied) == []


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"rating": 1399}, "rating of player 'p2' must be a whole number within 1400..9999 rating points, got '1399'"),
        ({"rating": "1500.5"}, "rating of player 'p2' must be a whole number within .*, got '1500.5'"),
        ({"rating": "high"}, "rating of player 'p2' must be a whole number within .*, got 'high'"),
        ({"birth_year": 85}, "birth_year of player 'p2' must be a whole number within 1800..2200, got '85'"),
        ({"games": -1}, "games of player 'p2' must be a whole number within 0..1000000, got '-1'"),
    ],
)
def test_attribute__out_of_range_is_refused(copied: Lake, tmp_path: Path, facts: dict[str, Any], said: str) -> None:
    record(copied, tmp_path, {**PLAYERS, "p2": facts})
    with pytest.raises(LakeError, match=f"{said}; correct the table of players .*`ranklake attributes`"):
        rate_fide(copied)


def test_periods__shorter_than_a_day_are_refused(copied: Lake, tmp_path: Path) -> None:
    games = [Game("a", "b", 1.0, START + hour * 3600) for hour in (1, 2, 30)]
    ingest_periods(copied, as_periods(games, 3600), "hours")
    with pytest.raises(ValueError, match=r"periods of a day or longer, and the periods \S+ and \S+ end on one day; .*"):
        rate_fide(copied, dataset="hours", run="hours", mu_init=1500)
    ingest_periods(copied, as_periods(games, DAY), "days")
    assert rate_fide(copied, dataset="days", run="days", mu_init=1500).rated == 2


def test_advantages__are_refused_before_the_first_period_is_rated(copied: Lake, invoke: Command) -> None:
    ahead = [*GAMES[:-1], GAMES[-1]._replace(advantage=35.0)]
    ingest_periods(copied, as_periods(ahead, MONTH))
    name = PERIODS[-1].contest_id
    said = rf"fide has no rule for advantages, and period {name} of data set league has a game with one; ingest the .*"
    with pytest.raises(ValueError, match=said):
        rate_fide(copied)
    assert Run.names(copied) == []
    answer = invoke("rate", "--dataset", "league", "--system", "fide", "--lake", copied.url)
    assert (answer.code, "without it, by --column advantage= or without --advantage" in answer.err) == (1, True)
    ingest_periods(copied, PERIODS)
    rate_fide(copied)
    ingest_periods(copied, as_periods(ahead, MONTH))
    with pytest.raises(LakeError, match=f"period {name} of data set league has other games than run run; .*"):
        evaluate(copied, "run")


def test_fractions__are_refused_before_the_first_period_is_rated(copied: Lake) -> None:
    ingest_periods(copied, as_periods([*GAMES[:-1], GAMES[-1]._replace(score=0.75)], MONTH))
    said = rf"period {PERIODS[-1].contest_id}: .* has the score 0\.75, and fide rates wins, draws and losses only"
    with pytest.raises(ValueError, match=said):
        rate_fide(copied)
    assert Run.names(copied) == []


def test_contests__are_refused_before_the_first_is_rated(copied: Lake, invoke: Command) -> None:
    ingest(copied, as_contests(GAMES), "contests")
    said = r"fide is for the periods of a data set of games, .*; data set contests has contests"
    with pytest.raises(ValueError, match=said):
        rate_fide(copied, dataset="contests", mu_init=1500)
    assert Run.names(copied) == []
    frame = pd.DataFrame({"contest": [1, 1], "player": ["a", "b"], "rank": [1, 2]})
    with pytest.raises(
        ValueError, match=r"fide rates all games of a period at the same time: name it, as period='month'"
    ):
        rate_history(frame, "fide")
    space = ("tune", "--dataset", "league", "--system", "fide", "--space", "mu_init=1500,1600", "--lake", copied.url)
    answer = invoke(*space)
    assert (answer.code, "; here one contest or game is rated after the other" in answer.err) == (2, True)
