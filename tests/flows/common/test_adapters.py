"""Conversions between tables and rounds."""

from __future__ import annotations

import numpy as np
from helpers.games import Game, as_periods, ingest_periods, league

from ranklake.flows.common.adapters import ContestFacts, concat_rounds
from ranklake.rating_kernels import Rounds
from ranklake.storage import Dataset, Lake


def test_concat_rounds__without_advantages_beside_some_have_zeros() -> None:
    places = [[0, 2], [0, 1], [0, 1], [0, 1]]
    without, some = Rounds.from_columns(*places), Rounds.from_columns(*places, advantage=[17.5, -17.5])

    joined = concat_rounds([without, some, without])

    assert joined.advantage.tolist() == [0.0, 0.0, 17.5, -17.5, 0.0, 0.0]
    assert joined.with_advantages.tolist() == [False, True, False]
    assert np.array_equal(joined.player, [0, 1] * 3)
    assert not len(concat_rounds([without, without]).advantage)


def test_concat_rounds__without_points_and_scores_beside_some_have_the_unknown_and_the_places() -> None:
    places = [0, 2], [0, 1], [0, 0], [1, 1]
    without, some = Rounds.from_columns(*places), Rounds.from_columns(*places, points=[3.0, 1.0], score=[0.5])
    won = Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1])
    joined = concat_rounds([without, some, won])
    assert np.array_equal(joined.points, [np.nan, np.nan, 3.0, 1.0, np.nan, np.nan], equal_nan=True)
    assert joined.score.tolist() == [0.5, 0.5, 1.0]
    joined = concat_rounds([without, won])
    assert [len(joined.points), len(joined.score)] == [0, 0]


def rounds_of(lake: Lake, games: list[Game]) -> Rounds:
    """The rounds of a data set of these games."""
    ingest_periods(lake, as_periods(games))
    dataset = Dataset.open(lake, "league")
    facts = ContestFacts.of(dataset.contests, np.ones(len(dataset.contests), np.bool_))
    return concat_rounds([facts.rounds(part) for part in dataset.standings()])


def test_games__have_half_of_an_advantage_in_each_row_of_the_winner_and_the_loser(lake: Lake) -> None:
    games = [
        Game("a", "b", 1.0, 100, 1.0, 35.0),
        Game("a", "b", 0.0, 200, 1.0, 35.0),
        Game("b", "a", 0.5, 300, 1.0, -20.0),
        Game("a", "c", 0.0, 400),
    ]
    rounds = rounds_of(lake, games)
    names = Dataset.open(lake, "league").handles().take(rounds.player).to_pylist()
    assert names == ["a", "b", "b", "a", "b", "a", "c", "a"]
    assert rounds.advantage.tolist() == [17.5, -17.5, -17.5, 17.5, -10.0, 10.0, 0.0, 0.0]


def test_games__without_an_advantage_have_none(lake: Lake) -> None:
    assert not len(rounds_of(lake, league(20)).advantage)
