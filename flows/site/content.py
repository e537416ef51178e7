"""What a site shows of a run beside its tables: rounds in order, and the digests that name its parts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..answers.contests import N_WINNERS, Winner
from ..answers.lake_rows import LakeRows
from ..answers.leaderboard import season_leaderboard
from ..answers.seasonal.figures import SEASON_ROUNDS
from ..common.brand import UNBRANDED
from ..events.seasons import Season, seasons_of
from ..pages.places import place_columns
from ..publication.content import Content
from ..publication.states import digest_of_rows
from ..results.attributes import COUNTRY, NAME, attribute_names, values_by_handle, values_of
from ..results.components import groups_in, with_large
from ..results.ranks import chosen, ranked

_MEANING = 3  # increased by a release with other data for the same rounds; all are then written again
_DIGEST_BYTES = 10  # of a file's name
_ABOUT = ("contest_id", "name", "url", "time_seconds", "n_players")

Round = dict[str, npt.NDArray[Any]]


class SiteContent(Content):
    """The current state of a run, with lists for JSON and for pages."""

    @cached_property
    def handles(self) -> list[str]:
        """Handle of each player."""
        found: list[str] = self.players.column("handle").to_pylist()
        return found

    @cached_property
    def checksums(self) -> npt.NDArray[np.uint32]:
        """CRC-32 of each handle in UTF-8, by which the browser finds a player's file."""
        return np.fromiter((crc32(handle.encode()) for handle in self.handles), np.uint32, len(self.handles))

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """Participations of each round."""
        return np.array(self.rows_of_rounds, np.int64)

    @cached_property
    def about(self) -> dict[str, list[Any]]:
        """``contest_id, name, url, time_seconds, n_players`` of each round; None for what is not known."""
        found: dict[str, list[Any]] = self.contests.select(_ABOUT).to_pydict()
        return found | {"name": [name or None for name in found["name"]]}  # of files without names

    def each(self, start: int, stop: int, columns: Sequence[str], unrated: bool = False) -> Iterator[tuple[int, Round]]:
        """Each round with participations from ``start`` to ``stop``, with columns of the rounds table.

        With ``unrated`` also its unrated participants, and the column ``rated``.
        """
        names = ["round_index", *columns, *(["rated"] if unrated else [])]
        for segment, table in self._rated.walk(start, stop, names, unrated=unrated):
            arrays = {name: table.column(name).to_numpy() for name in ("round_index", *columns)}
            if unrated:
                arrays["rated"] = table.column("rated").fill_null(True).to_numpy()
            index = arrays.pop("round_index")
            first, last = max(segment.first_round, start), min(segment.stop_round, stop)
            edges = np.searchsorted(index, np.arange(first, last + 1)).tolist()
            for round_index, low, high in zip(range(first, last), edges[:-1], edges[1:], strict=True):
                if low < high:
                    yield round_index, {name: array[low:high] for name, array in arrays.items()}

    def best(self, n_rounds: int, n_players: int = 3) -> dict[int, list[str]]:
        """The handles of the first players of each of the newest rounds, by the index of the round."""
        rounds = self.each(max(self.n_rounds - n_rounds, 0), self.n_rounds, ("player",))
        return {
            index: [self.handles[player] for player in rows["player"][:n_players].tolist()] for index, rows in rounds
        }

    def teams(self, round_index: int, players: npt.NDArray[np.int32]) -> list[str | None]:
        """The name of the team of each participation of a round; None for individuals."""
        names: list[str | None] = self.team_names(np.full(len(players), round_index, np.int32), players).to_pylist()
        return names

    def winner(self, round_index: int, rows: Round) -> Winner | None:
        """Who was first in a round, given ``lo`` and ``player`` of its rated participants."""
        first = rows["player"][np.flatnonzero(rows["lo"] == 0)]
        if not len(first):
            return None
        teams = self.teams(round_index, first) if self.has_teams(round_index, round_index + 1) else [None] * len(first)
        n = len(set(filter(None, teams))) + teams.count(None)
        of = [player for player, team in zip(first.tolist(), teams, strict=True) if team == teams[0]][:N_WINNERS]
        return Winner(tuple(self.handles[player] for player in of), teams[0], n)

    def further(self, board: pa.Table) -> dict[str, list[Any]]:
        """Further columns of a leaderboard: about places; ``country`` and ``name``, where players have one;
        ``component`` of two.
        """
        player, found = board.column("player"), place_columns(board, self.places)
        if self._countries is not None:
            found["country"] = self._countries.take(player.combine_chunks()).to_pylist()
        if self.names:
            found["name"] = [self.names.get(handle) for handle in board.column("handle").to_pylist()]
        if len(self.components.sizes) > 1:
            found["component"] = self.components.of[player.to_numpy()].tolist()
        return found

    def season_boards(self) -> Iterator[tuple[Season, pa.Table]]:
        """The players of each season that has rounds, best first, the latest one first; those with a place."""
        rows, options = LakeRows(self._lake, self.run, self._deviations), self.places.changed(min_rounds=1)
        for season in reversed(seasons_of(self._dataset.events(), self._rated.ends)):
            if season.n_rounds:
                board = with_large(season_leaderboard(rows, season), options.min_rounds)
                board = ranked(board, options, self.uncertainty, groups_in(board), SEASON_ROUNDS)
                yield season, chosen(board, "hide")

    @cached_property
    def names(self) -> dict[str, str]:
        """The display name by handle, of the players who have one."""
        return values_by_handle(self.attributes, NAME)

    @cached_property
    def components_line(self) -> str:
        """A line about large components of players who never met, with their names; else empty."""
        named = lambda players: [self.names.get(self.handles[one], self.handles[one]) for one in players]  # noqa: E731
        return self.components.line(named, players=self.brand.players)

    @cached_property
    def countries(self) -> dict[str, str]:
        """The country by handle, of the players who have one."""
        return values_by_handle(self.attributes, COUNTRY)

    @cached_property
    def _countries(self) -> pa.DictionaryArray | None:
        """The country of each player; None if the players have no such attribute."""
        if COUNTRY not in attribute_names(self.attributes):
            return None
        return values_of(self.attributes, COUNTRY, pa.chunked_array([np.arange(len(self.handles), dtype=np.int32)]))

    def round_key(self, round_index: int, players: npt.NDArray[np.int32]) -> str:
        """Digest of all that the page of a round depends on."""
        about = [self.about[name][round_index] for name in _ABOUT[1:]]
        teams = self._marks(round_index, round_index + 1)
        named = [[self.names.get(self.handles[player]) for player in players.tolist()]] if self.names else []
        return digest(
            self._inputs, self._digests_of_rounds[round_index], about, self.checksums[players], *teams, *named
        )

    def level_key(self, start: int, stop: int, n_players: int) -> str:
        """Digest of all that histories of the rounds from ``start`` to ``stop`` depend on."""
        teams = self._marks(start, stop)
        if self.of_games and self.names:  # of the opponents
            teams.append([self.names.get(handle) for handle in self.handles[:n_players]])
        last = self._digests_of_rounds[stop - 1]
        return digest(self._inputs, start, stop, last, self.checksums[:n_players], *teams)

    def _marks(self, start: int, stop: int) -> list[Any]:
        """Further input of a digest: an earlier release has written the data of the same rounds without their teams.

        A steady level depends on the times of earlier contests, which the digests of rounds do not have.
        """
        shift = self.display.shift
        shifts = [] if shift is None else [f"shifts {shift.before(stop)}"]
        return [*(["teams"] if self.has_teams(start, stop) else []), *shifts]

    def key(self) -> str:
        """Digest of all that the site depends on."""
        further = [digest_of_rows(self.attributes)] if self.attributes.num_rows else []
        shown = [self._digests_of_rounds, digest_of_rows(self._contests), self.checksums, self.places.to_json()]
        branded = [] if self.brand == UNBRANDED else [self.brand.to_json()]
        problems = [self.problem_inputs] if self.problem_inputs else []
        seasons = [digest_of_rows(self.seasons)] if self.has("seasons") else []
        return digest(self._inputs, *shown, *further, *branded, *problems, *seasons)

    @cached_property
    def _digests_of_rounds(self) -> list[str]:
        return self._run.round_digests(self._chain)

    @cached_property
    def _inputs(self) -> list[Any]:
        """What all parts depend on."""
        display = self.display
        lowest = [] if display.minimum == -math.inf else [display.minimum]
        shown = [display.deviations, *lowest, self.format.decimals, self.format.titles.to_json()]
        return [_MEANING, self.run, self.system, *shown]


def digest(*parts: Any) -> str:
    """Digest of values of JSON, bytes and arrays, for the name of a file."""
    found = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        data = part if isinstance(part, bytes) else part.tobytes() if isinstance(part, np.ndarray) else _json(part)
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode()
