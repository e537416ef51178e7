"""The columns of a table: their keys, their default names, and common other names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from ..common.text import quoted
from .base import SourceError

MAX_LISTED = 12  # ignored columns in one line
OTHER_KEYS = {"time_seconds": "time", "contest_name": "name"}  # other names of keys
OWN = {"time": ("time",), "name": ("name",)}  # further names of a key beside its default
# Names in other tables, most likely first; only letters and digits are compared. A message suggests such a column; it
# is not used by itself.
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
    "precision": (),
    "duration": (),
    "rated": (),
    "rated_above": (),
    "rated_below": (),
    "name": ("title", "contesttitle", "eventname", "racename", "tournamentname", "tourneyname", "competitionname"),
    "url": ("link", "href", "contesturl"),
    "team": ("teamid", "teamname", "group", "crew", "club"),
    "share": (),
}  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table by key.

    ``contest``, ``player`` and one of ``rank`` (lower is better), ``lo`` and ``hi`` (zero-based first and last place)
    or ``score`` (higher is better) are required; equal ranks or scores tie. ``lo`` and ``hi`` are preferred to
    ``rank``, and both to ``score``, unless another one is named. A ``score`` is kept as points, also beside places. The
    other columns are used if the table has them: ``time_seconds`` or ``time``, ``contest_name`` or ``name``,
    ``weight``, ``precision``, ``perf_ceiling``, ``url``, and ``rated``, whether the rating of the participant may
    change, ``rated_above`` and ``rated_below``, the range of ratings at entry that the contest rates. Upper case and
    blanks around a name are ignored if only one column matches. A column that is named in the settings must exist; an
    empty name means that no column is used for the key. ``team`` and ``share`` are used only if they are named: many
    tables of races have teams that take no places. So is ``duration``, which stands for ``precision``.

    With ``single`` the column ``contest`` may be missing: the table is then one contest.
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
    precision: str = "precision"
    duration: str = ""
    name: str = "contest_name"
    url: str = "url"
    team: str = ""
    share: str = ""
    rated: str = "rated"
    rated_above: str = "rated_above"
    rated_below: str = "rated_below"
    named: frozenset[str] = frozenset()  # keys with a setting, even if its value is the default
    single: bool = field(default=False, compare=False)  # no setting of tables alone

    def __post_init__(self) -> None:
        changed = {key for key in KEYS if getattr(self, key) != getattr(Columns, key)}
        object.__setattr__(self, "named", self.named | changed)
        if self.share and not self.team:
            raise ValueError(f"column share={self.share} is a share in a team; name the column of the teams, too")

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Columns:
        """From settings such as ``contest=contest_id``; ``time_seconds`` and ``contest_name`` are keys, too.
        ``ValueError`` for another form, an unknown key or a second setting of a key.
        """
        chosen: dict[str, Any] = {}
        for setting in settings:
            name, equals, column = setting.partition("=")
            key = OTHER_KEYS.get(name, name)
            if not equals or key not in KEYS:
                raise ValueError(f"column setting {setting!r}: expected KEY=COLUMN with KEY one of {', '.join(KEYS)}")
            if chosen.get(key, column) != column:
                raise ValueError(f"column setting {setting!r}: {key} is {chosen[key]!r} already")
            chosen[key] = column
        return cls(**chosen, named=frozenset(chosen))

    def find(self, present: Sequence[str], source: str = "", *, frame: bool = False) -> dict[str, str]:
        """The columns to read from a table, by key. Of a data ``frame``, messages suggest to rename columns.

        Raises ``SourceError`` if a required column is missing or exists twice; lists the columns, and similar names.
        """
        columns = {key: column for key in KEYS if (column := self._match(key, present, source, frame))}
        required = {"player", *self._places(columns)} | (set() if self.single else {"contest"})
        missing = [key for key in KEYS if key not in columns and (key in required or self._requires(key))]
        if missing:
            raise SourceError(self._missing(missing, columns, present, frame), source)
        return {key: column for key, column in columns.items() if key in required or key not in _PLACES}

    def notes(self, columns: Mapping[str, str], present: Sequence[str]) -> str:
        """One line: the columns that are used, the ignored ones, and suggestions for some of these."""
        used = ", ".join(key if key == column else f"{key}={plain_name(column)}" for key, column in columns.items())
        ignored = [column for column in present if column not in columns.values()]
        line = f"columns used: {used}"
        if ignored:
            more = f", ... ({len(ignored)} in all)" if len(ignored) > MAX_LISTED else ""
            line += f"; ignored: {', '.join(map(plain_name, ignored[:MAX_LISTED]))}{more}"
        offered: set[str] = set()
        for key in ("time", "name", "url", "weight", "perf_ceiling"):
            near = None if key in columns or key in self.named else near_column(key, ignored, offered)
            if near is not None:
                offered.add(near)
                line += f"; to use {plain_name(near)} as {key}: {_option(key, near)}"
        return line

    def _requires(self, key: str) -> bool:
        return key in self.named and bool(getattr(self, key))

    def _match(self, key: str, present: Sequence[str], source: str, frame: bool) -> str | None:
        """The column of a key: with exactly this name, or else the only one that differs in case and blanks alone."""
        expected = getattr(self, key)
        names = [expected] if key in self.named else [expected, *OWN.get(key, ())]
        for name in filter(None, names):
            matches = [column for column in present if column == name]
            matches = matches or [column for column in present if column.strip().casefold() == name.strip().casefold()]
            if len(matches) > 1:
                if matches[0] == matches[1]:
                    raise SourceError(f"the table has two columns {matches[0]!r}", source)
                similar = ", ".join(map(repr, matches))
                rule = f"the columns {similar} have similar names; name the column of the {key}"
                option = f"columns={{{key!r}: {matches[0]!r}}}" if frame else _option(key, "...")
                raise SourceError(f"{rule}: {option}", source)
            if matches:
                return matches[0]
        return None

    def _places(self, columns: Mapping[str, str]) -> tuple[str, ...]:
        """The keys of the columns with the places."""
        bounds = bool(self.lo and self.hi)
        if self._requires("score") and not any(map(self._requires, ("rank", "lo", "hi"))):
            return ("score",)
        if self._requires("rank") and not (self._requires("lo") or self._requires("hi")):
            return ("rank",)
        if bounds and ({"lo", "hi"} <= columns.keys() or self._requires("lo") or self._requires("hi")):
            return ("lo", "hi")
        if "rank" in columns or not self.score or "score" not in columns:
            return ("lo", "hi") if bounds and "rank" not in columns and {"lo", "hi"} & columns.keys() else ("rank",)
        return ("score",)

    def _missing(self, missing: list[str], columns: Mapping[str, str], present: Sequence[str], frame: bool) -> str:
        free = [column for column in present if column not in columns.values()]
        offered: dict[str, str] = {}
        for key in missing:
            options = (key, "score") if key == "rank" and "rank" not in self.named else (key,)
            near = next(((k, column) for k in options if (column := near_column(k, free, offered.values()))), None)
            if near is not None:
                offered[near[0]] = near[1]
        words = ", ".join(
            f"{expected!r} ({key})" if (expected := getattr(self, key)) not in (key, *OWN.get(key, ())) else key
            for key in missing
        )
        if "rank" in missing and "rank" not in self.named:
            words += " (or lo and hi, or score)"
        listed = ", ".join(map(quoted, present[:50])) + (", ..." if len(present) > 50 else "")
        if not present:
            return f"there is no column {words}: the table has no columns"
        rule = f"there is no column {words} among the columns {listed}"
        if frame:
            return rule + (f"; name it with columns={offered!r}" if offered else "")
        if len(present) == 1 and (marks := re.findall(r"[,;\t|]", present[0])):
            return rule + f"; --delimiter {'tab' if marks[0] == chr(9) else repr(marks[0])}?"
        folded = {column.strip().casefold() for column in present}
        if {"winner", "loser"} <= folded or {"white", "black"} <= folded:
            return f"{rule}; for tables with one game a row use `ranklake ingest games`"
        if offered:
            for key in missing:
                if key not in offered and not (key == "rank" and "score" in offered):
                    offered[key] = "..."
            return f"{rule}; add {' '.join(_option(key, column) for key, column in offered.items())}?"
        return rule + f"; name it with {' '.join(f'--column {key}=...' for key in missing)}"


KEYS = tuple(field.name for field in fields(Columns) if field.name not in ("named", "single"))
_PLACES = ("rank", "lo", "hi")
_OFFERED = 80  # maximum length of a column's name in an option that a message suggests


def plain_name(column: str) -> str:
    """The name of a column for a line of text: quoted only if it needs to be."""
    return column if re.fullmatch(r"[\w.-]{1,40}", column) else quoted(column)


def _option(key: str, column: str) -> str:
    setting = f"{key}={column}"
    return f"--column {setting}" if re.fullmatch(r"[\w.=-]+", setting) else f"--column {setting!r}"


def near_column(key: str, columns: Iterable[str], taken: Iterable[str] = ()) -> str | None:
    """A column with one of the common names of a key, or with a name that differs from the key by a typing error."""
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


def chosen_columns(settings: Iterable[str], keys: Collection[str], example: str) -> dict[str, str]:
    """The column of each key of settings such as the ``example``, ``white=White``.

    Raises ``ValueError`` for another form, an unknown key, or a key twice.
    """
    chosen: dict[str, str] = {}
    for setting in settings:
        key, equals, column = setting.partition("=")
        if not equals or key not in keys or key in chosen:
            rule = f"expected KEY=COLUMN, as {example}, with KEY one of {', '.join(keys)}, each once"
            raise ValueError(f"column {setting!r}: {rule}")
        chosen[key] = column
    return chosen
