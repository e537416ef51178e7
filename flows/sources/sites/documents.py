"""Documents: stored responses of a site, each with its key and its data from the list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...common.text import LONGEST_QUOTED, visible


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Identity of a document: a kind, which the parser chooses, and the site's name for it, any string."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def shown(self) -> str:
        """For a message: shortened, with control characters escaped."""
        return f"{self.kind}/{visible(self.name[:LONGEST_QUOTED])}"


@dataclass(frozen=True, slots=True)
class Response:
    """A response to a request of ``time_seconds``, UTC since the epoch.

    The ``status`` 304 has no ``body``: the stored response is still valid. ``etag``, ``last_modified``: validators for
    the next request; empty if the site sent none, one of more than 512 characters or other than ASCII, or one that
    repeats the access token. Empty for a status other than 200 and 304: a later 304 would confirm that status.
    """

    url: str
    status: int
    body: bytes
    time_seconds: int
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A response with its key and ``about``, data from the site's list without which it cannot be parsed."""

    key: Key
    response: Response
    about: dict[str, Any] = field(default_factory=dict)
