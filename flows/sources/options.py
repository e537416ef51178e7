"""All settings of the readers of contest files, in one value."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .absences import Absent
from .base import OnError, Order
from .column_names import Columns
from .durations import check_duration
from .limits import Limits
from .time_columns import check_time_format

Duplicates = Literal["error", "best", "last"]
FORMATS = ("csv", "tsv", "jsonl", "json", "parquet")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}


@dataclass(frozen=True)
class ReadOptions:
    """All settings with which :func:`ranklake.flows.sources.files.contests.read_contests` reads a path.

    ``order``: ``number``: by file number, in tables by contest id. ``time``: by time, then number, in tables first
    appearance. ``given``: in the order of the archive, a folder by name, a table by first appearance. By default
    ``number``, for tables ``given``, for Delta tables ``time``.
    ``on_error``: ``stop`` at the first contest with a fault, or ``skip`` it and list it in the report. Damage to the
    file as a whole always stops.
    ``dedupe``: drop contests that repeat an earlier one, see :func:`ranklake.flows.sources.base.filter_contests`.
    ``duplicates``: treatment of players that a contest of a table lists twice: ``error``, or keep the ``best`` place or
    the ``last`` row. Tables with ``lo`` and ``hi`` always fail, because their places cannot be computed again.
    ``absent``: treatment of participants without a place: ``error``; ``last``, one tie group behind all others;
    ``drop``; or ``none``, every number is a place or score, and anything else an error.
    ``input_format``: one of ``FORMATS``; None takes it from the ending of the file's name, ``csv`` for standard input.
    ``delimiter``: between the fields of a text table: one character, or ``tab``; None detects it from the header.
    ``time_format``: one of ``TIME_FORMATS`` or a pattern of ``strptime``.
    ``field_includes_unrated``: rated participants of all contests compete with unrated ones, too.
    ``duration_unit``: seconds of a contest of precision 1, for a column of durations.
    Raises ValueError: a setting has an invalid value.
    """

    columns: Columns = field(default_factory=Columns)
    order: Order | None = None
    on_error: OnError = "stop"
    dedupe: bool = False
    duplicates: Duplicates = "error"
    absent: Absent = "error"
    input_format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    time_format: str = "auto"
    limits: Limits = field(default_factory=Limits)
    field_includes_unrated: bool = False
    duration_unit: int | None = None

    def __post_init__(self) -> None:
        check_duration(self.columns.duration, self.duration_unit)
        choices: tuple[tuple[str, str | None, tuple[str, ...]], ...] = (
            ("order", self.order, get_args(Order)),
            ("on_error", self.on_error, get_args(OnError)),
            ("duplicates", self.duplicates, get_args(Duplicates)),
            ("absent", self.absent, get_args(Absent)),
            ("input_format", self.input_format, FORMATS),
        )
        for name, value, known in choices:
            if value not in known and not (value is None and name in ("order", "input_format")):
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if self.columns.team and self.duplicates != "error":
            rule = f"duplicates={self.duplicates!r} is not for results of teams (column team={self.columns.team})"
            raise ValueError(f"{rule}: a player has one team in a contest")
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", check_delimiter(self.delimiter))
        check_encoding(self.encoding)
        check_time_format(self.time_format)

    @classmethod
    def parse(cls, columns: Iterable[str] = (), limits: Iterable[str] = (), **choices: Any) -> ReadOptions:
        """From settings of the command line: ``KEY=COLUMN`` for each column, ``KEY=NUMBER`` for each limit."""
        return cls(columns=Columns.parse(columns), limits=Limits.parse(limits), **choices)


def check_delimiter(delimiter: str) -> str:
    """The character that a delimiter is: itself, or that of a word such as ``tab``; else ``ValueError``."""
    mark = _WORDS.get(delimiter, delimiter)
    if len(mark) != 1 or not mark.isascii() or mark in '"\r\n':
        raise ValueError(f"delimiter must be one character, as ';', or tab, got {delimiter!r}")
    return mark


def check_encoding(encoding: str) -> None:
    """Raise ``ValueError`` unless Python knows this encoding of text."""
    try:
        codecs.lookup(encoding)
        "".encode(encoding)
    except (LookupError, ValueError):
        raise ValueError(f"unknown encoding {encoding!r}; utf-8, latin-1, cp1252, utf-16, ...") from None
