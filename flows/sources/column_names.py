"""The columns of a table: their keys, their default names, and common other names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from ..common.text import quoted
from .base import SourceError

__all__ = ["Columns", "plain_name"]

MAX_LISTED = 12  # ignored columns that one line names
OWN = {"time": ("time",), "name": ("name",)}  # names a key has beside its default
# Names that tables use, most likely first; letters and digits alone count. They are offered, never used unasked.
NEAR: dict[str, tuple[str, ...]] = {
    "contest": (
        "contestid", "event", "eventid", "match", "matchid", "race", "raceid", "game", "gameid", "round", "roundid",
        "tournament", "tournamentid", "tourney", "tourneyid", "competition", "competitionid", "contestname",
    ),
    "player": (
        "playerid", "username", "userid", "user", "handle", "playername", "participant", "participantid", "contestant",
        "competitor", "athlete", "driver", "team", "teamid", "teamname", "nickname", "nick", "login", "member", "name",
    ),
    "rank": ("place", "position", "pos", "ranking", "placement", "standing", "finish", "finishposition", "placing"),
    "score": ("points", "pts", "totalscore", "totalpoints", "total", "marks", "result"),
    "lo": (),
    "hi": (),
    "time": (
        "timestamp", "datetime", "date", "contestdate", "eventdate", "endtime", "endtimeseconds", "enddate",
        "startdate", "starttime", "starttimeseconds", "day", "playedat", "unixtime", "epoch", "when",
    ),
    "weight": ("contestweight",),
    "perf_ceiling": ("ceiling", "perfceil"),
    "name": ("title", "contesttitle", "eventname", "racename", "tournamentname", "tourneyname", "competitionname"),
    "url": ("link", "href", "contesturl"),
}  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table by key.

    ``contest``, ``player`` and one of ``rank`` (lower is better), ``lo`` and ``hi`` (zero-based first and last place)
    or ``score`` (higher is better) are required; equal ranks or scores tie. ``lo`` and ``hi`` are preferred to
    ``rank``, and both to ``score``, unless another one is named. The other columns are used if the table has them:
    ``time_seconds`` or ``time``, ``contest_name`` or ``name``, ``weight``, ``perf_ceiling``, ``url``. Upper case and
    blanks around a name do not count if one column alone matches. A column that is named, not just left at its
    default, must be there; an empty name means that it is not to be used.
    """

    contest: str = "contest"
    player: str = "player"
    rank: str = "rank"
    lo: str = "lo"
    hi: str = "hi"
    score: str = "score"
    time: str = "time_seconds"
    weight: str = "weight"
    perf_ceiling: str = "perf_ceiling"
    name: str = "contest_name"
    url: str = "url"
    named: frozenset[str] = frozenset()  # keys a person chose, even if what they chose is the default

    def __post_init__(self) -> None:
        changed = {key for key in _KEYS if getattr(self, key) != getattr(Columns, key)}
        object.__setattr__(self, "named", self.named | changed)
        other = next((key for key in ("rank", "lo", "hi") if self._insists(key)), None)
        if self._insists("score") and other is not None:
            both = f"columns {other}={getattr(self, other)} and score={self.score}"
            raise ValueError(f"{both}: places come from one of them, name only one")

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Columns:
        """From settings such as ``contest=contest_id``; ``time_seconds`` and ``contest_name`` are keys, too.

        Raises
        ------
        ValueError
            A setting of another form, for something that is no column, or for a key that has one already.
        """
        chosen: dict[str, Any] = {}
        for setting in settings:
            given, equals, column = setting.partition("=")
            key = {"time_seconds": "time", "contest_name": "name"}.get(given, given)
            if not equals or key not in _KEYS:
                raise ValueError(f"column setting {setting!r}: expected KEY=COLUMN with KEY one of {', '.join(_KEYS)}")
            if chosen.get(key, column) != column:
                raise ValueError(f"column setting {setting!r}: {key} is {chosen[key]!r} already")
            chosen[key] = column
        return cls(**chosen, named=frozenset(chosen))

    def find(self, present: Sequence[str], source: str = "", *, frame: bool = False) -> dict[str, str]:
        """Which columns to read from a table that has these, by key.

        Parameters
        ----------
        present
            The names of the table's columns.
        source
            Where the table came from, for messages.
        frame
            The table is a data frame: messages offer to rename its columns, not options of the command.

        Raises
        ------
        SourceError
            A column that must be there is not, or is there twice; lists the columns there are, and offers those whose
            names are near.
        """
        found = {key: column for key in _KEYS if (column := self._match(key, present, source))}
        required = {"contest", "player", *self._places(found)}
        missing = [key for key in _KEYS if key not in found and (key in required or self._insists(key))]
        if missing:
            raise SourceError(self._missing(missing, found, present, frame), source)
        return {key: column for key, column in found.items() if key in required or key not in _PLACES}

    def notes(self, found: Mapping[str, str], present: Sequence[str]) -> str:
        """One line: the columns that are used, those that are not, and what some of these may be."""
        used = ", ".join(key if key == column else f"{key}={plain_name(column)}" for key, column in found.items())
        ignored = [column for column in present if column not in found.values()]
        line = f"columns used: {used}"
        if ignored:
            more = f", ... ({len(ignored)} in all)" if len(ignored) > MAX_LISTED else ""
            line += f"; ignored: {', '.join(map(plain_name, ignored[:MAX_LISTED]))}{more}"
        offered: set[str] = set()
        for key in ("time", "name", "url", "weight", "perf_ceiling"):
            near = None if key in found or key in self.named else _near(key, ignored, offered)
            if near is not None:
                offered.add(near)
                line += f"; to use {plain_name(near)} as {key}: {_option(key, near)}"
        return line

    def _insists(self, key: str) -> bool:
        return key in self.named and bool(getattr(self, key))

    def _match(self, key: str, present: Sequence[str], source: str) -> str | None:
        """The column of a key: as it is named, or else the only one that is named so but for case and blanks."""
        wanted = getattr(self, key)
        names = [wanted] if key in self.named else [wanted, *OWN.get(key, ())]
        for name in filter(None, names):
            same = [column for column in present if column == name]
            same = same or [column for column in present if column.strip().casefold() == name.strip().casefold()]
            if len(same) > 1:
                if same[0] == same[1]:
                    raise SourceError(f"the column {same[0]!r} is there twice", source)
                alike = ", ".join(map(repr, same))
                raise SourceError(
                    f"the columns {alike} are alike; say which is the {key}: {_option(key, '...')}", source
                )
            if same:
                return same[0]
        return None

    def _places(self, found: Mapping[str, str]) -> tuple[str, ...]:
        """The keys that places are taken from."""
        bounds = bool(self.lo and self.hi)
        if self._insists("score"):
            return ("score",)
        if self._insists("rank") and not (self._insists("lo") or self._insists("hi")):
            return ("rank",)
        if bounds and ({"lo", "hi"} <= found.keys() or self._insists("lo") or self._insists("hi")):
            return ("lo", "hi")
        if "rank" in found or not self.score or "score" not in found:
            return ("lo", "hi") if bounds and "rank" not in found and {"lo", "hi"} & found.keys() else ("rank",)
        return ("score",)

    def _missing(self, missing: list[str], found: Mapping[str, str], present: Sequence[str], frame: bool) -> str:
        free = [column for column in present if column not in found.values()]
        offered: dict[str, str] = {}
        for key in missing:
            options = (key, "score") if key == "rank" and "rank" not in self.named else (key,)
            near = next(((one, column) for one in options if (column := _near(one, free, offered.values()))), None)
            if near is not None:
                offered[near[0]] = near[1]
        words = ", ".join(
            f"{wanted!r} ({key})" if (wanted := getattr(self, key)) not in (key, *OWN.get(key, ())) else key
            for key in missing
        )
        if "rank" in missing and "rank" not in self.named:
            words += " (or lo and hi, or score)"
        there = ", ".join(map(quoted, present[:50])) + (", ..." if len(present) > 50 else "")
        rule = f"there is no column {words} among the columns {there}"
        if frame:
            return rule + (f"; columns={offered!r}?" if offered else "")
        if len(present) == 1 and (marks := re.findall(r"[,;\t|]", present[0])):
            return rule + f"; --delimiter {'tab' if marks[0] == chr(9) else repr(marks[0])}?"
        if offered:
            for key in missing:
                if key not in offered and not (key == "rank" and "score" in offered):
                    offered[key] = "..."
            return f"{rule}; add {' '.join(_option(key, column) for key, column in offered.items())}?"
        return rule + f"; say which it is with {' '.join(f'--column {key}=...' for key in missing)}"


_KEYS = tuple(field.name for field in fields(Columns) if field.name != "named")
_PLACES = ("rank", "lo", "hi", "score")
_OFFERED = 80  # characters of a column's name that a message repeats whole, for it to be copied


def plain_name(column: str) -> str:
    """The name of a column for a line of text: quoted only if it needs to be."""
    return column if re.fullmatch(r"[\w.-]{1,40}", column) else quoted(column)


def _option(key: str, column: str) -> str:
    setting = f"{key}={column}"
    return f"--column {setting}" if re.fullmatch(r"[\w.=-]+", setting) else f"--column {setting!r}"


def _near(key: str, columns: Iterable[str], taken: Iterable[str] = ()) -> str | None:
    """A column whose name people use for a key, or that is the key with a slip."""
    taken = set(taken)
    reduced: dict[str, str] = {}
    for column in columns:
        if column not in taken:
            reduced.setdefault(re.sub(r"[^a-z0-9]", "", column.casefold()), column)
    known = (key.replace("_", ""), *NEAR[key])
    near = next((name for name in known if name in reduced), None)
    if near is None and len(key) > 3:
        near = next(iter(get_close_matches(key.replace("_", ""), list(reduced), 1, 0.8)), None)
    return reduced[near] if near is not None and len(reduced[near]) <= _OFFERED else None
