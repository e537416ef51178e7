"""Rounds of made-up players, rated by any engine, and what is compared of them."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from helpers.histories import same_bits
from helpers.in_process_engine import InProcessEngine

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.rater import Rater
from ranklake.rating_kernels import Outcome, Rounds, System

N_PLAYERS = 6000
_OPTIONS: dict[str, dict[str, Any]] = {
    "elo-mmr": {"noob_delay": (0.5, 0.7), "drift_per_day": 4.0},
    "elo-mms": {"learnt_drift": True},  # a state that all players share
}


@cache
def season(sizes: tuple[int, ...], seed: int = 11) -> Rounds:
    """Rounds of these sizes with a skill behind the places; one in four players ties with the one before."""
    draw = np.random.default_rng(seed)
    skill = draw.normal(0, 2, N_PLAYERS)
    player, lo, hi = [], [], []
    for n in sizes:
        chosen = draw.permutation(N_PLAYERS)[:n]
        ordered = chosen[np.argsort(-skill[chosen] - draw.logistic(0, 1, n))]
        group = np.cumsum(draw.random(n) > 0.25)
        player.append(ordered)
        lo.append(np.searchsorted(group, group, "left"))
        hi.append(np.searchsorted(group, group, "right") - 1)
    time = np.arange(len(sizes)) * 300_000
    offsets = np.cumsum([0, *sizes])
    precision = np.resize([1.0, 0.6, 1.8], len(sizes))
    return Rounds.from_columns(offsets, *(np.concatenate(part) for part in (player, lo, hi)), time, precision=precision)


def history(sizes: list[int], n_players: int, seed: int = 3, ties: float = 0.2) -> Rounds:
    """Rounds of these sizes among players who improve, with a skill behind the places."""
    draw = np.random.default_rng(seed)
    skill, player, lo, hi = draw.normal(0.0, 250.0, n_players), [], [], []
    for n in sizes:
        chosen = draw.permutation(n_players)[:n]
        ordered = chosen[np.argsort(-skill[chosen] - draw.normal(0.0, 150.0, n))]
        group = np.cumsum(draw.random(n) > ties)
        player.append(ordered)
        lo.append(np.searchsorted(group, group, "left"))
        hi.append(np.searchsorted(group, group, "right") - 1)
        skill += draw.normal(2.0, 10.0, n_players)
    columns = (np.concatenate(part) for part in (player, lo, hi))
    time = np.arange(len(sizes)) * 500_000
    return Rounds.from_columns(np.cumsum([0, *sizes]), *columns, time, draw.choice([0.5, 1.0, 2.0], len(sizes)))


def around(small: int) -> Rounds:
    """Rounds of more than one field block, and of sizes on both sides of what counts as small."""
    return season((2600, 40, small + 1, small, 5000, 3, 1500))


def params_of(system: System) -> Any:
    return system.params(**_OPTIONS.get(system.name, {}))


def walk(rater: Rater, parts: list[Rounds]) -> Outcome:
    """Rate parts one after the other."""
    return joined(list(rater.rate_batches(parts)))


def joined(outcomes: list[Outcome]) -> Outcome:
    return Outcome(*(np.concatenate(parts) for parts in zip(*outcomes, strict=True)))


def check_engines_agree(system: System, rounds: Rounds) -> None:
    """Raters of every engine, given the rounds in batches, have the bits of one process that has all at once."""
    batches = [rounds.part(a, b) for a, b in pairwise((0, 1, 3, len(rounds)))]
    rater = LocalRater(system, params_of(system), N_PLAYERS, Serial())
    expected = walk(rater, [rounds])
    with Threads(3) as threads:
        others = (
            LocalRater(system, params_of(system), N_PLAYERS, threads),
            PartitionedRater(
                system, params_of(system), N_PLAYERS, InProcessEngine(2, limits=ClusterLimits(shared_summary_rows=10))
            ),
        )
        for other in others:
            assert same_bits(walk(other, batches), expected)
            columns = other.columns()
            assert all(same_bits(columns[name], values) for name, values in rater.columns().items())
            other.close()
