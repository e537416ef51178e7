"""The boundary between two divisions."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from helpers.experiments import finding, rows, run

from ranklake.flows.experiments.properties import divisions
from ranklake.flows.experiments.properties.divisions import BOUNDARY, Observed, density, jump
from ranklake.flows.experiments.published import Contender


@pytest.mark.slow
def test_divisions__step_less_with_elo_mmr_than_with_codeforces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divisions, "HISTORIES", 4)
    report = run("divisions")
    table = {row["system"]: row for row in rows(report, "boundary")}
    steps = {name: row["jump of the bias, points"] for name, row in table.items()}
    assert abs(steps["Elo-MMR"]) < steps["Codeforces, r327"]
    assert steps["Codeforces, r327"] > 3.0 * table["Codeforces, r327"]["its standard error"]
    assert all(0.5 < row["ratings within 100 points, of the expected"] < 2.0 for row in table.values())
    assert all(1.0 < row["crossings a round"] < 400.0 for row in table.values())
    assert f"{steps['Elo-MMR']:+.1f} ±" in finding(report)


def test_jump__and_density_find_what_is_planted() -> None:
    rng = np.random.default_rng(2)
    skill = rng.normal(1500.0, 400.0, 400_000)
    rating = 1500.0 + 0.9 * (skill - 1500.0) + rng.normal(0.0, 60.0, len(skill))
    smooth = Observed(skill, rating, 0.0)
    assert jump(smooth) == pytest.approx(0.0, abs=2.0)
    assert density(smooth) == pytest.approx(1.0, abs=0.02)
    assert jump(Observed(skill, rating + 50.0 * (skill >= BOUNDARY), 0.0)) == pytest.approx(50.0, abs=2.0)
    heap = rng.random(len(skill)) < 0.02
    assert density(Observed(skill, np.where(heap, rng.uniform(1800.0, 2000.0, len(skill)), rating), 0.0)) > 1.1


def test_rounds__have_the_players_of_each_division_in_their_order() -> None:
    order, first = np.array([3, 1, 4, 0, 2]), np.array([True, False, True, True, False])
    apart = divisions._rounds(order, first, 0)
    assert apart.player.tolist() == [3, 4, 0, 1, 2]
    assert apart.lo.tolist() == [0, 1, 2, 0, 1]
    assert apart.event.tolist() == [0, 0]
    assert divisions._rounds(order, first, divisions.COMBINED - 1).player.tolist() == order.tolist()
    assert len(divisions._rounds(order, np.zeros(5, dtype=bool), 0)) == 1


def test_simulate__ratings_follow_the_skills() -> None:
    found = divisions.simulate(Contender("", "elo-mmr", {}), 3, 200, 90)
    assert found.skill.shape == found.rating.shape == (400,)
    assert np.corrcoef(found.skill, found.rating)[0, 1] > 0.9
    assert found.crossings > 0.0
