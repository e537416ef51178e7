"""Previews of contests for the server: the state of a run is read at its first preview, and again after a publish."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ranklake.rating_kernels.core.standings import places_from_ranks
from ranklake.storage import Lake, LakeError

from ..answers.run import PublishedRun
from ..common.text import quoted
from ..common.times import parse_time
from .messages.problems import Problem
from .messages.rendering import Body, Rows, kept_bodies, render

if TYPE_CHECKING:
    from ..preview.preview import Preview
    from ..preview.run_preview import RunPreview
    from ..preview.standings import Standings

MOST_CACHED = 64 << 20  # bytes of previews
MOST_PREVIEWED = 50_000  # participants
MOST_STANDINGS = 8 << 20  # bytes of a request
_RULE = (
    "the body must be a JSON object with `standings`, a list of [handle, place] with places from 1; a team is [name, "
    "place, [member, ...]], perhaps with a list of shares; it may have `entrants`, a list of handles, `time_seconds` "
    "and `weight`"
)


class Placed(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """A row of standings: a participant, or a team with its members."""

    handle: str
    place: int
    members: list[str] | None = None
    shares: list[float] | None = None


class _Contest(msgspec.Struct, forbid_unknown_fields=True):
    standings: list[Placed]
    entrants: list[str] = []
    time_seconds: int | None = None
    weight: float = 1.0


class Previews:
    """Previews; answers of the same body are those of the cache."""

    def __init__(self, lake: Lake) -> None:
        self._lake, self._cache = lake, kept_bodies(MOST_CACHED)
        self._states: dict[str, tuple[str, RunPreview]] = {}
        self._lock = threading.Lock()

    def answer(self, run: PublishedRun, data: bytes) -> Body:
        """The changes of all participants of the contest in a request.

        Raises Problem: the contest is invalid or cannot be rated.
        """
        key = ("preview", run.name, run.manifest.etag, blake2b(data, digest_size=16).digest())
        body: Body | None = self._cache.get(key)
        if body is None:
            found = self.preview(run, lambda: _standings(_read(data)))
            facts = {"notes": list(found.notes)}
            body = render(Rows(found.table(), facts), "json", {"run": run.name, "version": run.manifest.etag})
            self._cache.put(key, body)
        return body

    def preview(self, run: PublishedRun, standings: Callable[[], Standings]) -> Preview:
        """The changes of all participants.

        Raises Problem: as :meth:`answer`; ``standings`` may raise ``ValueError``.
        """
        try:
            return self._state(run).preview(standings())
        except LakeError as error:
            raise Problem(503, str(error)) from error
        except (ValueError, ArithmeticError) as error:
            raise Problem(400, str(error)) from error

    def _state(self, run: PublishedRun) -> RunPreview:
        """The run after its last round, as it was when its version was first previewed."""
        from ..preview.run_preview import RunPreview

        manifest = run.manifest
        with self._lock:
            version, state = self._states.get(run.name, ("", None))
            if state is None or version != manifest.etag:
                deviations = None if manifest.default_deviations else manifest.deviations
                state = RunPreview.open(self._lake, run.name, deviations, run.titles)
                self._states[run.name] = manifest.etag, state
            return state


def _read(data: bytes) -> _Contest:
    try:
        contest = msgspec.json.decode(data, type=_Contest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Problem(400, f"{_RULE}: {error}", rule=_RULE) from None
    placed = sum(1 if row.members is None else len(row.members) for row in contest.standings)
    if max(placed, len(contest.standings)) + len(contest.entrants) > MOST_PREVIEWED:
        raise Problem(413, f"a preview takes at most {MOST_PREVIEWED:,} participants")
    return contest


def _standings(contest: _Contest) -> Standings:
    time = None if contest.time_seconds is None else parse_time(contest.time_seconds, "time_seconds")
    return standings_of(contest.standings, contest.entrants, time_seconds=time, weight=contest.weight)


def standings_of(placed: Sequence[Placed], entrants: Sequence[str], **more: Any) -> Standings:
    """Standings of participants with places from 1, equal ones for a tie; raises as :meth:`Standings.of`."""
    from ..preview.standings import Standings

    if not all(1 <= row.place < 1 << 31 for row in placed):
        row = next(row for row in placed if not 1 <= row.place < 1 << 31)
        rule = f"places must be from 1 to 2,147,483,647, got {row.place} of {quoted(row.handle)}"
        raise ValueError(f"{rule}; leave out participants without a place, or list them as entrants")
    order, lo, hi = places_from_ranks([row.place for row in placed])
    rows = [placed[i] for i in order.tolist()]
    if all(row.members is None and row.shares is None for row in rows):
        return Standings.of([row.handle for row in rows], lo, hi, entrants=entrants, **more)
    from ..common.adapters import to_ragged
    from ..sources.base import SourceError
    from ..sources.files.reference import Rosters

    try:
        rosters = Rosters(rows, lambda rule, *_: SourceError(rule))
    except SourceError as error:
        raise ValueError(str(error)) from None
    teams = to_ragged(rosters.teams, np.array([0, len(rosters.members)]))
    lo, hi, names = np.repeat(lo, rosters.sizes), np.repeat(hi, rosters.sizes), rosters.teams.name.to_pylist()
    return Standings.of(rosters.members, lo, hi, entrants=entrants, teams=teams, team_names=names, **more)
