"""Display ratings: the number of decimals on any scale."""

from __future__ import annotations

from typing import Any

import pytest

from ranklake.flows.common.configuration.settings import find_system
from ranklake.flows.results.display import Display


@pytest.mark.parametrize(
    ("name", "settings", "decimals"),
    [
        ("elo-mmr", {}, 0),
        ("elo-mmr", {"sigma_init": 35.0}, 1),
        ("trueskill", {}, 2),
        ("elo", {}, 0),
        ("elo", {"mu_init": 15.0}, 2),
        ("elo", {"mu_init": -0.5}, 4),
        ("elo", {"mu_init": 0.0}, 0),
    ],
)
def test_decimals__are_three_digits_of_sigma_or_four_of_mu(name: str, settings: dict[str, Any], decimals: int) -> None:
    system = find_system(name)
    assert Display(system, system.params(**settings), system.deviations).decimals == decimals
