"""Ratings have the same bits for every engine and block size."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from helpers.histories import ladder, same_bits, to_rounds
from helpers.rounds import N_PLAYERS, around, params_of, season
from helpers.strategies import POOL, histories, repeatable
from helpers.timeouts import TIMEOUT
from hypothesis import given

from ranklake.flows.engines.factory import ENGINES, open_engine
from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds, System


@pytest.fixture(scope="module", params=list(SYSTEMS))
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


@pytest.fixture(scope="module")
def expected(system: System) -> tuple[Beliefs, Outcome]:
    return rated(system, around(system.small), Serial())


def store(system: System, n_players: int = N_PLAYERS) -> tuple[Any, Beliefs]:
    params = params_of(system)
    return params, system.newcomers(params, n_players)


def rated(system: System, rounds: Rounds, engine: Engine) -> tuple[Beliefs, Outcome]:
    params, beliefs = store(system)
    return beliefs, rate_rounds(system, params, beliefs, rounds, engine)


@pytest.mark.quick("elo-mmr-*", "trueskill-*")
def test_engines__agree_to_the_bit(system: System, engine: Engine, expected) -> None:
    assert same_bits(rated(system, around(system.small), engine), expected)


@pytest.mark.quick("elo-mmr-*", "trueskill-*")
@pytest.mark.parametrize(("workers", "block_size"), [(0, 7), (0, 1000), (1, 64), (2, 7), (2, 1000), (3, 64)])
def test_engines__agree_to_the_bit_for_every_block_size(
    system: System, workers: int, block_size: int, expected
) -> None:
    with Threads(workers, block_size) if workers else Serial(block_size) as engine:
        assert same_bits(rated(system, around(system.small), engine), expected)


@pytest.mark.quick("elo-mmr-*", "trueskill-*")
@pytest.mark.parametrize("make", [lambda: Serial(1), lambda: Threads(3, 1)], ids=["serial", "three-threads"])
def test_engines__agree_to_the_bit_one_participant_at_a_time(
    system: System, make: Callable[[], Serial | Threads]
) -> None:
    rounds = season((1100, 1200), seed=4)
    with make() as engine:
        assert same_bits(rated(system, rounds, engine), rated(system, rounds, Serial()))


@pytest.mark.quick("elo-mmr-*", "trueskill-*")
def test_engines__agree_on_a_round_in_which_all_but_one_tie(system: System, engine: Engine) -> None:
    rounds = ladder(1, 1499)
    assert same_bits(rated(system, rounds, engine), rated(system, rounds, Serial()))


@pytest.mark.slow
@given(histories(max_rounds=8))
@repeatable(20)
def test_small_rounds__in_one_call_or_several_have_the_same_bits(system: System, contests) -> None:
    rounds = to_rounds(contests)
    (params, together), (_, apart) = (store(system, len(POOL)) for _ in range(2))
    whole = rate_rounds(system, params, together, rounds, Serial())
    for i in range(len(rounds)):
        part = rate_rounds(system, params, apart, rounds.part(i, i + 1), Serial())
        assert same_bits(part, whole.part(int(rounds.offsets[i]), int(rounds.offsets[i + 1])))
    assert same_bits(together, apart)


def test_small_rounds__between_large_ones_have_the_same_bits(system: System, expected) -> None:
    params, beliefs = store(system)
    rounds = around(system.small)
    for i in range(len(rounds)):
        part = rate_rounds(system, params, beliefs, rounds.part(i, i + 1), Serial())
        assert same_bits(part, expected[1].part(int(rounds.offsets[i]), int(rounds.offsets[i + 1])))
    assert same_bits(beliefs, expected[0])


def test_rate_rounds__of_no_rounds_is_empty(system: System) -> None:
    params, beliefs = store(system, 3)
    before = beliefs.columns()
    outcome = rate_rounds(system, params, beliefs, Rounds.from_columns([0], [], [], []), Serial())
    assert len(outcome.mu) == 0
    assert same_bits(beliefs.columns()["mu"], before["mu"])


@pytest.mark.parametrize("n", [0, 1, 2, 5, 1000])
@pytest.mark.parametrize("block_size", [None, 1, 3, 5000])
def test_map__covers_every_item_once(n: int, block_size: int | None) -> None:
    for make in (lambda: Serial(block_size), lambda: Threads(1, block_size), lambda: Threads(3, block_size)):
        seen, lock = [], threading.Lock()

        def work(start: int, stop: int, seen: list[int] = seen, lock: threading.Lock = lock) -> None:
            assert start < stop
            with lock:
                seen.extend(range(start, stop))

        with make() as engine:
            engine.map(work, n)
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
