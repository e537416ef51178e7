"""Synthetic contests and games: reproducible, with the documented distributions, valid, and equal to their file."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.reading import read_periods
from ranklake.flows.sources.games.synthetic import GAMES_PRESETS, GamesPreset, generate_games, truth_of, write_games
from ranklake.flows.sources.synthetic import PRESETS, Preset, generate, performances
from ranklake.rating_kernels.chances.three_way import three_way
from ranklake.rating_kernels.core.standings import check_distinct, check_places
from ranklake.storage.datasets.tables.games import Period

SMALL = Preset(40, 6, participants=12)


def bytes_of(preset: Preset, seed: int) -> list[tuple[object, ...]]:
    """Every contest of a data set, as comparable values."""
    return [
        (c.contest_id, c.name, c.time_seconds, c.handles.to_pylist(), c.lo.tobytes(), c.hi.tobytes(), c.content_digest)
        for c in generate(preset, seed)
    ]


@pytest.mark.parametrize("noise", ["normal", "logistic"])
@pytest.mark.parametrize("drift", ["everyone", "participants"])
def test_generate__one_seed_gives_the_same_bytes_and_another_gives_others(drift: str, noise: str) -> None:
    preset = replace(SMALL, drift=drift, noise=noise)
    assert bytes_of(preset, 7) == bytes_of(preset, 7)
    assert bytes_of(preset, np.int64(7)) == bytes_of(preset, 7)
    one, other = bytes_of(preset, 7), bytes_of(preset, 8)
    assert all(a[3] != b[3] for a, b in zip(one, other, strict=True))


def test_generate__contests_do_not_depend_on_the_number_that_is_read() -> None:
    shorter = bytes_of(replace(SMALL, n_rounds=2), 7)
    assert shorter == bytes_of(SMALL, 7)[:2]


def test_generate__contests_have_names_and_times() -> None:
    first, second, *_ = generate(replace(SMALL, start_time=1_000, seconds_between=60), 1)
    assert (first.contest_id, first.name, first.url, first.time_seconds) == ("0", "synthetic round 0", "", 1_000)
    assert (second.contest_id, second.time_seconds) == ("1", 1_060)
    assert (first.weight, first.perf_ceiling) == (1.0, math.inf)
    assert first.handles.to_pylist()[0].startswith("player-0000")


def test_generate__ranks_by_performance_and_continuous_noise_never_ties() -> None:
    for contest, (players, performance) in zip(generate(SMALL, 3), performances(SMALL, 3), strict=True):
        best_first = players[np.argsort(-performance)]
        assert contest.handles.to_pylist() == [f"player-{player:06d}" for player in best_first]
        assert contest.lo.tolist() == contest.hi.tolist() == list(range(12))


def test_generate__a_grid_makes_valid_ties() -> None:
    tied = 0
    for contest in generate(replace(SMALL, tie_points=200.0, n_rounds=30), 5):
        check_places(contest.lo, contest.hi)
        tied += int(np.sum(contest.lo != contest.hi))
    assert tied > 100
    for contest in generate(replace(SMALL, tie_points=1e6), 5):  # all players tie
        assert set(contest.lo.tolist()) == {0}
        assert set(contest.hi.tolist()) == {11}


def test_performances__all_players_take_part_by_default() -> None:
    for players, _ in performances(replace(SMALL, participants=None), 2):
        assert players.tolist() == list(range(40))
    seen: set[int] = set()
    for players, performance in performances(replace(SMALL, n_rounds=60), 2):
        check_distinct(players)
        assert len(players) == len(performance) == 12
        seen |= set(players.tolist())
    assert seen == set(range(40))


def test_performances__participants_are_drawn_uniformly() -> None:
    preset = Preset(20, 4_000, participants=5)
    drawn = np.bincount(np.concatenate([players for players, _ in performances(preset, 11)]), minlength=20)
    assert np.all(np.abs(drawn - 1_000) < 5 * math.sqrt(4_000 * 0.25 * 0.75))


def assert_moments(sample: np.ndarray, mean: float, sd: float, kurtosis: float) -> None:
    """Mean and variance lie within 5 standard errors."""
    n = len(sample)
    assert abs(sample.mean() - mean) < 5 * sd / math.sqrt(n)
    assert abs(sample.var() - sd**2) < 5 * sd**2 * math.sqrt((kurtosis - 1) / n)


def test_performances__skills_have_the_given_mean_and_standard_deviation() -> None:
    preset = Preset(200_000, 1, skill_mean=1480.0, skill_sd=300.0, noise_sd=0.0)
    ((_, skill),) = performances(preset, 21)
    assert_moments(skill, 1480.0, 300.0, kurtosis=3.0)


@pytest.mark.parametrize(("noise", "kurtosis"), [("normal", 3.0), ("logistic", 4.2)])
def test_performances__noise_has_the_same_standard_deviation_for_both_distributions(
    noise: str, kurtosis: float
) -> None:
    preset = Preset(200_000, 1, skill_sd=0.0, noise=noise, noise_sd=200.0)
    ((_, performance),) = performances(preset, 22)
    assert_moments(performance - 1500.0, 0.0, 200.0, kurtosis)
    fourth = np.mean((performance - 1500.0) ** 4) / 200.0**4
    assert abs(fourth - kurtosis) < 0.25  # distinguishes the two distributions


def test_performances__all_skills_drift_between_rounds_and_not_before_the_first() -> None:
    preset = Preset(100_000, 4, skill_sd=0.0, noise_sd=0.0, drift_sd=35.0)
    for index, (_, skill) in enumerate(performances(preset, 23)):
        if index == 0:
            assert np.all(skill == 1500.0)
        else:
            assert_moments(skill, 1500.0, 35.0 * math.sqrt(index), kurtosis=3.0)


def test_performances__only_participants_drift_with_that_setting() -> None:
    preset = Preset(1_000, 40, participants=300, skill_sd=0.0, noise_sd=0.0, drift_sd=35.0, drift="participants")
    last, played = np.full(1_000, 1500.0), np.zeros(1_000, dtype=int)
    steps = []
    for players, skill in performances(preset, 24):
        steps.append(skill - last[players])
        last[players] = skill
        played[players] += 1
    assert_moments(np.concatenate(steps), 0.0, 35.0, kurtosis=3.0)
    assert_moments((last[played > 0] - 1500.0) / np.sqrt(played[played > 0]), 0.0, 35.0, kurtosis=3.0)


@pytest.mark.parametrize(
    ("name", "n_players", "n_rounds", "size", "skill_sd", "drift", "noise"),
    [
        ("paper", 2_500, 50, 2_500, 300.0, "everyone", "normal"),
        ("paper-quarter", 10_000, 50, 2_500, 300.0, "everyone", "normal"),
        ("synth-sm", 1_000, 15_000, 5, 350.0, "participants", "logistic"),
        ("synth-la", 100_000, 60, 100_000, 350.0, "participants", "logistic"),
    ],
)
def test_preset__has_its_published_shape(
    name: str, n_players: int, n_rounds: int, size: int, skill_sd: float, drift: str, noise: str
) -> None:
    preset = PRESETS[name]
    assert (preset.n_players, preset.n_rounds) == (n_players, n_rounds)
    assert (preset.skill_mean, preset.skill_sd, preset.drift_sd, preset.noise_sd) == (1500.0, skill_sd, 35.0, 200.0)
    assert (preset.drift, preset.noise, preset.seconds_between) == (drift, noise, 86_400)
    contests = list(islice(generate(preset, 1), 2))
    assert [len(contest) for contest in contests] == [size, size]
    assert contests[1].time_seconds - contests[0].time_seconds == 86_400
    for contest in contests:
        check_places(contest.lo, contest.hi)
        assert len(contest.handles.unique()) == size


# --- games ---------------------------------------------------------------------------------------------------------

FEW = GamesPreset(50, 250, 100)
EQUALS = GamesPreset(1_000, 40_000, 40_000, skill_sd=0.0, drift_sd=0.0, advantage=0.0, draws=0.2)


def digests(preset: GamesPreset, seed: int) -> list[str]:
    """Those of all games of each day."""
    return [day.content_digest for day in generate_games(preset, seed)]


def one_day(preset: GamesPreset, seed: int = 1) -> Period:
    (day,) = generate_games(preset, seed)
    return day


def test_games__of_one_seed_are_the_same_and_of_another_differ() -> None:
    assert digests(FEW, 7) == digests(FEW, 7)
    assert not set(digests(FEW, 7)) & set(digests(FEW, 8))
    assert digests(replace(FEW, n_games=200), 7) == digests(FEW, 7)[:2]


def test_days__have_the_games_of_their_date() -> None:
    days = list(generate_games(FEW, 3))
    assert [day.name for day in days] == ["2013-01-01", "2013-01-02", "2013-01-03"]
    assert [len(day) for day in days] == [100, 100, 50]
    for number, day in enumerate(days):
        times = day.games.time_seconds
        assert np.all(times // 86_400 == FEW.start_day + number)
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


def test_results__that_keep_the_score_have_the_expected_one() -> None:
    """200 points ahead with 40 % of draws between equals; Davidson's model draws the score towards a half."""
    ahead, expected = replace(EQUALS, advantage=200.0, draws=0.4), 1.0 / (1.0 + 10.0**-0.5)
    kept, drawn = (one_day(replace(ahead, model=model)).score for model in ("preserving", "davidson"))
    assert abs(kept.mean() - expected) < 5 * 0.4 / math.sqrt(EQUALS.n_games)
    assert drawn.mean() < expected - 0.05
    assert abs(np.mean(kept == 0.5) - three_way(expected, 1.0 - expected, 4.0 / 3.0).draw) < 5 * 0.5 / math.sqrt(
        len(kept)
    )


def test_neutral_ground__has_no_advantage_and_is_kept_with_the_games(tmp_path: Path) -> None:
    preset = replace(EQUALS, advantage=400.0, draws=0.0, neutral=0.25, known_advantage=True)
    day = one_day(preset)
    assert day.games.kept is not None
    values, codes = day.games.kept.values("neutral")
    neutral = np.array(values)[codes] == "true"
    assert abs(neutral.mean() - 0.25) < 5 * math.sqrt(0.1875 / len(day))
    assert set(day.games.advantage[neutral]) == {0.0}
    assert abs(day.score[neutral].mean() - 0.5) < 5 * 0.5 / math.sqrt(neutral.sum())
    assert abs(day.score[~neutral].mean() - 10 / 11) < 5 * math.sqrt(10 / 121 / len(day))
    few = replace(FEW, neutral=0.25)
    write_games(few, 5, tmp_path / "games.parquet")
    read = read_periods([str(tmp_path / "games.parquet")], GamesOptions(keep=("neutral",)), GamesReport())
    assert [one.content_digest for one in read] == digests(few, 5)


def test_truth__has_the_skills_that_the_last_results_depend_on() -> None:
    apart = replace(FEW, n_players=2, skill_sd=2_000.0, drift_sd=300.0, draws=0.2)
    found = truth_of(apart, 4)
    assert (found.nu, found.advantage) == (0.5, 35.0)
    *_, day = generate_games(apart, 4)
    names = np.array(day.handles.to_pylist())
    skill = np.array([found.skills[name] for name in names])
    ahead = skill[day.player] - skill[day.opponent]
    assert np.min(np.abs(ahead)) > 500.0
    assert np.mean((day.score > 0.5) == (ahead > 0.0)) > 0.9


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
    write_games(FEW, 5, tmp_path / "games.parquet")
    read = read_periods([str(tmp_path / "games.parquet")], GamesOptions(), GamesReport())
    assert [day.content_digest for day in read] == digests(FEW, 5)


def test_known_advantage__changes_no_game_and_is_in_the_file(tmp_path: Path) -> None:
    known = replace(FEW, known_advantage=True)
    for with_it, without in zip(generate_games(known, 5), generate_games(FEW, 5), strict=True):
        assert with_it.games.advantage.tolist() == [35.0] * len(with_it)
        assert not len(without.games.advantage)
        plain = replace(with_it, games=without.games)
        assert plain.content_digest == without.content_digest
    write_games(known, 5, tmp_path / "games.parquet")
    read = read_periods([str(tmp_path / "games.parquet")], GamesOptions(), GamesReport())
    assert [day.content_digest for day in read] == digests(known, 5) != digests(FEW, 5)


def test_games_preset__has_its_documented_size() -> None:
    assert GAMES_PRESETS["league"].days == 100
    assert GAMES_PRESETS["league"].nu == pytest.approx(0.8)
    preset = GAMES_PRESETS["chess"]
    assert (preset.n_players, preset.n_games, preset.games_a_day, preset.days) == (200_000, 10_000_000, 100_000, 100)
    small = replace(preset, n_players=2_000, games_a_day=1_000)
    first, second = islice(generate_games(small, 0), 2)
    assert (len(first), first.name, second.name) == (1_000, "2013-01-01", "2013-01-02")


# --- invalid settings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "change", "message"),
    [
        (SMALL, {"n_players": 0}, "n_players must be an integer >= 1, got 0"),
        (SMALL, {"n_rounds": 2.5}, "n_rounds must be an integer >= 1, got 2.5"),
        (SMALL, {"n_players": True}, "n_players must be an integer >= 1, got True"),
        (SMALL, {"participants": 0}, "participants must be an integer >= 1, got 0"),
        (SMALL, {"participants": 41}, "participants must be <= n_players = 40, got 41"),
        (SMALL, {"skill_mean": math.nan}, "skill_mean must be a finite number of rating points, got nan"),
        (SMALL, {"skill_sd": -1.0}, "skill_sd must be >= 0 rating points, got -1.0"),
        (SMALL, {"drift_sd": math.inf}, "drift_sd must be >= 0 rating points, got inf"),
        (SMALL, {"noise_sd": "200"}, "noise_sd must be >= 0 rating points, got '200'"),
        (SMALL, {"tie_points": 0.0}, "tie_points must be > 0 rating points or None, got 0.0"),
        (SMALL, {"drift": "nobody"}, "drift must be 'everyone' or 'participants', got 'nobody'"),
        (SMALL, {"noise": "cauchy"}, "noise must be 'normal' or 'logistic', got 'cauchy'"),
        (SMALL, {"seconds_between": -1}, "seconds_between must be an integer >= 0, got -1"),
        (SMALL, {"start_time": 0.5}, "start_time must be an integer >= 0, got 0.5"),
        (FEW, {"n_players": 1}, "n_players must be an integer >= 2, got 1"),
        (FEW, {"n_games": 0.5}, "n_games must be an integer >= 1, got 0.5"),
        (FEW, {"start_day": -1}, "start_day must be an integer >= 0, got -1"),
        (FEW, {"advantage": math.nan}, "advantage must be a finite number, got nan"),
        (FEW, {"drift_sd": -1.0}, "drift_sd must be >= 0, got -1.0"),
        (FEW, {"draws": 1.0}, "draws must be >= 0 and < 1, got 1.0"),
        (FEW, {"neutral": 1.5}, "neutral must be >= 0 and <= 1, got 1.5"),
        (FEW, {"model": "none"}, "model must be davidson or preserving, got 'none'"),
        (FEW, {"known_advantage": 1}, "known_advantage must be true or false, got 1"),
        (FEW, {"known_advantage": True, "advantage": 1e6}, "a known advantage must be within .* points, got 1000000.0"),
    ],
)
def test_preset__refuses_invalid_values(preset: Any, change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        replace(preset, **change)


@pytest.mark.parametrize(("make", "preset"), [(generate, SMALL), (generate_games, FEW)])
def test_seed__is_checked_before_the_first_contest_or_game(make: Any, preset: Any) -> None:
    with pytest.raises(ValueError, match="seed must be an integer >= 0, got -1"):
        make(preset, -1)
