"""Ratings have the same bits for every engine, block size, and partitioning of the players."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
from helpers.histories import ladder, same_bits, to_rounds
from helpers.in_process_engine import InProcessEngine
from helpers.rounds import N_PLAYERS, around, joined, params_of, season, walk
from helpers.strategies import POOL, histories, repeatable
from helpers.timeouts import TIMEOUT
from hypothesis import given

from ranklake.flows.engines.factory import ENGINES, open_engine
from ranklake.flows.engines.limits import ClusterLimits
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.partitioned import PartitionedRater
from ranklake.flows.execution.rater import Rater
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds, System
from ranklake.rating_kernels.registry import of_contests


@pytest.fixture(scope="module", params=of_contests())
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


HISTORIES: dict[str, Callable[[int], Rounds]] = {
    "around": around,
    "two": lambda small: season((1100, 1200), seed=4),
    "all but one tie": lambda small: ladder(1, 1499),
}


def whole(rounds: Rounds) -> list[Rounds]:
    return [rounds]


def each(rounds: Rounds) -> list[Rounds]:
    return [rounds.part(i, i + 1) for i in range(len(rounds))]


def with_empty_ones(rounds: Rounds) -> list[Rounds]:
    return [rounds.part(i // 2, (i + 1) // 2) for i in range(2 * len(rounds) + 1)]


def local(system: System, engine: Threads) -> Rater:
    return LocalRater(system, params_of(system), N_PLAYERS, engine)


def on_workers(system: System, workers: int, wide: int = 0, long: int = 20_000) -> Rater:
    """``wide``, ``long``: sizes of rounds whose summary is shared, and of those with an overlap."""
    engine = InProcessEngine(workers, limits=ClusterLimits(shared_summary_rows=wide, overlap_rows=long))
    return PartitionedRater(system, params_of(system), N_PLAYERS, engine)


@cache
def expected(name: str, history: str) -> tuple[Any, Outcome]:
    """The beliefs and the outcome of one thread that has all rounds at once."""
    rater = local(SYSTEMS[name], Serial())
    outcome = walk(rater, [HISTORIES[history](SYSTEMS[name].small)])
    return rater.columns(), outcome


def same(rater: Rater, outcome: Outcome, system: System, history: str = "around") -> bool:
    found, (columns, wanted) = rater.columns(), expected(system.name, history)
    assert found.keys() == columns.keys()
    return same_bits((outcome, *found.values()), (wanted, *(columns[name] for name in found)))


CASES: dict[str, tuple[str, Callable[..., Rater], tuple[Any, ...], Callable[[Rounds], list[Rounds]]]] = {
    "serial each": ("around", local, (Serial(),), each),
    **{f"serial {n}": ("around", local, (Serial(n),), whole) for n in (7, 1000)},
    **{f"threads {n}": ("around", local, (Threads(n),), whole) for n in (1, 2, 3)},
    **{f"threads {n} {size}": ("around", local, (Threads(n, size),), whole)
       for n, size in ((1, 64), (2, 7), (2, 1000), (3, 64))},
    **{f"workers {n} {wide}": ("around", on_workers, (n, wide), whole)
       for n, wide in ((1, 0), (2, 0), (2, 10**9), (3, 2000), (5, 0))},
    "workers long": ("around", on_workers, (2, 3000, 0), each),
    "workers short": ("around", on_workers, (2, 3000, 10**9), each),
    "workers empty": ("around", on_workers, (2,), with_empty_ones),
    "serial two": ("two", local, (Serial(1),), whole),
    "threads two": ("two", local, (Threads(3, 1),), whole),
    **{f"threads {n} tie": ("all but one tie", local, (Threads(n),), whole) for n in (1, 2, 3)},
}  # fmt: skip


@pytest.mark.quick("elo-mmr-*")
@pytest.mark.parametrize("case", CASES)
def test_raters__have_the_bits_of_one_thread_with_all_rounds_at_once(system: System, case: str) -> None:
    history, make, arguments, cut = CASES[case]
    parts, rater = cut(HISTORIES[history](system.small)), make(system, *arguments)
    outcomes = list(rater.rate_batches(parts))
    assert [len(outcome.mu) for outcome in outcomes] == [part.n_rows for part in parts]
    assert same(rater, joined(outcomes), system, history)
    rater.close()


@pytest.mark.quick("elo-mmr", "trueskill")
def test_workers__resume_from_stored_beliefs(system: System) -> None:
    rounds = around(system.small)
    one, other = on_workers(system, 2), on_workers(system, 3)
    first = walk(one, [rounds.part(0, 4)])
    other.restore(one.columns())
    assert same(other, joined([first, walk(other, [rounds.part(4, len(rounds))])]), system)


def test_workers__refuse_to_return_beliefs_during_a_round() -> None:
    rounds, rater = around(1024), on_workers(SYSTEMS["elo-mmr"], 2)
    outcomes = rater.rate_batches(rounds.part(i, i + 1) for i in range(2))
    next(outcomes)
    with pytest.raises(RuntimeError, match="have begun a round"):
        rater.columns()
    next(outcomes)
    assert len(rater.columns()["mu"]) == N_PLAYERS


@pytest.mark.slow
@given(histories(max_rounds=8))
@repeatable(20)
def test_small_rounds__in_one_call_or_several_have_the_same_bits(system: System, contests) -> None:
    rounds, params = to_rounds(contests), params_of(system)
    together, apart = (system.newcomers(params, len(POOL)) for _ in range(2))
    outcome = rate_rounds(system, params, together, rounds, Serial())
    parts = [rate_rounds(system, params, apart, part, Serial()) for part in each(rounds)]
    assert same_bits((together, outcome), (apart, joined(parts)))


def test_rate_rounds__of_no_rounds_is_empty(system: System) -> None:
    beliefs = system.newcomers(params_of(system), 3)
    before = beliefs.columns()["mu"].copy()
    outcome = rate_rounds(system, params_of(system), beliefs, Rounds.from_columns([0], [], [], []), Serial())
    assert len(outcome.mu) == 0
    assert same_bits(beliefs.columns()["mu"], before)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 1000])
@pytest.mark.parametrize("block_size", [None, 1, 3, 5000])
def test_map__covers_every_item_once(n: int, block_size: int | None) -> None:
    def work(seen: list[int], start: int, stop: int) -> None:
        assert start < stop
        seen += range(start, stop)  # one operation of the interpreter

    for engine in (Serial(block_size), Threads(1, block_size), Threads(3, block_size)):
        seen: list[int] = []
        with engine:
            engine.map(partial(work, seen), n)
        assert sorted(seen) == list(range(n))


@pytest.mark.parametrize("bad", [0, 37, 99])
def test_map__raises_the_first_error_after_all_ranges_have_ended(engine, bad: int) -> None:
    begun, ended = [], []  # appending is atomic

    def work(start: int, stop: int) -> None:
        begun.append(start)
        try:
            if start <= bad < stop:
                raise ArithmeticError(f"item {bad}")
        finally:
            ended.append(start)

    with pytest.raises(ArithmeticError, match=f"item {bad}"):
        engine.map(work, 100)
    assert sorted(begun) == sorted(ended)
    done = []
    engine.map(lambda start, stop: done.append(stop - start), 100)
    assert sum(done) == 100  # the engine still works


@pytest.mark.parametrize("where", ["caller", "other"])
def test_map__raises_errors_of_the_calling_thread_and_of_others(where: str) -> None:
    """A barrier ensures that both threads have a range before one fails."""
    meet, caller = threading.Barrier(2, timeout=TIMEOUT), threading.current_thread()

    def work(start: int, stop: int) -> None:
        meet.wait()
        if (threading.current_thread() is caller) == (where == "caller"):
            raise ArithmeticError(where)

    with Threads(2, 1) as engine, pytest.raises(ArithmeticError, match=where):
        engine.map(work, 2)


def test_open_engine__opens_engines_by_name() -> None:
    for name in ("serial", "threads"):
        assert name in ENGINES
        with open_engine(name, 2) as engine:
            assert engine.workers == (1 if name == "serial" else 2)
    with open_engine() as engine:
        assert engine.workers >= 1
    with pytest.raises(ValueError, match=r"engine must be one of .*, got 'abacus'"):
        open_engine("abacus")
    with pytest.raises(ValueError, match="workers must be >= 1, got 0"):
        open_engine("threads", 0)


def test_threads__a_call_does_not_wait_for_a_thread_that_another_call_keeps_busy() -> None:
    begun, finish = threading.Barrier(3), threading.Event()

    def hold(start: int, stop: int) -> None:
        begun.wait(TIMEOUT)
        finish.wait(TIMEOUT)

    done: list[int] = []
    with Threads(2) as engine:
        other = threading.Thread(target=engine.map, args=(hold, 2))
        other.start()
        try:
            begun.wait(TIMEOUT)  # both threads hold a piece
            engine.map(lambda start, stop: done.extend(range(start, stop)), 10)
            assert done == list(range(10))
            assert other.is_alive()
        finally:
            finish.set()
            other.join()
