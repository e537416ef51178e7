"""A contest as the lake stores it, and the digest of its content."""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .points import Points, content_of
from .teams import Teams


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """One contest, standings best first. Its values are not checked here.

    Attributes
    ----------
    contest_id : str
        Unique in its data set.
    name, url : str
        As the source gives them; an empty ``url`` is none.
    time_seconds : int
        End of the contest, UTC since the epoch.
    weight, perf_ceiling : float
        How much it counts, > 0; the highest performance it can show, rating points, +inf for none.
    handles : pa.StringArray
        One a participation, no nulls, no repeats.
    lo, hi : int32[n]
        First and last position of the tie group, zero-based, inclusive; counted in teams if there are teams.
    teams : Teams or None
        The team of each participation; None without teams.
    rated : bool[n] or None
        Whether the rating of the participant may change; None: all are rated.
    field_includes_unrated : bool
        Whether rated participants compete with unrated ones.
    rated_above, rated_below : float
        A run rates participants whose rating at entry is at least ``rated_above`` and less than ``rated_below``, rating
        points; -inf and +inf for none.
    points : Points
        Points of each participation, those of the team for its members; see :mod:`.points`.
    precision : float
        Factor on the precision of performances, > 0.
    """

    contest_id: str
    name: str
    url: str
    time_seconds: int
    handles: pa.StringArray
    lo: np.ndarray
    hi: np.ndarray
    weight: float = 1.0
    perf_ceiling: float = math.inf
    teams: Teams | None = None
    rated: np.ndarray | None = None
    field_includes_unrated: bool = False
    rated_above: float = -math.inf
    rated_below: float = math.inf
    points: Points = None
    precision: float = 1.0

    def __len__(self) -> int:
        return len(self.handles)

    @property
    def n_teams(self) -> int | None:
        """Number of teams, participants without a team included; None if no team has two members."""
        if self.teams is None:
            return None
        n = int(np.count_nonzero(self.teams.opens(np.array([0, len(self)]))))
        return n if n < len(self) else None

    @property
    def limited(self) -> bool:
        """Whether only a range of ratings is rated."""
        return self.rated_above > -math.inf or self.rated_below < math.inf

    @property
    def content_digest(self) -> str:
        """32 hex digits of all that ratings depend on: contest_id, time, weight, precision, ceiling, players, places,
        teams and points.

        A new title or address does not change it. Contests without teams have the digests of releases without teams,
        contests in which all are rated those of releases without unrated participants, and contests without limits of
        the rating, without points, or of the precision 1, those of releases without these.
        """
        n = len(self.handles)
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"{len(self.contest_id)}:{self.contest_id}".encode())
        digest.update(struct.pack("<qqdd", n, self.time_seconds, self.weight, self.perf_ceiling))
        if n:
            # A slice's buffers hold its neighbours too.
            _, ends, text = self.handles.buffers()
            bounds = np.frombuffer(ends, np.int32, n + 1, offset=4 * self.handles.offset)
            digest.update((bounds[1:] - bounds[:-1]).data)
            digest.update(np.ascontiguousarray(self.lo, np.int32).data)
            digest.update(np.ascontiguousarray(self.hi, np.int32).data)
            if text is not None:
                digest.update(memoryview(text)[bounds[0] : bounds[-1]])
        if self.teams is not None:
            digest.update(self.teams.content())
        if self.rated is not None and not self.rated.all():
            digest.update(b"unrated in the field" if self.field_includes_unrated else b"unrated")
            digest.update(np.packbits(self.rated).data)
        if self.limited:
            digest.update(b"limits in the field" if self.field_includes_unrated else b"limits")
            digest.update(struct.pack("<dd", self.rated_above, self.rated_below))
        digest.update(content_of(self.points))
        if self.precision != 1.0:
            digest.update(b"precision")
            digest.update(struct.pack("<d", self.precision))
        return digest.hexdigest()
