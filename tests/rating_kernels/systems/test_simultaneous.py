"""Simultaneous games of a period: Glickman's examples, the twins, and the same bits for any engine and division."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.histories import same_bits, set_ratings
from helpers.in_process_engine import InProcessEngine
from twins.glicko import Glicko as GlickoTwin
from twins.glicko2 import Glicko2 as Glicko2Twin

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Rounds
from ranklake.rating_kernels.registry import of_contests

DAY = 86_400
PLAYERS, PERIODS, GAMES = 12, 5, 30
SETTINGS = {
    "glicko": {"sig_drift": 20.0, "period_days": 7.0},
    "glicko2": {"tau": 0.5, "period_days": 7.0, "scale": "exact"},
}
TWINS: dict[str, Any] = {"glicko": GlickoTwin, "glicko2": Glicko2Twin}


def league(seed: int = 4) -> Rounds:
    """Periods of games; half of the players play in each, one in three games is a draw."""
    draw = np.random.default_rng(seed)
    pairs, times = [], []
    for period in range(PERIODS):
        here = draw.choice(PLAYERS, PLAYERS // 2, replace=False)
        pairs += [draw.choice(here, 2, replace=False) for _ in range(GAMES)]
        times += sorted((14 * period * DAY + draw.integers(0, 7 * DAY, GAMES)).tolist())
    n = len(pairs)
    drawn = draw.random(n) < 1 / 3
    places = np.stack([np.zeros(n, int), np.where(drawn, 0, 1)], axis=1).ravel()
    last = np.stack([np.where(drawn, 1, 0), np.ones(n, int)], axis=1).ravel()
    event = np.repeat(np.arange(PERIODS), GAMES)
    return Rounds.from_columns(np.arange(0, 2 * n + 1, 2), np.ravel(pairs), places, last, times, event=event)


def rated(name: str, mu: list[float], sigma: list[float], games: Rounds) -> Beliefs:
    """The beliefs after one period."""
    system = SYSTEMS[name]
    params = system.params(games="simultaneous", **({"sig_drift": 0.0} if name == "glicko" else {}))
    beliefs = system.newcomers(params, len(mu))
    set_ratings(system, params, beliefs, np.arange(len(mu)), np.array(mu), np.array(sigma), 1)
    rate_rounds(system, params, beliefs, games, Serial())
    return beliefs


def paper() -> Rounds:
    """Both papers: the player beats the first opponent, and loses to the others."""
    return Rounds.from_columns([0, 2, 4, 6], [0, 1, 2, 0, 3, 0], [0, 1] * 3, [0, 1] * 3, event=[0, 0, 0])


def test_glicko2__gives_the_printed_example_of_the_paper() -> None:
    """Glickman 2012: 1500/200/0.06 against 1400/30, 1550/100 and 1700/300."""
    beliefs = rated("glicko2", [1500, 1400, 1550, 1700], [200, 30, 100, 300], paper())
    assert beliefs.mu[0] == pytest.approx(1464.06, abs=0.02)
    assert beliefs.sigma[0] == pytest.approx(151.52, abs=0.01)
    assert beliefs.state["vol"][0] == pytest.approx(0.05999, abs=1e-5)


def test_glicko__gives_the_printed_example_of_the_paper() -> None:
    """Glickman, "The Glicko system": the same players end at 1464 and 151.4."""
    beliefs = rated("glicko", [1500, 1400, 1550, 1700], [200, 30, 100, 300], paper())
    assert beliefs.mu[0] == pytest.approx(1464, abs=0.5)
    assert beliefs.sigma[0] == pytest.approx(151.4, abs=0.05)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_periods__agree_with_the_twin(name: str) -> None:
    system, games = SYSTEMS[name], league()
    params = system.params(games="simultaneous", **SETTINGS[name])
    beliefs, twin = system.newcomers(params, PLAYERS), TWINS[name](**SETTINGS[name])
    outcome = rate_rounds(system, params, beliefs, games, Serial())
    counts = np.zeros(PLAYERS, int)
    for period in range(PERIODS):
        a, b = 2 * GAMES * period, 2 * GAMES * (period + 1)
        pairs = games.player[a:b].reshape(-1, 2).tolist()
        scores = np.where(games.lo[a:b:2] == games.lo[a + 1 : b : 2], 0.5, 1.0).tolist()
        played = [(str(one), str(other), score) for (one, other), score in zip(pairs, scores, strict=True)]
        after = {one.player: one for one in twin.rate_games(played, int(games.time_seconds[b // 2 - 1]))}
        for i in range(a, b):
            one = after[str(games.player[i])]
            for column in ("mu_prior", "sigma_prior", "mu", "sigma"):
                assert getattr(outcome, column)[i] == pytest.approx(getattr(one, column), rel=1e-12), column
            assert outcome.n_before[i] == counts[games.player[i]]
            counts[games.player[i]] += 1
    assert beliefs.n_rounds.tolist() == counts.tolist()
    if name == "glicko2":
        for player, known in twin.players.items():
            assert beliefs.state["vol"][int(player)] == pytest.approx(known.vol, rel=1e-12)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_bits__are_the_same_for_every_engine_and_number_of_periods_at_once(name: str) -> None:
    system, games = SYSTEMS[name], league()
    params = system.params(games="simultaneous", **SETTINGS[name])
    one, other = (system.newcomers(params, PLAYERS) for _ in range(2))
    expected = rate_rounds(system, params, one, games, Serial())
    with Threads(3, 2) as engine:
        assert same_bits((expected, one), (rate_rounds(system, params, other, games, engine), other))
    parts = [games.part(GAMES * period, GAMES * (period + 1)) for period in range(PERIODS)]
    for batches in ([games], parts):
        rater = PartitionedRater(system, params, PLAYERS, InProcessEngine(3))
        found = list(rater.rate_batches(batches))
        assert np.array_equal(np.concatenate([part.mu for part in found]), expected.mu)
        assert np.array_equal(np.concatenate([part.sigma for part in found]), expected.sigma)
        rater.close()


@pytest.mark.parametrize("name", list(SETTINGS))
def test_order__of_the_games_of_a_period_does_not_matter(name: str) -> None:
    mu, sigma = [1500.0, 1650.0, 1400.0], [200.0, 100.0, 50.0]
    there = Rounds.from_columns([0, 2, 4], [0, 1, 2, 0], [0, 1] * 2, [0, 1] * 2, event=[0, 0])
    back = Rounds.from_columns([0, 2, 4], [2, 0, 0, 1], [0, 1] * 2, [0, 1] * 2, event=[0, 0])
    one, other = rated(name, mu, sigma, there), rated(name, mu, sigma, back)
    assert one.mu == pytest.approx(other.mu, rel=1e-14)
    assert one.sigma == pytest.approx(other.sigma, rel=1e-14)
    alone = rated(name, mu, sigma, there.part(0, 1))
    assert math.isclose(alone.mu[1], one.mu[1], rel_tol=1e-14)  # the second game has no part in it


@pytest.mark.parametrize("name", [name for name in of_contests() if name not in SETTINGS])
def test_other_systems__have_no_simultaneous_games(name: str) -> None:
    assert not hasattr(SYSTEMS[name].params(), "games")
