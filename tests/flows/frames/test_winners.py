"""Frames with a winner and a loser in each row are contests of two, in every kind of frame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ranklake import Ratings, rate_history, tune

TENNIS = Path(__file__).parents[2] / "data" / "tennis-grand-slams-2015-2024.csv"
GAMES = pd.DataFrame(
    {
        "winner": ["ann", "bob", "ann", "cat"], "loser": ["bob", "cat", "cat", "bob"],
        "draw": [False, True, None, False],
        "date": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-05"]), "court": list("qwer"),
    },
    index=list("klmn"),
)  # fmt: skip


def as_results(games: pd.DataFrame, drawn: list[int]) -> pd.DataFrame:
    """The same games with a row for each player, made by hand."""
    rows = []
    for number, (winner, loser) in enumerate(zip(games["winner"], games["loser"], strict=True)):
        rows += [(number + 1, winner, 1), (number + 1, loser, 1 if number in drawn else 2)]
    return pd.DataFrame(rows, columns=["contest", "player", "rank"])


@pytest.mark.parametrize("system", ["elo-mmr", "glicko2"])
@pytest.mark.parametrize(
    "make", [lambda games: games, pl.from_pandas, lambda games: pl.from_pandas(games).lazy(), pa.Table.from_pandas]
)
def test_games__of_winners_and_losers_have_the_ratings_of_contests_of_two(
    system: Any, make: Callable[[pd.DataFrame], Any]
) -> None:
    expected = as_results(GAMES, [1]).assign(date=np.repeat(GAMES["date"].to_numpy(), 2))
    rated = Ratings.rate(make(GAMES), system)
    history = rated.history.collect() if hasattr(rated.history, "collect") else rated.history
    assert np.array_equal(np.asarray(history["mu"]), Ratings.rate(expected, system).history["mu"])
    assert np.asarray(history["court"]).tolist() == list("qqwweerr")
    if isinstance(history, pd.DataFrame):
        assert history.index.tolist() == list("kkllmmnn")


def test_games__of_real_matches_are_rated_and_searched() -> None:
    matches = pd.read_csv(TENNIS)
    history = rate_history(matches, columns={"time": "start"})
    expected = as_results(matches, []).assign(time=np.repeat(matches["start"].to_numpy(), 2))
    assert np.array_equal(history["mu"], rate_history(expected)["mu"])
    assert len(history) == 540
    folded = matches.rename(columns={"winner": "Winner", "loser": " LOSER"})
    assert len(tune(folded, "elo", {"k": [10, 20]}, trials=2)) == 2


def test_updates__number_further_games_on() -> None:
    whole, first = Ratings.rate(GAMES), Ratings.rate(GAMES[:2])
    parts = first.update(GAMES[2:3]).update(GAMES[3:])
    assert parts.history["contest"].tolist() == whole.history["contest"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert parts.history["mu"].tolist() == whole.history["mu"].tolist()


def test_columns__are_named_and_contests_keep_their_names() -> None:
    games = GAMES.rename(columns={"winner": "won", "loser": "lost", "draw": "tie"}).assign(contest=list("abcd"), rank=7)
    history = rate_history(games, columns={"winner": "won", "loser": "lost", "draw": "tie"})
    assert history["contest"].tolist() == list("aabbccdd")
    assert history["hi"].tolist() == [0, 1, 1, 1, 0, 1, 0, 1]
    assert rate_history(GAMES, columns={"draw": ""})["hi"].tolist() == [0, 1] * 4
    mixed = as_results(GAMES, []).assign(winner=True, loser=False)  # columns of another meaning beside a player
    assert rate_history(mixed)["hi"].tolist() == [0, 1] * 4


@pytest.mark.parametrize(
    ("games", "columns", "rule"),
    [
        (GAMES.assign(draw=["no", "perhaps", "", "1"]), {}, r"row 2 \(index 'l'\): draw must be true or .*'perhaps'"),
        (GAMES.assign(contest=list("abba")), {}, r"row 3 \(index 'm'\): contest 'b' is in two rows"),
        (GAMES.assign(loser=["bob", None, "cat", "bob"]), {}, r"row 2 \(index 'l'\): a player needs a name"),
        (GAMES.assign(loser=["bob", "cat", "ann", "bob"]), {}, r"row 3 \(index 'm'\): player 'ann' is listed twice"),
        (GAMES.drop(columns="loser"), {"winner": "winner"}, r"no column 'loser' \(loser\) among .*columns=\{'loser': "),
        (GAMES, {"winner": "victor"}, r"no column 'victor' \(winner\) among"),
        (GAMES.assign(Winner="x", winner_="y").rename(columns={"winner": "WINNER"}), {},
         "'WINNER' and 'Winner' differ in case only"),
    ],
)  # fmt: skip
def test_faults__name_the_row_of_the_game(games: pd.DataFrame, columns: dict[str, str], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        rate_history(games, columns=columns)
