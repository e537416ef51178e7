"""Rounds of teams between small and large rounds of individuals, with beliefs on several workers."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from helpers.histories import same_bits
from helpers.in_process_engine import InProcessEngine
from helpers.rounds import walk
from helpers.teams import draw_team_contests, team_rounds

from ranklake.flows.engines.factory import open_engine
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.rounds import split_batches
from ranklake.rating_kernels import SYSTEMS, Rounds

N_PLAYERS, SMALL, MANY = 24, 10, 3_600


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
    for engine in (InProcessEngine(2), InProcessEngine(3, limits=ClusterLimits(shared_summary_rows=15))):
        rater = PartitionedRater(system, params, N_PLAYERS, engine)
        assert same_bits(walk(rater, batches), expected)
        columns = rater.columns()
        assert all(same_bits(columns[key], values) for key, values in local.columns().items())
        rater.close()


def crowds(seed: int) -> Rounds:
    """Two rounds of thousands in teams of different sizes, with ties, and games of teams between them."""
    rng = np.random.default_rng(seed)
    contests = []
    for at, n_teams in enumerate((900, 2, 3, 700, 2)):
        players, teams = rng.permutation(MANY), rng.integers(1, 5, n_teams)
        ends, place = np.cumsum(teams), np.sort(rng.integers(0, n_teams, n_teams))
        lo, hi = np.searchsorted(place, place, side="left"), np.searchsorted(place, place, side="right") - 1
        standings = [
            (int(a), int(b), players[end - size : end].tolist(), None)
            for a, b, end, size in zip(lo, hi, ends, teams, strict=True)
        ]
        contests.append((standings, 86_400 * at, 1.0, math.inf))
    return team_rounds(contests, {k: k for k in range(MANY)})


@pytest.mark.parametrize("name", ["elo-mmr", "elo-mmx", "elo-mms", "trueskill", "bar"])
def test_blocks_and_threads__give_the_same_bits_for_crowds_of_teams(name: str) -> None:
    system, rounds = SYSTEMS[name], crowds(1)
    assert (np.diff(rounds.offsets) > system.small).sum() == 2
    params = system.params()
    (expected,) = LocalRater(system, params, MANY, Serial()).rate_batches([rounds])
    for engine in (Serial(61), Threads(2), Threads(5, 100)):
        with engine:
            (outcome,) = LocalRater(system, params, MANY, engine).rate_batches([rounds])
        assert same_bits(outcome, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of closed connections
def test_dask__gives_the_same_bits_for_crowds_of_teams() -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed: no Dask to test with")
    rounds = crowds(2)
    batches = [rounds.part(0, 2), rounds.part(2, len(rounds))]
    with open_engine("dask", 2) as engine:
        for name in ("elo-mmr", "elo-mmx", "elo-mms", "trueskill", "bar"):
            system = SYSTEMS[name]
            params = system.params()
            (expected,) = LocalRater(system, params, MANY, Serial()).rate_batches([rounds])
            rater = PartitionedRater(system, params, MANY, engine)
            assert same_bits(walk(rater, batches), expected)
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
    ):
        with pytest.raises(ValueError, match="glicko has no rule for rounds of teams"):
            list(rater.rate_batches([history()]))
        rater.close()
