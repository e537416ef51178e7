"""Conversions between tables and rounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from helpers.builders import contest, ingest
from helpers.games import Game, as_periods, ingest_periods, league

from ranklake.flows.common.adapters import ContestFacts, all_rounds, concat_rounds
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


def test_games__without_advantages_points_and_scores_have_none(lake: Lake) -> None:
    rounds = rounds_of(lake, league(20))
    assert [len(rounds.advantage), len(rounds.points), len(rounds.score)] == [0, 0, 0]


def test_games__have_points_of_both_rows_and_the_score_of_the_first(lake: Lake) -> None:
    games = [
        Game("a", "b", 0.25, 100, points=(1.0, 3.0)),
        Game("a", "b", 0.5, 200, points=(2.0, -1.5)),
        Game("b", "a", 1.0, 300),
        Game("a", "c", 0.75, 400, points=(np.nan, 5.0)),
    ]
    rounds = rounds_of(lake, games)
    names = Dataset.open(lake, "league").handles().take(rounds.player).to_pylist()
    assert names == ["b", "a", "a", "b", "b", "a", "a", "c"]
    wanted = [3.0, 1.0, 2.0, -1.5, np.nan, np.nan, np.nan, 5.0]
    assert np.array_equal(rounds.points, wanted, equal_nan=True)
    assert rounds.score.tolist() == [0.75, 0.5, 1.0, 0.75]
    assert np.array_equal(Rounds.from_arrays(rounds.arrays).points, wanted, equal_nan=True)


def test_contests__have_the_points_of_each_row_that_corrections_leave(lake: Lake) -> None:
    scored = replace(contest("a", ["x", "y", "z"]), points=np.array([7.0, np.nan, 3.0]))
    ingest(lake, [scored, contest("b", ["y", "x"])])
    rounds = all_rounds(Dataset.open(lake, "games"))
    assert np.array_equal(rounds.points, [7.0, np.nan, 3.0, np.nan, np.nan], equal_nan=True)
    with Dataset.ingest(lake, "games") as body:
        body.disqualify("a", "y")
    assert np.array_equal(all_rounds(Dataset.open(lake, "games")).points, [7.0, 3.0, np.nan, np.nan], equal_nan=True)
