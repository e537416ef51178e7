"""Scores of the chances of a win, a draw and a loss of games.

All are proper: true chances have the best expected value. Of chances w, d and l, and 1 for what happened, 0 otherwise:

    log_loss3              -log2 of the chance of what happened, 1e-9 at least; bits
    brier3                 the squared errors of all three, from 0 to 2
    ranked_probability     half the squared errors of w and of w + d: a draw is nearer to a win than a loss is

Sources: Brier, "Verification of forecasts expressed in terms of probability" (1950), section 3; Epstein, "A scoring
system for probability forecasts of ranked categories" (1969). A score between a draw and a win is none of the three
results: such games are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.chances.three_way import ThreeWay
from ranklake.rating_kernels.core.standings import Floats, Ints, Longs

from ..entrants.given_games import between_results
from .games import LEAST_BEFORE

Bools = npt.NDArray[np.bool_]
MEANS = ("log_loss3", "brier3", "ranked_probability", "draws_predicted", "draws_seen")
_COUNTS = ("games", "left_out", "second_won")
SUMS = (*_COUNTS, *MEANS)
OUTCOMES = ThreeWay._fields
_LEAST_CHANCE = 1e-9  # of a result, that its logarithm is finite
_BINS = 10  # of a chance
_UNIT = 2.0**24  # chances are added as whole multiples of its inverse: their sums do not depend on the order


class Results(NamedTuple):
    """Results of games, the winner first; a draw has the first player first.

    ``drawn``, ``swapped`` (bool[m]): draws; games whose winner is the second player.
    ``left_out`` (bool[m]): scores that are no win, draw or loss.
    ``fewer`` (int32[m]): games before of the less experienced player.
    """

    drawn: Bools
    swapped: Bools
    left_out: Bools
    fewer: Ints

    @classmethod
    def of(cls, lo: Ints, n_before: Ints, score: Floats, swapped: Bools) -> Self:
        """The results of games of two rows each; ``score`` of the winner, NaN where it follows from the places.

        ``score``, ``swapped``: empty where there are none.
        """
        drawn = lo[1::2] == lo[::2]
        n = len(drawn)
        left_out = between_results(score) if len(score) else np.zeros(n, bool)
        return cls(
            drawn, swapped if len(swapped) else np.zeros(n, bool), left_out, np.minimum(n_before[::2], n_before[1::2])
        )


class ChanceBin(NamedTuple):
    """Games whose chance of an outcome is in one bin: their number, mean chance, and share with the outcome.

    ``least``, ``most``: bounds of the bin. ``chance``, ``seen``: NaN without games.
    """

    least: float
    most: float
    games: int
    chance: float
    seen: float


@dataclass(frozen=True, slots=True)
class ThreeWayScores:
    """Sums over games of consecutive periods.

    ``sums`` (float64[p, filters, 8]): of each period, for each filter of :data:`.games.LEAST_BEFORE`: the columns
    :data:`SUMS`, games, games that were left out, wins of second players, and the sums of :data:`MEANS`.
    ``bins`` (float64[filters, 3, bins, 3]): of all periods, for each outcome of the first player: games, sum of the
    chances, and outcomes.
    """

    sums: Floats
    bins: Floats

    @classmethod
    def of(cls, chances: ThreeWay, results: Results, periods: Longs) -> Self:
        """Score the chances of the winners; ``periods`` (int64[p + 1]): first game of each, and the number of games."""
        n, period = len(periods) - 1, np.repeat(np.arange(len(periods) - 1), np.diff(periods))
        scores = _scores(chances, results)
        sums, bins = np.empty((n, len(LEAST_BEFORE), len(SUMS))), []
        for at, least in enumerate(LEAST_BEFORE.values()):
            told = results.fewer >= least
            kept = told & ~results.left_out
            counts = (kept, told & results.left_out, kept & results.swapped & ~results.drawn)
            sums[:, at, : len(_COUNTS)] = np.stack([np.bincount(period[rows], minlength=n) for rows in counts], axis=-1)
            of_kept = period[kept]
            sums[:, at, len(_COUNTS) :] = np.stack([np.bincount(of_kept, one[kept], n) for one in scores], axis=-1)
            bins.append(_bins(chances, results, kept))
        return cls(sums, np.stack(bins))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the scores of consecutive parts."""
        return cls(np.concatenate([part.sums for part in parts]), np.sum([part.bins for part in parts], axis=0))

    def means(self) -> dict[str, dict[str, Any]]:
        """For each filter the means of all games."""
        return {name: {key: row[key] for key in MEANS} for name, row in means_of(self.sums).items()}

    def summary(self) -> dict[str, dict[str, Any]]:
        """For each filter the number of games, the means, and the reliability table of each outcome.

        Where no second player ever won, the source names winners first. The tables then have both players of a game,
        each as the first one.
        """
        found: dict[str, dict[str, Any]] = means_of(self.sums)
        for (win, draw, loss), row in zip(self.bins, found.values(), strict=True):
            if not row["second_won"]:
                win = loss = win + loss
            tables = zip(OUTCOMES, map(_table, (win, draw, loss)), strict=True)
            row["reliability"] = {outcome: [one._asdict() for one in table] for outcome, table in tables}
        return found


def means_of(sums: Floats) -> dict[str, dict[str, Any]]:
    """For each filter the numbers of games and the means, given sums of some periods; NaN without games."""
    found = {}
    for name, row in zip(LEAST_BEFORE, sums.sum(axis=0).tolist(), strict=True):
        counts, totals = row[: len(_COUNTS)], row[len(_COUNTS) :]
        means = [total / counts[0] if counts[0] else float("nan") for total in totals]
        found[name] = dict(zip(_COUNTS, map(int, counts), strict=True)) | dict(zip(MEANS, means, strict=True))
    return found


def _scores(chances: ThreeWay, results: Results) -> tuple[Floats, ...]:
    """The values of :data:`MEANS` of each game."""
    (win, draw, loss), drawn = chances, results.drawn
    happened = np.where(drawn, draw, win)
    first = np.square(np.where(drawn, win, 1.0 - win))
    squares = first + np.square(np.where(drawn, 1.0 - draw, draw)) + np.square(loss)
    ranked = 0.5 * (first + np.square(loss))  # w + d less 1 is the chance of a loss
    return -np.log2(np.maximum(happened, _LEAST_CHANCE)), squares, ranked, draw, drawn.astype(np.float64)


def _bins(chances: ThreeWay, results: Results, kept: Bools) -> Floats:
    """Games, sum of chances and outcomes of each bin, for each outcome of the first player."""
    drawn, swapped = results.drawn, results.swapped
    of_first = (
        (np.where(swapped, chances.loss, chances.win), ~drawn & ~swapped),
        (chances.draw, drawn),
        (np.where(swapped, chances.win, chances.loss), ~drawn & swapped),
    )
    tables = []
    for chance, seen in of_first:
        chance, seen = chance[kept], seen[kept]
        place = np.minimum((chance * _BINS).astype(np.int64), _BINS - 1)
        columns = (None, np.rint(chance * _UNIT), seen)
        tables.append(np.stack([np.bincount(place, column, _BINS) for column in columns], axis=-1))
    return np.stack(tables) * [1.0, 1.0 / _UNIT, 1.0]


def _table(bins: Floats) -> list[ChanceBin]:
    with np.errstate(invalid="ignore"):
        means = (bins[:, 1:] / bins[:, :1]).tolist()
    return [
        ChanceBin(at / _BINS, (at + 1) / _BINS, int(games), chance, seen)
        for at, (games, (chance, seen)) in enumerate(zip(bins[:, 0].tolist(), means, strict=True))
    ]
