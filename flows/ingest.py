"""From a site to a data set: ask for what is missing, read the raw answers, and take in what they tell."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

import msgspec

from flows.client import Client
from flows.fetch import Told, fetch
from flows.raw import Key, Raw
from flows.sources.base import SourceError, contest_number
from flows.sources.site import Site, find_site
from flows.times import parse_time
from storage import Dataset, Lake, layout
from storage.contests import Contest
from storage.errors import DamagedError, MissingError
from storage.ingest import Ingest

__all__ = ["SourceReport", "ingest_source", "normalise_source", "open_client"]


@dataclass
class SourceReport:
    """What came of an ingestion.

    Attributes
    ----------
    source, dataset : str
        From where to where.
    new, corrected, removed, unchanged : int
        Contests of the data set; ``removed`` are those that the site has taken back.
    rejected : list of (contest_id, reason)
        What was not taken, now or again: contests with a fault, and answers that nobody can read.
    requests : int
        How often the site was asked.
    seconds : float
        All in all.
    """

    source: str
    dataset: str
    new: int = 0
    corrected: int = 0
    removed: int = 0
    unchanged: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)
    requests: int = 0
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        """Whether ratings may have to follow."""
        return bool(self.new or self.corrected or self.removed)

    def line(self) -> str:
        """The counts, for a person."""
        kinds = ("new", "corrected", "removed", "unchanged")
        counts = [f"{n:,} {kind}" for kind in kinds if (n := getattr(self, kind))]
        if self.rejected:
            counts.append(f"{len(self.rejected):,} rejected")
        asked = f"{self.requests:,} request{'' if self.requests == 1 else 's'}" if self.requests else "nothing asked"
        return f"{', '.join(counts) or 'no contests'}; {asked}, in {self.seconds:.1f} s"

    def lines(self) -> list[str]:
        """What was rejected and why, one line each; then the counts."""
        return [*(f"rejected: {reason}" for _, reason in self.rejected), self.line()]


def ingest_source(
    lake: Lake,
    source: str,
    dataset: str | None = None,
    *,
    since: str | None = None,
    base_url: str | None = None,
    again: bool = False,
    on_progress: Told = lambda done, total, told: None,
    client: Client | None = None,
) -> SourceReport:
    """Bring a data set up to date with a site.

    What the lake has of the site's answers is not asked for again; a run that was stopped goes on where it stopped.

    Parameters
    ----------
    source
        Name of the site, a key of ``flows.sources.site.SITES``.
    dataset
        Name of the data set, made if need be; by default that of the site.
    since
        Ask only for contests that ended then or later: a date, a time or UTC seconds. It takes nothing out.
    base_url
        Where the site is; by default its own address.
    again
        Ask also for what is there. Without it a contest is asked for again, in its first thirty days, whenever its age
        has doubled.
    on_progress
        Called with how much is done, of how much, and what.
    client
        Asks the site; by default one is made, with the access token in ``RANKLAKE_<SOURCE>_TOKEN`` and the address in
        ``RANKLAKE_CONTACT`` in its user agent.

    Raises
    ------
    ValueError
        A name, time or address is none.
    SourceError
        The site cannot be asked, or answers something else; what was answered until then is kept.
    LakeError
        The lake is damaged.
    """
    began = time.monotonic()
    site = find_site(source)
    dataset = layout.check_dataset_name(dataset or source)
    start = None if since is None else parse_time(since)
    raw = Raw(lake, source)
    with client or open_client(site, base_url) as asking:
        before = asking.requests
        broken = fetch(raw, site, asking, since=start, again=again, on_progress=on_progress)
        requests = asking.requests - before
    report = _take_in(lake, raw, site, dataset, on_progress=on_progress)
    report.rejected[:0] = [(error.contest, str(error)) for error in broken]
    report.requests, report.seconds = requests, time.monotonic() - began
    return report


def normalise_source(
    lake: Lake, source: str, dataset: str | None = None, *, on_progress: Told = lambda done, total, told: None
) -> SourceReport:
    """Read all raw answers of a site again and bring a data set up to date with them; asks nobody.

    Raises
    ------
    ValueError
        A name is none.
    MissingError
        There are no answers of this site in the lake.
    """
    began = time.monotonic()
    site = find_site(source)
    dataset = layout.check_dataset_name(dataset or source)
    raw = Raw(lake, source)
    raw.rebuild()
    if not any(raw.keys(kind) for kind in site.kinds):
        raise MissingError(f"no answers of {source} in {lake.url}; `ranklake ingest {source}` fetches them")
    report = _take_in(lake, raw, site, dataset, everything=True, on_progress=on_progress)
    report.seconds = time.monotonic() - began
    return report


def open_client(site: Site, base_url: str | None = None) -> Client:
    """A client for a site; its token and our address come from the environment.

    Raises
    ------
    ValueError
        The base URL is none.
    """
    return Client(
        site.name,
        base_url or site.base_url,
        interval_seconds=site.interval_seconds,
        pause_seconds=site.pause_seconds,
        token=os.environ.get(f"RANKLAKE_{site.name.upper()}_TOKEN", ""),
        contact=os.environ.get("RANKLAKE_CONTACT", ""),
    )


class _Taken(msgspec.Struct):
    """What came of one document."""

    fingerprint: str
    contests: list[str]


class _Record(msgspec.Struct):
    """What a data set has taken from a site: it saves reading what was read, and tells what is no longer there."""

    version: int = 0
    documents: dict[str, _Taken] = {}


_RECORD = msgspec.json.Decoder(_Record)


def _take_in(
    lake: Lake, raw: Raw, site: Site, dataset: str, *, everything: bool = False, on_progress: Told
) -> SourceReport:
    """Bring a data set up to date with the raw answers; what was read before is not read again."""
    report = SourceReport(site.name, dataset)
    path = layout.source_file(dataset, site.name)
    record = _read_record(lake, path)
    there = _contests(lake, dataset)
    keys = sorted((key for kind in site.kinds for key in raw.keys(kind)), key=_natural)
    read = {} if everything or record.version != site.version else record.documents
    held = [read.get(str(key)) for key in keys]
    fresh = [one is not None and one.fingerprint == raw.fingerprint(key) for key, one in zip(keys, held, strict=True)]
    if all(fresh) and read.keys() == {str(key) for key in keys}:
        ids = [contest_id for one in read.values() for contest_id in one.contests]
        if there.issuperset(ids):
            report.unchanged = len(ids)
            return report
    now = _Record(site.version, {})
    taker = _Taker(site, raw, report, {one for taken in record.documents.values() for one in taken.contests} & there)
    with Dataset.ingest(lake, dataset, order="time") as adding:
        for done, (key, one, same) in enumerate(zip(keys, held, fresh, strict=True)):
            on_progress(done, len(keys), f"reading {key}")
            contests = taker.confirm(adding, one.contests) if one is not None and same else None
            if contests is None:
                contests = taker.read(adding, key, new_to_us=record.version == 0)
            now.documents[str(key)] = _Taken(raw.fingerprint(key), contests)
        for contest_id in sorted(taker.before - taker.seen):
            adding.remove(contest_id, f"{site.name} has it no longer")
            report.removed += 1
    lake.write_bytes(path, msgspec.json.encode(now))
    return report


class _Taker:
    """Puts the contests of documents into a data set, and counts.

    ``before`` are those that the data set has from this site, ``seen`` those that the site still has.
    """

    def __init__(self, site: Site, raw: Raw, report: SourceReport, before: set[str]) -> None:
        self._site, self._raw, self._report, self.before = site, raw, report, before
        self.seen: set[str] = set()

    def confirm(self, adding: Ingest, contests: list[str]) -> list[str] | None:
        """Contests that were read before and did not change; None if they must be read again after all."""
        if not self.before.issuperset(contests) or not self.seen.isdisjoint(contests):
            return None
        for contest_id in contests:
            adding.confirm(contest_id)
        self.seen.update(contests)
        self._report.unchanged += len(contests)
        return contests

    def read(self, adding: Ingest, key: Key, *, new_to_us: bool) -> list[str]:
        """Take in the contests of a document; returns those that the data set has of it."""
        taken = []
        document = self._raw.read(key)
        try:
            found: list[Contest | SourceError] = list(self._site.parse(document))
        except SourceError as fault:  # read by an earlier version of the site's reader
            found = [SourceError(fault.rule, fault.source, fault.contest or key.name, fault.member, fault.rows)]
        for contest in found:
            if isinstance(contest, SourceError):
                contest_id = contest.contest
                self._report.rejected.append((contest_id, str(contest)))
                if contest_id not in self.before:
                    continue  # what was good before stays as it was
            else:
                contest_id = contest.contest_id
                if contest_id in self.seen:
                    rule = f"it stands in {key} once more"
                    error = SourceError(rule, self._site.name, contest_id, document.answer.url)
                    self._report.rejected.append((contest_id, str(error)))
                    continue
                change = adding.add(contest)
                if change == "corrected" and new_to_us:
                    raise ValueError(
                        f"data set {self._report.dataset} has a contest {contest_id} already, and not from "
                        f"{self._site.name}; give another --dataset"
                    )
                setattr(self._report, change, getattr(self._report, change) + 1)
            self.seen.add(contest_id)
            taken.append(contest_id)
        return taken


def _read_record(lake: Lake, path: str) -> _Record:
    try:
        return _RECORD.decode(lake.read_bytes(path))
    except MissingError:
        return _Record()
    except msgspec.MsgspecError as error:
        raise DamagedError(f"{path}: {error}; delete it, and everything is read again", path=path) from None


def _contests(lake: Lake, dataset: str) -> set[str]:
    try:
        return set(Dataset.open(lake, dataset).contests.column("contest_id").to_pylist())
    except MissingError:
        return set()


def _natural(key: Key) -> tuple[str, int, str]:
    """Documents by kind, then number, then name; times come before that, and are the data set's affair."""
    number = contest_number(key.name)
    return key.kind, -1 if number is None else number, key.name
