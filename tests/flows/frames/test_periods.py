"""Games of frames in periods: the bits of the lake's periods, and what is refused before the first one is rated."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.lakes import rate_run, rated

from ranklake import Ratings, evaluate_history, predict, preview, rate_history
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.ingestion.games import ingest_games
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.storage import Lake

PLAYERS = pd.DataFrame(
    {"player": [f"p{i}" for i in range(8)], "mu": np.arange(1500, 2700, 150), "games": 5 * np.arange(8)}
).assign(birth_year=[2012, *[np.nan] * 7], peak=lambda frame: frame.mu + 10)
SETTINGS: dict[str, Any] = {"glicko": {"games": "simultaneous"}, "glicko2": {"games": "simultaneous"}, "fide": {}}


def league(n_months: int = 4, per_month: int = 40) -> pd.DataFrame:
    """Games of twelve players, of whom four are unrated, at different times of some months."""
    draw, rows = np.random.default_rng(8), []
    for month in range(n_months):
        first = pd.Timestamp("2025-11-01", tz="UTC") + pd.DateOffset(months=month)
        for minute in np.sort(draw.choice(27 * 1440, per_month, replace=False)).tolist():
            white, black = draw.choice(12, 2, replace=False).tolist()
            rows.append((f"p{white}", f"p{black}", draw.integers(3) == 0, first + pd.Timedelta(minutes=minute)))
    return pd.DataFrame(rows, columns=["winner", "loser", "draw", "time"])


GAMES = league()


def rated_in_lake(folder: Path, system: str) -> pd.DataFrame:
    """The rounds of a run over the same games in a lake."""
    lake = Lake.open(folder / "lake", create=True)
    GAMES.to_csv(folder / "games.csv", index=False)
    ingest_games(lake, [str(folder / "games.csv")], "league", GamesOptions(period="month"))
    table = PLAYERS.rename(columns={"player": "handle", "mu": "rating"}).astype({"birth_year": "Int64"})
    table.to_csv(folder / "players.csv", index=False)
    record_attributes(lake, "league", str(folder / "players.csv"))
    rate_run(lake, dataset="league", system=system, **SETTINGS[system])
    return rated(lake).to_pandas()


@pytest.mark.parametrize("system", SETTINGS)
def test_period__has_the_bits_of_the_lakes_periods(system: str, tmp_path: Path) -> None:
    beliefs = PLAYERS if system == "fide" else None
    found = rate_history(GAMES, system, period="month", beliefs=beliefs, **SETTINGS[system])
    assert isinstance(found, pd.DataFrame)
    stored = rated_in_lake(tmp_path, system)
    for name in ("player", "lo", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before"):
        assert found[name].tolist() == stored[name].tolist() or np.array_equal(
            found[name], stored[name], equal_nan=True
        )
    other = rate_history(GAMES, system, period="day", beliefs=beliefs, **SETTINGS[system])
    assert isinstance(other, pd.DataFrame)
    assert other["mu"].tolist() != found["mu"].tolist()


def test_ratings__of_periods_are_updated_saved_evaluated_and_predict(tmp_path: Path) -> None:
    cut = int(np.argmax(GAMES.time >= pd.Timestamp("2026-01-01", tz="UTC")))
    whole, first = (Ratings.rate(games, "fide", period="month", beliefs=PLAYERS) for games in (GAMES, GAMES[:cut]))
    first.save(tmp_path / "first.parquet")
    last = Ratings.load(tmp_path / "first.parquet").update(GAMES[cut:])
    assert last.history.drop(columns="contest").equals(whole.history.drop(columns="contest"))
    assert whole.evaluate(40).loc["everyone", "pair_inversion"] > 50.0
    prior = whole.history[["round_index", "lo", "mu_prior", "sigma_prior", "n_before"]]
    assert evaluate_history(prior, 40, system="fide").equals(whole.evaluate(40))
    chance = whole.predict(["p7", "p1"]).chance("p7", "p1")
    assert 0.5 < chance == predict(whole.beliefs["mu"], ["p7", "p1"], "fide").chance("p7", "p1")
    game = pd.DataFrame({"player": ["p1", "p7"], "rank": [1, 2]})
    shown = preview(whole, game)
    assert (shown["change"] > 0).tolist() == [True, False]
    assert (shown["mu"] % 1.0 == 0.0).all()


def games_of(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["contest", "player", "rank", "time"])


JANUARY, FEBRUARY = "2026-01-10", "2026-02-10"
ONE = [("one", "a", 1, JANUARY), ("one", "b", 2, JANUARY)]
HOURS = games_of(*((f"at {h}", name, "ab".index(name) + 1, f"{JANUARY}T{h}:00") for h in (10, 18) for name in "ab"))
BORN = pd.DataFrame({"player": ["a"], "mu": [1500], "birth_year": [85]})
REFUSED: dict[str, tuple[pd.DataFrame, dict[str, Any], str]] = {
    "no period": (games_of(*ONE), {}, "fide rates all games of a period at the same time: name it, as period='month'"),
    "unknown": (
        games_of(*ONE), {"period": "months"}, "period must be one of hour, day, week, month, year, got 'months'"
    ),
    "other system": (
        games_of(*ONE), {"period": "month", "system": "elo"},
        "period='month' is for fide, and for games=simultaneous of glicko and glicko2; elo rates one game after the "
        "other: leave period out",
    ),
    "three": (
        games_of(*ONE, *((("two", name, rank, FEBRUARY)) for rank, name in enumerate("abc", 1))), {"period": "month"},
        "contest two: period='month' is for games of two rated players, and this is another contest",
    ),
    "no time": (
        games_of(*ONE).drop(columns="time"), {"period": "month"},
        "contest one: period='month' needs the time of each game, and this one has none",
    ),
    "limits": (
        games_of(*ONE).assign(rated_below=2000), {"period": "month"},
        "contest one: period='month' is for games without a range of ratings",
    ),
    "order": (
        games_of(("late", "a", 1, FEBRUARY), ("late", "b", 2, FEBRUARY), *ONE), {"period": "month"},
        "contest one: period='month' needs games in order of time, and this one is earlier than the one before; sort "
        "them",
    ),
    "nobody rated": (
        games_of(*ONE), {"period": "month", "beliefs": None},
        "fide rates games against rated players, and no player of the results has a rating; give some, as "
        "beliefs={'ann': 1830}, or let all begin with one, as mu_init=1500",
    ),
    "no ratings": (
        games_of(*ONE), {"period": "month", "beliefs": BORN[["player", "birth_year"]].replace(85, 1985)},
        "fide rates games against rated players, and no player of the results has a rating; give some, as "
        "beliefs={'ann': 1830}, or let all begin with one, as mu_init=1500",
    ),
    "hours": (
        HOURS,
        {"period": "hour"},
        "fide rates periods of a day or longer, and the periods 2026-01-10T10 and 2026-01-10T18 end on one day; name a "
        "longer period, as period='month'",
    ),
    "low": (
        games_of(*ONE), {"period": "month", "beliefs": {"a": 1500, "b": 1399}},
        "beliefs of player 'b': mu must be a whole number within 1400..9999 rating points, or 0 for none, "
        "got 1399",
    ),
    "fraction": (
        games_of(*ONE), {"period": "month", "beliefs": {"a": 1500.5}},
        "beliefs of player 'a': mu must be a whole number within 1400..9999 rating points, or 0 for none, "
        "got 1500.5",
    ),
    "birth": (
        games_of(*ONE), {"period": "month", "beliefs": BORN},
        "beliefs of player 'a': birth_year must be a whole number within 1800..2200, got 85",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*time goes back:UserWarning")
@pytest.mark.parametrize("case", REFUSED)
def test_period__is_refused_in_words(case: str) -> None:
    frame, chosen, said = REFUSED[case]
    for rate in (rate_history, Ratings.rate):
        with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
            rate(frame, **({"system": "fide", "beliefs": {"a": 1500}} | chosen))


def test_update__takes_whole_periods_and_a_run_needs_their_name(tmp_path: Path) -> None:
    first = Ratings.rate(games_of(*ONE), "fide", period="month", beliefs={"a": 1500, "b": 1600})
    again = games_of(("two", "a", 1, "2026-01-20"), ("two", "b", 2, "2026-01-20"))
    said = (
        "contest two: the period 2026-01 has rated games already, and all games of a period are rated at the same time"
    )
    with pytest.raises(ValueError, match=said):
        first.update(again)
    rated_in_lake(tmp_path, "fide")
    run = Ratings.open(tmp_path / "lake", "run")
    later = games_of(("two", "p1", 1, "2026-06-20"), ("two", "p2", 2, "2026-06-20"))
    with pytest.raises(
        ValueError, match="fide rates all games of a period at the same time: name it, as period='month'"
    ):
        run.update(later)
    assert run.update(later, period="month").history["mu"].iloc[-1] < run.beliefs["mu"]["p2"]
