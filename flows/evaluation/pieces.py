"""Scores of pieces of a run: some consecutive rounds, read and scored together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.chances.three_way import NONE
from ranklake.rating_kernels.core.standings import Conditions, Floats, Longs
from ranklake.rating_kernels.metrics.metrics import Kept, keep, score
from ranklake.rating_kernels.metrics.rank_errors import rank_errors
from ranklake.storage import Chain, LakeError, Segment

from ..chances.played import RoundGames
from ..chances.record import RunChances
from ..chances.stored import games_of_entrants
from ..common.adapters import HALVES, conditions_of, to_ragged
from ..entrants.entrants import Entrants
from ..entrants.explained import facts_of_games
from ..entrants.given_games import GivenGames
from ..entrants.scores import RoundScores
from ..results.display import system_of
from ..results.rated_rounds import RatedRounds
from .game_chances import OWN, known_before, score_chances
from .games import score_games
from .margins import score_margins
from .three_way import ThreeWayScores

_COLUMNS = ("lo", "mu_prior", "sigma_prior", "mu", "n_before")


class Piece(NamedTuple):
    """Scores of some rounds, as the attributes of an evaluation."""

    n_players: Longs
    filters: dict[str, RoundScores]
    errors: Floats
    games: Floats | None
    margins: Floats | None
    three_way: ThreeWayScores | None


def split(chain: Chain, first_round: int, n_rows: int) -> Iterator[Chain]:
    """Split a chain from a round on into consecutive segments of about ``n_rows`` rows."""
    piece: list[Segment] = []
    for segment in chain.segments:
        if segment.stop_round > first_round:
            piece.append(segment)
            if sum(part.n_rows for part in piece) >= n_rows:
                yield Chain(tuple(piece), (), "")
                piece = []
    if piece:
        yield Chain(tuple(piece), (), "")


class PieceScorer:
    """Scores pieces of a run from a round on; several threads may use it.

    ``division`` (int64[r]): the division of each round of the run.
    ``scale``: as for :func:`.evaluate.evaluate`.
    ``chances``: what the run had learnt of draws and advantages before each round; None if its rounds are no games.
    """

    def __init__(
        self, rounds: RatedRounds, first_round: int, division: Longs, scale: float, chances: RunChances | None
    ) -> None:
        self._chances = chances
        self._run, self._first_round, self.division, self._scale = rounds.run, first_round, division, scale
        self._system, self._params = system_of(self._run)
        self._conditions = conditions_of(rounds.contests_table)
        self._teams = rounds.teams
        self._games = facts_of_games(rounds, self._system, self._params)

    @property
    def model_of_draws(self) -> str:
        """The model of draws of the chances; see :class:`.game_chances.ThreeWayReport`."""
        draws = NONE if self._chances is None else self._chances.settings.draws
        return OWN if draws != NONE and self._system.three_way is not None else draws

    def score(self, piece: Chain) -> Piece:
        """The scores of the rounds of a piece.

        Raises LakeError: a rating is not finite, or the data set has other games than the run.
        """
        begin = max(self._first_round, piece.segments[0].first_round)
        sizes = np.concatenate([segment.rows for segment in piece.segments])[begin - piece.segments[0].first_round :]
        rounds = slice(begin, begin + len(sizes))
        named = self._games is not None or self._teams.any(rounds.start, rounds.stop)
        columns = (*_COLUMNS, "player") if named else _COLUMNS
        read = self._run.iter_segments(begin, None, columns, chain=piece)
        table = pa.concat_tables([part.replace_schema_metadata() for _, part in read])
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        self._check(table, offsets, begin)
        conditions, results, advantage = self._conditions.take(rounds), None, None
        given = of_games = None
        if self._games is not None:
            results = offsets // 2  # the first game of each period
            player = table.column("player").to_numpy()
            given = self._games.of(rounds.start, rounds.stop, offsets, player)
            conditions, advantage = given.conditions, given.advantage
            offsets = np.arange(0, offsets[-1] + 1, 2)
            of_games = self._round_games(table, given, begin, results)
            if self._chances is not None and self._chances.settings.learnt:  # the run has rated with it
                advantage = advantage + np.outer(known_before(self._chances, of_games)[1], HALVES).ravel()
        entrants = self._entrants(table, offsets, conditions, rounds, advantage)
        n_players = np.diff(entrants.offsets) if results is None else np.where(sizes > 0, 2, 0)
        errors = self._rank_errors(entrants, self.division[rounds], results)
        scores = entrants.scores(scale=self._scale, results=results)
        games = margins = None
        if given is not None and results is not None:
            games = score_games(entrants, scores, results, given.score)
            margins = score_margins(self._system, self._params, entrants, given, results)
        three_way = None
        if self._chances is not None:
            played = of_games or games_of_entrants(entrants, begin, conditions)
            three_way = score_chances(self._system, self._params, self._chances, played)
        return Piece(n_players, scores, errors, games, margins, three_way)

    def _round_games(self, table: pa.Table, given: GivenGames, begin: int, results: Longs) -> RoundGames:
        """Games of periods without what the run learns of them."""
        lo, mu, sigma, _, n_before = (np.array(table.column(name)) for name in _COLUMNS)
        rows = mu + given.advantage, sigma, n_before, lo
        return RoundGames(begin, np.diff(results), *rows, given.conditions, given.score, given.swapped, given.kept)

    def _check(self, table: pa.Table, offsets: Longs, begin: int) -> None:
        bad = ~(np.isfinite(table.column("mu_prior").to_numpy()) & np.isfinite(table.column("mu").to_numpy()))
        if bad.any():
            at, name = begin + int(np.searchsorted(offsets, np.argmax(bad), side="right")) - 1, self._run.name
            raise LakeError(
                f"round {at} of run {name} has a rating that is not finite, written by an older release; "
                f"rate the run again: `ranklake rate --run {name} --replace` with other hyperparameters"
            )

    def _entrants(
        self, table: pa.Table, offsets: Longs, conditions: Conditions, rounds: slice, advantage: Floats | None
    ) -> Entrants:
        # copies: Arrow's arrays are read-only, and the kernels would be compiled again for them
        lo, mu_prior, sigma_prior, mu, n_before = (np.array(table.column(name)) for name in _COLUMNS)
        teams = None
        if self._teams.any(rounds.start, rounds.stop):
            index = np.repeat(np.arange(rounds.start, rounds.stop, dtype=np.int32), np.diff(offsets))
            named = self._teams.of_rows(index, table.column("player").to_numpy())
            teams = None if named is None else to_ragged(named, offsets)
        strength = mu_prior if advantage is None else mu_prior + advantage
        return Entrants.of(
            self._system, self._params, offsets, lo, strength, sigma_prior, n_before, mu - mu_prior, conditions,
            teams,
        )  # fmt: skip

    def _rank_errors(self, entrants: Entrants, division: Longs, results: Longs | None) -> Floats:
        kept = keep(entrants.offsets, entrants.lo, np.ones(len(entrants.lo), dtype=bool))
        rows = kept.rows
        performance = score(kept, entrants.mu[rows], self._scale, places=False).log2_performance
        if results is not None:
            kept = Kept(kept.offsets[results], rows, kept.lo, kept.hi)
        return rank_errors(kept, entrants.n_before[rows], division, performance, entrants.change[rows])
