"""The table of learnt drifts: its cells, sums that need no order, laws, and the rounds that leave it alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from helpers.histories import same_bits, set_ratings
from helpers.rounds import N_PLAYERS, season
from hypothesis import given
from hypothesis import strategies as st
from twins.learnt_drift import RATES, Drifts, cell_of

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Rounds
from ranklake.rating_kernels.core.system import Prior
from ranklake.rating_kernels.inference.learnt_drift import CELLS, LIMIT, Table, learn_rows, observe_rows

SYSTEM = SYSTEMS["elo-mms"]
PARAMS = SYSTEM.params(learnt_drift=True)
DAY = 86_400


def store_of(n_rounds: Any, last_time: Any = 0) -> Beliefs:
    """Equal players with these numbers of rounds, and times of the last ones."""
    beliefs = SYSTEM.newcomers(PARAMS, len(n_rounds))
    set_ratings(SYSTEM, PARAMS, beliefs, np.arange(len(n_rounds)), 1500.0, 80.0, n_rounds)
    beliefs.last_time[:] = last_time
    return beliefs


def observed(beliefs: Beliefs, perf: Any, time: int, cuts: Any = ()) -> Any:
    """The sums over performances above the prior of 1500, added by ranges."""
    n = len(beliefs)
    prior, sums = Prior(beliefs.mu.copy(), *np.zeros((2, n)), beliefs.n_rounds.copy()), np.zeros((2, *CELLS), np.int64)
    shown, player = 1500.0 + np.asarray(perf, dtype=np.float64), np.arange(n, dtype=np.int32)
    for start, stop in pairwise([0, *cuts, n]):
        observe_rows(start, stop, player, time, 0.0, prior, shown, beliefs.store, sums)
    return sums


def empty_table() -> Table:
    return Table(*np.zeros((3, *CELLS)))


@pytest.mark.parametrize(
    "seconds", [-1, 0, 3 * DAY, 3 * DAY + 1, 24 * DAY, 100 * DAY, 768 * DAY, 768 * DAY + 1, 10**12]
)
def test_cells__are_those_of_the_twin(seconds: int) -> None:
    for n in (1, 2, 3, 4, 5, 7, 8, 12, 13, 21, 22, 36, 37, 61, 62, 104, 105, 10**6):
        sums = observed(store_of([n]), [7.0], seconds)
        assert np.argwhere(sums[1]).tolist() == [list(cell_of(n, max(seconds, 0) / DAY))]


def test_newcomers_and_times_of_nobody__count_in_no_cell_and_in_the_first_column() -> None:
    sums = observed(store_of([0, 4, 4], np.iinfo(np.int64).min), [9.0, 9.0, -9.0], 10**9)
    assert np.argwhere(sums[1]).tolist() == [[2, 0]]
    assert sums[1].sum() == 2


@given(st.lists(st.floats(-200.0, 200.0), min_size=1, max_size=40), st.data())
def test_sums__do_not_depend_on_the_cuts_and_limit_each_surprise(surprises: list[float], data: st.DataObject) -> None:
    draw = np.random.default_rng(len(surprises))
    beliefs = store_of(draw.integers(0, 150, len(surprises)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(surprises)), max_size=4)))
    sums = observed(beliefs, surprises, 50 * DAY, cuts)
    assert np.array_equal(sums, observed(beliefs, surprises, 50 * DAY))
    limited = np.clip(surprises, -LIMIT, LIMIT)[beliefs.n_rounds > 0]
    assert sums[0].sum() / 2.0**30 == pytest.approx(limited.sum(), abs=1e-7)


def test_table__after_many_observations_is_that_of_the_twin() -> None:
    """Also where the cells remember the most that they do."""
    draw, twin, table = np.random.default_rng(3), Drifts(), empty_table()
    for _ in range(3):
        n_rounds, days = np.repeat([1, 3, 9, 200], 8_000), draw.choice([1, 900], 32_000, p=[0.9, 0.1])
        shown = draw.normal(np.repeat([-20.0, 3.0, 0.0, 5.0], 8_000), 50.0)
        sums = observed(store_of(n_rounds, -days * DAY), shown, 0)
        twin.learn((cell_of(int(n), float(d)), float(y)) for n, d, y in zip(n_rounds, days, shown, strict=True))
        learn_rows(table, sums)
        assert not sums.any()
    for part, cells in zip(table, (twin.points, twin.memory, twin.count), strict=True):
        assert [part[cell] for cell in cells] == pytest.approx(list(cells.values()), abs=1e-8)
        assert np.count_nonzero(part) == len(cells)
    assert table.memory.max() < table.weight.max()


@given(
    st.lists(st.tuples(st.integers(1, 200), st.floats(-60.0, 60.0)), min_size=1, max_size=60), st.floats(-300.0, 300.0)
)
def test_table__of_one_round_has_the_sum_zero_and_ignores_a_common_shift(
    players: list[tuple[int, float]], shift: float
) -> None:
    """Zero, weighted by what each cell divides by; a shift within the limit of each surprise."""
    n_rounds, surprises = (np.array(column) for column in zip(*players, strict=True))
    table, other = empty_table(), empty_table()
    learn_rows(table, observed(store_of(n_rounds), surprises, DAY))
    rate = np.array([*RATES, *[0.15] * 4])[:, None]
    assert np.sum(table.drift / rate * (table.weight + 1500.0)) == pytest.approx(0.0, abs=1e-6)
    moved = surprises / 2.0 + shift / 10.0
    learn_rows(other, observed(store_of(n_rounds), moved, DAY))
    assert other.drift == pytest.approx(table.drift / 2.0, abs=1e-9)


def test_duels__leave_it_alone_and_have_the_ratings_of_before() -> None:
    games = season((2,) * 400, seed=3)
    found = []
    for params in (PARAMS, SYSTEM.params()):
        beliefs = SYSTEM.newcomers(params, N_PLAYERS)
        found.append(rate_rounds(SYSTEM, params, beliefs, games, Serial()))
        assert not any(values.any() for values in beliefs.shared.values())
    assert same_bits(*found)


@pytest.mark.parametrize("size", [30, 1500])
def test_ratings__before_a_round_move_by_the_table_less_the_level_of_the_established(size: int) -> None:
    """Newcomers do not."""
    draw = np.random.default_rng(size)
    n_rounds, found = draw.integers(0, 150, size).astype(np.int32), []
    table, weight = draw.normal(0.0, 20.0, CELLS), draw.integers(0, 900, CELLS).astype(np.float64)
    round = Rounds.from_columns([0, size], *[np.arange(size)] * 3, [10 * DAY])
    for params in (PARAMS, SYSTEM.params()):
        beliefs = store_of(n_rounds) if params is PARAMS else SYSTEM.newcomers(params, size)
        set_ratings(SYSTEM, params, beliefs, np.arange(size), 1500.0, 80.0, n_rounds)
        beliefs.last_time[:] = 0
        if params is PARAMS:
            beliefs.shared["learnt_drift"][:], beliefs.shared["learnt_weight"][:] = table, weight
        found.append(rate_rounds(SYSTEM, params, beliefs, round, Serial()).mu_prior)
    level = np.sum((weight * table)[4:]) / np.sum(weight[4:])
    cells = [table[cell_of(int(n), 10.0)] - level if n else 0.0 for n in n_rounds]
    assert found[0] - found[1] == pytest.approx((1.0 - 2.0 / size) * np.array(cells), abs=1e-9)
