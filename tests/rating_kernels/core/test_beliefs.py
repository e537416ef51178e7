"""The store: growth, export and restore; a restored store gives the same results."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.histories import SYSTEM, factors, ladder, same_bits, show

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import Beliefs, Rounds
from ranklake.rating_kernels.core.beliefs import LINE, NEVER

FRESH = {"mu": 1500.0, "sigma": 350.0, "volatility": 0.5}
PARTS = ("perf", "force", "inverse_width")
DAY = 86_400


def rounds_of(n_rounds: int, n_players: int, size: int, seed: int) -> Rounds:
    """Rounds of ``size`` players in random places; most are apart, some tie."""
    draw = np.random.default_rng(seed)
    player = np.concatenate([draw.permutation(n_players)[:size] for _ in range(n_rounds)])
    ranks = [np.sort(draw.integers(0, 2 * size, size)) for _ in range(n_rounds)]
    lo = np.concatenate([np.searchsorted(r, r, "left") for r in ranks])
    hi = np.concatenate([np.searchsorted(r, r, "right") - 1 for r in ranks])
    time = np.cumsum(draw.integers(0, 5 * DAY, n_rounds))
    return Rounds.from_columns(
        np.arange(n_rounds + 1) * size, player, lo, hi, time, draw.choice([1.0, 1.0, 0.5, 2.0], n_rounds)
    )


def rated(params: Any, rounds: Rounds, beliefs: Beliefs) -> Any:
    return rate_rounds(SYSTEM, params, beliefs, rounds, Serial())


def rebuilt(params: Any, beliefs: Beliefs) -> Beliefs:
    other = SYSTEM.newcomers(params, 0)
    other.restore(beliefs.columns())
    return other


def test_store__begins_with_newcomers() -> None:
    store = Beliefs(3, FRESH, PARTS)
    assert len(store) == 3
    for name, value in FRESH.items():
        assert store.columns()[name].tolist() == [value] * 3
    assert store.n_rounds.tolist() == [0] * 3
    assert store.last_time.tolist() == [NEVER] * 3
    assert factors_kept(store) == [0, 0, 0]
    assert set(store.state) == {"volatility"}


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_store__of_any_size_has_columns_of_one_type_for_kernels(n: int) -> None:
    """The column of a single record was contiguous, and every kernel was compiled once more."""
    store = Beliefs(n, FRESH, PARTS)
    for column in (*store.store, store.column("volatility"), *store.segments[:3]):
        assert not column.flags.c_contiguous
    assert store.store.mu[:n].tolist() == store.mu.tolist()


def factors_kept(store: Beliefs) -> list[int]:
    return store.history.length.tolist()


def test_store__grows_and_keeps_its_beliefs() -> None:
    params = SYSTEM.params()
    store = SYSTEM.newcomers(params, 2)
    show(params, store, 1, 1700.0, 1600.0, time=5)
    before = store.columns()
    for n in (2, 1, 0):
        store.resize(n)  # never shrinks
        assert len(store) == 2
    store.resize(1000)
    assert len(store) == 1000
    assert [factor[0] for factor in factors(store, 1)] == [1700.0, 1600.0]
    after = store.columns()
    for name in ("mu", "sigma", "normal_mu", "normal_weight", "shrink", "last_time", "n_rounds"):
        assert after[name][:2].tolist() == before[name].tolist()
    assert set(store.mu[2:]) == {1500.0}
    assert set(store.last_time[2:]) == {NEVER}
    show(params, store, 999, 1800.0)
    show(params, store, 1, 1800.0)
    assert factors_kept(store)[1] == 3
    assert factors_kept(store)[999] == 1


def test_store__without_players_can_be_filled_later() -> None:
    params = SYSTEM.params()
    store = SYSTEM.newcomers(params, 0)
    assert len(store) == 0
    assert same_bits(rebuilt(params, store), store)
    store.resize(4)
    rated(params, ladder(1, 1, 2), store)
    assert store.n_rounds.tolist() == [1] * 4


def test_store__columns_are_copies() -> None:
    store = Beliefs(2, FRESH)
    columns = store.columns()
    store.mu[0] = 7.0
    assert columns["mu"].tolist() == [1500.0, 1500.0]


def test_store__views_follow_the_records_when_they_move() -> None:
    store = Beliefs(1, FRESH, PARTS)
    store.resize(500)
    store.mu[400], store.state["volatility"][400], store.history.length[400] = 1.0, 2.0, 0
    assert store.columns()["mu"][400] == 1.0
    assert store.columns()["volatility"][400] == 2.0


def test_history__stretches_double_and_outgrown_ones_are_left_behind() -> None:
    params = SYSTEM.params(rho=0.0)
    store = SYSTEM.newcomers(params, 2)
    capacities, performances = [], []
    for i in range(5 * LINE):
        performances.append(1400.0 + i)
        show(params, store, 0, performances[-1])
        capacities.append(int(store.history.capacity[0]))
        assert [factor[0] for factor in factors(store)] == performances
    assert capacities == [LINE] * LINE + [2 * LINE] * LINE + [4 * LINE] * 2 * LINE + [8 * LINE] * LINE
    assert store.history.used[0] == 3 * LINE * (1 + 2 + 4 + 8)
    assert store.history.capacity[1] == 0


def test_history__outgrown_stretches_are_removed_when_the_pool_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranklake.rating_kernels.core.beliefs._FIRST_POOL", 1 << 16)
    params = SYSTEM.params(history_len=9)
    store, rounds = SYSTEM.newcomers(params, 12), rounds_of(60, 12, 5, seed=3)
    rated(params, rounds, store)
    history, other = store.history, rebuilt(params, store)
    assert (history.start % LINE).any()
    assert history.used[0] > 3 * history.capacity.sum()
    history.reserve(len(history.pool))
    assert history.used[0] == 3 * history.capacity.sum()
    assert same_bits(store, other)
    assert same_bits(rated(params, rounds, store), rated(params, rounds, other))
    assert same_bits(store, other)


def test_history__pool_grows_when_it_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results from a small initial pool have the same bits as from a large one."""
    params, rounds = SYSTEM.params(rho=0.04), rounds_of(60, 12, 5, seed=3)
    roomy = SYSTEM.newcomers(params, 12)
    expected = rated(params, rounds, roomy)
    monkeypatch.setattr("ranklake.rating_kernels.core.beliefs._FIRST_POOL", 1)
    monkeypatch.setattr("ranklake.rating_kernels.core.beliefs._GROWTH", 1)
    tight, sizes = SYSTEM.newcomers(params, 12), set()
    for i in range(len(rounds)):
        outcome = rated(params, rounds.part(i, i + 1), tight)
        assert same_bits(outcome, expected.part(5 * i, 5 * i + 5))
        sizes.add(len(tight.history.pool))
    assert len(sizes) > 2
    assert same_bits(tight, roomy)
    again = SYSTEM.newcomers(params, 12)
    assert same_bits(rated(params, rounds, again), expected)


def test_restore__refuses_the_columns_of_another_system() -> None:
    store = Beliefs(2, FRESH, PARTS)
    columns = store.columns()
    for wrong in (
        {name: column for name, column in columns.items() if name != "history_perf"},
        columns | {"momentum": columns["mu"]},
        Beliefs(2, FRESH).columns(),
    ):
        with pytest.raises(ValueError, match=r"stored beliefs have columns .*, this system keeps"):
            store.restore(wrong)


@pytest.mark.parametrize("remembered", [(), PARTS])
def test_restore__is_the_inverse_of_columns(remembered: tuple[str, ...]) -> None:
    store = Beliefs(5, FRESH, remembered)
    store.mu[:] = [1.0, -0.0, 1e300, 5e-324, math.pi]
    store.n_rounds[:] = np.arange(5)
    other = Beliefs(0, FRESH, remembered)
    other.restore(store.columns())
    assert same_bits(other, store)


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"rho": 0.0, "weight_limit": 0.6},
        {"rho": 0.04},
        {"rho": math.inf},
        {"history_len": 3, "rho": 0.2},
        {"beta": 200.0, "gamma": 0.0},
    ],
    ids=str,
)
def test_restore__then_rating_on_gives_the_bits_of_never_having_stopped(chosen: dict[str, float]) -> None:
    """Resuming depends on this. After 130 rounds each, old factors are merged in every round."""
    params, rounds = SYSTEM.params(**chosen), rounds_of(180, 9, 7, seed=5)
    through = SYSTEM.newcomers(params, 9)
    expected = rated(params, rounds, through)
    for stop in (1, 2, 64, 150, 179):
        first = SYSTEM.newcomers(params, 9)
        rated(params, rounds.part(0, stop), first)
        columns = first.columns()
        second = rebuilt(params, first)
        assert same_bits(second.columns()["mu"], columns["mu"])
        assert same_bits(second, first)
        outcome = rated(params, rounds.part(stop, len(rounds)), second)
        assert same_bits(outcome, expected.part(int(rounds.offsets[stop]), rounds.n_rows))
        assert same_bits(second, through)
    assert through.n_rounds.min() > 110


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_restore__of_a_store_that_large_rounds_left_gives_the_same_bits(rho: float) -> None:
    params, n = SYSTEM.params(rho=rho, weight_limit=0.5), 1100
    rounds = rounds_of(130, n, n, seed=8)
    through = SYSTEM.newcomers(params, n)
    expected = rated(params, rounds, through)
    first = SYSTEM.newcomers(params, n)
    rated(params, rounds.part(0, 115), first)
    assert max(factors_kept(first)) < 115  # some have merged
    second = rebuilt(params, first)
    outcome = rated(params, rounds.part(115, 130), second)
    assert same_bits(outcome, expected.part(115 * n, 130 * n))
    assert same_bits(second, through)


@pytest.mark.slow
def test_history__stays_bounded_where_the_belief_drifts() -> None:
    params = SYSTEM.params()
    store = SYSTEM.newcomers(params, 2)
    lengths = []
    for i in range(600):
        show(params, store, 0, 1500.0 + 200.0 * math.sin(i))
        lengths.append(factors_kept(store)[0])
    assert max(lengths) < 128
    assert lengths[-1] < 128
    total = float(store.state["normal_weight"][0]) + math.fsum(weight for _, weight in factors(store))
    assert total == pytest.approx(float(store.sigma[0]) ** -2, rel=1e-12)


def test_history__that_starts_after_its_segment_is_put_back_without_touching_others() -> None:
    """The oldest factors are deleted in place; longer and shorter histories then replace the rest."""
    params, rounds = SYSTEM.params(history_len=11), rounds_of(60, 9, 7, seed=4)
    store, starts = SYSTEM.newcomers(params, 9), set()
    rows, others = np.arange(0, 9, 2), np.arange(1, 9, 2)
    saved = [store.take(rows)]
    for i in range(len(rounds)):
        rated(params, rounds.part(i, i + 1), store)
        starts |= set((store.history.start % LINE).tolist())
        saved.append(store.take(rows))
    kept = tuple(store.take(others).values())
    assert len(starts) > 3
    for columns in (saved[5], saved[-1], saved[0], saved[40]):
        store.put(rows, columns)
        assert same_bits(tuple(store.take(rows).values()), tuple(columns.values()))
        assert same_bits(tuple(store.take(others).values()), kept)
    other = rebuilt(params, store)
    assert same_bits(rated(params, rounds, store), rated(params, rounds, other))
    assert same_bits(store, other)


def test_history__bound_is_kept_and_the_oldest_go_first() -> None:
    params = SYSTEM.params(rho=0.2, history_len=3)
    store = SYSTEM.newcomers(params, 2)
    for i in range(10):
        show(params, store, 0, 1500.0 + i)
        assert [p for p, _ in factors(store)] == [1500.0 + k for k in range(max(0, i - 2), i + 1)]


@pytest.mark.parametrize("seed", range(3))
def test_put__of_taken_columns_gives_another_store_the_same_results(seed: int) -> None:
    """Beliefs are copied to a store with other rows and other histories, and back."""
    params, draw = SYSTEM.params(), np.random.default_rng(seed)
    whole, home = (SYSTEM.newcomers(params, 60) for _ in range(2))
    away = SYSTEM.newcomers(params, 90)
    rated(params, rounds_of(12, 90, 30, seed + 50), away)
    for part in range(6):
        rounds = rounds_of(5, 60, 20, 10 * seed + part)
        expected = rated(params, rounds, whole)
        rows, at = np.unique(rounds.player), draw.permutation(90).astype(np.int32)
        away.put(at[rows], home.take(rows))
        moved = replace(rounds, player=at[rounds.player])
        assert same_bits(rated(params, moved, away), expected)
        home.put(rows, away.take(at[rows]))
        assert same_bits(home, whole)
