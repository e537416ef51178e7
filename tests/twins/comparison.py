"""A history by the package and by a twin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from helpers.histories import four_steps, set_ratings, to_rounds
from helpers.strategies import POOL, Belief, Contest

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import Beliefs, System


def pool_of(system: System, params: Any, people: Mapping[str, Belief]) -> Beliefs:
    """A store with a row for each of the pool, with the ratings of some; without histories."""
    beliefs = system.newcomers(params, len(POOL))
    for name, known in people.items():
        set_ratings(system, params, beliefs, [POOL.index(name)], known.mu, known.sigma, known.n)
    return beliefs


def agree(
    system: System, params: Any, people: Mapping[str, Belief], contests: Iterable[Contest], twin: Any,
    rate: Callable[[Contest], Sequence[Any]], rel: float = 1e-10, points: float = 1e-9,
) -> None:  # fmt: skip
    """Check a history in one call, and step by step, against the outcomes that ``rate`` has of ``twin``."""
    rounds = to_rounds(contests)
    small, large = (pool_of(system, params, people) for _ in range(2))
    outcome = rate_rounds(system, params, small, rounds, Serial())
    steps = [four_steps(system, params, large, rounds.part(i, i + 1)) for i in range(len(rounds))]
    expected = [one for contest in contests for one in rate(contest)]
    for name in ("perf", "mu_prior", "sigma_prior", "mu", "sigma"):
        found, stepped = getattr(outcome, name), np.concatenate([getattr(one, name) for one in steps])
        if name == "perf" and not system.performs:
            assert np.isnan([found, stepped]).all()
            continue
        wanted = [getattr(one, "performance" if name == "perf" else name) for one in expected]
        assert found == pytest.approx(wanted, rel=rel, abs=points), name
        assert stepped == pytest.approx(wanted, rel=rel, abs=points), name
    for name, player in twin.players.items():
        assert small.n_rounds[POOL.index(name)] == large.n_rounds[POOL.index(name)] == player.n


def agree_on_needs(
    system: System, params: Any, people: Mapping[str, tuple[float, int]], contests: Iterable[Contest], large: bool,
    rate: Callable[[Contest], Sequence[Any]], points: float = 1e-9,
) -> Beliefs:  # fmt: skip
    """Check needed ratings, and ratings after each contest, up to the slack that the twin finds in flat curves.

    ``large``: by the four steps of a large round.
    """
    beliefs = pool_of(system, params, {name: Belief(mu, params.sigma_init, n) for name, (mu, n) in people.items()})
    for contest in contests:
        expected, round = rate(contest), to_rounds([contest])
        if large:
            outcome = four_steps(system, params, beliefs, round)
        else:
            outcome = rate_rounds(system, params, beliefs, round, Serial())
        slack = np.array([one.slack for one in expected]) + points
        assert np.all(np.abs(outcome.perf - [one.need for one in expected]) <= slack)
        assert np.all(np.abs(outcome.mu - [one.mu for one in expected]) <= slack.max())
        for row, one in zip(round.player, expected, strict=True):
            beliefs.mu[row] = one.mu  # slack must not add up
    return beliefs
