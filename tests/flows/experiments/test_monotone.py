"""Theorem 5.6 of Elo-MMR's paper, and the properties that Elo-R's report claims."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from helpers.experiments import finding, rows, run

from ranklake.flows.experiments.properties import monotone
from ranklake.flows.experiments.published import Contender


@pytest.mark.slow
def test_monotone__has_no_violation_where_it_is_proved() -> None:
    report = run("monotone")
    pairs = rows(report, "pairs")
    assert [row["pairs"] for row in pairs] == [11_400] * len(pairs)
    assert [row["system"] for row in pairs if row["proved"]] == ["Elo-MMχ", "Elo-MMR, rho = inf"]
    lines = [*pairs, *rows(report, "histories")]
    assert all(row["violations"] == 0 for row in lines if row["proved"])
    assert all((row["violations"] > 0) == (row["worst, points"] > 0.0) for row in lines)
    assert "Property 2 is false in general" in finding(report)


def test_overtaking__finds_violations() -> None:
    """Elo-R has a memory: the theorem does not hold for it."""
    rounds = monotone.league(np.random.default_rng(0))
    assert np.any(rounds.lo != rounds.hi)
    found = monotone.overtaking(Contender("", "elo-r", {}), rounds)
    assert found.violations > 0
    assert found.worst > 0.1


def test_swapped__finds_violations_with_simple_noise_and_raised_none() -> None:
    simple = Contender("", "elo-r", {"noise": "simple"})
    performances = monotone.histories(np.random.default_rng(0))
    assert performances.shape == (monotone.LENGTH, monotone.HISTORIES)
    assert monotone.swapped(simple, performances, np.random.default_rng(0)).violations > 0
    better = monotone.raised(simple, performances, np.random.default_rng(0))
    assert (better.cases, better.violations) == (monotone.HISTORIES, 0)
