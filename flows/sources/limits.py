"""Limits of the content of files, so that a small hostile file cannot fill the memory or the disk of a machine."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import IO, Any

import pyarrow as pa

from ranklake.rating_kernels.core.limits import PERF_CEILING
from ranklake.storage.datasets.tables.contests import Contest

from ..common.text import quoted
from .base import SourceError

# Limits of stored texts. The longest real handle has 128 characters, the longest real name of a contest 111.
MAX_HANDLE = MAX_CONTEST_ID = 1_024
MAX_NAME = 4_096
MAX_URL = 8_192
MAX_TEXT = 2**16  # bytes of any one value of a table
MAX_COLUMNS = 10_000  # of a table, and different keys of JSON rows
_TEXTS = (("contest_id", "id of a contest", MAX_CONTEST_ID), ("name", "name of a contest", MAX_NAME),
          ("url", "address of a contest", MAX_URL))  # fmt: skip

LEAST_EXPANDED, MOST_EXPANDED = 2**28, 2**36
EXPANSION = 200  # output bytes per byte of a compressed file; real contests have 4 to 20
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class Limits:
    """Upper bounds of input; each can be raised for a trusted file.

    ``expanded``: decompressed bytes of one archive or compressed file. 0 means 200 times the size of the file, at least
    256 MiB and at most 64 GiB.
    ``document``: bytes of one contest file, one JSON document or one line of JSON.
    ``members``: files in an archive or folder, and contests in one file.
    ``rows``: rows of a table, of all its files together. A row takes about 200 bytes of memory.
    ``table``: bytes in memory of the columns that are used of a table.
    ``participants``: participants of one contest.
    Raises ValueError: a limit is not positive.
    """

    expanded: int = 0
    document: int = 2**30
    members: int = 1_000_000
    rows: int = 50_000_000
    table: int = 2**32
    participants: int = 20_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            if (value := getattr(self, field.name)) < (field.name != "expanded"):
                raise ValueError(f"limit {field.name} must be a whole number > 0, got {value}")

    @classmethod
    def parse(cls, settings: Iterable[str]) -> Limits:
        """From settings such as ``rows=200_000_000`` or ``expanded=100GB``; ``ValueError`` for another form, or an
        unknown key.
        """
        keys = [field.name for field in fields(cls)]
        chosen: dict[str, int] = {}
        for setting in settings:
            key, _, value = setting.partition("=")
            number = re.fullmatch(r"(\d[\d_]{0,30})(?:([kmgt]i?)?b?)?", value.strip().lower())
            if key not in keys or number is None or not int(number[1]):
                rule = f"expected KEY=NUMBER, as expanded=100GB, with KEY one of {', '.join(keys)}"
                raise ValueError(f"limit {setting!r}: {rule}")
            chosen[key] = int(number[1]) * _UNITS[number[2] or ""]
        return cls(**chosen)

    def expanded_from(self, size: int) -> int:
        """Maximum number of decompressed bytes of a compressed file of ``size`` bytes."""
        return self.expanded or min(max(LEAST_EXPANDED, EXPANSION * size), MOST_EXPANDED)


def expands_too_far(source: str, size: int, most: int) -> SourceError:
    """The error of an archive or a compressed file of ``size`` bytes whose content has more than ``most``."""
    rule = f"expands from {byte_count(size)} to more than {byte_count(most)}, the limit"
    return SourceError(f"{rule}; if you trust the file, allow more with --limit expanded=...", source)


class BoundedReader(io.RawIOBase):
    """A stream that raises the error ``too_large`` beyond a number of bytes; it seeks forward only, and closes its
    stream.
    """

    def __init__(self, stream: IO[bytes] | Any, limit: int, too_large: Callable[[], SourceError]) -> None:
        super().__init__()
        self._stream, self._limit, self._too_large, self._position = stream, limit, too_large, 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or position < self._position:
            raise io.UnsupportedOperation("this stream is read forward only")
        while self._position < position and self.read(min(position - self._position, 2**20)):
            pass
        return self._position

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, n: int = -1) -> bytes:
        """At most ``n`` bytes, all by default."""
        left = self._limit - self._position
        data: bytes = self._stream.read(left + 1 if n is None or n < 0 else min(n, left + 1))
        if len(data) > left:
            raise self._too_large()
        self._position += len(data)
        return data

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def check_contest(
    contest: Contest, source: str = "", member: str = "", rows: Any = (), *, short_handles: bool = False
) -> SourceError | None:
    """The fault of a contest with a handle, an id, a name or an address that is too long; None if it has none.

    Unrated participants or limits in a contest of teams, and limits without a rating between them, are faults, too.
    ``rows`` are the numbers of the participations in the source, by default their places; with ``short_handles`` no
    handle of the source has more than ``MAX_HANDLE`` bytes: they are not looked at again.
    """
    for key, noun, limit in _TEXTS:
        if too_long := check_length(noun, getattr(contest, key), limit):
            return SourceError(too_long, source, contest.contest_id[:80], member)
    if rule := rule_of_rated(
        contest.teams is not None, contest.rated is not None, contest.rated_above, contest.rated_below
    ):
        return SourceError(rule, source, contest.contest_id, member)
    columns = [] if short_handles else [("player", contest.handles)]
    if contest.teams is not None:
        columns.append(("team", contest.teams.name))
    for noun, names in columns:
        if are_short(names):
            continue
        import pyarrow.compute as pc

        lengths = pc.utf8_length(names)
        at = pc.index(pc.greater(lengths, MAX_HANDLE), True).as_py()
        if at >= 0:
            rule = f"the {noun} {names[at].as_py()[:40]!r}... has {lengths[at].as_py():,} characters"
            row = int(rows[at]) if len(rows) else at
            return SourceError(
                f"{rule}, at most {MAX_HANDLE:,} are allowed", source, contest.contest_id, member, (row,)
            )
    return None


def fault_of_names(names: list[str]) -> tuple[str, tuple[int, ...]] | None:
    """The rule that players of a contest break, and their numbers: listed twice, or without a name."""
    if len(set(names)) < len(names):
        first: dict[str, int] = {}
        for at, name in enumerate(names):
            if first.setdefault(name, at) != at:
                return f"player {quoted(name)} is listed twice", (first[name], at)
    return ("a player needs a name, got an empty one", (names.index(""),)) if "" in names else None


def rule_of_rated(teams: bool, unrated: bool, above: float, below: float) -> str:
    """The rule that a contest with teams, unrated participants or limits breaks, for a message; empty if none."""
    if teams and unrated:
        return "a contest of teams has unrated participants; all of them must be rated"
    if teams and (above > -math.inf or below < math.inf):
        return "a contest of teams has rated_above or rated_below; all its participants must be rated"
    for name, value, none in (("rated_above", above, -math.inf), ("rated_below", below, math.inf)):
        if value != none and not PERF_CEILING.low <= value <= PERF_CEILING.high:
            return f"{name} must be {PERF_CEILING.rule}, got {value}"
    if above >= below:
        return f"rated_above = {above:g} is not less than rated_below = {below:g}: no rating is in this range"
    return ""


def are_short(handles: pa.StringArray) -> bool:
    """Whether no handle has more than ``MAX_HANDLE`` bytes: a character has at least one, so none needs a count."""
    import pyarrow.compute as pc

    return (pc.max(pc.binary_length(handles)).as_py() or 0) <= MAX_HANDLE


def check_length(noun: str, text: str, limit: int) -> str:
    """The rule that a too long text breaks, for a message; empty if the text is not too long."""
    if len(text) <= limit:
        return ""
    return f"the {noun} has {len(text):,} characters, at most {limit:,} are allowed; it begins with {text[:40]!r}"


def check_participants(n: int, limits: Limits, source: str, contest: str, member: str = "") -> None:
    """Raise :class:`SourceError` for a contest with too many participants."""
    if n > limits.participants:
        rule = f"{n:,} participants, at most {limits.participants:,} are allowed"
        raise SourceError(f"{rule}; --limit participants=... allows more", source, contest, member)


def byte_count(n: int) -> str:
    """A number of bytes for a message: ``4.5 KiB``, ``1 GiB``."""
    value, unit = float(n), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def check_width(n_columns: int, source: str) -> None:
    """Raise :class:`SourceError` for a table with too many columns."""
    if n_columns > MAX_COLUMNS:
        rule = f"the table has more than {MAX_COLUMNS:,} columns, the limit"
        raise SourceError(f"{rule}; leave out those that are not needed", source)
