"""What every rating system owes, whatever it computes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, ladder, same_bits, set_ratings

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds, System
from ranklake.rating_kernels.registry import of_contests


@pytest.fixture(params=of_contests())
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


def believed(system: System, params: Any, mu: Any, sigma: Any) -> Beliefs:
    """Players known by their ratings alone; ``sigma`` is left to systems that know one."""
    beliefs = system.newcomers(params, len(mu))
    sigma = sigma if params.sigma_init > 0 else 0.0
    set_ratings(system, params, beliefs, np.arange(len(mu)), np.asarray(mu, float), np.asarray(sigma, float), 5)
    return beliefs


def real_numbers(system: System) -> Any:
    """Default hyperparameters under which ratings may be any numbers."""
    return system.params(arithmetic="real") if system.name == "codeforces" else system.params()


def scale(params: Any) -> float:
    """What a rating point is to this system: about the spread of newcomers, or 350."""
    return float(params.sigma_init) / 350.0 or 1.0


def crowd(system: System, params: Any, n: int, seed: int = 3) -> tuple[Beliefs, Rounds]:
    """``n`` players with histories, and a round in which a third tie with the one before."""
    draw = np.random.default_rng(seed)
    unit = scale(params)
    mu = params.mu_init + unit * draw.normal(0, 350, n)
    beliefs = believed(system, params, mu, unit * draw.uniform(80, 350, n))
    order = np.argsort(-mu - unit * draw.normal(0, 250, n))
    group = np.cumsum(draw.random(n) > 0.3)
    lo, hi = np.searchsorted(group, group, "left"), np.searchsorted(group, group, "right") - 1
    return beliefs, Rounds.from_columns([0, n], order, lo, hi)


def close(one: Any, other: Any, unit: float, rtol: float = 1e-9) -> bool:
    return bool(np.allclose(one, other, rtol=rtol, atol=rtol * unit, equal_nan=True))


def test_system__rates_a_round_alike_term_by_term_and_from_tables(system: System) -> None:
    """The path of small rounds and the path of large ones are one system."""
    params = real_numbers(system)
    n = min(system.small, 400)
    (one, round), (other, _) = crowd(system, params, n), crowd(system, params, n)
    direct = rate_rounds(system, params, one, round, Serial())
    stepped = four_steps(system, params, other, round)
    for name in Outcome._fields:
        assert close(getattr(direct, name), getattr(stepped, name), 350 * scale(params)), name
    for name, column in one.columns().items():
        if not isinstance(column, tuple):
            assert close(column, other.columns()[name], 350 * scale(params)), name


@pytest.mark.parametrize("n", [1, 2, 3, 1500])
def test_system__keeps_equal_players_equal_when_all_tie(system: System, n: int) -> None:
    params = system.params()
    beliefs = system.newcomers(params, n)
    outcome = rate_rounds(system, params, beliefs, ladder(n), Serial())
    assert np.isfinite(outcome.mu).all()
    assert np.isfinite(outcome.sigma).all()
    if system.name != "trueskill":  # whose chain has two ends
        assert np.ptp(outcome.mu) <= 1e-9 * 350 * scale(params)
        assert np.ptp(outcome.sigma) <= 1e-9 * 350 * scale(params)


def test_system__can_rate_a_player_alone(system: System) -> None:
    params = system.params()
    mu = params.mu_init + 100 * scale(params)
    beliefs = believed(system, params, [mu], [200 * scale(params)])
    outcome = rate_rounds(system, params, beliefs, ladder(1), Serial())
    if system.name != "elo-srm":  # its rounds raise all ratings slightly, by design
        assert outcome.mu.tolist() == pytest.approx([mu], rel=1e-12)
    assert np.isfinite([*outcome.mu, *outcome.sigma]).all()
    assert beliefs.n_rounds.tolist() == [6]


@pytest.mark.parametrize("sigma", [350.0, 80.0, 1e-3])
@pytest.mark.parametrize("n", [2, 2000])
def test_system__survives_upsets_of_5000_points(system: System, sigma: float, n: int) -> None:
    """The upper half of the field is beaten by the lower one."""
    params = system.params()
    unit = scale(params)
    mu = np.repeat([0.0, 5000.0 * unit], n // 2)
    beliefs = believed(system, params, mu, np.full(n, sigma * unit))
    outcome = rate_rounds(system, params, beliefs, ladder(*[1] * n), Serial())
    assert np.isfinite(outcome.mu).all()
    assert np.isfinite(outcome.sigma).all()
    assert (outcome.sigma >= 0).all()
    if system.name != "topcoder" or sigma > 1:  # whose sigma is how wrong it was
        assert outcome.mu[0] >= outcome.mu_prior[0]
        if system.name != "leetcode" or n > 2:  # whose field includes oneself, which counts among two
            assert outcome.mu[-1] <= outcome.mu_prior[-1]


def test_system__does_not_depend_on_the_numbers_of_players(system: System) -> None:
    params, n = real_numbers(system), max(system.small + 50, 300)
    beliefs, round = crowd(system, params, n)
    number = np.random.default_rng(8).permutation(n)
    renamed = dataclasses.replace(round, player=number[round.player].astype(np.int32))
    other = system.newcomers(params, n)
    columns = beliefs.columns()
    moved = {}
    for name, column in columns.items():
        if isinstance(column, tuple):
            assert not len(column[1])  # there are no histories yet
            moved[name] = column
        else:
            moved[name] = np.empty_like(column)
            moved[name][number] = column
    other.restore(moved)
    one = rate_rounds(system, params, beliefs, round, Serial())
    assert same_bits(one, rate_rounds(system, params, other, renamed, Serial()))


def test_system__hyperparameters_are_frozen_and_described(system: System) -> None:
    params = system.params()
    documented = "\n".join(kind.__doc__ or "" for kind in system.params.__mro__)
    for field in dataclasses.fields(params):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(params, field.name, 1)
        assert field.name in documented, f"{field.name} is not documented"


def test_system__beliefs_are_restored_to_the_bit(system: System) -> None:
    params = real_numbers(system)
    beliefs, round = crowd(system, params, 300)
    rate_rounds(system, params, beliefs, round, Serial())
    other = system.newcomers(params, 0)
    other.restore(beliefs.columns())
    assert same_bits(other, beliefs)
    again = [rate_rounds(system, params, known, round, Serial()) for known in (beliefs, other)]
    assert same_bits(*again)


@pytest.mark.slow
def test_system__rates_a_million_at_once(system: System) -> None:
    params = real_numbers(system)
    beliefs, round = crowd(system, params, 1_000_000)
    with Threads(2) as engine:
        outcome = rate_rounds(system, params, beliefs, round, engine)
    assert np.isfinite(outcome.mu).all()
    assert np.isfinite(outcome.sigma).all()
