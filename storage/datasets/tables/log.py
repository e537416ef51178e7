"""The log of manual corrections of a data set, append-only: author, time and reason; and the corrections in force."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import pyarrow as pa

from ...lake import layout
from ...lake.access.lake import Lake, digest_of
from ...lake.schemas import LOG
from ...leases.holder import author
from .aliases import Alias

Kind: TypeAlias = Literal[
    "remove", "disqualify", "reinstate", "alias", "unalias", "season", "season removed", "season restored"
]


class Entry(NamedTuple):
    """One row of the log, columns in the order of ``schemas.LOG``."""

    kind: Kind
    contest_id: str | None
    handle: str | None
    new_handle: str | None
    since_seconds: int | None
    who: str
    time_seconds: int
    why: str
    season: str | None = None

    @property
    def subject(self) -> tuple[str | None, str | None, str | None]:
        """What it was done to: an entry undoes or repeats earlier ones with the same."""
        return self.contest_id, self.handle, self.season


class Log:
    """The corrections of a data set.

    Attributes
    ----------
    entries : list of Entry
        All entries since the first, in order.
    disqualified : dict of str to dict of str to Entry
        In force: by contest, by handle.
    aliases : dict of str to Alias
        In force: by old handle.
    """

    entries: list[Entry]
    disqualified: dict[str, dict[str, Entry]]
    aliases: dict[str, Alias]

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries, self.disqualified, self.aliases = [], {}, {}
        self._latest: dict[tuple[str | None, str | None, str | None], Entry] = {}  # by subject
        for entry in entries:
            self._take(entry)

    @classmethod
    def read(cls, lake: Lake, dataset: str, file: str) -> Log:
        """The log in a file named by the table of contests."""
        columns = lake.read_table(layout.dataset_file(dataset, "log", file), "log").columns
        return cls(map(Entry, *(column.to_pylist() for column in columns)))

    @property
    def digest(self) -> str:
        """Digest of exactly these entries."""
        rows = [entry if entry.season is not None else entry[:-1] for entry in self.entries]  # as of earlier releases
        return digest_of(json.dumps(rows, allow_nan=False).encode())

    def file(self, epoch: int = 0) -> str:
        """A name for the file that holds exactly these entries; ``epoch`` is that of the data set."""
        return f"{self.digest}{layout.epoch_suffix(epoch)}.parquet"

    @property
    def table(self) -> pa.Table:
        """The entries, one row each; see ``schemas.LOG``."""
        return pa.Table.from_pylist([entry._asdict() for entry in self.entries], schema=LOG)

    def note(
        self,
        kind: Kind,
        *,
        contest_id: str | None = None,
        handle: str | None = None,
        alias: Alias | None = None,
        season: tuple[str, int] | None = None,
        why: str = "",
    ) -> None:
        """Add an entry with the present time and the user of this process; ``season``: its name and time."""
        new, since = (None, None) if alias is None else alias
        name, since = (None, since) if season is None else season
        self._take(Entry(kind, contest_id, handle, new, since, author(), int(time.time()), why, name))

    def in_force(self, entry: Entry) -> bool:
        """Whether no later entry has the same subject."""
        return self._latest.get(entry.subject) is entry

    def _take(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._latest[entry.subject] = entry
        contest_id, handle = entry.contest_id or "", entry.handle or ""
        if entry.kind == "disqualify":
            self.disqualified.setdefault(contest_id, {})[handle] = entry
        elif entry.kind == "reinstate":
            players = self.disqualified.get(contest_id, {})
            players.pop(handle, None)
            if not players:
                self.disqualified.pop(contest_id, None)
        elif entry.kind == "alias":
            self.aliases[handle] = Alias(entry.new_handle or "", entry.since_seconds)
        elif entry.kind == "unalias":
            self.aliases.pop(handle, None)
