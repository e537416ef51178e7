"""From the raw responses of a site to a data set: what changed is read, and the rest is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import msgspec
import pyarrow as pa

from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.contests import Contest
from ranklake.storage.datasets.ingest import Ingest
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import MissingError
from ranklake.storage.lake.remedies import damaged
from ranklake.storage.leases.holder import LeaseHolder

from ..common.progress import ProgressCallback
from ..sources.base import SourceError, contest_number
from ..sources.sites.documents import Document, Key
from ..sources.sites.site import Site
from .player_names import PlayerNames
from .report import SourceReport
from .response_archive import ResponseArchive

__all__ = ["update_dataset"]


class _DocumentRecord(msgspec.Struct):
    """What came of one document."""

    fingerprint: str
    contests: list[str]


class _SourceRecord(msgspec.Struct):
    """What a data set has taken from a site: it saves reading what was read, and tells what is no longer there."""

    version: int = 0
    documents: dict[str, _DocumentRecord] = {}
    handles: dict[str, str] = {}
    aliases: dict[str, str] = {}


_RECORD = msgspec.json.Decoder(_SourceRecord)


def update_dataset(
    lake: Lake,
    archive: ResponseArchive,
    site: Site,
    dataset: str,
    *,
    everything: bool = False,
    rewrite: bool = False,
    steal: bool = False,
    on_wait: Callable[[LeaseHolder], None] = lambda by: None,
    on_progress: ProgressCallback = lambda done, total, message: None,
) -> SourceReport:
    """Bring a data set up to date with the raw responses; unless ``everything`` is, what was read is not read again."""
    report = SourceReport(site.name, dataset, absent=archive.absent(*site.kinds))
    path = layout.source_file(dataset, site.name)
    keys = sorted(set(archive.keys(*site.kinds, *site.name_kinds)), key=_natural)
    fingerprints = {str(key): archive.fingerprint(key) for key in keys}
    held = None if everything else _holds(_read_record(lake, path)[0], site, fingerprints, _contests(lake, dataset))
    if held is not None:
        report.unchanged = held
        return report
    with Dataset.ingest(lake, dataset, order="time", rewrite=rewrite, steal=steal, on_wait=on_wait) as adding:
        record, version = _read_record(lake, path)  # nobody else changes it from here on, nor the data set
        there = _contests(lake, dataset)
        now = _SourceRecord(site.version, {})
        names = PlayerNames(record.handles, record.aliases, _names(archive, site)) if site.name_kinds else None
        before = {one for taken in record.documents.values() for one in taken.contests} & there
        updater = _DatasetUpdater(site, names, report, before)
        known = {} if everything or record.version != site.version else record.documents
        same = {key for key in keys if str(key) in known and known[str(key)].fingerprint == fingerprints[str(key)]}
        documents = archive.read_ahead([key for key in keys if key.kind in site.kinds and key not in same])
        for done, key in enumerate(keys):
            on_progress(done, len(keys), f"reading {key.shown}")
            contests: list[str] | None = []
            if key in same:
                contests = updater.confirm(adding, known[str(key)].contests)
            elif key.kind in site.kinds:
                contests = updater.read(adding, next(documents), new_to_us=record.version == 0)
            if contests is None:  # it was taken out by hand, and comes back
                contests = updater.read(adding, archive.read(key), new_to_us=False)
            # What stands elsewhere, too, may be gone from there the next time: then it counts here.
            fingerprint = "" if key in updater.repeating else fingerprints[str(key)]
            now.documents[str(key)] = _DocumentRecord(fingerprint, contests)
        for contest_id in sorted(before - updater.seen):
            adding.remove(contest_id, f"{site.name} has it no longer")
            report.removed += 1
        if names is not None:
            names.rename(adding)
            now.handles, now.aliases = names.handles, names.aliases
        adding.record(path, msgspec.json.encode(now), version)
    report.renamed = adding.recomputed
    return report


def _holds(record: _SourceRecord, site: Site, fingerprints: dict[str, str], there: set[str]) -> int | None:
    """How many contests a data set has from a site, if it has all that the responses tell; else None."""
    if record.version != site.version or record.documents.keys() != fingerprints.keys():
        return None
    if any(taken.fingerprint != fingerprints[key] for key, taken in record.documents.items()):
        return None
    contests = [contest_id for taken in record.documents.values() for contest_id in taken.contests]
    return len(contests) if there.issuperset(contests) else None


class _DatasetUpdater:
    """Puts the contests of documents into a data set, and counts.

    ``before`` are those that the data set has from this site, ``seen`` those that the site still has, ``repeating`` the
    documents that repeat contests of other documents.
    """

    def __init__(self, site: Site, names: PlayerNames | None, report: SourceReport, before: set[str]) -> None:
        self._site, self._names, self._report, self.before = site, names, report, before
        self.seen: set[str] = set()
        self.repeating: set[Key] = set()

    def confirm(self, adding: Ingest, contests: list[str]) -> list[str] | None:
        """Contests that were read before and did not change; None if they must be read again after all."""
        if not self.before.issuperset(contests) or not self.seen.isdisjoint(contests):
            return None
        for contest_id in contests:
            adding.confirm(contest_id)
        self.seen.update(contests)
        self._report.unchanged += len(contests)
        return contests

    def read(self, adding: Ingest, document: Document, *, new_to_us: bool) -> list[str]:
        """Take in the contests of a document; returns those that the data set has of it."""
        taken, key = [], document.key
        try:
            found: list[Contest | SourceError] = list(self._site.parse(document))
        except SourceError as fault:  # read by an earlier version of the site's reader
            found = [SourceError(fault.rule, fault.source, fault.contest or key.name, fault.member, fault.rows)]
        for contest in found:
            if isinstance(contest, SourceError):
                contest_id = contest.contest
                self._report.reject(contest)
                if contest_id not in self.before:
                    continue  # what was good before stays as it was
            else:
                contest_id = contest.contest_id
                if contest_id in self.seen:
                    rule = f"it stands in {key.shown} once more"
                    self._report.reject(SourceError(rule, self._site.name, contest_id, document.response.url))
                    self.repeating.add(key)
                    continue
                if self._names is not None:
                    handles = pa.array(self._names.of(contest.handles.to_pylist()), pa.string())
                    contest = replace(contest, handles=handles)
                change = adding.add(contest)
                if change == "corrected" and new_to_us:
                    raise ValueError(
                        f"data set {self._report.dataset} has a contest {contest_id} already, and not from "
                        f"{self._site.name}; give another --dataset"
                    )
                self._report.count(change)
            self.seen.add(contest_id)
            taken.append(contest_id)
        return taken


def _read_record(lake: Lake, path: str) -> tuple[_SourceRecord, str]:
    """What a record says, and its version."""
    try:
        data, version = lake.read_versioned(path)
        return _RECORD.decode(data), version
    except MissingError:
        return _SourceRecord(), ""
    except msgspec.MsgspecError as error:
        raise damaged(path, str(error)) from None


def _names(archive: ResponseArchive, site: Site) -> dict[str, str]:
    """What a site calls its players, by id; the last document counts."""
    found: dict[str, str] = {}
    for document in archive.read_ahead(sorted(archive.keys(*site.name_kinds), key=_natural)):
        with suppress(SourceError):  # told where its contests are read
            found.update(site.names(document))
    return found


def _contests(lake: Lake, dataset: str) -> set[str]:
    try:
        return set(Dataset.open(lake, dataset).contests.column("contest_id").to_pylist())
    except MissingError:
        return set()


def _natural(key: Key) -> tuple[str, int, str]:
    """Documents by kind, then number, then name; times come before that, and are the data set's affair."""
    number = contest_number(key.name)
    return key.kind, -1 if number is None else number, key.name
