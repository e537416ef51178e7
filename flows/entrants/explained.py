"""The ratings of a run whose system explains all games at once: those of all games before a round.

The snapshot of the last round has those of all games. Others are found again from the rounds of the run, and so are the
coefficients of covariates by which the run has rated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels import Rounds, System
from ranklake.rating_kernels.bradley_terry.graph import UnbeatenError
from ranklake.rating_kernels.bradley_terry.params import UNIT
from ranklake.rating_kernels.core.standings import Floats, Ints, Longs
from ranklake.rating_kernels.warm import STATIC
from ranklake.storage import DamagedError, Dataset
from ranklake.storage.datasets.tables.kept import Kept

from ..common.adapters import HALVES
from ..common.configuration.settings import find_system
from ..common.refits import refit_rounds
from ..common.text import quoted
from ..compilation.compile import compile_parts
from ..results.display import system_of
from ..results.rated_rounds import Explained, RatedRounds
from .given_games import GameFacts, GivenGames

_COLUMNS = ("lo", "hi", "player")


def facts_of_games(rounds: RatedRounds, system: System, params: Any) -> GameFacts | ExplainedFacts | None:
    """What the data set says of the games of a run; None if its rounds are no periods of games."""
    if not rounds.of_games:
        return None
    if system.all_games is None:
        return GameFacts(rounds, system.periods)
    return ExplainedFacts(rounds, params) if params.covariates else GameFacts(rounds, False)


class ExplainedFacts:
    """As :class:`.given_games.GameFacts`, where covariates are advantages: by the fit before the round."""

    def __init__(self, rounds: RatedRounds, params: Any) -> None:
        self._rounds, self._facts = rounds, GameFacts(rounds, False, params.covariates)

    def of(self, start: int, stop: int, offsets: Longs, player: Ints) -> GivenGames:
        """What the data set and the fits say of the games of rounds; see :meth:`.given_games.GameFacts.of`."""
        given = self._facts.of(start, stop, offsets, player)
        due, coefficients = self._fits
        round_of = np.repeat(np.arange(start, stop), np.diff(offsets) // 2)
        known = coefficients[np.searchsorted(due, round_of, "right")]
        ahead = (given.covariates * known).sum(axis=1) * UNIT
        return given._replace(advantage=given.advantage + np.outer(ahead, HALVES).ravel())

    @cached_property
    def _fits(self) -> tuple[list[int], Floats]:
        """The rounds before which the run was refitted, and the coefficients before the first one, and after each."""
        counts = [rows // 2 for segment in self._rounds.chain.segments for rows in segment.rows]
        due = refit_rounds(np.array(counts, np.int64))
        games = _AllGamesOf(self._rounds)
        found = [games.before(stop).fit().gamma for stop in due]
        return due, np.array([np.zeros(len(games.params.covariates)), *found])


def explained_by(rounds: RatedRounds) -> Explained | None:
    """What gives the ratings of all players by the games before a round; None unless the system explains all games."""
    if find_system(rounds.run.config["system"]).all_games is None:
        return None
    return lambda stop: _explained(rounds, stop)


@contextmanager
def named_players(dataset: Dataset) -> Iterator[None]:
    """Give an error of the block about players the name that the data set has for the first of them."""
    try:
        yield
    except UnbeatenError as error:
        name = dataset.handles()[int(error.players[0])].as_py()
        raise ValueError(error.text(quoted(name))) from error


class _AllGamesOf:
    """The games of a run before rounds that come in order."""

    def __init__(self, rounds: RatedRounds) -> None:
        self._blocks, self._rounds, self._reached = GameBlocks(rounds), rounds, 0
        self.params = self._blocks.params
        self._games = self._blocks.no_games()

    def before(self, stop: int) -> Any:
        """The games before round ``stop``; the same object each time."""
        for rounds, _ in self._blocks.read(self._reached, stop):
            self._games.add(rounds)
        self._reached = max(self._reached, stop)
        return self._games


class GameBlocks:
    """The games of a run whose system explains all games at once, as rounds of two.

    ``params``: the hyperparameters of its system.
    """

    def __init__(self, rounds: RatedRounds) -> None:
        self._system, self.params = system_of(rounds.run)
        self._rounds = rounds
        self._facts = GameFacts(rounds, False, self.params.covariates) if rounds.of_games else None
        compile_parts([STATIC])

    def no_games(self) -> Any:
        """An empty collection of games, as ``System.all_games`` has them."""
        assert self._system.all_games is not None
        return self._system.all_games(self.params, self._rounds.dataset.n_players)

    def read(self, start: int, stop: int) -> Iterator[tuple[Rounds, Kept | None]]:
        """The games of rounds ``start`` to ``stop - 1``, some at a time, with the kept columns of their data set."""
        for segment, table in self._rounds.walk(start, stop, _COLUMNS):
            first, last = max(start, segment.first_round), min(stop, segment.stop_round)
            sizes = np.asarray(segment.rows)[first - segment.first_round : last - segment.first_round]
            offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
            yield _rounds_of(table, self._rounds.ends[first:last], first, offsets, self._facts)


def _rounds_of(
    table: pa.Table, ends: Longs, first: int, offsets: Longs, facts: GameFacts | None
) -> tuple[Rounds, Kept | None]:
    lo, hi, player = (np.array(table.column(name)) for name in _COLUMNS)
    n = len(player) // 2
    times = np.repeat(ends, np.diff(offsets) // 2)
    event = np.repeat(np.arange(first, first + len(ends)), np.diff(offsets) // 2)
    plain = Rounds(np.arange(0, 2 * n + 1, 2), player, lo, hi, times, np.ones(n), np.full(n, np.inf), event)
    if facts is None:
        return plain, None
    given = facts.of(first, first + len(ends), offsets, player)
    score = np.where(np.isnan(given.score), np.where(hi[::2] > 0, 0.5, 1.0), given.score)
    games = replace(
        plain, weight=given.conditions.weight, advantage=given.advantage, score=score, covariates=given.covariates
    )
    return games, given.kept


def _explained(rounds: RatedRounds, stop: int) -> tuple[Floats, Floats]:
    """``mu`` and ``sigma`` of all players by the games before round ``stop``: of the last snapshot if it has all."""
    run, last, n = rounds.run, rounds.chain.stop_round - 1, rounds.dataset.n_players
    later = sum(sum(segment.rows[max(stop - segment.first_round, 0) :]) for segment in rounds.chain.segments)
    if not later and last in run.snapshots():
        with suppress(DamagedError):
            columns, digest = run.read_snapshot(last)
            if digest == rounds.chain.last_digest:
                mu, sigma = np.zeros(n), np.zeros(n)
                mu[: len(columns["mu"])], sigma[: len(columns["mu"])] = columns["mu"], columns["sigma"]
                return mu, sigma
    with named_players(rounds.dataset):
        found = _AllGamesOf(rounds).before(stop).explain()
    return found.mu, found.sigma
