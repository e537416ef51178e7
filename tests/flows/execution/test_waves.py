"""Games rated in waves have the bits of one game after the other, for every system and any division."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers.histories import same_bits
from helpers.rounds import params_of

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.outcomes import RoundError
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.execution.waves import are_games, rate_waves
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds
from ranklake.rating_kernels.core.standings import RATED
from ranklake.rating_kernels.registry import of_contests

PLAYERS = 60


@cache
def league(games: int = 400) -> Rounds:
    """Games of unequally active players; a third are draws."""
    draw = np.random.default_rng(5)
    activity = 1.0 / np.arange(1, PLAYERS + 1)
    pairs = np.array([draw.choice(PLAYERS, 2, replace=False, p=activity / activity.sum()) for _ in range(games)])
    drawn = np.repeat(draw.random(games) < 1 / 3, 2)
    lo = np.where(drawn, 0, np.tile([0, 1], games))
    hi = np.where(drawn, 1, np.tile([0, 1], games))
    times = np.arange(games) // 3 * 50_000
    weight = draw.choice([0.5, 1.0, 2.0], games)
    return Rounds.from_columns(np.arange(0, 2 * games + 1, 2), pairs.ravel(), lo, hi, times, weight)


@pytest.mark.quick("elo-mmr", "trueskill")
@pytest.mark.parametrize("name", of_contests())
def test_waves__have_the_bits_of_one_game_after_the_other(name: str) -> None:
    system, games = SYSTEMS[name], league()
    params = params_of(system)
    expected = system.newcomers(params, PLAYERS)
    outcome = rate_rounds(system, params, expected, games, Serial())
    with Threads(3, 2) as engine:
        for least in (1, 2, 10_000):
            beliefs, found = system.newcomers(params, PLAYERS), Outcome.empty(games.n_rows)
            rate_waves(system, params, beliefs, games, engine.map, found, least=least)
            assert same_bits((beliefs, found), (expected, outcome))


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        *((name, {"tie_mode": mode}) for name in ("elo-mmr", "elo-mms") for mode in ("full", "split")),
        ("elo-mmr", {"tie_loss": 0.9, "tie_win": 0.4}),
        ("glicko2", {"period_days": 0.5}),
    ],
)
def test_games__solved_together_have_the_bits_of_each_alone(name: str, chosen: dict[str, Any]) -> None:
    system, games = SYSTEMS[name], league()
    params = system.params(**chosen)
    together, alone = system.newcomers(params, PLAYERS), system.newcomers(params, PLAYERS)
    outcome, found = rate_rounds(system, params, together, games, Serial()), Outcome.empty(games.n_rows)
    for g in range(len(games)):
        system.rate_small(params, alone, games.part(g, g + 1), found.part(2 * g, 2 * g + 2))
    assert same_bits((alone, found), (together, outcome))


def test_waves__are_chosen_by_an_engine_of_several_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from ranklake.flows.execution import rounds as module

    used: list[int] = []

    def counted(*arguments: object) -> None:
        used.append(1)
        rate_waves(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "LEAST_GAMES", 100)
    monkeypatch.setattr(module, "rate_waves", counted)
    system, games = SYSTEMS["elo-mmr"], league()
    one, other = (system.newcomers(system.params(), PLAYERS) for _ in range(2))
    with Threads(2) as engine:
        found = rate_rounds(system, system.params(), one, games, engine)
    assert used == [1]
    assert same_bits(found, rate_rounds(system, system.params(), other, games, Serial()))
    assert used == [1]


def test_waves__name_the_game_that_cannot_be_rated() -> None:
    system, games = SYSTEMS["elo-mmr"], league()
    beliefs = system.newcomers(system.params(), PLAYERS)
    bad = int(games.player[2 * 17])
    first = int(np.flatnonzero(games.player == bad)[0]) // 2
    beliefs.mu[bad] = np.nan
    with Threads(2, 3) as engine, pytest.raises(RoundError) as raised:
        rate_waves(system, system.params(), beliefs, games, engine.map, Outcome.empty(games.n_rows), 1000, least=1)
    assert raised.value.round == 1000 + first


def test_games__are_rounds_of_two_rated_players() -> None:
    games = league()
    assert are_games(games)
    assert not are_games(Rounds.from_columns([0, 3], [0, 1, 2], [0, 1, 2], [0, 1, 2]))
    assert not are_games(replace(games, roles=np.full(games.n_rows, RATED + 1, np.uint8)))


def test_games_in_one_call__name_the_one_that_cannot_be_rated_after_those_before_it() -> None:
    system, games = SYSTEMS["elo-mmr"], league()
    params = system.params()
    bad = int(games.player[2 * 17])
    first = int(np.flatnonzero(games.player == bad)[0]) // 2
    beliefs, expected = (system.newcomers(params, PLAYERS) for _ in range(2))
    beliefs.mu[bad] = np.nan
    with pytest.raises(RoundError) as raised:
        rate_rounds(system, params, beliefs, games, Serial())
    assert raised.value.round == first
    rate_rounds(system, params, expected, games.part(0, first), Serial())
    rated = np.unique(games.player[: 2 * first])
    rated = rated[~np.isin(rated, games.player[2 * first : 2 * first + 16])]  # the next games may have begun
    assert len(rated)
    for name in ("mu", "sigma", "n_rounds", "last_time"):
        assert same_bits(getattr(beliefs, name)[rated], getattr(expected, name)[rated])
