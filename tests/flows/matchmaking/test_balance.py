"""Two even teams: brute force on small lobbies, parties kept, laws, and what the doors say."""

from __future__ import annotations

import json
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake import SYSTEMS, Ratings, predict
from ranklake.flows.matchmaking.balance import EXACT_PARTIES, Balance, balance
from ranklake.flows.matchmaking.lobby import Lobby, equal_shares
from ranklake.flows.matchmaking.quality import quality_of
from ranklake.flows.matchmaking.splits import every_split
from ranklake.rating_kernels import Prior
from ranklake.rating_kernels.core.standings import Conditions

TEAMS = ["elo-mmr", "elo-mms", "trueskill", "bar"]


def lobby_of(system: str, n: int, seed: int) -> tuple[Lobby, pd.DataFrame]:
    """Players 0 to n - 1, and their beliefs as ``predict`` takes them."""
    rng = np.random.default_rng(seed)
    params = SYSTEMS[system].params()
    unit = params.sigma_init / 350.0
    mu = params.mu_init + unit * rng.normal(0, 300, n)
    sigma = unit * rng.uniform(50, 350, n)
    prior = Prior(mu, sigma, np.full(n, np.nan), np.full(n, 9, np.int32))
    return Lobby(SYSTEMS[system], params, Conditions(1.0, 1.0), prior), pd.DataFrame({"mu": mu, "sigma": sigma})


def chance_of(lobby: Lobby, first: list[int], second: list[int]) -> float:
    """A twin of one chance: the two teams alone."""
    match = lobby.take(np.array([*first, *second]))
    return quality_of(match, equal_shares(np.array([len(first), len(second)])), neutral=True).chances[0]


def brute(lobby: Lobby, parties: list[list[int]], size: int) -> float:
    """The smallest distance from 1/2 over all sets of parties that fill the first team."""
    found, everybody = [], [player for party in parties for player in party]
    for count in range(1, len(parties)):
        for chosen in combinations(parties, count):
            first = [player for party in chosen for player in party]
            if len(first) == size:
                second = [player for player in everybody if player not in first]
                found.append(abs(chance_of(lobby, first, second) - 0.5))
    return min(found)


def check_kept(found: Balance, parties: list[list[int]], size: int) -> None:
    first, second = found.teams
    assert len(first) == size
    assert sorted(first + second) == sorted(player for party in parties for player in party)
    for party in parties:
        assert set(party) <= set(first) or set(party) <= set(second)


@pytest.mark.parametrize("system", TEAMS)
def test_balance__is_the_best_of_all_splits(system: str) -> None:
    cases = [([1, 1], 1), ([1] * 4, 2), ([1] * 6, 3), ([2, 1, 1, 2], 3), ([3, 2, 1, 1, 1], 4), ([2, 2, 2, 1], 3)]
    for seed, (sizes, size) in enumerate(cases):
        lobby, _ = lobby_of(system, sum(sizes), seed)
        bounds = np.cumsum([0, *sizes]).tolist()
        parties = [list(range(a, b)) for a, b in pairwise(bounds)]
        found = balance(lobby, parties, (size, sum(sizes) - size))
        assert found.exact
        check_kept(found, parties, size)
        assert abs(found.quality.chances[0] - 0.5) == pytest.approx(brute(lobby, parties, size), abs=1e-12)
        assert found.quality.chances[0] == pytest.approx(chance_of(lobby, *found.teams), abs=1e-14)


def test_every_split__of_two_equal_teams_is_there_once() -> None:
    splits = every_split(np.ones(8, np.int64), 4)
    assert len(splits) == 35
    assert len(np.unique(splits, axis=0)) == 35
    assert splits[0].tolist() == [True] * 4 + [False] * 4
    assert len(every_split(np.ones(EXACT_PARTIES, np.int64), 6)) == 462
    assert len(every_split(np.array([3, 2, 2, 1]), 3)) == 3  # 3; 2 + 1 twice


def test_balance__of_alike_players_is_the_first_split() -> None:
    lobby, _ = lobby_of("trueskill", 1, 0)
    for n in (6, 12, 30):
        found = balance(lobby.take(np.zeros(n, np.int64)), [[i] for i in range(n)])
        assert found.teams[0][0] == 0
        assert found.quality.chances[0] == 0.5
        if n <= EXACT_PARTIES:
            assert found.teams == (list(range(n // 2)), list(range(n // 2, n)))


def test_balance__does_not_depend_on_the_order_of_players() -> None:
    for seed in range(5):
        lobby, _ = lobby_of("elo-mmr", 10, seed)
        order = np.random.default_rng(seed).permutation(10)
        found = balance(lobby, [[i] for i in range(10)])
        other = balance(lobby.take(order), [[int(i)] for i in order])
        assert {frozenset(team) for team in found.teams} == {frozenset(team) for team in other.teams}
        assert abs(found.quality.chances[0] - 0.5) == pytest.approx(abs(other.quality.chances[0] - 0.5), abs=1e-12)


def test_balance__of_many_keeps_parties_and_is_nearly_even() -> None:
    rng = np.random.default_rng(3)
    for n in range(14, 42, 2):
        lobby, _ = lobby_of("trueskill" if n % 4 else "elo-mmr", n, n)
        sizes: list[int] = []
        while sum(sizes) < n:
            sizes.append(int(min(rng.choice([1, 1, 1, 2, 3]), n - sum(sizes))))
        bounds = np.cumsum([0, *sizes]).tolist()
        parties = [list(range(a, b)) for a, b in pairwise(bounds)]
        found = balance(lobby, parties)
        check_kept(found, parties, n // 2)
        assert found.exact == (len(parties) <= EXACT_PARTIES)
        assert found.exact or abs(found.quality.chances[0] - 0.5) < 0.01
        assert found == balance(lobby, parties)


def test_local_search__cannot_be_improved_by_one_exchange() -> None:
    lobby, _ = lobby_of("elo-mmr", 16, 1)
    lobby.prior.mu[:4] += 900.0
    found = balance(lobby, [[i] for i in range(16)], (14, 2))
    assert not found.exact
    reached = abs(found.quality.chances[0] - 0.5)
    for one in found.teams[0]:
        for other in found.teams[1]:
            first = [other if player == one else player for player in found.teams[0]]
            second = [one if player == other else player for player in found.teams[1]]
            assert abs(chance_of(lobby, first, second) - 0.5) >= reached - 1e-9 or reached <= 1e-4


@pytest.mark.parametrize(
    ("sizes", "teams", "message"),
    [
        (
            [3, 3, 2],
            None,
            "no teams of 4 and 4 keep parties of 3, 3 and 2 together: possible are teams of 2 and 6, 3 and 5",
        ),
        ([4], None, "no teams of 2 and 2 keep parties of 4 together: one party has all players"),
        ([1, 1, 1], None, "3 players make no two teams of equal size; give the sizes, as 2 and 1"),
        ([1], None, "two teams need at least two players, got 1"),
        ([1, 1], (2, 1), "sizes must be two numbers >= 1 that add up to the 2 players, got 2 and 1"),
        ([1, 1], (2, 0), "sizes must be two numbers >= 1 that add up to the 2 players, got 2 and 0"),
        ([1, 1], (2,), "sizes must be two numbers >= 1 that add up to the 2 players, got 2"),
    ],
)
def test_balance__says_why_there_is_none(sizes: list[int], teams: tuple[int, ...] | None, message: str) -> None:
    players = [[f"{i} {k}" for k in range(size)] for i, size in enumerate(sizes)]
    with pytest.raises(ValueError, match=r"players|parties") as raised:
        Ratings.rate(pd.DataFrame({"contest": [1, 1], "player": ["a", "b"], "rank": [1, 2]})).balance(
            players, sizes=teams
        )
    assert str(raised.value) == message


def test_ratings__put_newcomers_at_the_belief_of_a_newcomer() -> None:
    results = pd.DataFrame({"contest": [1] * 4, "player": list("abcd"), "rank": [1, 2, 3, 4]})
    ratings = Ratings.rate(results, "trueskill")
    found = ratings.balance(["a", "b", "c", "d", "new", "newer"])
    assert sorted(found.teams[0] + found.teams[1]) == ["a", "b", "c", "d", "new", "newer"]
    assert found.quality.chances[0] == predict(ratings, list(found.teams)).chances()[0, 1]
    with pytest.raises(ValueError, match="'a' is named twice"):
        ratings.balance(["a", "b", ["a", "c"], "d", "new"])
    with pytest.raises(ValueError, match="elo has no rule for rounds of teams"):
        Ratings.rate(results, "elo").balance(["a", "b", "c", "d"])


def test_command__keeps_parties_and_agrees_with_the_quality(tmp_path, invoke: Command) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(20, spice=False), dataset="d")
    rate_run(lake, dataset="d", run="r", system="elo-mmr")
    given = ("--run", "r", "--lake", lake.url)
    players = ["player 3,player 5", "player 7", "player 12", "player 0", "somebody new"]
    answer = invoke("balance", *players, "--new", *given, "--format", "json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert found["exact"] is True
    assert any({"player 3", "player 5"} <= set(team) for team in found["teams"])
    sides = ["+".join(team) for team in found["teams"]]
    quality = json.loads(invoke("quality", *sides, "--new", *given, "--format", "json").out)
    assert quality["sides"] == sides
    assert quality["chances"] == pytest.approx(found["chances"], rel=1e-12)
    shown = invoke("balance", *players, "--new", *given)
    assert shown.code == 0
    assert "all splits compared" in shown.out
    unequal = json.loads(invoke("balance", *players, "--sizes", "4,2", "--new", *given, "--format", "json").out)
    assert list(map(len, unequal["teams"])) == [4, 2]
    assert "player 'somebody new'" in invoke.refuses("balance", *players, *given)
    assert "--sizes is N,M" in invoke.refuses("balance", *players, "--sizes", "four", *given, code=2)
    assert "possible are teams of 1 and 3" in invoke.refuses(
        "balance", "player 3,player 5,player 0", "player 7", *given, code=2
    )
    assert "no party" in invoke.refuses("balance", "player 3,", "player 7", *given, code=2)
