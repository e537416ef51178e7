"""A client of a site whose responses are files in a folder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ..http.client import Clock
from ..sources.base import SourceError
from ..sources.sites.documents import Response

__all__ = ["FolderClient"]


class FolderClient:
    """Reads files of a folder as responses, with the interface of :class:`Client`; a missing file is a 404."""

    def __init__(self, source: str, folder: str, *, clock: Clock | None = None) -> None:
        self.requests = 0
        self.clock = clock or Clock()
        self._source, self._folder = source, Path(folder)

    def __enter__(self) -> FolderClient:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(
        self, path: str, *, etag: str = "", last_modified: str = "", accept: Collection[int] = frozenset({200})
    ) -> Response:
        """The file at a path below the folder.

        Raises
        ------
        SourceError
            The file is missing or cannot be read.
        """
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
