"""Places with their intervals, tiers and provisional players, against their definitions and laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import twins.places as slow
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.results.places import PlaceOptions, intervals, percentiles, places, tiers
from ranklake.flows.results.ranks import chosen, ranked
from ranklake.flows.results.states import NO_END, States, board_table
from ranklake.flows.results.titles import NONE
from ranklake.rating_kernels import SYSTEMS

CERTAIN = {"codeforces", "cf-general", "leetcode", "atcoder", "topcoder", "elo-srm", "elo", "fide"}
COLUMNS = ("place", "percentile", "place_high", "place_low", "tier", "provisional")

# Few values, so that ratings tie and bounds touch.
PLAYER = st.tuples(st.integers(0, 12).map(lambda n: 100.0 * n), st.sampled_from([0.0, 50.0, 100.0, 400.0]))
FIELD = st.lists(st.tuples(PLAYER, st.integers(0, 2), st.integers(0, 9)), max_size=24)
Z_VALUES = st.sampled_from([0.0, 1.0, 1.96, 2.0])


def board_of(players: list[tuple[str, float, float, int]], deviations: float = 0.0) -> pa.Table:
    """A leaderboard by ``mu - deviations sigma``."""
    names, mu, sigma, n_rounds = (np.array(column) for column in zip(*players, strict=True))
    rating = mu - deviations * sigma
    columns = {"rating": rating, "mu": mu, "sigma": sigma, "n_rounds": n_rounds, "max_rating": rating}
    columns["last_time_seconds"] = np.zeros(len(mu), np.int64)
    states = States(np.arange(len(mu), dtype=np.int32), columns, np.full(len(mu), NO_END))
    return board_table(states, pa.array(names), NONE, PlaceOptions(), 0.0)


def rows_of(board: pa.Table) -> dict[str, dict[str, Any]]:
    columns = [name for name in COLUMNS if name in board.column_names]
    return {row["handle"]: {name: row[name] for name in columns} for row in board.to_pylist()}


def test_systems__state_the_deviation_of_a_skill_in_their_sigma():
    stated = {name: system.uncertainty for name, system in SYSTEMS.items()}
    assert {name for name, uncertainty in stated.items() if not uncertainty} == CERTAIN
    assert stated.pop("elo-r") == pytest.approx(math.pi / math.sqrt(12.0), rel=1e-15)  # of a logistic factor
    assert set(stated.values()) == {0.0, 1.0}


@repeatable(60)
@given(FIELD, Z_VALUES, st.sampled_from(["separated", "own"]))
def test_intervals__are_the_counts_over_all_pairs_of_a_group(field, z, rule):
    group = np.array([number for _, number, _ in field], np.int32)
    mu, sigma = np.array([player for player, _, _ in field]).reshape(-1, 2).T
    high, low = intervals(mu, sigma, z, rule, group)
    tier, place, percentile = tiers(mu, sigma, z, group), places(mu, group), percentiles(mu, group)
    for number in set(group.tolist()):
        rows = np.flatnonzero(group == number)
        players = [(str(row), float(mu[row]), float(sigma[row]), 1) for row in rows]
        expected, tier_of = [slow.interval(players, player, z, rule) for player in players], slow.tiers(players, z)
        assert list(zip(high[rows].tolist(), low[rows].tolist(), strict=True)) == expected
        assert tier[rows].tolist() == [tier_of[str(row)] for row in rows]
        assert place[rows].tolist() == [slow.place(players, player) for player in players]
        assert percentile[rows].tolist() == [slow.percentile(players, player) for player in players]
        alone = intervals(mu[rows], sigma[rows], z, rule)
        assert np.array_equal(alone, (high[rows], low[rows]))
        assert np.array_equal(tiers(mu[rows], sigma[rows], z), tier[rows])
    if z == 0.0:
        assert np.array_equal(high, place)
    assert np.all((high <= place) & (place <= low))


@repeatable(40)
@given(FIELD.filter(bool), st.permutations(range(24)))
def test_intervals__a_larger_z_never_narrows_and_order_does_not_matter(field, order):
    mu, sigma = np.array([player for player, _, _ in field]).T
    order = [row for row in order if row < len(mu)]
    for rule in ("separated", "own"):
        narrow, wide = intervals(mu, sigma, 1.0, rule), intervals(mu, sigma, 1.5, rule)
        assert np.all((wide[0] <= narrow[0]) & (wide[1] >= narrow[1]))
        permuted = intervals(mu[order], sigma[order], 1.0, rule)
        assert np.array_equal(permuted, [bound[order] for bound in narrow])
        less = intervals(mu, np.where(np.arange(len(mu)) == 0, 0.5 * sigma, sigma), 1.0, rule)
        assert less[0][0] >= narrow[0][0]
        assert less[1][0] <= narrow[1][0]
    assert np.array_equal(tiers(mu[order], sigma[order]), tiers(mu, sigma)[order])


@repeatable(40)
@given(FIELD, st.integers(0, 5))
def test_ranked__provisional_players_move_nobody(field, min_rounds):
    players = [("sure", 700.0, 60.0, 9)]
    players += [(f"p{n}", *player, n_rounds) for n, (player, _, n_rounds) in enumerate(field)]
    options = PlaceOptions(min_rounds, 100.0)
    rows = rows_of(ranked(board_of(players, 2.0), options, 1.0))
    certain = slow.ranked(players, min_rounds, 100.0)
    assert {name for name, row in rows.items() if not row["provisional"]} == {player[0] for player in certain}
    alone = rows_of(ranked(board_of(certain, 2.0), PlaceOptions(), 1.0))
    assert {name: row for name, row in rows.items() if not row["provisional"]} == alone
    provisional = [row for row in rows.values() if row["provisional"]]
    assert all(row[name] is None for row in provisional for name in COLUMNS[:-1])


def test_ranked__places_by_rating_and_intervals_by_skill():
    board = ranked(board_of([("a", 1500.0, 30.0, 9), ("new", 1600.0, 90.0, 2)], 3.0), PlaceOptions(), 1.0)
    shown = {name: (row["place"], row["place_high"], row["place_low"]) for name, row in rows_of(board).items()}
    assert shown == {"a": (1, 1, 2), "new": (2, 1, 2)}  # 1410 and 1330 are shown, and the skills cannot be told apart


def test_ranked__a_system_without_uncertainty_has_provisional_players_only():
    board = ranked(board_of([("a", 1500.0, 0.0, 9), ("b", 1600.0, 0.0, 2)]), PlaceOptions(min_rounds=5), 0.0)
    assert rows_of(board) == {
        "a": {"place": 1, "percentile": 100.0, "provisional": False},
        "b": {"place": None, "percentile": None, "provisional": True},
    }


def test_ranked__uncertainty_scales_sigma():
    players = [("a", 1500.0, 100.0, 9), ("b", 1000.0, 160.0, 9)]  # 1.96 * 260 are more than 500
    assert {row["tier"] for row in rows_of(ranked(board_of(players), PlaceOptions(), 1.0)).values()} == {1}
    assert {row["tier"] for row in rows_of(ranked(board_of(players), PlaceOptions(), 0.9)).values()} == {1, 2}


def test_ranked__again_with_other_options_replaces_the_columns():
    board = board_of([("a", 1500.0, 30.0, 9), ("b", 1600.0, 90.0, 2)])
    again = ranked(ranked(board, PlaceOptions(min_rounds=5), 1.0), PlaceOptions(interval=0.5), 1.0)
    assert again.equals(ranked(board, PlaceOptions(interval=0.5), 1.0))


def test_chosen__hides_or_shows_provisional_players():
    board = ranked(board_of([("a", 1500.0, 30.0, 9), ("b", 1600.0, 90.0, 2)]), PlaceOptions(min_rounds=5), 1.0)
    found = {choice: chosen(board, choice).column("handle").to_pylist() for choice in ("hide", "show", "only")}
    assert found == {"hide": ["a"], "show": ["b", "a"], "only": ["b"]}


def test_options__interval_gives_the_deviations():
    assert PlaceOptions().z == 1.96
    assert PlaceOptions(interval=0.9).z == pytest.approx(1.6448536269514722, rel=1e-14)
    assert 0.0 < PlaceOptions(interval=1e-9).z < PlaceOptions(interval=1.0 - 2.0**-53).z < 10.0


def test_options__are_written_without_defaults_and_read_again():
    options = PlaceOptions(5, 80.0, 0.9, "own")
    assert options.to_json() == {"min_rounds": 5, "max_sigma": 80.0, "interval": 0.9, "rule": "own"}
    assert PlaceOptions.from_json(options.to_json()) == options
    assert PlaceOptions().to_json() == {}
    assert options.changed(rule=None, min_rounds=0).min_rounds == 0


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("min_rounds", -1, "min_rounds must be a whole number within 0.."),
        ("min_rounds", 2.5, "min_rounds must be a whole number"),
        ("max_sigma", 0.0, "max_sigma must be > 0 and < 1e+10 rating points or inf, got 0.0"),
        ("max_sigma", math.nan, "max_sigma must be > 0"),
        ("interval", 0.0, "interval must be > 0 and < 1, got 0.0"),
        ("interval", 1.0, "interval must be > 0 and < 1"),
        ("interval", math.nan, "interval must be > 0 and < 1"),
        ("rule", "joint", "rule must be one of separated, own"),
    ],
)
def test_options__limits_are_named(option, value, rule):
    with pytest.raises(ValueError, match="^" + rule.replace("+", r"\+").replace(".", r"\.")):
        PlaceOptions(**{option: value})


def test_intervals__bad_numbers_are_named():
    one = np.array([1500.0, 1600.0])
    for z in (-0.1, math.nan, 10.5):
        with pytest.raises(ValueError, match=r"^z must be within 0\.\.10 deviations"):
            intervals(one, one, z)
    with pytest.raises(ValueError, match="rule must be one of"):
        intervals(one, one, rule="both")
    with pytest.raises(ValueError, match="row 1: mu is NaN"):
        tiers(np.array([1500.0, math.nan]), one)
    with pytest.raises(ValueError, match="row 0: sigma is NaN"):
        intervals(one, np.array([math.nan, 30.0]))
    with pytest.raises(ValueError, match="there is no option 'top' of places, only min_rounds"):
        PlaceOptions.from_json({"top": 1})
