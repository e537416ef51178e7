"""Scoreboards of CLICS, DOMjudge and CTFtime as contests of the reference format; their other documents are refused.

Sources: the contest API of CLICS (ccs-specs.icpc.io), which DOMjudge implements; CTFtime's scoreboard feed
(ctftime.org/json-scoreboard-feed) and its API (ctftime.org/api). Players are the ids of teams, of the feed their names.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from ..absences import Absent, absences_in_words, remedy_for
from ..base import SourceError

_MARKS = (b'"rows"', b'"scores"', b'"pos"')  # one is in every scoreboard
_EVENT_URL = "https://ctftime.org/event/"


class _State(msgspec.Struct):
    ended: str | None = None


class _Row(msgspec.Struct):
    team_id: str | int
    rank: int | None = None


class _Board(msgspec.Struct):
    rows: list[_Row]
    time: str | None = None
    state: _State | None = None


class _Position(msgspec.Struct):
    team: str | int
    pos: int | None = None
    lastAccept: float | None = None


class _Feed(msgspec.Struct):
    standings: list[_Position]


class _Score(msgspec.Struct):
    team_id: str | int
    place: int | None = None


class _Event(msgspec.Struct):
    title: str
    time: float
    scores: list[_Score]


_KEYS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def as_reference(
    raw: bytes | bytearray, contest: str, source: str = "", member: str = "", absent: Absent = "error"
) -> bytes | None:
    """A scoreboard in the reference format; None for other documents.

    ``absent`` treats teams without a place, as in a table. Raises ``SourceError`` for a row without a place or a team,
    or the results of a year, which are several contests.
    """
    if not any(mark in raw for mark in _MARKS):
        return None
    try:
        value = _KEYS.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    if _are_events(value):
        raise SourceError(
            "the results of a year hold several contests; ingest the file by itself", source, contest, member
        )
    try:
        if "rows" in value and value.keys() & {"state", "contest_time", "time"}:
            board = msgspec.json.decode(raw, type=_Board)
            ended = board.state.ended if board.state else None
            rows = [(row.team_id, row.rank) for row in board.rows]
            return _reference(contest, _seconds(ended or board.time), rows, absent)
        if bytes(value.get("standings", b""))[1:].lstrip()[:1] == b"{":
            feed = msgspec.json.decode(raw, type=_Feed)
            time = max((row.lastAccept or 0 for row in feed.standings), default=0)
            return _reference(contest, int(time), [(row.team, row.pos) for row in feed.standings], absent)
        if value.keys() >= {"title", "time", "scores"}:
            event = msgspec.json.decode(raw, type=_Event)
            rows = [(score.team_id, score.place) for score in event.scores]
            return _reference(event.title, int(event.time), rows, absent, f"{_EVENT_URL}{contest}")
    except (msgspec.DecodeError, ValueError, OverflowError) as error:
        reason = str(error).replace("`", "").replace("$.", "")
        raise SourceError(f"a scoreboard that cannot be read: {reason}", source, contest, member) from None
    return None


def events_of_year(value: Mapping[str, msgspec.Raw]) -> dict[str, bytes] | None:
    """The events in CTFtime's results of a year by id, in order of time; None for another document."""
    if not _are_events(value):
        return None
    events = {event: bytes(raw) for event, raw in value.items()}
    return dict(sorted(events.items(), key=lambda item: _time_of(item[1])))


def refuse_other(value: Mapping[str, Any], source: str) -> None:
    """Raise :class:`SourceError` for a document of these systems that has no results; names the one that has."""
    keys = value.keys()
    if keys >= {"ctf_id", "format_id"} or (keys >= {"title", "start", "finish"} and "ctftime_url" in keys):
        rule = "a list of CTFtime's events has no results; the API has them at /api/v1/results/YEAR/"
    elif keys >= {"limit", "offset", "result"}:
        rule = "a list of CTFtime's teams has no results; the API has them at /api/v1/results/YEAR/"
    elif keys and all(key.isdecimal() for key in keys) and any(b'"team_name"' in bytes(raw) for raw in value.values()):
        rule = "CTFtime's ranking of teams has no contests; the API has them at /api/v1/results/YEAR/"
    elif keys >= {"type", "data"} and keys & {"id", "op", "token"}:
        rule = "an event feed of CLICS has no places; the contest's scoreboard.json has them"
    else:
        return
    raise SourceError(rule, source)


def _are_events(value: Mapping[str, msgspec.Raw]) -> bool:
    return bool(value) and all(key.isdecimal() and b'"scores"' in bytes(raw) for key, raw in value.items())


def _reference(
    name: str, time: int, rows: Sequence[tuple[str | int, int | None]], absent: Absent, url: str = ""
) -> bytes:
    """A contest of the reference format from the places of its teams, from 1, equal ones tied."""
    behind = sys.maxsize
    places = [(team, place if place is not None and place >= 1 else behind) for team, place in rows]
    without = [at for at, (_, place) in enumerate(places) if place == behind]
    if without and absent not in ("last", "drop"):
        got = absences_in_words(rows[at][1] for at in without)
        raise ValueError(f"places are from 1, got {got} in row {without[0] + 1}{remedy_for(False, False)}")
    if without and len(without) == len(rows):
        raise ValueError("nobody has a place")
    ordered = sorted((row for row in places if absent == "last" or row[1] < behind), key=lambda row: row[1])
    sizes = Counter(place for _, place in ordered)
    standings: list[list[object]] = []
    lo: dict[int, int] = {}
    for at, (team, place) in enumerate(ordered):
        first = lo.setdefault(place, at)
        standings.append([str(team), first, first + sizes[place] - 1])
    return msgspec.json.encode({"name": name, "time_seconds": time, "url": url, "standings": standings})


def _time_of(event: bytes) -> float:
    """The time of an event for the order; an invalid one is a fault of the event."""
    try:
        return float(msgspec.json.decode(event)["time"])
    except (msgspec.DecodeError, TypeError, KeyError, ValueError):
        return 0.0


def _seconds(time: str | None) -> int:
    if time is None:
        raise ValueError("neither state.ended nor time has a time")
    at = datetime.fromisoformat(time)
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
