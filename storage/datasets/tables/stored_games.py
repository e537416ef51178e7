"""Stored games of a data set of kind ``games``, read as standings with two rows a game."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .games import GAMES_KIND, Games, rows_of_games
from .standings import StandingsPart, StoredStandings


class StoredGames(StoredStandings):
    """The files of games behind a table of contests; see :class:`StoredStandings`."""

    kind = GAMES_KIND
    columns = ("player", "opponent", "score", "time_seconds", "weight", "advantage")

    def _part(self, begin: int, offsets: npt.NDArray[np.int64], rows: pa.Table) -> StandingsPart:
        return part_of_games(begin, offsets, rows)


def part_of_games(begin: int, offsets: npt.NDArray[np.int64], rows: pa.Table) -> StandingsPart:
    """Rows of games as standings; ``offsets`` are those of the contests among the games."""
    player, opponent, score = (rows.column(name).to_numpy() for name in ("player", "opponent", "score"))
    games = Games.of(rows).winner_first(score)
    return StandingsPart(begin, 2 * offsets, *rows_of_games(player, opponent, score), games=games)
