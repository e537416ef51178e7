"""Rounds of teams between small and large rounds of individuals, with beliefs on several workers."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from helpers.histories import same_bits
from helpers.in_process_engine import InProcessEngine
from helpers.teams import draw_team_contests, team_rounds

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.pinned import PinnedRater
from ranklake.flows.execution.rounds import split_batches
from ranklake.rating_kernels import SYSTEMS, Rounds

N_PLAYERS, SMALL = 24, 10


def alone(seed: int, n: int):
    """A contest of ``n`` individuals."""
    players = np.random.default_rng(seed).permutation(N_PLAYERS)[:n].tolist()
    return [(place, place, [player], None) for place, player in enumerate(players)], 86_400 * seed, 1.0, math.inf


def history() -> Rounds:
    """Small, large and team rounds in all orders."""
    teams = draw_team_contests(1, N_PLAYERS, 6)
    sizes = (5, None, None, 20, None, 4, 22, 6, None, 4, 5, None, 21, 21, None)
    contests = [teams.pop() if size is None else alone(seed, size) for seed, size in enumerate(sizes)]
    return team_rounds(contests, {k: k for k in range(N_PLAYERS)})


@pytest.mark.parametrize("name", ["elo-mmx", "elo-mms", "trueskill", "bar"])
def test_raters__of_several_workers_give_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = dataclasses.replace(SYSTEMS[name], small=SMALL)
    monkeypatch.setitem(SYSTEMS, name, system)
    rounds, params = history(), system.params()
    batches = [rounds.part(a, b) for a, b in pairwise((0, 3, 4, 9, 13, len(rounds)))]
    local = LocalRater(system, params, N_PLAYERS, Serial())
    (expected,) = local.rate_batches([rounds])
    for rater in (
        PartitionedRater(system, params, N_PLAYERS, InProcessEngine(2)),
        PartitionedRater(system, params, N_PLAYERS, InProcessEngine(3), None, 15),
        PinnedRater(system, params, N_PLAYERS, InProcessEngine(1)),
    ):
        outcomes = list(rater.rate_batches(batches))
        for column in ("mu_prior", "sigma_prior", "perf", "mu", "sigma", "n_before"):
            assert same_bits(np.concatenate([getattr(part, column) for part in outcomes]), getattr(expected, column))
        columns = rater.columns()
        assert all(same_bits(columns[key], values) for key, values in local.columns().items())
        rater.close()


def test_batches__have_each_large_round_of_teams_alone() -> None:
    rounds = history()
    sizes, teams = np.diff(rounds.offsets), rounds.of_teams
    assert (sizes[teams] > SMALL).any()
    assert (sizes[teams] <= SMALL).any()
    batches = split_batches(dataclasses.replace(SYSTEMS["elo-mmx"], small=SMALL), rounds)
    assert [start for start, _, _ in batches] == [0, *(stop for _, stop, _ in batches[:-1])]
    assert {start for start, _, large in batches if large} == set(np.flatnonzero((sizes > SMALL) & ~teams))
    alone = {start for start, stop, large in batches if not large and stop - start == 1 and sizes[start] > SMALL}
    assert alone == set(np.flatnonzero((sizes > SMALL) & teams))


def test_raters__refuse_teams_for_a_system_without_a_rule() -> None:
    system = SYSTEMS["glicko"]
    for rater in (
        LocalRater(system, system.params(), N_PLAYERS, Serial()),
        PartitionedRater(system, system.params(), N_PLAYERS, InProcessEngine(2)),
        PinnedRater(system, system.params(), N_PLAYERS, InProcessEngine(1)),
    ):
        with pytest.raises(ValueError, match="glicko has no rule for rounds of teams"):
            list(rater.rate_batches([history()]))
        rater.close()
