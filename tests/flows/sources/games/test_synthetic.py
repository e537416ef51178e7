"""Synthetic games: reproducible, with the documented distributions, and equal to those of their file."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.reading import read_periods
from ranklake.flows.sources.games.synthetic import GAMES_PRESETS, GamesPreset, generate_games, write_games
from ranklake.storage.datasets.tables.games import Period

SMALL = GamesPreset(50, 250, 100)
EQUALS = GamesPreset(1_000, 40_000, 40_000, skill_sd=0.0, drift_sd=0.0, advantage=0.0, draws=0.2)


def digests(preset: GamesPreset, seed: int) -> list[str]:
    """Those of all games of each day."""
    return [day.content_digest for day in generate_games(preset, seed)]


def one_day(preset: GamesPreset, seed: int = 1) -> Period:
    (day,) = generate_games(preset, seed)
    return day


def test_games__of_one_seed_are_the_same_and_of_another_differ() -> None:
    assert digests(SMALL, 7) == digests(SMALL, 7)
    assert not set(digests(SMALL, 7)) & set(digests(SMALL, 8))
    assert digests(replace(SMALL, n_games=200), 7) == digests(SMALL, 7)[:2]


def test_days__have_the_games_of_their_date() -> None:
    days = list(generate_games(SMALL, 3))
    assert [day.name for day in days] == ["2013-01-01", "2013-01-02", "2013-01-03"]
    assert [len(day) for day in days] == [100, 100, 50]
    for number, day in enumerate(days):
        times = day.games.time_seconds
        assert np.all(times // 86_400 == SMALL.start_day + number)
        assert np.all(np.diff(times) >= 0)
        assert np.all(day.player != day.opponent)
        assert len(np.unique(np.concatenate([day.player, day.opponent]))) == len(day.handles.unique())


def test_two_players__meet_in_every_game() -> None:
    day = one_day(GamesPreset(2, 30, 30, candidates=1))
    assert np.all(day.player + day.opponent == 1)


def test_results__of_equals_are_those_of_davidson() -> None:
    n, score = EQUALS.n_games, one_day(EQUALS).score
    for value, share in ((1.0, 0.4), (0.5, 0.2), (0.0, 0.4)):
        assert abs(np.mean(score == value) - share) < 5 * math.sqrt(share * (1 - share) / n)


def test_advantage__of_400_points_has_odds_of_ten_to_one() -> None:
    score = one_day(replace(EQUALS, advantage=400.0, draws=0.0)).score
    assert abs(score.mean() - 10 / 11) < 5 * math.sqrt(10 / 121 / EQUALS.n_games)


def test_opponents__are_closer_in_skill_with_more_candidates() -> None:
    wide = replace(EQUALS, n_games=10_000, skill_sd=2_000.0)  # equals draw, others hardly ever
    draws = [np.mean(one_day(replace(wide, candidates=candidates)).score == 0.5) for candidates in (1, 10)]
    assert 2 * draws[0] < draws[1] < 0.2


def test_activity__is_heavy_tailed() -> None:
    for sd, least, most in ((0.0, 0.008, 0.02), (1.5, 0.1, 0.4)):
        day = one_day(replace(EQUALS, activity_sd=sd, skill_sd=350.0))
        games = np.sort(np.bincount(np.concatenate([day.player, day.opponent])))[::-1]
        assert least < games[:10].sum() / games.sum() < most  # the share of the most active hundredth


def test_file__has_the_same_games(tmp_path: Path) -> None:
    write_games(SMALL, 5, tmp_path / "games.parquet")
    read = read_periods([str(tmp_path / "games.parquet")], GamesOptions(), GamesReport())
    assert [day.content_digest for day in read] == digests(SMALL, 5)


def test_known_advantage__changes_no_game_and_is_in_the_file(tmp_path: Path) -> None:
    known = replace(SMALL, known_advantage=True)
    for with_it, without in zip(generate_games(known, 5), generate_games(SMALL, 5), strict=True):
        assert with_it.games.advantage.tolist() == [35.0] * len(with_it)
        assert not len(without.games.advantage)
        plain = replace(with_it, games=without.games)
        assert plain.content_digest == without.content_digest
    write_games(known, 5, tmp_path / "games.parquet")
    read = read_periods([str(tmp_path / "games.parquet")], GamesOptions(), GamesReport())
    assert [day.content_digest for day in read] == digests(known, 5) != digests(SMALL, 5)


def test_preset__has_its_documented_size() -> None:
    preset = GAMES_PRESETS["chess"]
    assert (preset.n_players, preset.n_games, preset.games_a_day, preset.days) == (200_000, 10_000_000, 100_000, 100)
    small = replace(preset, n_players=2_000, games_a_day=1_000)
    first, second = islice(generate_games(small, 0), 2)
    assert (len(first), first.name, second.name) == (1_000, "2013-01-01", "2013-01-02")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_players": 1}, "n_players must be an integer >= 2, got 1"),
        ({"n_games": 0.5}, "n_games must be an integer >= 1, got 0.5"),
        ({"start_day": -1}, "start_day must be an integer >= 0, got -1"),
        ({"advantage": math.nan}, "advantage must be a finite number, got nan"),
        ({"drift_sd": -1.0}, "drift_sd must be >= 0, got -1.0"),
        ({"draws": 1.0}, "draws must be >= 0 and < 1, got 1.0"),
        ({"known_advantage": 1}, "known_advantage must be true or false, got 1"),
        ({"known_advantage": True, "advantage": 1e6}, "a known advantage must be within .* points, got 1000000.0"),
    ],
)
def test_preset__refuses_invalid_values(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        replace(SMALL, **change)


def test_seed__is_checked_before_the_first_game() -> None:
    with pytest.raises(ValueError, match="seed must be an integer >= 0, got -1"):
        generate_games(SMALL, -1)
