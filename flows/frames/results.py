"""A frame of results as contests: which of its columns are what, and which row is whose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranklake.rating_kernels import Rounds

from ..common.configuration.hyperparameters import near_names
from ..common.skipping import count_reasons
from ..common.text import count, described
from ..common.times import are_milliseconds
from ..sources.absences import Absent, counted_from_zero
from ..sources.base import OnError, SourceError
from ..sources.column_names import KEYS, OTHER_KEYS, Columns, near_column
from ..sources.options import Duplicates, ReadOptions
from ..sources.results import rounds_from_results
from .kinds import Frame, open_frame
from .notebook import warn_user
from .winners import OF_WINNERS, double_winners

NO_TIMES = "the results have no times: name their column, as by time='day', or give no such hyperparameter"
ABOUT_RATED = ("rated", "rated_above", "rated_below")
_READ = ("contest", "player", "rank", "lo", "hi", "score", "time", "weight", "precision", "perf_ceiling", *ABOUT_RATED)
_OF_TEAMS = ("team", "share")
_NAMES = ("contest", "player", "team")


@dataclass(frozen=True, slots=True)
class Results:
    """A frame of results, and its contests as rounds.

    ``columns``: the frame's name of each column.
    ``rounds``: all contests, in order of appearance.
    ``rows`` (int64[n]): the row of the frame of each row of ``rounds``.
    ``players``: the players as the frame has them, by their index in ``rounds``.
    ``left_out``: what is wrong with each contest that was left out.
    ``limits`` (float64[r, 2]): the range of ratings at entry that each contest rates; infinite for no limit.
    ``n_absent``: rows without a place, tied behind all others or left out.
    ``reading``: how further results are read: with ``absent="none"`` if ranks are places from 0.
    """

    frame: Frame
    columns: dict[str, str]
    rounds: Rounds
    rows: npt.NDArray[np.int64]
    players: list[Any]
    left_out: list[str]
    limits: npt.NDArray[np.float64]
    n_absent: int
    reading: Reading

    def refuse_columns_in(self, hyperparameters: Mapping[str, Any]) -> None:
        """Refuse the name of a column that is given as a hyperparameter, such as ``team="club"``."""
        for key, value in hyperparameters.items():
            if key in KEYS and isinstance(value, str) and value in self.frame.names:
                rule = f"{key}={value!r} is a hyperparameter, and results have a column {value!r}"
                raise ValueError(f"{rule}; columns={{{key!r}: {value!r}}} names a column")

    @property
    def timed(self) -> bool:
        """Whether any contest has a time: 0 is unknown."""
        return bool(self.rounds.time_seconds.any())

    def table(
        self,
        rows: npt.NDArray[np.int64],
        reasons: npt.NDArray[Any],
        rounds: Rounds,
        values: Mapping[str, Any],
        first_round: int = 0,
    ) -> dict[str, Any]:
        """Columns of participations, given their rows of the frame, in ``rounds``, those not skipped."""
        index = first_round + np.flatnonzero(reasons == 0)
        contest, player, *team = (self.frame.take(self.columns[key], rows) for key in _NAMES if key in self.columns)
        round_index = np.repeat(index, np.diff(rounds.offsets)).astype(np.int32)
        head = {"round_index": round_index, "contest": contest, "player": player}
        return {**head, **values, **({"team": team[0]} if team else {})}

    def skipped(self, reasons: npt.NDArray[Any]) -> dict[str, Any]:
        """The contests skipped, by reason, and left out, and the rows without a place."""
        return {
            "skipped": int(np.count_nonzero(reasons)),
            "reasons": count_reasons(reasons),
            "left_out": self.left_out,
            "absent": self.n_absent,
        }

    def contest(self, index: int) -> Any:
        """The name of a contest."""
        return self.frame.take(self.columns["contest"], self.rows[self.rounds.offsets[index : index + 1]]).iloc[0]

    def contests(self) -> pd.Series[Any]:
        """The names of all contests, in order."""
        return self.frame.take(self.columns["contest"], self.rows[self.rounds.offsets[:-1]])


@dataclass(frozen=True, slots=True)
class Reading:
    """How results are read, for the first time and in every update; as for :func:`ranklake.rate_history`.

    ``columns``: the names of columns of the frame, by key.
    ``period``: of games that are rated at the same time; see :mod:`.periods`.
    """

    columns: dict[str, str] = field(default_factory=dict)
    on_error: OnError = "stop"
    duplicates: Duplicates = "error"
    skip_uninformative: bool | None = None
    absent: Absent = "error"
    period: str | None = None

    def read(self, results: Any, *, limits: bool = False, first: int = 1) -> Results:
        """Read a frame of any kind. Warns of times that go back, of places from 0 and of contests that are left out.

        A row of a frame of winners and losers is a contest of two.

        ``limits``: whether contests may have ``rated_above`` or ``rated_below``.
        ``first``: number of the first contest of winners and losers without a column of contests.
        """
        frame = open_frame(results)
        of_teams, columns = _split_teams(self.columns, self.duplicates)
        try:
            frame, columns = double_winners(frame, columns, first)
        except SourceError as error:
            raise ValueError(_labelled(error, frame)) from None
        named = Columns.parse(f"{key}={column}" for key, column in columns.items())
        options = ReadOptions(columns=named, on_error=self.on_error, duplicates=self.duplicates, absent=self.absent)
        try:
            found = named.find(frame.names, "results", frame=True)
            found = {key: column for key, column in found.items() if key in _READ}
            found |= _find_teams(of_teams, frame)
            found = find_times(frame, named, found)
            table = frame.arrow(list(dict.fromkeys(found.values())), [found.get("rank"), found.get("score")])
            read_rounds = rounds_from_results(table, found, options=options)
        except SourceError as error:
            raise ValueError(_labelled(error, frame) + _hidden_in_index(frame, named)) from None
        rounds, rows, first_row, faults, ranges, n_absent, from_zero = read_rounds
        if from_zero:
            warn_user(f"{found['rank']}: {counted_from_zero(frame=True)}")
        back = int(np.count_nonzero(np.diff(rounds.time_seconds) < 0))
        if back:
            warn_user(f"time goes back at {count(back, 'contest')}; the order was kept as given")
        if are_milliseconds(rounds.time_seconds):
            last = int(rounds.time_seconds[-1])
            warn_user(f"{found['time']} = {last} was read as seconds; if these are milliseconds, divide them by 1,000")
        left_out = [_labelled(error, frame) for error in faults]
        if left_out:
            n_rows = sum(error.participations for error in faults)
            warn_user(f"left out {count(len(left_out), 'contest')}, {count(n_rows, 'participation')}: {left_out[0]}")
        players = frame.take(found["player"], first_row).tolist()
        reading = replace(self, absent="none") if from_zero and not n_absent else self
        read = Results(frame, found, rounds, rows, players, left_out, ranges, n_absent, reading)
        if not limits and len(limited := np.flatnonzero(np.isfinite(ranges).any(1))):  # no ratings at entry are known
            used = [key for key in ABOUT_RATED[1:] if key in found]
            unused = ", ".join(f"{key!r}: ''" for key in used)
            raise ValueError(
                f"contest {read.contest(int(limited[0]))} has {' and '.join(found[key] for key in used)}: only "
                f"rate_history and Ratings.rate decide who is rated; columns={{{unused}}} reads results without "
                "limits, such as the rated participations of Ratings.rate(results).history"
            )
        return read


def named_columns(columns: Mapping[str, str] | None, **keywords: str | None) -> dict[str, str]:
    """The names of columns that a mapping or keywords give, by key."""
    if not isinstance(columns, Mapping | None):
        raise TypeError(f"columns must be a mapping such as {{'contest': 'race_id'}}, got {described(columns)}")
    named = {key: name for key, name in (columns or {}).items() if name is not None}
    keys = (*KEYS, *OF_WINNERS)
    for key, name in named.items():
        if key == "duration" and name:
            rule = "a frame has no durations; divide them by the one of precision 1 in a column of the precision"
            raise ValueError(f"columns={{{key!r}: {name!r}}}: {rule}")
        if key not in (*keys, *OTHER_KEYS):
            near = near_names(key, keys) if isinstance(key, str) else []
            meant = f"did you mean {near[0]!r}?" if near else f"keys are {', '.join(keys)}"
            raise ValueError(f"columns={{{key!r}: {name!r}}}: there is no key {key!r}; {meant}")
        if not isinstance(name, str):
            raise TypeError(f"columns: the column of {key!r} must be a text, got {described(name)}")
    for key, keyword in keywords.items():
        if keyword is not None and named.setdefault(key, keyword) != keyword:
            raise ValueError(f"{key}={keyword!r} and columns={{{key!r}: {named[key]!r}}} differ; name the column once")
    return named


def _split_teams(given: Mapping[str, str], duplicates: Duplicates) -> tuple[dict[str, str], dict[str, str]]:
    """The columns of teams, and the others, by key."""
    of_teams = {key: given[key] for key in _OF_TEAMS if given.get(key)}
    if "share" in of_teams and "team" not in of_teams:
        name = of_teams["share"]
        raise ValueError(f"share={name!r} is a share in a team; name the column of the teams, too: {{'team': ...}}")
    if of_teams and duplicates != "error":
        raise ValueError(f"duplicates={duplicates!r} is not for results of teams: a player has one team in a contest")
    return of_teams, {key: column for key, column in given.items() if key not in _OF_TEAMS}


def _find_teams(of_teams: Mapping[str, str], frame: Frame) -> Mapping[str, str]:
    """The columns of teams, which must exist once."""
    for key, column in of_teams.items():
        if frame.names.count(column) != 1:
            fault = "there is no column" if column not in frame.names else "there are two columns"
            raise SourceError(
                f"{fault} {column!r} ({key}) among the columns {', '.join(map(repr, frame.names))}", "results"
            )
    return of_teams


def _hidden_in_index(frame: Frame, named: Columns) -> str:
    """A hint if the index has columns that are searched for."""
    wanted = {getattr(named, key) for key in _READ} - set(frame.names)
    hidden = [name for name in frame.index_names if name in wanted]
    return f"; {hidden[0]!r} is in the index: results.reset_index() makes it a column" if hidden else ""


def _labelled(error: SourceError, frame: Frame) -> str:
    rows = list(dict.fromkeys((row - 1) // frame.copies for row in error.rows))
    labels = frame.labels([row * frame.copies for row in rows])
    rows = [row + 1 for row in rows]
    return str(SourceError(error.rule, error.source, error.contest, error.member, rows, error.lines, labels))


def find_times(frame: Frame, named: Columns, found: Mapping[str, str]) -> dict[str, str]:
    """The columns, with ``date`` as that of the times if no other is found and it holds dates or datetimes.

    Warns of another column that is called as times are and is ignored.
    """
    if "time" in found or "time" in named.named:
        return dict(found)
    kind = frame.arrow(["date"]).column(0).type if frame.names.count("date") == 1 else pa.null()
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return {**found, "time": "date"}
    ignored = near_column("time", [name for name in frame.names if name not in found.values()])
    if ignored is not None:
        warn_user(
            f"there is no column time, and {ignored!r} is ignored: columns={{'time': {ignored!r}}} uses it, "
            "columns={'time': ''} ignores it without this warning"
        )
    return dict(found)
