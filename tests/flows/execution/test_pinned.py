"""Several runs, each held by one worker; each batch is sent to a worker once for all its runs."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.histories import same_bits
from helpers.in_process_engine import InProcessActorGroup, InProcessEngine
from helpers.rounds import N_PLAYERS, around, params_of, walk

import ranklake.flows.execution.factory
import ranklake.flows.execution.pinned
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.factory import open_rater
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.pinned import BatchCache, PinnedPlacement, PinnedRater
from ranklake.rating_kernels import SYSTEMS, Rounds, System

ELO_MMR = SYSTEMS["elo-mmr"]


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> BatchCache:
    cache = BatchCache(ranklake.flows.execution.pinned.CACHE_BYTES)
    monkeypatch.setattr(ranklake.flows.execution.pinned, "_CACHE", cache)
    return cache


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of batches sent by each call."""
    counts: list[int] = []
    call_all = InProcessActorGroup.call_all

    def watched(self: InProcessActorGroup, calls: Any, rows: int = 0, to_all: Any = ()) -> Any:
        counts.extend(len(arguments[1]) for name, arguments in calls[0] if name == "rate")
        return call_all(self, calls, rows, to_all)

    monkeypatch.setattr(InProcessActorGroup, "call_all", watched)
    return counts


def parts_of(rounds: Rounds) -> list[Rounds]:
    return [rounds.part(i, i + 1) for i in range(len(rounds))]


@pytest.mark.quick("elo-mmr", "trueskill")
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=list(SYSTEMS))
def test_pinned__has_the_bits_of_the_local_rater(system: System) -> None:
    params, parts = params_of(system), parts_of(around(system.small))
    here, pinned = (
        LocalRater(system, params, N_PLAYERS, Serial()),
        PinnedRater(system, params, N_PLAYERS, InProcessEngine(2)),
    )
    expected = walk(here, parts[:4]), here.columns()
    outcome = walk(pinned, parts[:4])
    assert same_bits((outcome, *pinned.columns().values()), (expected[0], *expected[1].values()))
    other = PinnedRater(system, params, N_PLAYERS, InProcessEngine(3))
    other.restore(pinned.columns())
    assert same_bits((walk(other, parts[4:]),), (walk(here, parts[4:]),))


def test_pinned__sends_a_batch_to_a_worker_once_for_all_runs(given: list[int]) -> None:
    parts = parts_of(around(ELO_MMR.small))
    for name in ("elo-mmr", "glicko", "elo"):
        walk(PinnedRater(SYSTEMS[name], SYSTEMS[name].params(), N_PLAYERS, InProcessEngine(1)), parts)
    trips = -(-len(parts) // ranklake.flows.execution.pinned.TRIP_BATCHES)
    assert given[: 2 * trips : 2] == [0] * trips  # the first run asks for the digests, and then sends the batches
    assert sum(given[: 2 * trips]) == len(parts)
    assert given[2 * trips :] == [0] * 2 * trips


def test_pinned__sends_a_dropped_batch_again(monkeypatch: pytest.MonkeyPatch, given: list[int]) -> None:
    monkeypatch.setattr(ranklake.flows.execution.pinned, "_CACHE", BatchCache(1))  # room for the last batch only
    parts = parts_of(around(ELO_MMR.small))
    here = LocalRater(ELO_MMR, ELO_MMR.params(), N_PLAYERS, Serial())
    pinned = PinnedRater(ELO_MMR, ELO_MMR.params(), N_PLAYERS, InProcessEngine(1))
    assert same_bits((walk(pinned, parts),), (walk(here, parts),))


def test_cache__drops_the_least_recently_used_batch() -> None:
    one, two, three = (around(5).part(i, i + 1) for i in range(3))
    cache = BatchCache(ranklake.flows.execution.pinned._size(one) + ranklake.flows.execution.pinned._size(two))
    cache.put(b"1", one)
    cache.put(b"2", two)
    assert cache.get(b"1") is one
    cache.put(b"3", three)
    assert (cache.get(b"1") is one, cache.get(b"2")) == (True, None)
    assert cache.get(b"3") is three


def test_pinned__limits_the_rows_of_a_call(monkeypatch: pytest.MonkeyPatch, given: list[int]) -> None:
    monkeypatch.setattr(ranklake.flows.execution.pinned, "TRIP_ROWS", 1)
    parts = parts_of(around(ELO_MMR.small))
    walk(PinnedRater(ELO_MMR, ELO_MMR.params(), N_PLAYERS, InProcessEngine(1)), parts)
    assert len(given) == 2 * len(parts)


def test_open_rater__limits_the_players_of_a_pinned_run(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = PinnedPlacement(InProcessEngine(2))
    assert isinstance(open_rater(ELO_MMR, ELO_MMR.params(), 10, engine), PinnedRater)
    monkeypatch.setattr(ranklake.flows.execution.factory, "MAX_PINNED_PLAYERS", 9)
    assert isinstance(open_rater(ELO_MMR, ELO_MMR.params(), 10, engine), PartitionedRater)
    assert isinstance(open_rater(ELO_MMR, ELO_MMR.params(), 10, InProcessEngine(2)), PartitionedRater)
