"""Ratings have the same bits for every partitioning of the players."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.histories import same_bits
from helpers.in_process_engine import InProcessEngine
from helpers.rounds import N_PLAYERS, around, joined, params_of, walk

from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.rater import Rater
from ranklake.rating_kernels import SYSTEMS, Outcome, System


@pytest.fixture(scope="module", params=list(SYSTEMS))
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


@pytest.fixture(scope="module")
def expected(system: System) -> tuple[Any, Outcome]:
    rater = LocalRater(system, params_of(system), N_PLAYERS, Serial())
    outcome = walk(rater, [around(system.small)])
    return rater.columns(), outcome


def same(rater: Rater, outcome: Outcome, expected: tuple[Any, Outcome]) -> bool:
    columns = rater.columns()
    assert columns.keys() == expected[0].keys()
    return same_bits((outcome, *columns.values()), (expected[1], *(expected[0][name] for name in columns)))


@pytest.mark.quick("elo-mmr-*", "trueskill-*")
@pytest.mark.parametrize(
    ("workers", "shards", "wide"), [(1, None, 0), (2, None, 0), (2, 7, 10**9), (3, 3, 2000), (5, 64, 0)]
)
def test_partitioned__has_the_same_bits_for_any_number_of_workers_and_shards(
    system: System, expected, workers: int, shards: int | None, wide: int
) -> None:
    rater = PartitionedRater(
        system,
        params_of(system),
        N_PLAYERS,
        InProcessEngine(workers, limits=ClusterLimits(shared_summary_rows=wide)),
        shards,
    )
    outcome = walk(rater, [around(system.small)])
    assert same(rater, outcome, expected)


@pytest.mark.quick("elo-mmr-*", "trueskill-*")
@pytest.mark.parametrize("long", [0, 10**9], ids=["long", "short"])
def test_partitioned__looks_ahead_without_changing_a_bit(
    system: System, expected, long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ClusterLimits(shared_summary_rows=3000, overlap_rows=long)
    rounds = around(system.small)
    parts = [rounds.part(i, i + 1) for i in range(len(rounds))]
    rater = PartitionedRater(system, params_of(system), N_PLAYERS, InProcessEngine(2, limits=limits))
    assert same(rater, walk(rater, parts), expected)


@pytest.mark.quick("elo-mmr", "trueskill")
def test_partitioned__resumes_from_stored_beliefs(system: System, expected) -> None:
    rounds, params = around(system.small), params_of(system)
    one = PartitionedRater(system, params, N_PLAYERS, InProcessEngine(2))
    first = walk(one, [rounds.part(0, 4)])
    other = PartitionedRater(system, params, N_PLAYERS, InProcessEngine(3))
    other.restore(one.columns())
    rest = walk(other, [rounds.part(4, len(rounds))])
    outcome = Outcome(
        *(np.concatenate([getattr(a, n), getattr(b, n)]) for a in [first] for b in [rest] for n in Outcome._fields)
    )
    assert same(other, outcome, expected)


@pytest.mark.quick("elo-mmr", "trueskill")
def test_partitioned__batches_without_rounds_change_nothing(system: System, expected) -> None:
    rounds = around(system.small)
    parts = [rounds.part(i // 2, (i + 1) // 2) for i in range(2 * len(rounds) + 1)]  # every second one is empty
    rater = PartitionedRater(system, params_of(system), N_PLAYERS, InProcessEngine(2))
    outcomes = list(rater.rate_batches(parts))
    assert [len(outcome.mu) for outcome in outcomes] == [part.n_rows for part in parts]
    assert same(rater, joined(outcomes), expected)


def test_partitioned__refuses_to_return_beliefs_during_a_round() -> None:
    system = SYSTEMS["elo-mmr"]
    rounds = around(system.small)
    rater = PartitionedRater(system, system.params(), N_PLAYERS, InProcessEngine(2))
    outcomes = rater.rate_batches(rounds.part(i, i + 1) for i in range(2))
    next(outcomes)
    with pytest.raises(RuntimeError, match="have begun a round"):
        rater.columns()
    next(outcomes)
    assert len(rater.columns()["mu"]) == N_PLAYERS
