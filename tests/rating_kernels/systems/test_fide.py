"""FIDE's rules: the twin, the laws of rated periods, the exception from 2650, first ratings, and bad input."""

from __future__ import annotations

import calendar
from typing import Any

import numpy as np
import pytest
from golden.answers_fide import believed
from helpers.histories import same_bits
from helpers.in_process_engine import InProcessEngine
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.fide import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution import rounds as rounds_module
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Fide, Prior, Rounds
from ranklake.rating_kernels.core.standings import Conditions
from ranklake.rating_kernels.systems.federations.fide import FidePeriod, rate_games
from ranklake.rating_kernels.systems.federations.pools import first_rating
from ranklake.rating_kernels.systems.federations.tables import expected_hundredths, performance

SYSTEM, PARAMS = SYSTEMS["fide"], Fide()
NAMES = list("abcdefgh")
Game = tuple[str, str, float]


def ended(year: int, month: int = 1) -> int:
    """A time in a month."""
    return calendar.timegm((year, month, 20, 12, 0, 0))


def rated(beliefs: Beliefs, games: list[Game], names: list[str], time_seconds: int) -> FidePeriod:
    a, b, score = zip(*games, strict=True)
    rows = ([names.index(name) for name in side] for side in (a, b))
    return rate_games(PARAMS, beliefs, *rows, score, time_seconds)


def against(rating: int, opponent: int, score: float, n: int = 1, **facts: Any) -> float:
    """The change of a rating by ``n`` games against one opponent."""
    beliefs, names = believed({"a": {"rating": rating, "games": 100, **facts}, "b": {"rating": opponent, "games": 100}})
    found = rated(beliefs, [("a", "b", score)] * n, names, ended(2026))
    return float(found.rating[0] - found.before[0])


PLAYERS = st.fixed_dictionaries(
    {
        "rating": st.none() | st.integers(1400, 2850),
        "games": st.integers(0, 60),
        "birth_year": st.none() | st.integers(2000, 2015),
    }
)
GAMES = st.lists(
    st.tuples(st.permutations(NAMES), st.sampled_from([0.0, 0.5, 1.0])).map(lambda one: (*one[0][:2], one[1])),
    min_size=1,
    max_size=40,
)
LEAGUES = st.fixed_dictionaries(dict.fromkeys(NAMES, PLAYERS))


@settings(deadline=None)  # the first example loads kernels
@given(LEAGUES, st.lists(st.tuples(st.integers(1, 14), GAMES), min_size=1, max_size=5))
def test_periods__agree_with_the_twin(players: dict[str, Any], periods: list[tuple[int, list[Game]]]) -> None:
    """Months go by between the periods, more than 26 in some histories."""
    known = {name: {key: value for key, value in one.items() if value is not None} for name, one in players.items()}
    beliefs, names = believed(known)
    twin, month = Twin(known), 12 * 2023
    for later, games in periods:
        month += later
        year, number = divmod(month, 12)
        found = rated(beliefs, games, names, ended(year, number + 1))
        expected = twin.rate(games, year, number + 1)
        assert {names[row] for row in found.player} == set(expected)
        for at, row in enumerate(found.player.tolist()):
            one = expected[names[row]]
            assert found.before[at] == (one.before or 0)
            assert found.rating[at] == (one.rating or 0)
            assert np.array_equal(found.performance[at], np.nan if one.performance is None else one.performance, True)
            if one.k is not None:
                assert (found.games[at], found.k[at]) == (one.counted, one.k)
        state = {name: (player.rating or 0, player.games, player.peak) for name, player in twin.players.items()}
        columns = (beliefs.mu, beliefs.state["games"], np.maximum(beliefs.state["peak"], beliefs.mu))
        assert {name: tuple(column[row] for column in columns) for row, name in enumerate(names)} == state


@given(LEAGUES, GAMES, st.randoms())
def test_laws__ratings_are_whole_and_move_by_at_most_700_and_the_order_does_not_matter(
    players: dict[str, Any], games: list[Game], random: Any
) -> None:
    known = {name: {key: value for key, value in one.items() if value is not None} for name, one in players.items()}
    (one, names), (other, _) = believed(known), believed(known)
    found = rated(one, games, names, ended(2026))
    assert np.array_equal(found.rating, np.floor(found.rating))
    was_rated = found.before > 0
    assert (np.abs(found.rating - found.before)[was_rated & (found.rating > 0)] <= 700).all()
    assert (found.rating[~was_rated] <= 2200).all()
    assert ((found.rating == 0) | (found.rating >= 1400)).all()
    mixed = [(b, a, 1 - score) if random.random() < 0.5 else (a, b, score) for a, b, score in games]
    random.shuffle(mixed)
    rated(other, mixed, names, ended(2026))
    assert same_bits(tuple(one.columns().values()), tuple(other.columns().values()))


def test_change__of_a_favourite_is_that_of_the_rules() -> None:
    """A win of 2600 against 1800 at K 10 is 0.8 points by the cap, and one of 2700 against 1900 nothing."""
    assert against(2600, 1800, 1.0) == 1.0
    assert against(2600, 1800, 1.0, n=10) == 8.0
    assert against(2700, 1900, 1.0, n=10) == 0.0
    assert against(2649, 2200, 1.0, n=10) == 8.0
    assert against(2650, 2200, 1.0, n=10) == 6.0  # 449 points count in full
    assert against(1900, 2700, 1.0, n=10) == 10 * 20 * 0.92  # the other side of the game is not the mirror


def test_factor__follows_games_age_rating_and_peak() -> None:
    assert against(1800, 1800, 1.0, games=29) == 20.0
    assert against(1800, 1800, 1.0, games=30) == 10.0
    assert against(1800, 1800, 1.0, birth_year=2008) == 20.0  # 18 in the year of the period
    assert against(1800, 1800, 1.0, birth_year=2007) == 10.0
    assert against(2299, 2299, 1.0, birth_year=2010) == 20.0
    assert against(2300, 2300, 1.0, birth_year=2010) == 10.0
    assert against(2300, 2300, 1.0, peak=2400) == 5.0
    assert against(2300, 2300, 1.0, peak=2400, games=5) == 5.0
    assert against(2400, 2400, 1.0, peak=0) == 5.0  # the rating itself is a published one
    assert against(1800, 1800, 1.0, n=36) == 36 * 19 / 2  # floor(700 / 36)
    assert against(1800, 1800, 1.0, n=35) == 35 * 20 / 2


def test_rating__below_1400_is_none_and_a_new_pool_begins() -> None:
    beliefs, names = believed({"a": {"rating": 1402, "games": 100, "peak": 1500}, "b": {"rating": 1600, "games": 100}})
    rated(beliefs, [("a", "b", 0.0)], names, ended(2026))
    assert (beliefs.mu[0], beliefs.state["peak"][0], beliefs.state["games"][0]) == (0.0, 1500.0, 101.0)
    found = rated(beliefs, [("a", "b", 0.0)] * 4, names, ended(2026, 2))
    assert (found.games[0], found.rating[0]) == (4, 0.0)  # no first period of a new player: the zero counts
    assert found.rating[1] == found.before[1]  # games against unrated players do not count
    found = rated(beliefs, [("a", "b", 1.0)] * 3, names, ended(2026, 3))
    assert (found.games[0], found.rating[0] > 1400, beliefs.state["games"][0]) == (7, True, 108.0)
    assert not len(beliefs.columns()["history_pool"].values)  # type: ignore[union-attr]


def test_pool__disregards_a_first_period_without_a_point_and_months_before_the_last_26() -> None:
    beliefs, names = believed({"a": {}, "b": {"rating": 1900, "games": 100}})
    assert rated(beliefs, [("a", "b", 0.0)] * 6, names, ended(2023, 1)).games[0] == 0
    assert rated(beliefs, [("a", "b", 0.0)] * 2, names, ended(2023, 2)).games[0] == 2
    assert rated(beliefs, [("a", "b", 0.5)] * 2, names, ended(2025, 3)).games[0] == 4  # 25 months later
    assert rated(beliefs, [("a", "b", 0.5)] * 2, names, ended(2025, 4)).games[0] == 4  # without the first two
    found = rated(beliefs, [("a", "b", 0.5)], names, ended(2025, 4))
    assert (found.games[0], found.rating[0]) == (5, 1871.0)  # (5 * 1900 + 3600) / 7 and a half of the points


def test_first_rating__is_at_most_2200_and_at_least_1400() -> None:
    def rating(*pool: int) -> int | None:
        first = first_rating(*pool)
        return None if first is None else first.rating

    assert rating(4, 8, 4 * 2600) is None
    assert rating(5, 10, 5 * 2600) == 2200
    assert rating(5, 0, 5 * 1410) == 0
    assert rating(5, 0, 5 * 1750) == 1764 - 309  # one point of seven by the hypothetical draws: 0.14


def test_tables__are_those_of_both_sides() -> None:
    lead = np.arange(0, 900)
    up, down = expected_hundredths(3000, 3000 - lead), expected_hundredths(3000, 3000 + lead)
    assert np.array_equal(up + down, np.full(900, 100))
    assert (np.diff(up) >= 0).all()
    assert np.isnan(performance([0, 1], [0, 2], [0, 2000])).tolist() == [True, False]


def test_chance__is_elos_normal_curve_and_an_unrated_player_counts_as_1800() -> None:
    def prior(*mu: float) -> Prior:
        n = len(mu)
        return Prior(np.array(mu), np.zeros(n), np.zeros(n), np.zeros(n, np.int32))

    chance = SYSTEM.win_probability(PARAMS, Conditions(), prior(2000, 0, 1800, 2800), prior(1800, 1800, 0, 1800))
    assert chance == pytest.approx([0.7602499, 0.5, 0.5, 0.9997965], abs=1e-6)
    table = expected_hundredths(2700 + np.arange(0, 700), 2700) / 100
    curve = SYSTEM.win_probability(PARAMS, Conditions(), prior(*(2700.0 + np.arange(0, 700))), prior(2700.0))
    assert np.abs(table - curve).max() < 0.0085  # the table rounds it, but for some rows


def season(seed: int = 4, n_players: int = 40, n_periods: int = 8, n_games: int = 60) -> Rounds:
    """Monthly periods of games; one in three games is a draw."""
    draw = np.random.default_rng(seed)
    n = n_periods * n_games
    pairs = np.array([draw.choice(n_players, 2, replace=False) for _ in range(n)])
    drawn = draw.random(n) < 1 / 3
    lo = np.stack([np.zeros(n, int), np.where(drawn, 0, 1)], axis=1).ravel()
    hi = np.stack([np.where(drawn, 1, 0), np.ones(n, int)], axis=1).ravel()
    event = np.repeat(np.arange(n_periods), n_games)
    times = ended(2025) + 30 * 86_400 * event
    return Rounds.from_columns(np.arange(0, 2 * n + 1, 2), pairs.ravel(), lo, hi, times, event=event)


def started() -> Beliefs:
    """Half of the players of a season have ratings."""
    beliefs = SYSTEM.newcomers(PARAMS, 40)
    beliefs.mu[::2] = np.linspace(1500, 2700, 20).round()
    beliefs.state["birth_year"][::4] = 2010
    return beliefs


def test_bits__are_the_same_for_every_engine_and_number_of_periods_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds_module, "LEAST_GAMES", 1)  # waves would rate one game after the other
    games, one, other = season(), started(), started()
    expected = rate_rounds(SYSTEM, PARAMS, one, games, Serial())
    assert (one.mu[1::2] > 0).any()  # first ratings
    assert one.history is not None
    with Threads(3, 2) as engine:
        assert same_bits((expected, one), (rate_rounds(SYSTEM, PARAMS, other, games, engine), other))
    for batches in ([games], [games.part(60 * i, 60 * i + 60) for i in range(8)]):
        rater = PartitionedRater(SYSTEM, PARAMS, 40, InProcessEngine(3))
        rater.restore(started().columns())
        found = list(rater.rate_batches(batches))
        for name in ("perf", "mu_prior", "mu", "n_before"):
            column = np.concatenate([getattr(part, name) for part in found])
            assert np.array_equal(column, getattr(expected, name), equal_nan=True), name
        columns = rater.columns()
        assert same_bits(tuple(columns.values()), tuple(one.columns()[name] for name in columns))
        rater.close()


def test_period__of_rounds_is_that_of_games() -> None:
    games, one, other = season(n_periods=1), started(), started()
    outcome = rate_rounds(SYSTEM, PARAMS, one, games, Serial())
    score = np.where(games.lo[::2] == games.lo[1::2], 0.5, 1.0)
    found = rate_games(PARAMS, other, games.player[::2], games.player[1::2], score, int(games.time_seconds[-1]))
    assert same_bits(tuple(one.columns().values()), tuple(other.columns().values()))
    last = dict(zip(found.player.tolist(), found.performance.tolist(), strict=True))
    assert np.array_equal(outcome.perf, [last[row] for row in games.player.tolist()], equal_nan=True)


def test_bad_input__is_refused_by_name() -> None:
    beliefs, names = believed({"a": {"rating": 2000}, "b": {"rating": 1390}})
    with pytest.raises(ValueError, match=r"player 1: a rating must be a whole number from 1400 to 9999, .*, got 1390"):
        rated(beliefs, [("a", "b", 1.0)], names, ended(2026))
    beliefs.mu[1] = 1500.5
    with pytest.raises(ValueError, match=r"player 1: a rating must be a whole number .*, got 1500\.5"):
        rated(beliefs, [("a", "b", 1.0)], names, ended(2026))
    beliefs.mu[1] = 1500.0
    with pytest.raises(ValueError, match=r"game 1: a score must be 1, 0\.5 or 0, as FIDE rates .*, got 0\.75"):
        rated(beliefs, [("a", "b", 1.0), ("a", "b", 0.75)], names, ended(2026))
    with pytest.raises(ValueError, match=r"game 0: score must be between 0 and 1, got 2"):
        rated(beliefs, [("a", "b", 2.0)], names, ended(2026))
    with pytest.raises(ValueError, match=r"mu_init must be 0, for unrated newcomers, or at least 1400, got 1399"):
        Fide(mu_init=1399)
    assert beliefs.mu.tolist() == [2000.0, 1500.0]


@pytest.mark.parametrize(
    ("rounds", "said"),
    [
        (Rounds.from_columns([0, 2, 5], [0, 1, 0, 1, 2], [0, 1, 0, 1, 2], [0, 1, 0, 1, 2]), "has 3 participants"),
        (Rounds.from_columns([0, 2, 3], [0, 1, 2], [0, 1, 0], [0, 1, 0]), "has 1 participants"),
        (Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1], advantage=[17.5, -17.5]), "no rule for advantages"),
    ],
    ids=["three", "one", "advantages"],
)
def test_rounds__other_than_games_are_refused_before_the_first_is_rated(rounds: Rounds, said: str) -> None:
    beliefs = SYSTEM.newcomers(Fide(mu_init=1500), 3)
    with pytest.raises(ValueError, match=f"fide.*{said}"):
        rate_rounds(SYSTEM, Fide(mu_init=1500), beliefs, rounds, Serial())
    assert not beliefs.n_rounds.any()
