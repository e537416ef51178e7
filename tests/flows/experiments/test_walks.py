"""Ratings after given performances: the figure of Elo-R's report, and the bounds of Elo-MMR's paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from helpers.experiments import finding, rows, run

from ranklake.flows.experiments.properties import influence
from ranklake.flows.experiments.published import Contender
from ranklake.flows.experiments.walks import walk, walks


@pytest.mark.slow
def test_robustness__rises_equal_the_printed_ones() -> None:
    """Elo-R's report: 48, 63, ..., 1875 after six and 566 at the seventh; memoryless 320, then 268.8."""
    report = run("robustness")
    rises = report.tables["rises"].columns
    assert [round(rises["Elo-R, simple noise"][i]) for i in (0, 1, 6)] == [48, 63, 566]
    assert round(report.tables["after-six"].columns["here"][0]) == 1875
    assert [round(rise, 1) for rise in rises["memoryless"][:2]] == [320.0, 268.8]
    branches = {row["system"]: row for row in rows(report, "branches")}
    simple = branches["Elo-R, simple noise"]
    assert simple["rating after six"] == pytest.approx(1874.56, abs=0.005)
    assert round(simple["change by 3000"]) == 566
    assert all(row["change by 3000"] > 0.0 > row["change by 1000"] for row in branches.values())
    assert f"{simple['change by 1000']:+.0f}" in finding(report)


def test_robustness__ratings_equal_the_vectors() -> None:
    """Exact noise, from the specification: 47.88, 57.56, 70.75, 90.07, 120.84, 175.62, 288.33, 446.50."""
    one = Contender("", "elo-r", {"mu_init": 1000.0, "sigma_init": 100.0})
    walked, _ = walk(one, [1000.0] * 40 + [3000.0] * 8)
    expected = [47.88, 57.56, 70.75, 90.07, 120.84, 175.62, 288.33, 446.50]
    assert np.allclose(np.diff(walked[40:]), expected, atol=0.006)


@pytest.mark.parametrize("system", ["elo-mmr", "elo-mmx", "elo-r"])
def test_walks__of_several_players_are_those_of_each(system: str) -> None:
    performances = np.random.default_rng(5).normal(1500.0, 300.0, (9, 5))
    one = Contender("", system, {})
    together, _ = walks(one, performances)
    for player in range(5):
        assert walk(one, performances[:, player].tolist())[0] == together[:, player].tolist()


@pytest.mark.slow
def test_influence__is_within_the_proved_bounds() -> None:
    report = run("influence")
    bounds = report.tables["bounds"].columns
    assert list(bounds["within"]) == [True] * 6
    assert bounds["change"][-1] == pytest.approx(math.pi / math.sqrt(3) * (80**2 + 0.2 * 80**2) / math.sqrt(6 * 80**2))
    assert all(row["within"] for row in rows(report, "histories"))
    assert "44.5 (consistent), 59.3 (consistent, 2600 at the end), 146.6 (volatile)" in finding(report)


def test_cap__is_larger_for_less_consistent_players_unless_the_history_is_forgotten() -> None:
    """From the specification, default limits: 44.5, 59.3, 146.4 with rho 0.04 (within 0.2), 71.1 with rho infinity."""
    caps = {}
    for rho in (0.04, 1.0, math.inf):
        one = Contender("", "elo-mmr", {"rho": rho})
        found = [influence._cap(one, walk(one, history)[1]) for history in influence._HISTORIES.values()]
        assert all(within for *_, within in found)
        caps[rho] = [cap for _, cap, _, _ in found]
    assert caps[0.04] == pytest.approx([44.5, 59.3, 146.4], abs=0.2)
    assert caps[math.inf] == pytest.approx([71.086] * 3, abs=1e-3)
    for rho in (0.04, 1.0):
        assert caps[rho] == sorted(caps[rho])
        assert caps[rho][0] < 0.9 * caps[rho][1] < 0.81 * caps[rho][2]
