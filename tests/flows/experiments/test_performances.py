"""Convergence of performances with the number of participants."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from helpers.experiments import finding, rows, run

from ranklake.flows.experiments.papers import performances


@pytest.mark.slow
def test_performances__converge_with_the_root_of_the_number_of_participants() -> None:
    report = run("performances")
    found = rows(report, "participants")
    large = [row for row in found if row["participants"] >= 100]
    n, error, expected = (
        np.array([row[name] for row in large])
        for name in ("participants", "error, points", "by the information of the field")
    )
    assert performances.slope(n, error) == pytest.approx(-0.5, abs=0.05)
    assert np.allclose(error, expected, rtol=0.15)
    samples = rows(report, "opponents")
    assert all(row["of nearest rating"] < row["random"] for row in samples)
    assert performances.slope(*(np.array([row[x] for row in samples[:5]]) for x in ("opponents", "random"))) < -0.4
    assert "the error falls with the power -0." in finding(report)


def test_errors__at_the_centre_of_1000_participants_are_near_10_points() -> None:
    """The information of 1,000 opponents, skills of deviation 300 and performances of 210: sum F (1 - F) / b^2."""
    error, expected = performances.errors(np.random.default_rng(1), 1_000, 60)
    assert expected == pytest.approx(10.2, abs=0.2)
    assert error == pytest.approx(expected, rel=0.2)


def test_sampled__by_all_opponents_is_the_exact_performance() -> None:
    round = performances.play(np.random.default_rng(2), 400)
    exact = performances.estimate(round.mu, 0, 400)
    assert np.all(np.diff(exact) < 0.0)
    others = np.delete(np.arange(400), 217)
    assert performances.sampled(round, 217, others) == pytest.approx(exact[217], abs=1e-9)
    assert abs(performances.sampled(round, 217, others[::40]) - exact[217]) > 1e-3
