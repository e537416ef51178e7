"""The games of committed rounds of a run, read from the lake with what its data set says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.standings import Conditions, Longs
from ranklake.rating_kernels.core.system import System
from ranklake.storage import Dataset, Segment
from ranklake.storage.datasets.tables.games import GAMES_KIND

from ..common.adapters import conditions_of, to_ragged
from ..entrants.entrants import Entrants
from ..entrants.explained import ExplainedFacts, facts_of_games
from ..entrants.given_games import GameFacts
from ..results.rated_rounds import RatedRounds
from .played import RoundGames

_COLUMNS = ("lo", "mu_prior", "sigma_prior", "n_before", "player")
_ROWS = 500_000  # read together


def count_games(dataset: Dataset, excluded: npt.NDArray[np.bool_]) -> tuple[Longs, int | None]:
    """The games of each contest of a data set that is not excluded, and the first contest of three entrants or more.

    A contest with unrated participants may turn out to be no game.
    """
    contests = dataset.contests
    size: Longs = contests.column("n_players").to_numpy().astype(np.int64)
    if dataset.kind == GAMES_KIND:
        return np.where(excluded, 0, size // 2), None
    entrants = pc.coalesce(contests.column("n_teams"), contests.column("n_players")).to_numpy()
    larger = np.flatnonzero((entrants > 2) & ~excluded)
    return ((entrants == 2) & ~excluded).astype(np.int64), int(larger[0]) if len(larger) else None


def read_games(rounds: RatedRounds, system: System, params: Any, start: int, stop: int) -> Iterator[RoundGames]:
    """The games of rounds ``start`` to ``stop - 1``, some rounds at a time.

    Raises LakeError: the data set has other games than the run.
    """
    facts = facts_of_games(rounds, system, params)
    conditions = conditions_of(rounds.contests_table)
    pieces: list[tuple[Segment, pa.Table]] = []
    for segment, table in rounds.run.iter_segments(start, stop, _COLUMNS, chain=rounds.chain):
        pieces.append((segment, table.replace_schema_metadata()))
        if sum(table.num_rows for _, table in pieces) >= _ROWS:
            yield _games(rounds, system, params, conditions, facts, pieces, start, stop)
            pieces = []
    if pieces:
        yield _games(rounds, system, params, conditions, facts, pieces, start, stop)


def _games(
    rounds: RatedRounds,
    system: System,
    params: Any,
    conditions: Conditions,
    facts: GameFacts | ExplainedFacts | None,
    pieces: Sequence[tuple[Segment, pa.Table]],
    start: int,
    stop: int,
) -> RoundGames:
    """The games of consecutive segments."""
    first = max(pieces[0][0].first_round, start)
    last = min(pieces[-1][0].stop_round, stop)
    sizes = np.concatenate([segment.rows for segment, _ in pieces])
    sizes = sizes[first - pieces[0][0].first_round :][: last - first]
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    table = pa.concat_tables([table for _, table in pieces])
    # copies: Arrow's arrays are read-only, and the kernels would be compiled again for them
    lo, mu, sigma, n_before, player = (np.array(table.column(name)) for name in _COLUMNS)
    if facts is not None:
        given = facts.of(first, last, offsets, player)
        rows = mu + given.advantage, sigma, n_before, lo
        return RoundGames(first, np.diff(offsets) // 2, *rows, given.conditions, given.score, given.swapped, given.kept)
    teams = None
    if rounds.teams.any(first, last):
        index = np.repeat(np.arange(first, last, dtype=np.int32), sizes)
        named = rounds.teams.of_rows(index, player)
        teams = None if named is None else to_ragged(named, offsets)
    own, change = conditions.take(slice(first, last)), np.zeros(len(mu))
    entrants = Entrants.of(system, params, offsets, lo, mu, sigma, n_before, change, own, teams)
    return games_of_entrants(entrants, first, own)


def games_of_entrants(
    entrants: Entrants, first_round: int, conditions: Conditions, rated: npt.NDArray[np.bool_] | None = None
) -> RoundGames:
    """The rounds of two entrants among consecutive contests.

    ``conditions``: of each round.
    ``rated``: which contests have a round; None: all.
    """
    two = np.diff(entrants.offsets) == 2
    counts = np.zeros(len(two) if rated is None else len(rated), np.int64)
    counts[slice(None) if rated is None else rated] = two
    first = entrants.offsets[:-1][two]
    rows = np.column_stack((first, first + 1)).ravel()
    sides = entrants.mu[rows], entrants.sigma[rows], entrants.n_before[rows], entrants.lo[rows]
    return RoundGames(first_round, counts, *sides, conditions.take(two), np.empty(0), np.empty(0, bool), None)
