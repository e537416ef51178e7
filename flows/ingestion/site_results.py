"""From the stored responses of a site to the results of problems of a data set; no rating depends on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.results import StoredResults
from ranklake.storage.lake import layout
from ranklake.storage.lake.errors import MissingError
from ranklake.storage.lake.schemas import PROBLEMS
from ranklake.storage.leases.acquire import WAIT_SECONDS, hold_lease

from ..common.progress import ProgressCallback
from ..sources.base import SourceError
from ..sources.problems.matching import MatchedResults
from ..sources.problems.rows import RowsBuilder
from ..sources.sites.documents import Document
from ..sources.sites.results import SiteProblem, SiteResults
from ..sources.sites.site import Site
from .adding import How
from .report import ResultsReport, SourceReport
from .response_archive import ResponseArchive
from .update import SourceRecord, natural_order, read_site_record


class _ReadDocument(msgspec.Struct):
    """A document as it was read: its fingerprint, and its contests with the digests of their standings then; empty for
    a contest that the data set did not have.
    """

    fingerprint: str
    contests: dict[str, str]


class _ResultsRecord(msgspec.Struct):
    """The documents whose results a data set has, by key, and the version of the parser that read them."""

    version: int = 0
    documents: dict[str, _ReadDocument] = {}


def update_results(
    lake: Lake, archive: ResponseArchive, site: Site, report: SourceReport, how: How, *, everything: bool = False
) -> None:
    """Bring the results of problems of a data set up to date with the responses of a site, and note them in the report.

    Documents are read if they, or the standings of their contests, have changed; ``everything`` reads all. Results of
    players who were not in their contest, or of contests that the data set does not have, are left out.
    """
    keys = sorted(archive.keys(*site.result_kinds), key=natural_order)
    try:
        digests = _digests(Dataset.open(lake, report.dataset)) if keys else {}
    except MissingError:
        return
    if not keys:
        return
    path = layout.source_file(report.dataset, f"{site.name}-results")
    record, _ = read_site_record(lake, path, _ResultsRecord)
    fingerprints = {str(key): archive.fingerprint(key) for key in keys}
    known = {} if everything or record.version != site.results_version else record.documents
    changed = [key for key in keys if not _is_same(known.get(str(key)), fingerprints[str(key)], digests)]
    if not changed and known.keys() == fingerprints.keys():
        return
    source, _ = read_site_record(lake, layout.source_file(report.dataset, site.name), SourceRecord)
    reading = _Reading(site, report, source.handles)
    read = reading.read(archive.read_ahead(changed), len(changed), how.on_progress)
    rows = reading.builder.rows(lambda rule, row: SourceError(rule, site.name))  # such rows are left out
    folder, purpose = layout.dataset_folder(report.dataset), f"ingest results into {report.dataset}"
    with hold_lease(lake, folder, purpose, steal=how.steal, wait_seconds=WAIT_SECONDS, on_wait=how.on_wait) as lease:
        dataset, stored = Dataset.open(lake, report.dataset), StoredResults.open(lake, report.dataset)
        matched = MatchedResults(dataset, rows, skip_strangers=True, skip_contests=True)
        counts = stored.replace(lease, matched.contests(), _merged(stored.problems(), reading.problems))
        digests = _digests(dataset)
        documents = {str(key): known[str(key)] for key in keys if str(key) in known} | {
            name: _ReadDocument(fingerprints[name], {contest: digests.get(contest, "") for contest in contests})
            for name, contests in read.items()
        }
        new = _ResultsRecord(site.results_version, documents)
        lease.lake.replace_bytes(path, msgspec.json.encode(new), read_site_record(lake, path, _ResultsRecord)[1])
    report.results = ResultsReport(
        report.dataset,
        matched.n_rows,
        matched.n_problems,
        *counts,
        matched.n_duplicates,
        matched.n_strangers + reading.n_unknown,
    )


class _Reading:
    """Collects the results in documents.

    ``handles``: of players by id, empty for a site without ids. ``problems``: by id; that of the last document counts.
    ``n_unknown``: results of players without a handle.
    """

    def __init__(self, site: Site, report: SourceReport, handles: Mapping[str, str]) -> None:
        self._site, self._report, self._handles = site, report, handles
        self.builder, self.problems, self.n_unknown = RowsBuilder(), dict[str, SiteProblem](), 0

    def read(self, documents: Iterable[Document], n: int, on_progress: ProgressCallback) -> dict[str, list[str]]:
        """The contests of each document, by its key."""
        contests: dict[str, list[str]] = {}
        for done, document in enumerate(documents):
            on_progress(done, n, f"reading results of {document.key.shown}")
            own = contests[str(document.key)] = []
            for found in self._parse(document):
                if isinstance(found, SiteResults):
                    own.append(found.contest_id)
                    if rule := found.rule_broken():
                        found = self._site.fault(document, found.contest_id)(rule)
                if isinstance(found, SourceError):
                    rule = f"its results of problems are left out: {found.rule}"
                    self._report.reject(SourceError(rule, found.source, found.contest, found.member, found.rows))
                else:
                    self._add(found)
        return contests

    def _parse(self, document: Document) -> list[SiteResults | SourceError]:
        try:
            return list(self._site.results(document))
        except SourceError as error:
            return [SourceError(error.rule, error.source, document.key.name, error.member, error.rows)]

    def _add(self, found: SiteResults) -> None:
        players: list[str] = found.players
        known = np.ones(len(players), np.bool_)
        if self._site.name_kinds:
            known = np.array([player in self._handles for player in players], np.bool_)
            players = [self._handles.get(player, "") for player in players]
            self.n_unknown += len(players) - int(np.count_nonzero(known))
        contest = pa.DictionaryArray.from_arrays(np.zeros(int(known.sum()), np.int32), [found.contest_id])
        problem = pa.DictionaryArray.from_arrays(
            np.array(found.numbers, np.int32)[known], pa.array([one.problem for one in found.problems], pa.string())
        )
        player = pa.array(players, pa.string()).filter(pa.array(known)).dictionary_encode()
        share, after = (np.array(column, np.float64)[known] for column in (found.share, found.after))
        self.builder.add((contest, player, problem), share, after, np.array(found.attempts, np.int32)[known])
        self.problems.update((one.problem, one) for one in found.problems)


def _merged(before: pa.Table, found: Mapping[str, SiteProblem]) -> pa.Table:
    """The table of problems with those of the site; what is the same as another one stays so."""
    if not found:
        return before
    columns = {
        name: pa.array([getattr(one, name) for one in found.values()], PROBLEMS.field(name).type)
        for name in PROBLEMS.names
        if name != "same_as"
    }
    at = pc.index_in(columns["problem"], value_set=before.column("problem").combine_chunks())
    columns["same_as"] = before.column("same_as").combine_chunks().take(at)
    new = pa.table([columns[name] for name in PROBLEMS.names], schema=PROBLEMS)
    stays = pc.invert(pc.is_in(before.column("problem"), value_set=columns["problem"]))
    return pa.concat_tables([before.filter(stays), new]).combine_chunks()


def _digests(dataset: Dataset) -> dict[str, str]:
    """The digest of the standings of each contest."""
    ids, digests = (dataset.contests.column(name).to_pylist() for name in ("contest_id", "content_digest"))
    return dict(zip(ids, digests, strict=True))


def _is_same(read: _ReadDocument | None, fingerprint: str, digests: Mapping[str, str]) -> bool:
    """Whether a document was read as it is, beside the standings of its contests as they are."""
    if read is None or read.fingerprint != fingerprint:
        return False
    return all(digests.get(contest, "") == digest for contest, digest in read.contests.items())
