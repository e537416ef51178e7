"""The parser of the reference format: JSON with a name, a time and standings. It opens no files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.rating_kernels.core.limits import SCORED, SHARE
from ranklake.rating_kernels.core.standings import ROUND_LIMITS, StandingsError
from ranklake.storage.datasets.tables.contests import Contest
from ranklake.storage.datasets.tables.teams import Teams

from ...common.text import count, quoted
from ..base import EmptyContestError, SourceError
from ..limits import Limits, check_contest, check_participants, fault_of_names
from ..places import check_standings

INT32_MAX = 2**31 - 1


class _Row(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    # gc=False: the garbage collector skips four million small objects, and decoding takes half the time.
    handle: str
    lo: int
    hi: int
    members: list[str] | float | None = None  # a number in place of one of these is the points
    shares: list[float] | float | None = None
    points: float | None = None

    @property
    def plain(self) -> bool:
        """Whether it is a participant without points."""
        return self.members is None and self.shares is None and self.points is None

    def scored(self) -> ScoredRow:
        """The row with its points, which are its last number, in their place; ValueError if something follows them."""
        given = [self.members, self.shares, self.points]
        at = next((i for i, value in enumerate(given) if isinstance(value, float)), 2)
        if any(value is not None for value in given[at + 1 :]):
            raise ValueError("points are the last of a row")
        members = self.members if isinstance(self.members, list) else None
        shares = self.shares if isinstance(self.shares, list) else None
        points = given[at]
        return ScoredRow(self.handle, members, shares, points if isinstance(points, float) else math.nan)


class ScoredRow(NamedTuple):
    """A participant or a team, and its points, NaN if they are unknown."""

    handle: str
    members: list[str] | None
    shares: list[float] | None
    points: float


class _Reference(msgspec.Struct):
    name: str
    time_seconds: int
    standings: list[_Row]
    url: str | None = None  # the format's own tools write null for a contest without an address
    weight: float = 1.0
    perf_ceiling: float = math.inf
    unrated: list[str] = []
    field_includes_unrated: bool = False
    rated_above: float = -math.inf
    rated_below: float = math.inf
    precision: float = 1.0


class _Time(msgspec.Struct):
    time_seconds: int


class _PlainRows(msgspec.Struct):
    standings: list[Annotated[list[Any], msgspec.Meta(min_length=3, max_length=6)]]


T = TypeVar("T")

_REFERENCE = msgspec.json.Decoder(_Reference)
_TIME = msgspec.json.Decoder(_Time)
_PLAIN_ROWS = msgspec.json.Decoder(_PlainRows)
_UNDECODED = (msgspec.DecodeError, ValueError, RecursionError)


def parse_reference(
    raw: bytes | bytearray, contest_id: str, *, source: str = "", member: str = "", limits: Limits | None = None
) -> Contest:
    """One contest of the reference format, checked in full.

    ``raw``: UTF-8 JSON: ``{"name", "time_seconds", "standings": [[handle, lo, hi], ...]}`` and optionally ``url``,
    ``weight``, ``precision``, ``perf_ceiling``, ``unrated`` (handles of participants whose rating does not change),
    ``rated_above`` and ``rated_below`` (the range of ratings at entry that the contest rates) and
    ``field_includes_unrated``; other keys are ignored, the format may grow. A team is ``[name, lo, hi, [member, ...]]``
    or ``[name, lo, hi, [member, ...], [share, ...]]``; places count teams. Any of these rows may end with a number: the
    points.
    Raises SourceError: not UTF-8, not JSON, a wrong type, invalid standings, or a limit is exceeded; names the rows.
    """

    size = 0  # participations, once they are known

    def fault(rule: str, *rows: int) -> SourceError:
        return SourceError(rule, source, contest_id, member, rows, participations=size)

    limits = limits or Limits()
    check_participants(_count_rows(raw, limits.participants), limits, source, contest_id, member)
    contest = _decode(_REFERENCE, raw, contest_id, source, member)
    rows, n = contest.standings, len(contest.standings)
    if n == 0:
        raise EmptyContestError("the standings are empty, nobody took part", source, contest_id, member)
    for name, allowed in ROUND_LIMITS.items():
        if not allowed.contains(getattr(contest, name)):
            raise fault(f"{name} must be {allowed.rule}, got {getattr(contest, name)}")
    points, rosters = None, None
    if not all(row.plain for row in rows):
        scored = _scored(rows, fault)
        points = _points(scored, fault)
        if any(row.members is not None or row.shares is not None for row in scored):
            rosters = Rosters(scored, fault)
    names = [row.handle for row in rows] if rosters is None else rosters.members
    size = len(names)
    check_participants(len(names), limits, source, contest_id, member)
    if found := fault_of_names(names):
        rule, players = found
        raise fault(rule, *dict.fromkeys(players if rosters is None else rosters.rows_of(*players)))
    try:
        lo = np.fromiter([row.lo for row in rows], np.int32, n)
        hi = np.fromiter([row.hi for row in rows], np.int32, n)
    except OverflowError:
        at = next(i for i, row in enumerate(rows) if max(abs(row.lo), abs(row.hi)) > INT32_MAX)
        raise fault(f"lo = {rows[at].lo}, hi = {rows[at].hi} do not fit an int32", at) from None
    try:
        check_standings(lo, hi)
    except StandingsError as error:
        raise fault(error.rule, *range(error.first_row, error.last_row + 1)) from None
    unrated = set(contest.unrated)
    if strange := sorted(unrated.difference(names)):
        raise fault(f"the unrated player {quoted(strange[0])} is not in the standings")
    read = Contest(
        contest_id=contest_id,
        name=contest.name,
        url=contest.url or "",
        time_seconds=contest.time_seconds,
        handles=pa.array(names, pa.string()),
        lo=lo if rosters is None else np.repeat(lo, rosters.sizes),
        hi=hi if rosters is None else np.repeat(hi, rosters.sizes),
        weight=contest.weight,
        perf_ceiling=contest.perf_ceiling,
        teams=None if rosters is None else rosters.teams,
        rated=np.array([name not in unrated for name in names]) if unrated else None,
        field_includes_unrated=contest.field_includes_unrated,
        rated_above=contest.rated_above,
        rated_below=contest.rated_below,
        points=points if points is None or rosters is None else np.repeat(points, rosters.sizes),
        precision=contest.precision,
    )
    if too_long := check_contest(read, source, member):
        raise too_long
    return read


def _scored(rows: Sequence[_Row], fault: Callable[..., SourceError]) -> list[ScoredRow]:
    scored = []
    for at, row in enumerate(rows):
        try:
            scored.append(row.scored())
        except ValueError as error:
            raise fault(str(error), at) from None
    return scored


def _points(rows: Sequence[ScoredRow], fault: Callable[..., SourceError]) -> npt.NDArray[np.float64] | None:
    """The points of each row, NaN where unknown; None if all are."""
    points = np.array([row.points for row in rows]) + 0.0  # no -0.0
    known = ~np.isnan(points)
    bad = np.flatnonzero(known & ~SCORED.mask(points))
    if len(bad):
        raise fault(f"points must be {SCORED.rule}, got {points[bad[0]]:g}", int(bad[0]))
    return points if known.any() else None


def _count_rows(raw: bytes | bytearray, enough: int) -> int:
    """Number of participants, counted before decoding: a row of a few bytes takes 150 bytes of memory when decoded.

    Exact above ``enough``, unless names look like the ends of rows; an upper bound below. Members of teams are counted
    after decoding.
    """
    n = raw.count(b"[") - 1
    return n if n <= enough else sum(1 for _ in re.finditer(rb'\]\s*,\s*\[\s*"', raw)) + 1


def reference_time(raw: bytes | bytearray, contest_id: str, *, source: str = "", member: str = "") -> int:
    """``time_seconds`` of a contest of the reference format, without building its standings."""
    return _decode(_TIME, raw, contest_id, source, member).time_seconds


def _decode(decoder: msgspec.json.Decoder[T], raw: bytes | bytearray, contest_id: str, source: str, member: str) -> T:
    try:
        return decoder.decode(raw)
    except _UNDECODED as error:
        fault = error
        if isinstance(error, msgspec.ValidationError) and "$" not in str(error):
            # The error of a row with too many items has no row number; the error of plain lists has one.
            try:
                _PLAIN_ROWS.decode(raw)
            except _UNDECODED as placed:
                fault = placed
    at = re.search(r"\$\.standings\[(\d+)\]", str(fault))
    raise SourceError(_rule(fault), source, contest_id, member, (int(at[1]),) if at else ())


def _rule(fault: Exception) -> str:
    """The error of a decoder as a rule that the contest breaks."""
    match fault:
        case msgspec.ValidationError():
            return f"not the reference format: {str(fault).replace('`', '').replace('$.', '')}"
        case msgspec.DecodeError():
            return f"not JSON: {fault}"
        case UnicodeDecodeError():
            return f"not UTF-8: byte 0x{fault.object[fault.start]:02x}, {fault.reason}"
        case RecursionError():
            return "not JSON that can be read: nested too deeply"
    return f"not JSON that can be read: {fault}"  # an integer with more digits than Python converts


class RosterRow(Protocol):
    """A row of the standings; without members it is a participant."""

    @property
    def handle(self) -> str: ...
    @property
    def members(self) -> list[str] | None: ...
    @property
    def shares(self) -> list[float] | None: ...


class Rosters:
    """The members of all rows of a contest, and their teams.

    ``members`` are row by row, a participant without a team is a row's only one; ``sizes`` are the numbers of members
    of each row, and ``teams`` the team and the share of each member. Raises ``fault`` for a team without a name or
    without members, two teams with one name, or shares that are no shares of the members.
    """

    def __init__(self, rows: Sequence[RosterRow], fault: Callable[..., SourceError]) -> None:
        first: dict[str, int] = {}
        for i, row in enumerate(rows):
            if row.members is None:
                if row.shares is not None:
                    raise fault(f"{quoted(row.handle)} has shares and no members", i)
                continue
            if not row.handle:
                raise fault("a team needs a name, got an empty one", i)
            if not row.members:
                raise fault(f"team {quoted(row.handle)} has no members", i)
            if first.setdefault(row.handle, i) != i:
                raise fault(f"team {quoted(row.handle)} is listed twice", first[row.handle], i)
            _check_shares(row, i, fault)
        each = [[row.handle] if row.members is None else row.members for row in rows]
        self.members = list(chain.from_iterable(each))
        self.sizes: npt.NDArray[np.int64] = np.array([len(members) for members in each])
        names = pa.array([None if row.members is None else row.handle for row in rows], pa.string())
        shares = chain.from_iterable(
            row.shares or repeat(1.0, n) for row, n in zip(rows, self.sizes.tolist(), strict=True)
        )
        of_row = pa.array(np.repeat(np.arange(len(rows)), self.sizes))
        self.teams = Teams(names.take(of_row), np.fromiter(shares, np.float64, len(self.members)))

    def rows_of(self, *members: int) -> list[int]:
        """The row of each of these members, given by their numbers."""
        at: list[int] = np.searchsorted(np.cumsum(self.sizes), members, side="right").tolist()
        return at


def _check_shares(row: RosterRow, at: int, fault: Callable[..., SourceError]) -> None:
    if row.shares is None:
        return
    assert row.members is not None
    if len(row.shares) != len(row.members):
        counts = f"{count(len(row.shares), 'share')} and {count(len(row.members), 'member')}"
        raise fault(f"team {quoted(row.handle)} has {counts}; all members have a share or none", at)
    for share in row.shares:
        if not SHARE.contains(share):
            raise fault(f"team {quoted(row.handle)}: a share must be {SHARE.rule}, got {share}", at)
