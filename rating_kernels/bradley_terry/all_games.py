"""The games of a run so far, and the strengths that explain all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.beliefs import Map, serial_map
from ..core.standings import Floats, Longs, Rounds
from .comparisons import Comparisons, CovariateError, merged
from .covariance import Covariance, covariance
from .fit import Fit, fit
from .params import CLUSTER, UNIT, BradleyTerry

_DAY = 86_400  # seconds
_NOBODY = np.empty(0, np.int32)


class Strengths(NamedTuple):
    """What all games say.

    ``played`` (bool[n]): which players have a game.
    ``mu``, ``sigma`` (float64[n]): rating points; those of players without a game are the prior's.
    """

    played: npt.NDArray[np.bool_]
    mu: Floats
    sigma: Floats


class AllGames:
    """The games of a run so far.

    ``n_games``: their number, with those that have left the window.
    ``params``: the hyperparameters of the fits.
    """

    def __init__(self, params: BradleyTerry, n_players: int) -> None:
        if params.covariance == CLUSTER:
            raise ValueError("covariance=cluster needs the cluster of each game, which no run has: sandwich or model")
        self.n_games, self.params, self._n_players = 0, params, n_players
        self._merged = Comparisons.of(_NOBODY, _NOBODY, np.empty(0), np.empty((0, len(params.covariates))))
        self._waiting: list[tuple[Comparisons, Longs]] = []  # of a window: all

    def add(self, rounds: Rounds) -> None:
        """Add rounds of two, later than those before."""
        self.n_games += len(rounds)
        self._waiting.append((comparisons_of(rounds, len(self.params.covariates)), rounds.time_seconds))

    def copy(self) -> AllGames:
        """The same games, to which others can be added."""
        found = AllGames(self.params, self._n_players)
        found.n_games, found._merged, found._waiting = self.n_games, self._merged, list(self._waiting)
        return found

    def comparisons(self, map: Map = serial_map) -> Comparisons:
        """The games that count, merged; raises ValueError: a covariate is not finite."""
        window = self.params.window
        if window is not None:
            last = max((int(times.max(initial=0)) for _, times in self._waiting), default=0)
            inside = [(games, times, times >= last - _DAY * window) for games, times in self._waiting]
            self._waiting = [(games.take(rows), times[rows]) for games, times, rows in inside if rows.any()]
        with self._named():
            if window is not None:
                return merged(self._merged, *(games for games, _ in self._waiting), map=map)
            if self._waiting:
                self._merged = merged(self._merged, *(games for games, _ in self._waiting), map=map)
                self._waiting = []
        return self._merged

    def fit(self, map: Map = serial_map, start: Fit | None = None) -> Fit:
        """The fit to the games that count; ``start``: where the search begins.

        Raises ConvergenceError, ValueError: as :func:`.fit.fit`; an error of a covariate has its name.
        """
        games = self.comparisons(map)
        with self._named():
            return fit(games, self._n_players, self.params, start, map)

    def covariance(self, found: Fit, map: Map = serial_map) -> Covariance:
        """That of the fit to these games."""
        return covariance(found, self.comparisons(map), self.params, map=map)

    def explain(self, map: Map = serial_map) -> Strengths:
        """The strengths that explain all games that count; errors as :meth:`fit`."""
        found = self.fit(map)
        sigma = self.covariance(found, map).sigma if self.n_games else np.full(self._n_players, self.params.sigma_init)
        return Strengths(found.component >= 0, self.params.mu_init + UNIT * found.theta, sigma)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except CovariateError as error:
            raise ValueError(f"covariate {self.params.covariates[error.column]!r} {error.rule}") from error


def comparisons_of(rounds: Rounds, n_covariates: int) -> Comparisons:
    """Rounds of two as comparisons of their first rows with their second ones."""
    m = len(rounds)
    result = rounds.score if len(rounds.score) else np.where(rounds.hi[::2] > 0, 0.5, 1.0)
    ahead = (rounds.advantage[::2] - rounds.advantage[1::2]) / UNIT if len(rounds.advantage) else None
    x = rounds.covariates if len(rounds.covariates) else np.zeros((m, n_covariates))
    return Comparisons.of(rounds.player[::2], rounds.player[1::2], result, x, rounds.weight, ahead)
