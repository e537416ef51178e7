"""Answers to the golden vectors of intervals of places (system ``places``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import twins.places as slow
from golden.runner import Answers, Vector, check_names

from ranklake.flows.results.places import PlaceOptions, intervals, places, tiers

KEYS = ("z", "players", "min_rounds", "max_sigma", "rule")


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers; ``step_by_step``, each leaderboard as one of two groups in one call."""
    return [_rows(*given, step_by_step) for given in _given(vector)]


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    return [dict(slow.table(*given)) for given in _given(vector)]


def _given(vector: Vector) -> list[Any]:
    check_names(vector, (), KEYS)
    return [
        (
            [tuple(player) for player in contest["players"]],
            contest["z"],
            contest.get("min_rounds", 0),
            contest.get("max_sigma", math.inf),
            contest.get("rule", "separated"),
        )
        for contest in vector["contests"]
    ]


def _rows(players: Any, z: float, min_rounds: int, max_sigma: float, rule: str, grouped: bool) -> dict[Any, Any]:
    names, mu, sigma, n_rounds = (np.array(column) for column in zip(*players, strict=True))
    provisional = PlaceOptions(min_rounds, max_sigma, rule=rule).provisional(n_rounds, sigma)
    counted = np.flatnonzero(~provisional)
    mu, sigma = mu[counted], sigma[counted]
    group, n = None, len(mu)
    if grouped:  # the same players again, far above, are another group
        group, mu, sigma = np.repeat([3, 1], n), np.concatenate([mu, mu + 1e6]), np.tile(sigma, 2)
    best, worst = intervals(mu, sigma, z, rule, group)
    found = (places(mu, group), best, worst, tiers(mu, sigma, z, group))
    rows: dict[Any, Any] = {
        name: {"provisional": True, "place": None, "place_high": None, "place_low": None, "tier": None}
        for name in names.tolist()
    }
    for at, row in enumerate(counted.tolist()):
        values = [int(column[at]) for column in found]
        columns = dict(zip(("place", "place_high", "place_low", "tier"), values, strict=True))
        rows[str(names[row])] = {"provisional": False, **columns}
    return rows
