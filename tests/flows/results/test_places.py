"""Places with their intervals, tiers and provisional players."""

from __future__ import annotations

import math

import pytest

from ranklake.rating_kernels import SYSTEMS

CERTAIN = {"codeforces", "cf-general", "leetcode", "atcoder", "topcoder", "elo-srm", "elo", "fide"}


def test_systems__state_the_deviation_of_a_skill_in_their_sigma():
    stated = {name: system.uncertainty for name, system in SYSTEMS.items()}
    assert {name for name, uncertainty in stated.items() if not uncertainty} == CERTAIN
    assert stated.pop("elo-r") == pytest.approx(math.pi / math.sqrt(12.0), rel=1e-15)  # of a logistic factor
    assert set(stated.values()) == {0.0, 1.0}
