"""The record of a log in the lake: which of its records the data set has, and in which periods."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from ranklake.storage import FORMAT_VERSION, Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.json_files import decode
from ranklake.storage.leases.roots import read_root

_SOURCE = "live"


class WrittenPeriod(msgspec.Struct, frozen=True, omit_defaults=True):
    """A period of the log that the data set has.

    ``name``: of the period of games, or of the time in which contests were accepted.
    ``first``, ``last``: sequence numbers of its first and last record.
    ``end``: UTC seconds. ``others``: sequence numbers of its records that are no matches, or removed ones.
    """

    name: str
    first: int
    last: int
    end: int
    others: tuple[int, ...] = ()

    def place_of(self, sequence: int) -> int:
        """How many of its matches come before a record."""
        return sequence - self.first - bisect_right(self.others, sequence)


class LiveRecord(msgspec.Struct, frozen=True, tag_field="format", tag=FORMAT_VERSION):
    """The periods of a log that its data set has, in order.

    ``banned``: players of whom no match is accepted after them.
    """

    periods: tuple[WrittenPeriod, ...] = ()
    banned: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """Sequence number of the last record that the data set has; 0 if it has none."""
        return self.periods[-1].last if self.periods else 0

    def period_of(self, sequence: int) -> WrittenPeriod | None:
        """The period that has a record; None if no period has it yet."""
        at = bisect_right(self.periods, sequence, key=lambda period: period.first) - 1
        return self.periods[at] if at >= 0 and sequence <= self.periods[at].last else None

    def first_after(self, end: int) -> int:
        """Sequence number of the first record that is in no period that ended before a time, UTC seconds."""
        return next((period.first for period in self.periods if period.end >= end), self.last + 1)

    def with_period(self, period: WrittenPeriod, banned: Iterable[str] = ()) -> LiveRecord:
        """The record with the next period, or with one of its periods as it is now."""
        kept = tuple(one for one in self.periods if one.first < period.first)
        later = tuple(one for one in self.periods if one.first > period.first)
        return LiveRecord((*kept, period, *later), tuple(sorted(banned)))


def read_record(lake: Lake, dataset: str) -> tuple[LiveRecord, str]:
    """The record of a data set and its version; without periods if there is none."""
    path = record_path(dataset)
    data, version = read_root(lake, path)
    return (LiveRecord() if data is None else decode(LiveRecord, data, path)), version


def record_path(dataset: str) -> str:
    """Path of the record, inside the lake."""
    return layout.source_file(dataset, _SOURCE)
