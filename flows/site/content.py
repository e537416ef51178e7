"""What a site shows of a run: facts, rounds in order, contests, and the digests that name its parts."""

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

from ranklake.storage import Lake
from ranklake.storage.datasets.round_teams import RoundTeams

from ..common.pools import Pools, pools_line
from ..common.titles import TitlesChoice
from ..publication.prefix_digests import digest_of_rows
from ..results.attributes import COUNTRY, attribute_names, player_attributes, values_of
from ..results.display import Display
from ..results.leaderboard import LeaderboardBuilder, open_rated, rated_contests
from ..results.rating_format import RatingFormat
from ..results.run_titles import titles_of

__all__ = ["SiteContent", "digest"]

_MEANING = 1  # increased by a release with other data for the same rounds; all are then written again
_DIGEST_BYTES = 10  # of a file's name

Round = dict[str, npt.NDArray[Any]]


class SiteContent:
    """The current state of a run.

    Parameters
    ----------
    deviations, titles
        See :class:`ranklake.flows.answers.rated_run.RatedRun`.

    Attributes
    ----------
    handles : list of str
        Handle of each player.
    checksums : uint32[n_players]
        CRC-32 of each handle in UTF-8, by which the browser finds a player's file.
    rows : int64[n_rounds]
        Participations of each round.
    attributes : pa.Table
        The attributes of the players; columns as in ``OF_ATTRIBUTES["attributes"]``.
    contests : dict of list
        ``contest_id, name, url, time_seconds, n_players`` of each round; None where a contest was removed.

    Raises
    ------
    LakeError
        The run does not exist or has no ratings.
    """

    def __init__(self, lake: Lake, run_name: str, deviations: float | None = None, titles: TitlesChoice = None) -> None:
        self._run, self._dataset, self._chain = open_rated(lake, run_name)
        self.display = Display.of(self._run, deviations)
        self.format = RatingFormat(
            titles_of(self._run, self._dataset, self.display.params.mu_init, titles), self.display.decimals
        )
        self._table = rated_contests(self._chain, self._dataset)
        self.contests = {
            name: self._table.column(name).to_pylist() for name in ("name", "url", "time_seconds", "n_players")
        }
        self.contests["name"] = [name or None for name in self.contests["name"]]  # of files without names
        segments = self._chain.segments
        self.contests["contest_id"] = [contest for segment in segments for contest in segment.contest_ids]
        self.rows = np.array([n for segment in segments for n in segment.rows], np.int64)
        self._teams = RoundTeams(self._dataset, self.contests["contest_id"])
        self._digests = self._run.round_digests(self._chain)
        self._column = self._dataset.handles()
        self.handles: list[str] = self._column.to_pylist()
        self.attributes = player_attributes(self._dataset)
        self.checksums = np.fromiter((crc32(handle.encode()) for handle in self.handles), np.uint32, len(self.handles))
        self.run, self.system, self.dataset = run_name, str(self._run.config["system"]), self._dataset.name

    @property
    def n_rounds(self) -> int:
        """Rounds of the run, including skipped ones."""
        return len(self._digests)

    def rounds(
        self, start: int, stop: int, columns: Sequence[str], unrated: bool = False
    ) -> Iterator[tuple[int, Round]]:
        """Each round with participations from ``start`` to ``stop``, with columns of the rounds table.

        Unrated participants are left out, unless ``unrated`` is true: then there is also the column ``rated``.
        """
        names = ["round_index", *columns, *(["rated"] if unrated else [])]
        for segment, table in self._run.iter_segments(start, stop, names, chain=self._chain, unrated=unrated):
            arrays = {name: table.column(name).to_numpy() for name in ("round_index", *columns)}
            if unrated:
                arrays["rated"] = table.column("rated").fill_null(True).to_numpy()
            index = arrays.pop("round_index")
            first, last = max(segment.first_round, start), min(segment.stop_round, stop)
            edges = np.searchsorted(index, np.arange(first, last + 1)).tolist()
            for round_index, low, high in zip(range(first, last), edges[:-1], edges[1:], strict=True):
                if low < high:
                    yield round_index, {name: array[low:high] for name, array in arrays.items()}

    def pools(self) -> str:
        """A line about pools of players who never met; empty if there is one pool."""
        return pools_line(Pools.of_run(self._run, self._dataset, self._chain).sizes)

    def has_teams(self, start: int, stop: int) -> bool:
        """Whether any of the rounds from ``start`` to ``stop - 1`` has teams."""
        return self._teams.any(start, stop)

    def teams(self, round_index: int, players: npt.NDArray[np.int32]) -> list[str | None]:
        """The name of the team of each participation of a round; None for individuals."""
        found = self._teams.of_rows(np.full(len(players), round_index, np.int32), players)
        return [None] * len(players) if found is None else found.name.to_pylist()

    def builder(self) -> LeaderboardBuilder:
        """An empty leaderboard for the rounds of this run."""
        return LeaderboardBuilder(len(self.handles), self._table, self.display)

    def leaderboard(self, builder: LeaderboardBuilder) -> pa.Table:
        """The leaderboard after the rounds that the builder was given."""
        return builder.table(self._column, self.format.titles)

    def countries(self, board: pa.Table) -> list[str | None] | None:
        """The country of each row of a leaderboard; None if the players have no such attribute."""
        if self._countries is None:
            return None
        found: list[str | None] = self._countries.take(board.column("player").combine_chunks()).to_pylist()
        return found

    @cached_property
    def _countries(self) -> pa.DictionaryArray | None:
        """The country of each player."""
        if COUNTRY not in attribute_names(self.attributes):
            return None
        return values_of(self.attributes, COUNTRY, pa.chunked_array([np.arange(len(self.handles), dtype=np.int32)]))

    def round_key(self, round_index: int, players: npt.NDArray[np.int32]) -> str:
        """Digest of all that the page of a round depends on."""
        about = [self.contests[name][round_index] for name in ("name", "url", "time_seconds", "n_players")]
        teams = self._marks(round_index, round_index + 1)
        return digest(self._seed, self._digests[round_index], about, self.checksums[players], *teams)

    def level_key(self, start: int, stop: int, n_players: int) -> str:
        """Digest of all that histories of the rounds from ``start`` to ``stop`` depend on."""
        teams = self._marks(start, stop)
        return digest(self._seed, start, stop, self._digests[stop - 1], self.checksums[:n_players], *teams)

    def _marks(self, start: int, stop: int) -> list[str]:
        """Further input of a digest: an earlier release has written the data of the same rounds without their teams."""
        return ["teams"] if self.has_teams(start, stop) else []

    def state(self) -> str:
        """Digest of all that the site depends on."""
        further = [digest_of_rows(self.attributes)] if self.attributes.num_rows else []
        return digest(self._seed, self._digests, digest_of_rows(self._table), self.checksums, *further)

    @cached_property
    def _seed(self) -> list[Any]:
        lowest = [] if self.display.minimum == -math.inf else [self.display.minimum]
        return [
            _MEANING,
            self.run,
            self.system,
            self.display.deviations,
            *lowest,
            self.format.decimals,
            self.format.titles.to_json(),
        ]


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
