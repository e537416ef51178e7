"""The participations of the contests of a run that have results, with the ratings at entry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import System
from ranklake.rating_kernels.core.ragged import Ragged

from ..common.progress import ProgressCallback
from ..execution.team_laws import team_laws
from ..results.rated_rounds import RatedRounds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_COLUMNS = ("round_index", "player", "mu_prior", "sigma_prior")


class Field(NamedTuple):
    """The participations of one contest: players, or teams.

    ``rating``, ``sigma`` (float64[n]): at entry, rating points; of a team by the system's rule for teams.
    ``player`` (int32[members]), ``row`` (int64[members]): the players, and the participation of each.
    ``teams``: whether any participation is that of a team.
    """

    rating: Floats
    sigma: Floats
    player: Ints
    row: Longs
    teams: bool


class Fields:
    """The fields of some rounds of a run, read once; 24 bytes a participation.

    ``wanted``: the rounds. Unrated participants are in a field if the contest says that rated ones compete with them.
    """

    def __init__(
        self, rounds: RatedRounds, system: System, params: Any, wanted: Longs, on_progress: ProgressCallback
    ) -> None:
        self._rounds, self._system, self._params = rounds, system, params
        n_rounds = len(rounds.chain.contest_ids)
        chosen = np.zeros(n_rounds, np.bool_)
        chosen[wanted] = True
        others = rounds.contests_table.column("field_includes_unrated").fill_null(False).to_numpy()
        parts: list[list[np.ndarray]] = [[] for _ in _COLUMNS]
        for _, table in rounds.walk(columns=_COLUMNS, on_progress=on_progress, unrated=True):
            index = table.column("round_index").to_numpy()
            keep = chosen[index]
            if "rated" in table.column_names:
                keep &= others[index] | table.column("rated").fill_null(True).to_numpy()
            for part, name in zip(parts, _COLUMNS, strict=True):
                part.append(table.column(name).to_numpy()[keep])
        index, self._player, self._mu, self._sigma = (
            np.concatenate([np.empty(0, kind), *part])
            for part, kind in zip(parts, (np.int32, np.int32, np.float64, np.float64), strict=True)
        )
        self._round = index.astype(np.int32)
        self._offsets = np.searchsorted(index, np.arange(n_rounds + 1))

    def sizes(self) -> Longs:
        """The number of rows of each round; 0 for rounds that were skipped or not wanted."""
        return np.diff(self._offsets)

    def field(self, round_index: int) -> Field:
        """The participations of one round."""
        a, b = self._offsets[round_index : round_index + 2].tolist()
        player, mu, sigma = self._player[a:b], self._mu[a:b], self._sigma[a:b]
        teams = self._rounds.teams.of_rows(self._round[a:b], player) if a < b else None
        if teams is None:
            return Field(mu, sigma, player, np.arange(b - a), False)
        opens = teams.opens(np.array([0, b - a]))
        first = np.flatnonzero(opens)
        members = Ragged.from_lengths(np.diff(np.append(first, b - a)), teams.share)
        law = team_laws(self._system, self._params, members, mu, sigma, np.zeros(b - a))
        return Field(law.mu, law.sigma, player, np.cumsum(opens) - 1, True)
