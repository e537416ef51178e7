"""One-to-one games of a period: a contest of a data set of kind ``games``.

A data set of kind ``games`` has one contest a period, for example a day, instead of one a game: the table of contests,
the chain of digests, segments and snapshots have thousands of rounds where there are billions of games. Its files
have one row a game. Readers get two rows a game, the winner first, and the times, weights and advantages of the games
beside them: everything that reads rows of standings reads those of games.

* A period is rated one game after the other, in order of time; games of one time keep the order of their source. The
  ratings are those of one contest a game.
* A round of a run is a period. It has two rows a game, in the order of the games.
* The digest of a period covers its games, their order, players, times, weights, advantages, points, kept columns and
  covariates, scores besides wins, draws and losses, and precisions besides 1; with covariates also who is the first
  player, which is one of them. An ingest replaces the periods that it has games
  of; a period with another digest breaks the chain of a run there, as every corrected contest does.
* A disqualification removes all games of a player in a period.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .covariates import Covariates
from .kept import Kept
from .points import Points, content_of, join_points, points_of

GAMES_KIND = "games"

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_NONE: Floats = np.empty(0)
_PLAIN_SCORES = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Games:
    """Facts of games in order, one entry a game.

    ``time_seconds`` (int64[m]): UTC since the epoch.
    ``weight`` (float64[m]): how much each game counts, > 0.
    ``advantage`` (float64[m] or float64[0]): rating points by which a game favours its first player: the ``player`` of
    a :class:`Period`, the first row of standings. Empty: no game has an advantage.
    ``points`` (float64[2m] or None): points of the first and of the second player of each game; see :mod:`.points`.
    ``score`` (float64[m] or float64[0]): score of the first row of each game, at least 1/2. Empty: scores follow from
    the places; always empty in a :class:`Period`.
    ``precision`` (float64[m] or float64[0]): factor on the precision of performances in each game, > 0. Empty: 1.
    ``kept``: columns of the source that are kept, see :mod:`.kept`; None: none has a value.
    ``swapped`` (bool[m] or bool[0]): whether the first row of a game is its second player, who has won. Empty: no game
    is; always empty in a :class:`Period`.
    ``covariates``: of each game as its first row sees it: beside rows of standings those of the winner, or of the first
    player in a draw, in a :class:`Period` those of ``player``. To see them as the first players do, turn the games that
    are ``swapped``. None: the data set has none.
    """

    time_seconds: Longs
    weight: Floats
    advantage: Floats = field(default_factory=lambda: _NONE)
    points: Points = None
    score: Floats = field(default_factory=lambda: _NONE)
    precision: Floats = field(default_factory=lambda: _NONE)
    kept: Kept | None = None
    swapped: Bools = field(default_factory=lambda: np.empty(0, bool))
    covariates: Covariates | None = None

    @classmethod
    def of(cls, rows: pa.Table) -> Games:
        """The facts of rows of a file of games."""
        weight, advantage, precision = (rows.column(name) for name in ("weight", "advantage", "precision"))
        known = weight.null_count < len(weight)
        n, both = len(weight), [points_of(rows.column(name)) for name in ("points", "opponent_points")]
        points = join_points(both, [n, n])
        return cls(
            rows.column("time_seconds").to_numpy(),
            weight.fill_null(1.0).to_numpy() if known else np.ones(len(weight)),
            advantage.fill_null(0.0).to_numpy() if advantage.null_count < len(advantage) else _NONE,
            None if points is None else points.reshape(2, n).T.ravel(),
            precision=precision.fill_null(1.0).to_numpy() if precision.null_count < len(precision) else _NONE,
            kept=Kept.of(rows.column("kept")),
            covariates=Covariates.of(rows),
        )

    def winner_first(self, score: Floats) -> Games:
        """The same games beside the rows of :func:`rows_of_games`, given the score of their first players."""
        won, advantage, points = score >= 0.5, _NONE, self.points
        if self.advantage.any():
            advantage = np.where(won, self.advantage, -self.advantage) + 0.0  # no -0.0
        if points is not None:
            pairs = points.reshape(-1, 2)
            points = np.where(won[:, None], pairs, pairs[:, ::-1]).ravel()
        first = np.where(won, score, 1.0 - score) if are_fractional(score) else _NONE
        turned = None if self.covariates is None else self.covariates.turned(~won)
        return replace(self, advantage=advantage, points=points, score=first, swapped=~won, covariates=turned)

    def part(self, start: int, stop: int) -> Games:
        """The games of rows ``start`` to ``stop - 1``."""
        return self._take(slice(start // 2, stop // 2), slice(start, stop))

    def keep(self, games: npt.NDArray[np.bool_]) -> Games:
        """The games of a mask."""
        return self._take(games, np.repeat(games, 2))

    def _take(self, games: Any, rows: Any) -> Games:
        """Some of the games, which have these rows."""
        advantage, score, precision = (
            column[games] if len(column) else column for column in (self.advantage, self.score, self.precision)
        )
        points = None if self.points is None else self.points[rows]
        kept = None if self.kept is None else self.kept.take(games)
        swapped = self.swapped[games] if len(self.swapped) else self.swapped
        covariates = None if self.covariates is None else self.covariates.take(games)
        facts = self.time_seconds[games], self.weight[games], advantage, points, score, precision
        return Games(*facts, kept, swapped, covariates)


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """The games of one period, in order of time. Its values are not checked here.

    ``contest_id``: name of the period, unique in its data set; also its title.
    ``handles``: the players, each once, no nulls.
    ``player``, ``opponent`` (int32[m]): the first and the second player of each game, as positions in ``handles``.
    ``score`` (float64[m]): score of ``player``, from 0 to 1; ``opponent`` has the rest.
    ``games``: times, which do not decrease, weights, advantages and covariates of ``player``, points, and kept columns.
    """

    contest_id: str
    handles: pa.StringArray
    player: Ints
    opponent: Ints
    score: Floats
    games: Games

    def __len__(self) -> int:
        return len(self.player)

    @property
    def name(self) -> str:
        """The title: the name of the period."""
        return self.contest_id

    @property
    def url(self) -> str:
        """None: a period has no page."""
        return ""

    @property
    def time_seconds(self) -> int:
        """Time of the last game."""
        return int(self.games.time_seconds[-1])

    @property
    def content_digest(self) -> str:
        """See :func:`digest_of_games`."""
        player, lo, _ = rows_of_games(self.player, self.opponent, self.score)
        return digest_of_games(self.contest_id, self.handles, player, lo, self.games.winner_first(self.score))


def rows_of_games(player: Ints, opponent: Ints, score: Floats) -> tuple[Ints, Ints, Ints]:
    """``player``, ``lo`` and ``hi`` of two rows a game: the winner first; in a draw the first player.

    The winner is the one with more than half of the score.
    """
    rows, lo, hi = (np.empty((len(player), 2), np.int32) for _ in range(3))
    won, drawn = score >= 0.5, np.maximum(score, 1.0 - score) == 0.5
    rows[:, 0], rows[:, 1] = np.where(won, player, opponent), np.where(won, opponent, player)
    lo[:, 0], lo[:, 1] = 0, ~drawn
    hi[:, 0], hi[:, 1] = drawn, 1
    return rows.ravel(), lo.ravel(), hi.ravel()


def are_fractional(score: Floats) -> bool:
    """Whether there are scores besides those of wins, draws and losses."""
    return not np.isin(score, _PLAIN_SCORES).all()


def digest_of_games(contest_id: str, handles: pa.StringArray, player: Ints, lo: Ints, games: Games) -> str:
    """32 hex digits of all that ratings of a period depend on: its name, and the games in order.

    ``handles``: of the players, by the numbers in ``player``; the numbers themselves do not matter.
    ``player``, ``lo``: two rows a game, see :func:`rows_of_games`.
    ``games``: their facts; advantages are those of the first row of each game.
    """
    numbered = pa.array(player).dictionary_encode()  # by first appearance
    names, place = handles.take(numbered.dictionary), numbered.indices.to_numpy()
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"games of {len(contest_id)}:{contest_id}".encode())
    digest.update(struct.pack("<qq", len(games.time_seconds), len(names)))
    if len(names):
        _, ends, text = names.buffers()
        bounds = np.frombuffer(ends, np.int32, len(names) + 1, offset=4 * names.offset)
        digest.update((bounds[1:] - bounds[:-1]).data)
        digest.update(memoryview(text)[bounds[0] : bounds[-1]] if text is not None else b"")
        digest.update(place.data)
        digest.update(np.packbits(lo[1::2] == 0).data)
        digest.update(np.ascontiguousarray(games.time_seconds, np.int64).data)
        if (games.weight != 1.0).any():
            digest.update(np.ascontiguousarray(games.weight, np.float64).data)
        if games.advantage.any():
            digest.update(b"advantage")  # not taken for weights
            digest.update(np.ascontiguousarray(games.advantage, np.float64).data)
        if are_fractional(games.score):
            digest.update(b"score")
            digest.update(np.ascontiguousarray(games.score, np.float64).data)
        digest.update(content_of(games.points))
        if (games.precision != 1.0).any():
            digest.update(b"precision")
            digest.update(np.ascontiguousarray(games.precision, np.float64).data)
        if games.kept is not None:
            digest.update(games.kept.content())
        if games.covariates is not None:
            digest.update(games.covariates.content())
            digest.update(np.packbits(games.swapped).data)
    return digest.hexdigest()
