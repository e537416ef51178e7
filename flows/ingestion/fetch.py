"""From a site to the response archive: missing documents are requested once, recent ones again from time to time.

Files of a folder are read as the responses of a site.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from ..common.progress import ProgressCallback, not_shown
from ..http.client import Client
from ..http.pace import Clock
from ..sources.base import SourceError
from ..sources.limits import MAX_CONTEST_ID, check_length
from ..sources.sites.documents import Document, Key, Response
from ..sources.sites.site import DocumentRequest, Site
from .response_archive import ArchiveEntry, ResponseArchive

T = TypeVar("T")
SETTLED_SECONDS = 30 * 86_400  # older contests are no longer corrected; only `again` requests them
YOUNG_SECONDS = 600
SAVE_SECONDS = 30.0  # between writes of the index; responses missing in it are found again
MAX_FOLLOW_UPS = 5000  # documents beyond the list in one run; of CTFtime some 1,000, of Codeforces with results 1,500
MAX_UNREADABLE_IN_A_ROW = 3  # more mean that the site has another format now, or is broken


def fetch(
    archive: ResponseArchive,
    site: Site,
    client: Client | FolderClient,
    *,
    since: int | None = None,
    again: bool = False,
    on_progress: ProgressCallback = not_shown,
) -> list[SourceError]:
    """Bring the stored responses up to date; returns the errors of responses that could not be parsed, which are
    requested again later, and of documents whose name is too long, which are not requested.

    Missing documents are requested in order of time. Then the stored documents are requested whose age has doubled
    since the last request (in their first thirty days), the most overdue first, until one is unchanged. So a contest is
    requested after one, two, four, ... hours, and a run without new results costs one request beside the list.
    ``again`` requests all of them; ``since`` is in UTC seconds.

    Raises ``SourceError`` if the list, or several documents in a row, cannot be fetched or parsed.
    """
    fetcher = Fetcher(archive, site, client)
    try:
        listed = site.list_documents(fetcher, since, int(client.clock.now()))
        unique = {request.key: request for request in listed}.values()
        requests = [request for request in unique if fetcher.accepts(request)]
        missing = [request for request in requests if fetcher.is_missing(request)]
        missing += [request for request in requests if request.open_ended and request not in missing]
        for done, request in enumerate(missing):
            on_progress(done, len(missing), f"requesting {request.key.shown}")
            fetcher.fetch(request)
        now = client.clock.now()
        if again:
            requested = {request.key for request in missing}
            due = [request for request in requests if request.key not in requested]
        else:
            entries = [(entry, request) for request in requests if (entry := archive.entry(request.key))]
            ratios = [(_overdue(entry, request, now), request) for entry, request in entries]
            due = [request for ratio, request in sorted(ratios, key=lambda pair: -pair[0]) if ratio >= 1.0]
        for done, request in enumerate(due):
            on_progress(done, len(due), f"requesting again {request.key.shown}")
            if not fetcher.fetch(request) and not again:
                break
        for done, request in enumerate(site.follow_up(archive)):
            if done == MAX_FOLLOW_UPS:
                rule = f"more than {MAX_FOLLOW_UPS:,} documents beyond its list; earlier responses are kept"
                raise SourceError(rule, site.name, member=request.path)
            on_progress(done, None, f"requesting {request.key.shown}")
            fetcher.fetch(request)
    finally:
        fetcher.save()
    return fetcher.unreadable


class Fetcher:
    """Requests documents and stores the responses."""

    def __init__(self, archive: ResponseArchive, site: Site, client: Client | FolderClient) -> None:
        self._archive, self._site, self._client = archive, site, client
        self._saved = client.clock.monotonic()
        self._dirty = False
        self.unreadable: list[SourceError] = []
        self._in_a_row = 0

    def accepts(self, request: DocumentRequest) -> bool:
        """Whether the name of a document is no longer than the id of a contest may be; records the error if it is."""
        if too_long := check_length("id of a contest", request.key.name, MAX_CONTEST_ID):
            self.unreadable.append(SourceError(too_long, self._site.name, request.key.name))
        return not too_long

    def is_missing(self, request: DocumentRequest) -> bool:
        """Whether a document was never requested, or its data in the list changed."""
        entry = self._archive.find(request.key)
        return entry is None or (entry.version >= 0 and entry.about != request.about)

    def about(self, key: Key) -> dict[str, Any] | None:
        """See :class:`ranklake.flows.sources.sites.site.ListFetcher`."""
        entry = self._archive.find(key)
        return None if entry is None or entry.version < 0 else entry.about

    def fetch_list(self, key: Key, path: str, read: Callable[[Document], T]) -> T:
        """See :class:`ranklake.flows.sources.sites.site.ListFetcher`."""
        fetched = self._get(DocumentRequest(key, path, 0))
        document = fetched or self._archive.read(key)
        try:
            content = read(document)
        except SourceError as error:
            raise self._store_unreadable(document, error) from None
        if fetched is not None:
            self._archive.store(fetched, replace=True)
            self._dirty = True
        return content

    def fetch(self, request: DocumentRequest) -> bool:
        """Request one document; return whether its content is new."""
        self._dirty = True
        document = self._get(request)
        if document is None:
            self._archive.mark_unchanged(request.key, int(self._client.clock.now()))
            is_new = False
        else:
            try:
                list(self._site.parse(document))
            except SourceError as error:
                self.unreadable.append(self._store_unreadable(document, error))
                self._in_a_row += 1
                if self._in_a_row == MAX_UNREADABLE_IN_A_ROW:
                    raise self.unreadable[-1] from None
                return False
            is_new = self._archive.store(document)
        self._in_a_row = 0
        if self._client.clock.monotonic() - self._saved > SAVE_SECONDS:
            self.save()
        return is_new

    def save(self) -> None:
        """Write the index, if it changed."""
        if self._dirty:
            self._archive.save()
            self._saved, self._dirty = self._client.clock.monotonic(), False

    def _get(self, request: DocumentRequest) -> Document | None:
        """The response of the site; None if the document is unchanged."""
        entry = self._archive.entry(request.key)
        usable = entry is not None and entry.version >= 0 and entry.about == request.about and not entry.failures
        stored = entry if usable and entry is not None else ArchiveEntry("", "")
        response = self._client.get(
            request.path, etag=stored.etag, last_modified=stored.last_modified, accept=request.accept
        )
        return None if response.status == 304 else Document(request.key, response, request.about)

    def _store_unreadable(self, document: Document, error: SourceError) -> SourceError:
        self._dirty = True
        path = self._archive.store_unreadable(document)
        rule = f"{error.rule}; the response is stored at {path}"
        return SourceError(rule, error.source, error.contest or document.key.name, error.member, error.rows)


def _overdue(entry: ArchiveEntry, request: DocumentRequest, now: float) -> float:
    """How overdue a document is: age over twice its age at the last request; it is due from 1 on."""
    if entry.failures:
        return (now - entry.checked_seconds) / (YOUNG_SECONDS * 2.0 ** min(entry.failures, 16))
    if request.open_ended:
        return 0.0
    young = max(entry.checked_seconds - request.end_seconds, YOUNG_SECONDS)
    return 0.0 if young >= SETTLED_SECONDS else (now - request.end_seconds) / (2.0 * young)


class FolderClient:
    """Reads files of a folder as responses, with the interface of :class:`Client`; a missing file is a 404."""

    def __init__(self, source: str, folder: str) -> None:
        self.requests, self.clock = 0, Clock()
        self._source, self._folder = source, Path(folder)

    def __enter__(self) -> FolderClient:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(
        self, path: str, *, etag: str = "", last_modified: str = "", accept: Collection[int] = frozenset({200})
    ) -> Response:
        """The file at a path below the folder; ``SourceError`` if it cannot be read."""
        file, now = self._folder / path, int(self.clock.now())
        self.requests += 1
        try:
            facts = file.stat()
            version = f"{facts.st_mtime_ns}-{facts.st_size}"
            if etag == version:
                return Response(str(file), 304, b"", now, version)
            return Response(str(file), 200, file.read_bytes(), now, version)
        except FileNotFoundError:
            if 404 in accept:
                return Response(str(file), 404, b"", now)
            raise SourceError("no such file", self._source, member=str(file)) from None
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror or error}", self._source, member=str(file)) from None
