"""Chances of games beside what happened, by how far the first player was ahead: as known before each game."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ranklake.rating_kernels.chances.three_way import ThreeWay
from ranklake.rating_kernels.core.standings import Floats, Longs
from ranklake.storage import LakeError

from ..chances.record import RunChances, chances_before_rounds, games_of
from ..chances.stored import read_games
from ..common.text import count
from ..entrants.given_games import between_results
from ..results.display import system_of
from ..results.rated_rounds import RatedRounds
from .game_chances import chances_of_winners

BINS = 12
OUTCOMES = ("win", "draw", "loss")


class PredictedGames(NamedTuple):
    """Games of a run as predicted before them, from the side of the first player.

    ``ahead`` (float64[m]): how much stronger the first player was, with a known advantage; rating points.
    ``chances``: by what the run had learnt before the game's round.
    ``outcome`` (int64[m]): 0 for a win, 1 for a draw, 2 for a loss.
    """

    ahead: Floats
    chances: ThreeWay
    outcome: Longs

    @classmethod
    def of(cls, rounds: RatedRounds) -> tuple[Self, RunChances]:
        """All games of a run with a result, and what the run has learnt.

        Raises LakeError: the run has contests of three entrants or more, so many games that it learns only if asked, or
        no game with one of three results, or the data set has other games now.
        """
        known = chances_before_rounds(rounds)
        if known is None:
            raise LakeError(_why_unknown(rounds))
        system, params = system_of(rounds.run)
        parts = []
        for games in read_games(rounds, system, params, 0, rounds.chain.stop_round):
            win, draw, loss = chances_of_winners(system, params, known, games)
            told = ~between_results(games.score) if len(games.score) else np.ones(len(win), bool)
            swapped = games.swapped if len(games.swapped) else np.zeros(len(win), bool)
            ahead = np.where(swapped, -1.0, 1.0) * (games.mu[::2] - games.mu[1::2])
            chances = np.where(swapped, loss, win), draw, np.where(swapped, win, loss)
            outcome = np.where(games.lo[1::2] == games.lo[::2], 1, np.where(swapped, 2, 0))
            parts.append((ahead, *chances, outcome, told))
        ahead, win, draw, loss, outcome, told = (np.concatenate(column) for column in zip(*parts, strict=True))
        if not told.any():
            raise LakeError(
                f"run {rounds.run.name} has no game that was won, drawn or lost: all scores are between these"
            )
        return cls(ahead[told], ThreeWay(win[told], draw[told], loss[told]), outcome[told]), known


def _why_unknown(rounds: RatedRounds) -> str:
    """Why a run has not learnt before each of its games, in words."""
    counts, larger = games_of(rounds)
    name, n_games = rounds.run.name, int(counts.sum())
    if larger is not None:
        return f"run {name} has contests of three entrants or more: chances are of games of two"
    remedy = f"`ranklake rate --run {name} --draws preserving` makes it learn"
    return f"run {name} has {count(n_games, 'game')}, of which it learns only if asked: {remedy}"


class SeenChances(NamedTuple):
    """Games in bins of how far the first player was ahead, each bin with about as many games.

    ``ahead`` (float64[b]): mean of the games; ``games`` (int64[b]).
    ``chance``, ``seen``, ``error`` (float64[b, 3]): mean chance of a win, a draw, a loss; share of games that ended so;
    its standard deviation if the chances are right.
    """

    ahead: Floats
    games: Longs
    chance: Floats
    seen: Floats
    error: Floats

    @classmethod
    def of(cls, predicted: PredictedGames, bins: int = BINS) -> Self:
        """The bins of some games; at most one for every ten games."""
        order = np.argsort(predicted.ahead, kind="stable")
        parts = np.array_split(order, max(1, min(bins, len(order) // 10)))
        chances = np.column_stack(predicted.chances)
        seen = np.column_stack([predicted.outcome == at for at in range(len(OUTCOMES))])
        variance = chances * (1.0 - chances)
        return cls(
            np.array([predicted.ahead[part].mean() for part in parts]),
            np.array([len(part) for part in parts]),
            np.array([chances[part].mean(axis=0) for part in parts]),
            np.array([seen[part].mean(axis=0) for part in parts]),
            np.array([np.sqrt(variance[part].sum(axis=0)) / len(part) for part in parts]),
        )
