"""However a round is shared out, its answer has the same bits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from kernels.histories import SYSTEM, same_bits, to_rounds
from strategies import POOL, histories, repeatable

from flows.engines.base import ENGINES, open_engine
from flows.engines.serial import Serial
from flows.engines.threads import Threads
from flows.rounds import rate_rounds
from rating_kernels import Beliefs, Outcome, Rounds

N_PLAYERS = 6000
SIZES = (2600, 40, 1025, 1024, 5000, 3, 1500)  # more than one field block; on both sides of what counts as small


def season(sizes: tuple[int, ...] = SIZES, seed: int = 11) -> Rounds:
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
    return Rounds.from_columns(offsets, *(np.concatenate(part) for part in (player, lo, hi)), time)


PARAMS = SYSTEM.params(noob_delay=(0.5, 0.7), drift_per_day=4.0)
SEASON = season()


@pytest.fixture(scope="module")
def expected() -> tuple[Beliefs, Outcome]:
    return rated(SEASON, Serial())


def rated(rounds: Rounds, engine: Serial | Threads) -> tuple[Beliefs, Outcome]:
    beliefs = SYSTEM.newcomers(PARAMS, N_PLAYERS)
    return beliefs, rate_rounds(SYSTEM, PARAMS, beliefs, rounds, engine)


def test_engines__agree_to_the_bit(engine, expected) -> None:
    assert same_bits(rated(SEASON, engine), expected)


@pytest.mark.parametrize("block_size", [7, 64, 1000])
@pytest.mark.parametrize("workers", [0, 1, 2, 3], ids=["serial", "one-thread", "two-threads", "three-threads"])
def test_engines__agree_to_the_bit_for_every_block_size(workers: int, block_size: int, expected) -> None:
    with Threads(workers, block_size) if workers else Serial(block_size) as engine:
        assert same_bits(rated(SEASON, engine), expected)


@pytest.mark.parametrize("make", [lambda: Serial(1), lambda: Threads(3, 1)], ids=["serial", "three-threads"])
def test_engines__agree_to_the_bit_one_participant_at_a_time(make: Callable[[], Serial | Threads]) -> None:
    rounds = season((1100, 1200), seed=4)
    with make() as engine:
        assert same_bits(rated(rounds, engine), rated(rounds, Serial()))


def test_engines__agree_on_a_round_in_which_all_but_one_tie(engine) -> None:
    n = 1500
    lo, hi = np.r_[0, np.ones(n - 1, dtype=int)], np.r_[0, np.full(n - 1, n - 1)]
    rounds = Rounds.from_columns([0, n], np.arange(n), lo, hi)
    assert same_bits(rated(rounds, engine), rated(rounds, Serial()))


@given(histories(max_rounds=8))
@repeatable(40)
def test_small_rounds__in_one_call_or_in_many_have_the_same_bits(contests) -> None:
    rounds = to_rounds(contests)
    together, apart = (SYSTEM.newcomers(PARAMS, len(POOL)) for _ in range(2))
    whole = rate_rounds(SYSTEM, PARAMS, together, rounds, Serial())
    for i in range(len(rounds)):
        part = rate_rounds(SYSTEM, PARAMS, apart, rounds.part(i, i + 1), Serial())
        assert same_bits(part, whole.part(int(rounds.offsets[i]), int(rounds.offsets[i + 1])))
    assert same_bits(together, apart)


def test_small_rounds__between_large_ones_have_the_same_bits(expected) -> None:
    beliefs = SYSTEM.newcomers(PARAMS, N_PLAYERS)
    for i in range(len(SEASON)):
        part = rate_rounds(SYSTEM, PARAMS, beliefs, SEASON.part(i, i + 1), Serial())
        assert same_bits(part, expected[1].part(int(SEASON.offsets[i]), int(SEASON.offsets[i + 1])))
    assert same_bits(beliefs, expected[0])


def test_rate_rounds__of_no_rounds_is_no_outcome() -> None:
    beliefs = SYSTEM.newcomers(PARAMS, 3)
    before = beliefs.columns()
    outcome = rate_rounds(SYSTEM, PARAMS, beliefs, Rounds.from_columns([0], [], [], []), Serial())
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
def test_map__raises_here_what_was_raised_there_after_the_others_have_ended(engine, bad: int) -> None:
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
    assert sum(done) == 100  # still fit for work


@pytest.mark.parametrize("where", ["caller", "other"])
def test_map__raises_what_was_raised_in_either_kind_of_thread(where: str) -> None:
    """Two hands meet before one of them fails, so that each of them has had its piece."""
    meet, caller = threading.Barrier(2, timeout=30), threading.current_thread()

    def work(start: int, stop: int) -> None:
        meet.wait()
        if (threading.current_thread() is caller) == (where == "caller"):
            raise ArithmeticError(where)

    with Threads(2, 1) as engine, pytest.raises(ArithmeticError, match=where):
        engine.map(work, 2)


def test_open_engine__knows_its_engines() -> None:
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
