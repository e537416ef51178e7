"""Games of a run as the fits take them: expected scores and results, in the order of the rounds.

Only rounds between two entrants are games, each team being one. Games with a score that is no win, draw or loss have
no three chances and are left out. The first entrant of a game is the first player that its source names; contests do
not name one, and no advantage is learnt from them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.chances.fit import Played
from ranklake.rating_kernels.chances.games import Leads, Pairings
from ranklake.rating_kernels.core.standings import Conditions, Floats, Ints, Longs
from ranklake.rating_kernels.core.system import Prior, System
from ranklake.storage.datasets.tables.kept import NO_VALUE, Kept

from ..entrants.given_games import between_results
from .settings import ChanceSettings

Bools = npt.NDArray[np.bool_]
_OF_SIDE = ("mu", "sigma", "n_before")


class RoundGames(NamedTuple):
    """Games of consecutive rounds, two rows each: the winner first.

    ``first_round``: the first of the rounds.
    ``counts`` (int64[r]): number of games of each round.
    ``mu`` (float64[2m]): strength of each entrant: rating before the game plus its half of the known advantage.
    ``sigma``, ``n_before``, ``lo`` ([2m]): uncertainty, rounds rated before, and place of each entrant.
    ``conditions``: of the games.
    ``score`` (float64[m] or float64[0]): score of each winner, where it may be another than 1 or 0.5.
    ``swapped`` (bool[m] or bool[0]): whether the winner is the second player.
    ``kept``: kept columns of the games.
    """

    first_round: int
    counts: Longs
    mu: Floats
    sigma: Floats
    n_before: Ints
    lo: Ints
    conditions: Conditions
    score: Floats
    swapped: Bools
    kept: Kept | None

    def since(self, round_index: int) -> RoundGames:
        """The games from a round on."""
        rounds = max(round_index - self.first_round, 0)
        games = int(self.counts[:rounds].sum())
        rows = slice(2 * games, None)
        kept = None if self.kept is None else self.kept.take(slice(games, None))
        return RoundGames(
            self.first_round + rounds, self.counts[rounds:],
            self.mu[rows], self.sigma[rows], self.n_before[rows], self.lo[rows],
            self.conditions.take(slice(games, None)), self.score[games:], self.swapped[games:], kept,
        )  # fmt: skip


class GamesSoFar:
    """All games of a run from a round on, the first one, as far as they were added; arrays for so many at most.

    ``reached``: number of rounds that were added. While more are added, other threads may read those before.
    ``values``: values of the column of the settings, by first appearance.
    """

    def __init__(self, system: System, params: Any, settings: ChanceSettings, most: int, first_round: int = 0) -> None:
        self._system, self._params, self._settings, self._most = system, params, settings, most
        self.reached, self._ends, self._n = first_round, [0] * (first_round + 1), 0
        self.values: dict[str, int] = {}
        self._columns: dict[str, npt.NDArray[Any]] = {}
        self._rate: float | None = None  # of all games so far, if it is the same
        self._second_won: list[int] = []  # number of the first game that a second player won

    def add(self, games: RoundGames) -> None:
        """Add the next rounds."""
        assert games.first_round == self.reached, "rounds in order"
        known = ~between_results(games.score)
        counts = games.counts
        if len(known) and not known.all():
            of_round = np.repeat(np.arange(len(counts)), counts)
            counts = np.bincount(of_round[known], minlength=len(counts))
        chosen = None if not len(known) or known.all() else np.flatnonzero(known)
        self._add_games(games, chosen)
        self._ends += (self._ends[-1] + np.cumsum(counts)).tolist()
        self.reached += len(counts)

    def before(self, round_index: int) -> int:
        """Number of games before a round."""
        return int(self._ends[round_index])

    def played(self, n: int, chosen: Longs | None = None) -> Played:
        """The first ``n`` games, or some of them."""
        rows: Any = slice(0, n) if chosen is None else chosen
        weight = self._columns["weight"][rows] if self._settings.weighted else None
        result, holds = self._columns["result"][rows], self._holds(n, rows)
        return Played(self._games(rows), result, holds, weight)

    def by_value(self, n: int) -> dict[str, Longs]:
        """The first ``n`` games with each value of the column, in order."""
        codes, values = self._columns["value"][:n], list(self.values)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(values) + 1))
        return {value: order[a:b] for value, (a, b) in zip(values, pairwise(bounds), strict=True)}

    def knows_first(self, n: int) -> bool:
        """Whether the first ``n`` games say who came first: in a table of winners no second player ever wins."""
        return bool(self._second_won) and self._second_won[0] < n

    def _add_games(self, games: RoundGames, chosen: Longs | None) -> None:
        """Append the columns of some games, or of all."""
        sides = [_side(games.mu[at::2], games.sigma[at::2], games.n_before[at::2]) for at in (0, 1)]
        conditions, drawn, swapped = games.conditions, games.lo[1::2] == games.lo[::2], games.swapped
        codes = self._codes(games.kept, len(drawn))
        if chosen is not None:
            sides = [_side(*(getattr(side, name)[chosen] for name in _OF_SIDE)) for side in sides]
            conditions, drawn = conditions.take(chosen), drawn[chosen]
            swapped = swapped[chosen] if len(swapped) else swapped
            codes = None if codes is None else codes[chosen]
        any_swapped = bool(swapped.any())
        result = np.where(drawn, 0, 1).astype(np.int8)
        if any_swapped:
            np.negative(result, out=result, where=swapped)
            if not self._second_won:
                self._second_won.append(self._n + int(np.argmax(swapped)))
        found: dict[str, npt.NDArray[Any]] = {"result": result}
        leads = Pairings(self._system, self._params, conditions, 2, *sides).leads()
        if leads is not None:
            found["lead"] = np.where(swapped, -leads.lead, leads.lead) if any_swapped else leads.lead
            self._note_rate(leads.rate, found)
        else:
            for name in _OF_SIDE:
                one, other = (getattr(side, name) for side in sides)
                found[f"one_{name}"] = np.where(swapped, other, one) if any_swapped else one
                found[f"other_{name}"] = np.where(swapped, one, other) if any_swapped else other
            found["precision"] = conditions.precision
        if leads is None or self._settings.weighted:
            found["weight"] = conditions.weight
        if codes is not None:
            found["value"] = codes
        self._append(found, len(result))

    def _append(self, found: dict[str, npt.NDArray[Any]], n: int) -> None:
        for name, values in found.items():
            if name not in self._columns:
                self._columns[name] = np.empty(self._most, values.dtype)
            self._columns[name][self._n : self._n + n] = values
        self._n += n

    def _note_rate(self, rate: Floats, found: dict[str, npt.NDArray[Any]]) -> None:
        """Store the rates of games once if all have the same."""
        if "rate" not in self._columns:
            if len(rate) == 1 and self._rate in (None, float(rate[0])):
                self._rate = float(rate[0])
                return
            column = np.empty(self._most)
            column[: self._n] = self._rate
            self._columns["rate"] = column
        found["rate"] = np.broadcast_to(rate, len(found["result"]))

    def _codes(self, kept: Kept | None, n: int) -> Ints | None:
        """The value of the column of each game, as a key of ``values``; None without a column."""
        if not self._settings.by:
            return None
        if kept is None:
            return np.full(n, NO_VALUE, np.int32)
        names, codes = kept.values(self._settings.by)
        for name in names:
            self.values.setdefault(name, len(self.values))
        return np.array([*(self.values[name] for name in names), NO_VALUE], np.int32)[codes]

    def _holds(self, n: int, rows: Any) -> Bools | None:
        """Whether the advantage holds in each game."""
        if not self.knows_first(n):
            return np.zeros(len(self._columns["result"][rows]), bool)
        without = [code for name, code in self.values.items() if name in self._settings.no_advantage]
        return ~np.isin(self._columns["value"][rows], without) if without else None

    def _games(self, rows: Any) -> Leads | Pairings:
        columns = self._columns
        if "lead" in columns:
            rate = columns["rate"][rows] if "rate" in columns else np.array([self._rate], np.float64)
            return Leads(columns["lead"][rows], rate)
        one, other = (_side(*(columns[f"{side}_{name}"][rows] for name in _OF_SIDE)) for side in ("one", "other"))
        conditions = Conditions(columns["weight"][rows], columns["precision"][rows])
        return Pairings(self._system, self._params, conditions, 2, one, other)


def _side(mu: Floats, sigma: Floats, n_before: Ints) -> Prior:
    """The strengths of one entrant of each game; no chance depends on the noise of a round."""
    return Prior(mu, sigma, np.empty(0), n_before)
