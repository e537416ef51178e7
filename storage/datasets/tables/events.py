"""The events of a data set: dated seasons, and resets of beliefs that come between two rounds.

The table has all events that were ever recorded, also removed ones: a removal can be undone, and no number is used
again. A file of events is named by a digest of its rows, and by the metadata of the table of contests, as the log is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...lake import layout
from ...lake.access.lake import Lake, digest_of
from ...lake.errors import LakeError, MissingError
from ...lake.schemas import EVENTS
from ...names.hints import hint, near_names

ALL = "all"
ACTIVE_SINCE = "active_since"
MU_INIT = "mu_init"
MEAN = "mean"


class Event(NamedTuple):
    """One row of the table of events, columns in the order of ``schemas.EVENTS``.

    ``kind``: ``reset`` acts on beliefs, ``season`` does not; with both, the season ``name`` begins.
    ``centre``: ``mu_init``, ``mean`` (the mean of all players with a round) or a number, rating points.
    """

    event_id: int
    time_seconds: int
    kind: Literal["season", "reset"]
    name: str
    centre: str = MU_INIT
    keep: float = 1.0
    widen: float = 0.0
    history: Literal["keep", "forget"] = "keep"
    restart_counts: bool = False
    who: str = ALL
    log_entry: int = -1
    removed: bool = False

    @property
    def active_since(self) -> int | None:
        """It acts only on players with a round that ended then or later, UTC seconds; None: on others, too."""
        name, _, value = self.who.partition("=")
        return int(value) if name == ACTIVE_SINCE else None

    @property
    def attribute(self) -> tuple[str, str] | None:
        """It acts only on players with this value of this attribute; None: on others, too."""
        if self.who == ALL or self.active_since is not None:
            return None
        name, _, value = self.who.partition("=")
        return name, value

    @property
    def content(self) -> bytes:
        """All that ratings depend on, except the players with an attribute; neither the name nor the number."""
        facts = (self.time_seconds, self.centre, self.keep, self.widen, self.history, self.restart_counts, self.who)
        return json.dumps(facts, allow_nan=False).encode()


class Events:
    """The events of a data set; iteration yields those in force, in order of time, then of number.

    ``rows``: all events that were ever recorded, by number.
    """

    def __init__(self, rows: Iterable[Event] = ()) -> None:
        self.rows = list(rows)

    @classmethod
    def read(cls, lake: Lake, dataset: str, file: str) -> Events:
        """The events in a file named by the table of contests."""
        columns = lake.read_table(layout.dataset_file(dataset, "events", file), "events").columns
        return cls(map(Event, *(column.to_pylist() for column in columns)))

    def __iter__(self) -> Iterator[Event]:
        return iter(sorted((row for row in self.rows if not row.removed), key=lambda row: (row.time_seconds, row[0])))

    def __bool__(self) -> bool:
        return any(not row.removed for row in self.rows)

    @property
    def resets(self) -> list[Event]:
        """The events in force that act on beliefs, in order."""
        return [event for event in self if event.kind == "reset"]

    @property
    def digest(self) -> str:
        """Digest of exactly these rows."""
        return digest_of(json.dumps(self.rows, allow_nan=False).encode())

    def file(self, epoch: int = 0) -> str:
        """A name for the file that holds exactly these rows; ``epoch`` is that of the data set."""
        return f"{self.digest}{layout.epoch_suffix(epoch)}.parquet"

    @property
    def table(self) -> pa.Table:
        """All rows; see ``schemas.EVENTS``."""
        return pa.Table.from_pylist([row._asdict() for row in self.rows], schema=EVENTS)

    def find(self, name: str, dataset: str) -> Event:
        """The season of a name in force. Raises MissingError: there is none; names near ones."""
        return self._last(name, dataset, removed=False)

    def add(self, event: Event) -> Event:
        """Record an event under the next number; raises LakeError as :meth:`same`."""
        assert self.same(event) is None
        event = event._replace(event_id=len(self.rows))
        self.rows.append(event)
        return event

    def same(self, event: Event) -> Event | None:
        """The event in force with the name and the facts of one that may have no number yet; None without one.

        Raises LakeError: another one has its name.
        """
        found = next((other for other in self if other.name == event.name), None)
        if found is not None and found._replace(event_id=event.event_id, log_entry=event.log_entry) != event:
            raise LakeError(
                f"the name of a season must be a new one, got {event.name!r}, which another season has; remove that "
                "one first (`ranklake season remove`), or choose another name"
            )
        return found

    def remove(self, name: str, dataset: str) -> Event:
        """Mark a season as removed; errors as for :meth:`find`."""
        event = self.find(name, dataset)._replace(removed=True)
        self.rows[event.event_id] = event
        return event

    def restore(self, name: str, dataset: str) -> Event:
        """Undo the last removal of a season.

        Raises MissingError: no season of this name was removed. LakeError: another one has this name now.
        """
        event = self._last(name, dataset, removed=True)
        if any(other.name == name for other in self):
            raise LakeError(f"season {name!r} of data set {dataset} is in force; remove it first to undo a removal")
        event = event._replace(removed=False)
        self.rows[event.event_id] = event
        return event

    def _last(self, name: str, dataset: str, removed: bool) -> Event:
        found = [row for row in self.rows if row.removed == removed]
        for event in reversed(found):
            if event.name == name:
                return event
        near = hint(name, near_names(name, [row.name for row in found]))
        what = "removed season" if removed else "season"
        about = near or f"; `ranklake season list --dataset {dataset}` shows all seasons"
        raise MissingError(f"data set {dataset} has no {what} {name!r}{about}")


def positions(events: Iterable[Event], ends: npt.NDArray[np.int64]) -> list[int]:
    """The first round after each event, or the number of rounds: the first one that ended at its time or later.

    ``ends`` (int64[n]): end of each round in rated order, UTC seconds; 0 if unknown.
    """
    latest = np.maximum.accumulate(ends) if len(ends) else ends
    return [int(np.searchsorted(latest, event.time_seconds)) for event in events]
