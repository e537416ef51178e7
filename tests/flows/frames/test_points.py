"""Points in frames: of contests in the column score, of games of the winner and the loser."""

from __future__ import annotations

import pandas as pd
import pytest

from ranklake import rate_history

GAMES = pd.DataFrame(
    {
        "winner": ["ann", "bob", "ann", "cat"],
        "loser": ["bob", "cat", "cat", "bob"],
        "draw": [False, True, False, False],
        "points": [5.0, 1.0, 2.0, None],
        "opponent_points": [1.0, 1.0, 1.0, 3.0],
    }
)
ROWS = pd.DataFrame(
    {
        "contest": [1, 1, 2, 2, 3, 3, 4, 4],
        "player": ["ann", "bob", "bob", "cat", "ann", "cat", "cat", "bob"],
        "rank": [1, 2, 1, 1, 1, 2, 1, 2],
        "score": [5, 1, 1, 1, 2, 1, None, 3],
    }
)


def rated(results: object, **chosen: object) -> list[float]:
    return rate_history(results, "elo", engine="serial", **chosen)["mu"].tolist()


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_margins__count_the_points_of_winners_as_those_of_rows(kind: str) -> None:
    games = GAMES
    if kind == "arrow":
        import pyarrow as pa

        games = pa.Table.from_pandas(GAMES, preserve_index=False)
    found = rated(games, margin="log")
    assert found == rated(ROWS, margin="log")
    plain = rated(GAMES)
    assert plain == rated(ROWS) == rated(GAMES.drop(columns="opponent_points"))
    assert found[0] - 1500 == pytest.approx((plain[0] - 1500) * 2.321928094887362, rel=1e-12)
    renamed = GAMES.rename(columns={"points": "w", "opponent_points": "l"})
    assert rated(renamed) == plain
    assert rated(renamed, columns={"points": "w", "opponent_points": "l"}, margin="log") == found


def test_points_of_winners__are_refused_by_row_if_they_cannot_be_true() -> None:
    for row, value, rule in (
        (0, 1.0, "the points 1 of the winner and 1 of the loser contradict the result"),
        (1, 2.0, "the points 2 of the winner and 1 of the loser contradict the result"),
        (2, 1e10, "points must be a number"),
    ):
        games = GAMES.copy()
        games.loc[row, "points"] = value
        with pytest.raises(ValueError, match=f"row {row + 1} .*{rule}"):
            rated(games)
    with pytest.raises(ValueError, match="opponent_points"):
        rated(GAMES.drop(columns="opponent_points"), columns={"points": "points"})
