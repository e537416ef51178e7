"""From the stored responses of a site to a data set: changed documents are parsed, the others are confirmed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec
import pyarrow as pa

from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.ingest import Ingest
from ranklake.storage.datasets.tables.contests import Contest
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import MissingError
from ranklake.storage.lake.json_files import decode

from ..common.progress import ProgressCallback
from ..sources.base import SourceError, contest_number
from ..sources.sites.documents import Document, Key
from ..sources.sites.site import Site
from .adding import How
from .report import SourceReport
from .response_archive import ResponseArchive

R = TypeVar("R", bound=msgspec.Struct)


class _DocumentRecord(msgspec.Struct):
    """The contests that a data set has from one document, and the fingerprint of this document."""

    fingerprint: str
    contests: list[str]


class SourceRecord(msgspec.Struct):
    """The contents of a data set from a site, so that unchanged documents need no parsing and removals are detected.

    ``version`` is that of the site's parser, 0 if the data set has nothing from the site. ``documents`` are named by
    their keys. ``handles`` and ``aliases`` are those of :class:`PlayerNames`.
    """

    version: int = 0
    documents: dict[str, _DocumentRecord] = {}
    handles: dict[str, str] = {}
    aliases: dict[str, str] = {}

    def contests(self) -> list[str]:
        """Ids of all contests from the site."""
        return [contest_id for document in self.documents.values() for contest_id in document.contests]

    def is_current(self, version: int, fingerprints: dict[str, str]) -> bool:
        """Whether the same parser has read exactly these documents."""
        records = {key: document.fingerprint for key, document in self.documents.items()}
        return self.version == version and records == fingerprints


def update_dataset(
    lake: Lake, archive: ResponseArchive, site: Site, report: SourceReport, how: How, *, everything: bool = False
) -> None:
    """Bring the data set of a report up to date with the responses of a site, and fill the report; ``everything`` also
    parses unchanged documents.
    """
    dataset, report.absent = report.dataset, archive.absent(*site.kinds)
    path = layout.source_file(dataset, site.name)
    keys = sorted(set(archive.keys(*site.kinds, *site.name_kinds)), key=natural_order)
    fingerprints = {str(key): archive.fingerprint(key) for key in keys}
    if not everything:
        record, _ = read_site_record(lake, path, SourceRecord)
        contests = record.contests()
        if record.is_current(site.version, fingerprints) and _contest_ids(lake, dataset).issuperset(contests):
            report.unchanged = len(contests)
            return
    with how.ingest(lake, dataset, order="time") as adding:
        record, version = read_site_record(lake, path, SourceRecord)  # again: under the lease nobody else changes it
        names = PlayerNames(record.handles, record.aliases, _names(archive, site)) if site.name_kinds else None
        before = _contest_ids(lake, dataset).intersection(record.contests())
        updater = _DatasetUpdater(adding, archive, site, names, report, record.version == 0, before)
        records = {} if everything or record.version != site.version else record.documents
        new = SourceRecord(site.version, updater.update(keys, fingerprints, records, how.on_progress))
        for contest_id in sorted(before - updater.seen):
            adding.remove(contest_id, f"{site.name} has it no longer")
            report.removed += 1
        if names is not None:
            names.rename(adding)
            new.handles, new.aliases = names.handles, names.aliases
        adding.record(path, msgspec.json.encode(new), version)
    report.renamed, report.alike = adding.recomputed, adding.alike_players()


@dataclass
class _DatasetUpdater:
    """Adds the contests of documents to a data set, and counts them in the report."""

    adding: Ingest
    archive: ResponseArchive
    site: Site
    names: PlayerNames | None
    report: SourceReport
    first: bool  # whether the data set has nothing from this site yet
    before: set[str]  # contests that the data set has from this site
    seen: set[str] = field(default_factory=set)  # contests that the site still has
    repeating: set[Key] = field(default_factory=set)  # documents that repeat contests of other documents

    def update(
        self,
        keys: list[Key],
        fingerprints: dict[str, str],
        stored: dict[str, _DocumentRecord],
        on_progress: ProgressCallback,
    ) -> dict[str, _DocumentRecord]:
        """Add the contests of all documents; if the fingerprint in ``known`` is the same, they are only confirmed."""
        same = {key for key in keys if str(key) in stored and stored[str(key)].fingerprint == fingerprints[str(key)]}
        changed = self.archive.read_ahead([key for key in keys if key.kind in self.site.kinds and key not in same])
        records = {}
        for done, key in enumerate(keys):
            on_progress(done, len(keys), f"reading {key.shown}")
            contests: list[str] = []
            if key in same:
                contests = stored[str(key)].contests
                if not self._confirm(contests):
                    contests = self._add(self.archive.read(key))
            elif key.kind in self.site.kinds:
                contests = self._add(next(changed))
            # The other document with the same contest may lose it later: then this one must be parsed again.
            fingerprint = "" if key in self.repeating else fingerprints[str(key)]
            records[str(key)] = _DocumentRecord(fingerprint, contests)
        return records

    def _confirm(self, contests: list[str]) -> bool:
        """Confirm the contests of an unchanged document; False if one was removed manually or is in another one."""
        if not self.before.issuperset(contests) or not self.seen.isdisjoint(contests):
            return False
        for contest_id in contests:
            self.adding.confirm(contest_id)
        self.seen.update(contests)
        self.report.unchanged += len(contests)
        return True

    def _add(self, document: Document) -> list[str]:
        """Add the contests of a document; return the ids of those that the data set now has from it."""
        contests = []
        for contest in self._parse(document):
            contest_id = contest.contest if isinstance(contest, SourceError) else contest.contest_id
            if isinstance(contest, SourceError):
                self.report.reject(contest)
                if contest_id not in self.before:
                    continue  # an earlier version without a fault stays as it was
            elif contest_id in self.seen:
                rule = f"it is also in {document.key.shown}"
                self.report.reject(SourceError(rule, self.site.name, contest_id, document.response.url))
                self.repeating.add(document.key)
                continue
            else:
                self._add_contest(contest)
            self.seen.add(contest_id)
            contests.append(contest_id)
        return contests

    def _parse(self, document: Document) -> list[Contest | SourceError]:
        try:
            return list(self.site.parse(document))
        except SourceError as fault:  # stored by an earlier version of the parser
            contest = fault.contest or document.key.name
            return [SourceError(fault.rule, fault.source, contest, fault.member, fault.rows)]

    def _add_contest(self, contest: Contest) -> None:
        if self.names is not None:
            handles = self.names.of(contest.handles.to_pylist())
            contest = replace(contest, handles=pa.array(handles, pa.string()))
        change = self.adding.add(contest)
        if change == "corrected" and self.first:
            raise ValueError(
                f"data set {self.report.dataset} already has a contest {contest.contest_id} from another source than "
                f"{self.site.name}; give another --dataset"
            )
        self.report.count(change)


def read_site_record(lake: Lake, path: str, kind: type[R]) -> tuple[R, str]:
    """A record of a site, an empty one if there is none, and the version of its file; raises if it is damaged."""
    try:
        data, version = lake.read_versioned(path)
    except MissingError:
        return kind(), ""
    return decode(kind, data, path, versioned=False), version


def _names(archive: ResponseArchive, site: Site) -> dict[str, str]:
    """The site's names of players by id; the last document counts."""
    names: dict[str, str] = {}
    for document in archive.read_ahead(sorted(archive.keys(*site.name_kinds), key=natural_order)):
        with suppress(SourceError):  # reported where the contests of the document are parsed
            names.update(site.names(document))
    return names


def _contest_ids(lake: Lake, dataset: str) -> set[str]:
    try:
        return set(Dataset.open(lake, dataset).contests.column("contest_id").to_pylist())
    except MissingError:
        return set()


def natural_order(key: Key) -> tuple[str, int, str]:
    """Order documents by kind, then number, then name; the data set orders its contests by time."""
    number = contest_number(key.name)
    return key.kind, -1 if number is None else number, key.name


class PlayerNames:
    """Handles by id: ``handles`` by id and ``aliases`` by handle, as they are in the data set, with new ones added;
    ``current`` has the names at the site, by id.
    """

    def __init__(self, handles: Mapping[str, str], aliases: Mapping[str, str], current: Mapping[str, str]) -> None:
        self.handles, self.aliases, self._current = dict(handles), dict(aliases), current
        self._owner = {handle: player for player, handle in self.handles.items()}
        self._owner.update((alias, self._owner[handle]) for handle, alias in self.aliases.items())

    def of(self, players: Iterable[str]) -> list[str]:
        """Handles of players; a new player gets the name at the site, or the id if there is none."""
        return [self.handles.get(player) or self._first(player) for player in players]

    def rename(self, adding: Ingest) -> None:
        """Add an alias for each new name; remove it when a player returns to the first name."""
        for player, handle in self.handles.items():
            name = self._current.get(player) or handle
            if self.aliases.get(handle, handle) in (name, _with_id(name, player)):
                continue
            alias = self._free(name, player)
            if alias == handle:
                adding.unalias(handle, "a name of old")
                del self.aliases[handle]
            else:
                adding.alias(handle, alias, why="a new name")
                self.aliases[handle] = alias
            self._owner[alias] = player

    def _first(self, player: str) -> str:
        handle = self._free(self._current.get(player) or player, player)
        self.handles[player], self._owner[handle] = handle, player
        return handle

    def _free(self, name: str, player: str) -> str:
        """The name, with the id appended if another player has it."""
        while self._owner.get(name, player) != player:
            name = _with_id(name, player)
        return name


def _with_id(name: str, player: str) -> str:
    return f"{name} ({player})"
