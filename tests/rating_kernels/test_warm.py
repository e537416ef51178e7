"""The warm-up calls the kernels of both parts with rounds of the sizes that they rate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds
from ranklake.rating_kernels import warm as module


@pytest.mark.parametrize("small", [0, 1, 2, 3, SYSTEMS["elo"].small])
def test_warm__small_rounds_have_at_most_the_participants_of_a_system_and_large_ones_more(small: int) -> None:
    elo = SYSTEMS["elo"]
    sizes: dict[str, list[int]] = {"small": [], "large": []}

    def rate_small(params: Any, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
        sizes["small"].append(rounds.n_rows)
        elo.rate_small(params, beliefs, rounds, outcome)

    def summarise(params: Any, prior: Any, round: Rounds, map: Callable[..., None]) -> Any:
        sizes["large"].append(round.n_rows)
        return elo.summarise(params, prior, round, map)

    system = dataclasses.replace(elo, small=small, rate_small=rate_small, summarise=summarise)
    module._small(system)
    module._large(system)
    assert all(0 < n <= small for n in sizes["small"])
    assert bool(sizes["small"]) == bool(small)
    assert all(n > small for n in sizes["large"])
    assert sizes["large"]
