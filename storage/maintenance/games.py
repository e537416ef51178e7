"""Verification and merging of the files of a data set of kind ``games``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ..datasets.tables.games import digest_of_games
from ..datasets.tables.rows import Row
from ..datasets.tables.standings import StandingsPart
from ..datasets.tables.stored_games import part_of_games


def games_problems(rows: pa.Table, members: Sequence[Row], handles: pa.StringArray | None) -> Iterator[str]:
    """Faults of the games of some periods, given the rows of their file.

    ``rows``: columns as in ``schemas.GAMES``, one period after the other.
    ``handles``: names of the players by number; None if they cannot be read: nothing is checked.
    """
    if handles is None:
        return
    player, opponent, score = (rows.column(name).to_numpy() for name in ("player", "opponent", "score"))
    known = (np.minimum(player, opponent) >= 0) & (np.maximum(player, opponent) < len(handles))
    if not known.all():
        yield "its players are not those of the index"
        return
    if (player == opponent).any():
        yield "has a game of a player against the same player"
    if not np.isin(score, (0.0, 0.5, 1.0)).all():
        yield "has a score that is not 1, 0.5 or 0"
    yield from digest_problems(rows, members, handles)


def digest_problems(rows: pa.Table, members: Sequence[Row], handles: pa.StringArray) -> Iterator[str]:
    """The periods that do not match their digests; parameters as for :func:`games_problems`."""
    offsets = np.concatenate([[0], np.cumsum([row.n_rows for row in members])])
    found = counted_games(part_of_games(0, offsets, rows), members, handles)
    for row, (_, digest) in zip(members, found, strict=True):
        if digest != row.source_digest:
            yield f"contest {row.contest_id} does not match its digest"


def counted_games(part: StandingsPart, members: Sequence[Row], handles: pa.StringArray) -> Iterator[tuple[int, str]]:
    """Participations and digest of each period of a part."""
    for at, row in enumerate(members, part.first_contest):
        period = part.contest(at)
        assert period.games is not None
        yield len(period.player), digest_of_games(row.contest_id, handles, period.player, period.lo, period.games)
