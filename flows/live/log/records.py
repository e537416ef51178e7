"""Records of a log, what every log does with them, and its errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias, get_args

from ranklake.storage.lake.errors import DamagedError

Kind: TypeAlias = Literal["match", "remove", "amend", "alias", "ban", "unban", "season"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # a folder stores positions in it: new kinds go to the end


class Entry(NamedTuple):
    """What is appended: its kind, the id of a match (any text for other kinds), and JSON."""

    kind: Kind
    id: str
    body: bytes


class Record(NamedTuple):
    """One record of a log.

    ``sequence``: 1, 2, ... in the order of acceptance.
    ``received``: when it was accepted, UTC in seconds since the epoch; 0.0 if the record is released from a folder.
    ``body``: the JSON, byte for byte as appended; empty if the record is released.
    """

    sequence: int
    kind: Kind
    id: str
    received: float
    body: bytes


class LogUnavailableError(Exception):
    """The log takes no records at present, and none of the group was written.

    ``retry_after``: seconds until another attempt can succeed.
    """

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason, retry_after)
        self.reason, self.retry_after = reason, retry_after

    def __str__(self) -> str:
        return self.reason


def shortened(name: str, last: int, sequence: int) -> DamagedError:
    """The error of a log ``name`` that has lost its records after ``last``: the data set has those to ``sequence``."""
    return DamagedError(
        f"the log {name} ends with the record {last:,}, and the data set has the records to {sequence:,}: restore the "
        "log from a backup, or give the address of an empty one"
    )


class Log(Protocol):
    """The log of a data set, which this process alone writes.

    One thread appends and releases; any thread reads and finds.

    ``last``: the sequence number of the last durable record; 0 in an empty log.
    ``available``: whether the last attempt to write succeeded. False while :meth:`append` waits for a database to tell
    the outcome of a commit.
    """

    @property
    def last(self) -> int: ...

    @property
    def available(self) -> bool: ...

    def begin_after(self, sequence: int) -> None:
        """Begin an empty log after a record that the data set has from an earlier one; to be called before any append.

        Raises DamagedError: the log has records, but the last one is before that one.
        """

    def append(self, entries: Sequence[Entry], received: float) -> int:
        """Append a group of at least one record; all of them are durable when it returns, or none is.

        The ids of the matches must be new: see :meth:`find`.

        Returns int: the sequence number of the first one.

        Raises LogUnavailableError: nothing was written. Of a closed database log alone the outcome may be unknown.
        Raises LeaseHeldError, DamagedError: another process writes the log. This process must end.
        """

    def read(self, start: int = 1) -> Iterator[Record]:
        """The records from a sequence number on, to the last one at the time of the call.

        Raises MissingError: records from there on are released.
        Raises DamagedError: a record is not as it was written; names its place.
        Raises DatabaseError: the database cannot be reached.
        """

    def find(self, ids: Sequence[str]) -> list[Record | None]:
        """The records of matches by their ids, None for each unknown id.

        Raises LogUnavailableError: the database cannot be reached.
        """

    def release(self, before: int) -> None:
        """Allow the log to delete the bodies of records before a sequence number; the ids of matches stay."""

    def close(self) -> None:
        """Let another process write the log; an :meth:`append` that waits for a database ends."""
