"""Systems from one function of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Rounds, System
from ranklake.rating_kernels.core.array_system import SMALL, array_system
from ranklake.rating_kernels.core.system import Outcome, Prior

ELO = SYSTEMS["elo"]


def update(params: Any, prior: Prior, round: Rounds) -> tuple[np.ndarray, np.ndarray]:
    """Elo's update, all pairs at once."""
    lead = np.subtract.outer(prior.mu, prior.mu)
    expected = (1.0 / (1.0 + 10.0 ** (-lead / params.n))).sum(axis=1) - 0.5
    score = round.n_rows - 1 - 0.5 * (round.lo + round.hi)
    return prior.mu + params.k * round.weight[0] * (score - expected) / (round.n_rows - 1), np.zeros(round.n_rows)


TWIN = array_system("twin", ELO.params, update, ELO.win_probability)


def history(seed: int) -> tuple[Rounds, int]:
    """Rounds of 2 to 400 participants with ties, and the number of players."""
    random = np.random.default_rng(seed)
    sizes, n_players = [2, 3, 400, 40, SMALL, SMALL + 1, 2, 9], 500
    player = np.concatenate([random.permutation(n_players)[:n] for n in sizes])
    score = [np.sort(random.integers(0, n, n)) for n in sizes]
    lo = np.concatenate([np.searchsorted(one, one, "left") for one in score])
    hi = np.concatenate([np.searchsorted(one, one, "right") - 1 for one in score])
    return Rounds.from_columns(np.cumsum([0, *sizes]), player, lo, hi, np.arange(len(sizes)) * 1000), n_players


def rate(system: System, engine: Engine) -> tuple[Outcome, Beliefs]:
    rounds, n_players = history(7)
    params = ELO.params(k=24.0)
    beliefs = system.newcomers(params, n_players)
    return rate_rounds(system, params, beliefs, rounds, engine), beliefs


def test_array_system__is_the_compiled_system_of_the_same_formula(engine: Engine) -> None:
    (outcome, beliefs), (expected, compiled) = rate(TWIN, engine), rate(ELO, engine)
    assert np.isnan(outcome.perf).all()
    for name in ("mu_prior", "mu", "sigma", "n_before"):
        np.testing.assert_allclose(getattr(outcome, name), getattr(expected, name), rtol=1e-11)
    np.testing.assert_allclose(beliefs.mu, compiled.mu, rtol=1e-11)
    assert np.array_equal(beliefs.n_rounds, compiled.n_rounds)
    assert np.array_equal(beliefs.last_time, compiled.last_time)


def test_array_system__is_the_same_to_the_bit_on_any_engine(engine: Engine) -> None:
    with Serial() as serial:
        expected, _ = rate(TWIN, serial)
    outcome, _ = rate(TWIN, engine)
    assert outcome.mu.tobytes() == expected.mu.tobytes()


def test_array_system__takes_sigma_from_the_update() -> None:
    half = array_system("half", SYSTEMS["glicko"].params, lambda params, prior, round: (prior.mu, prior.sigma / 2.0),
                        ELO.win_probability, lambda params: 30.0)  # fmt: skip
    params = SYSTEMS["glicko"].params()
    beliefs = half.newcomers(params, 2)
    rounds = Rounds.from_columns([0, 2, 4], [0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1], [0, 1])
    outcome = Outcome.empty(4)
    half.rate_small(params, beliefs, rounds, outcome)
    assert beliefs.sigma.tolist() == [params.sigma_init / 4.0] * 2
    assert outcome.sigma_prior.tolist() == [params.sigma_init] * 2 + [params.sigma_init / 2.0] * 2
    assert half.sigma_limit(params) == 30.0
    assert math.isnan(outcome.perf[0])


@pytest.mark.parametrize("size", [1, SMALL + 1])
def test_array_system__broadcasts_a_constant(size: int) -> None:
    flat = array_system("flat", ELO.params, lambda params, prior, round: (1600.0, 0.0), ELO.win_probability)
    params = ELO.params()
    prior = Prior(np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size, np.int32))
    rounds = Rounds.from_columns([0, size], np.arange(size), np.arange(size), np.arange(size), [0])
    summary = flat.summarise(params, prior, rounds, None)  # type: ignore[arg-type]
    assert summary.mu.tolist() == [1600.0] * size  # type: ignore[attr-defined]
    assert summary.first.tolist() == list(range(size + 1))
