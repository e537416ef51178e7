"""Unrated participants show a performance, and their beliefs keep their bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.histories import same_bits
from helpers.rounds import N_PLAYERS, around, check_engines_agree, params_of, season, walk

from ranklake.flows.common.skipping import NOBODY_RATED, ONE_PARTICIPANT, Skipping
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.local import LocalRater
from ranklake.flows.execution.rounds import check_teams, split_batches
from ranklake.rating_kernels import SYSTEMS, Outcome, Rounds, System
from ranklake.rating_kernels.core.ragged import Ragged, Shared
from ranklake.rating_kernels.core.standings import IN_FIELD, OUTSIDE, RATED
from ranklake.rating_kernels.registry import of_contests

COLUMNS = Outcome._fields


@pytest.fixture(scope="module", params=of_contests())
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


def with_roles(rounds: Rounds, *kinds: int, share: float = 0.3, seed: int = 3) -> Rounds:
    """Rounds with unrated participants of these kinds, one kind a round in turn; each round keeps a rated one."""
    rng = np.random.default_rng(seed)
    unrated = rng.random(rounds.n_rows) < share
    unrated[rounds.offsets[:-1]] = False
    kind = np.array([kinds[i % len(kinds)] for i in range(len(rounds))], dtype=np.uint8)
    return replace(rounds, roles=np.where(unrated, np.repeat(kind, np.diff(rounds.offsets)), np.uint8(RATED)))


def local(system: System) -> LocalRater:
    return LocalRater(system, params_of(system), N_PLAYERS, Serial())


@pytest.mark.quick("elo-mmr*", "trueskill*")
def test_outside__ratings_have_the_bits_of_a_history_without_the_unrated(system: System) -> None:
    rounds = with_roles(around(system.small), OUTSIDE)
    one, other = local(system), local(system)
    found, expected = walk(one, [rounds]), walk(other, [rounds.rated_only()])
    assert same_bits(found.select(rounds.are_rated), expected)
    assert same_bits(tuple(one.columns().values()), tuple(other.columns().values()))


@pytest.mark.quick("elo-mmr*", "trueskill*")
@pytest.mark.parametrize("kind", [OUTSIDE, IN_FIELD])
def test_unrated__have_the_performance_of_a_round_of_all_and_never_move(system: System, kind: int) -> None:
    history = around(system.small)
    before, last = history.part(0, len(history) - 1), history.part(len(history) - 1, len(history))
    last = with_roles(last, kind)
    unrated, one, other = last.roles != RATED, local(system), local(system)
    walk(one, [before]), walk(other, [before])
    columns = one.columns()
    found, everybody = walk(one, [last]), walk(other, [replace(last, roles=last.roles[:0])])
    for name in ("perf", "mu_prior", "sigma_prior", "n_before"):
        assert same_bits(getattr(found, name)[unrated], getattr(everybody, name)[unrated])
    after, players = one.columns(), last.player[unrated]
    for name, column in columns.items():
        if not isinstance(column, Shared):
            assert same_bits(column.take(players), after[name].take(players))
    assert same_bits(found.mu[unrated], columns["mu"][players])
    assert same_bits(found.sigma[unrated], columns["sigma"][players])
    if kind == IN_FIELD:
        assert same_bits(found.select(~unrated), everybody.select(~unrated))


@pytest.mark.parametrize("kind", [OUTSIDE, IN_FIELD])
@pytest.mark.parametrize("size", [40, 2600])
def test_unrated__teach_the_table_of_drifts_nothing(kind: int, size: int) -> None:
    system = SYSTEMS["elo-mms"]
    history = season((3000, 3000, size))
    last = with_roles(history.part(2, 3), kind)
    one, other = local(system), local(system)
    walk(one, [history.part(0, 2)]), walk(other, [history.part(0, 2)])
    before = one.columns()
    seen = (np.asarray(before["n_rounds"])[last.player] > 0) & last.are_rated
    walk(one, [last]), walk(other, [replace(last, roles=last.roles[:0])])
    after, everybody = one.columns(), other.columns()
    assert 0 < seen.sum() == np.sum(after["learnt_weight"].values - before["learnt_weight"].values)  # type: ignore[union-attr]
    assert not same_bits(after["learnt_drift"], everybody["learnt_drift"])


@pytest.mark.quick("elo-mmr*", "trueskill*")
def test_raters__of_any_engine_give_the_same_bits(system: System) -> None:
    check_engines_agree(system, with_roles(around(system.small), OUTSIDE, IN_FIELD, RATED))


def test_skipping__counts_the_participants_of_the_field() -> None:
    places = [0, 1, 2, 0, 1, 0, 1, 0, 1]
    roles = np.array([RATED, OUTSIDE, RATED, RATED, OUTSIDE, RATED, IN_FIELD, OUTSIDE, OUTSIDE], dtype=np.uint8)
    rounds = Rounds.from_columns([0, 3, 5, 7, 9], [0, 1, 2, 0, 1, 0, 1, 0, 1], places, places)
    assert Skipping().reasons(replace(rounds, roles=roles)).tolist() == [0, ONE_PARTICIPANT, 0, NOBODY_RATED]
    assert Skipping(False, False, False).reasons(replace(rounds, roles=roles)).tolist() == [0, 0, 0, NOBODY_RATED]


def test_select__closes_the_places_up() -> None:
    rounds = Rounds.from_columns([0, 4, 6], [0, 1, 2, 3, 0, 1], [0, 1, 1, 3, 0, 0], [0, 2, 2, 3, 1, 1])
    few = rounds.select(np.array([False, True, True, True, False, True]))
    assert (few.offsets.tolist(), few.player.tolist()) == ([0, 3, 4], [1, 2, 3, 1])
    assert (few.lo.tolist(), few.hi.tolist()) == ([0, 0, 2, 0], [1, 1, 2, 0])


def test_batches__have_each_round_with_unrated_participants_alone() -> None:
    rounds = Rounds.from_columns([0, 2, 4, 6, 8], [0, 1] * 4, [0, 1] * 4, [0, 1] * 4)
    rounds = replace(rounds, roles=np.array([0, 0, 0, OUTSIDE, 0, 0, 0, 0], dtype=np.uint8))
    assert split_batches(SYSTEMS["elo"], rounds) == [(0, 1, False), (1, 2, False), (2, 4, False)]


def test_teams__with_an_unrated_member_are_refused() -> None:
    teams = Ragged.from_lengths(np.array([2, 1]), np.ones(3))
    rounds = Rounds.from_columns([0, 3], [0, 1, 2], [0, 0, 1], [0, 0, 1], teams=teams)
    with pytest.raises(ValueError, match="unrated participant; all members of teams must be rated"):
        check_teams(SYSTEMS["elo-mmx"], replace(rounds, roles=np.array([0, OUTSIDE, 0], dtype=np.uint8)))
