"""Documents: the responses of a site that are kept, each with what it is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...common.text import LONGEST_QUOTED, visible

__all__ = ["Document", "Key", "Response"]


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a response is about: a kind, which is ours, and the site's own name for it, any string."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def shown(self) -> str:
        """For a message: cut to a length a person reads, control characters escaped."""
        return f"{self.kind}/{visible(self.name[:LONGEST_QUOTED])}"


@dataclass(frozen=True, slots=True)
class Response:
    """A response of a site.

    Attributes
    ----------
    url : str
        What was asked for.
    status : int
        HTTP status; 304 has no body, what we have still holds.
    body : bytes
        As sent, its transfer encoding undone.
    time_seconds : int
        When, UTC since the epoch.
    etag, last_modified : str
        To ask again with; empty if the site sent none, one of more than 512 characters or other than ASCII, or one
        that repeats the access token. Empty for a status other than 200 and 304: a later 304 would confirm that status.
    """

    url: str
    status: int
    body: bytes
    time_seconds: int
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A response that is kept.

    Attributes
    ----------
    key : Key
        What it is about.
    response : Response
        The response itself.
    about : dict
        What the site's list told of it when it was asked for: with it, a document is all that is needed to read it.
    """

    key: Key
    response: Response
    about: dict[str, Any] = field(default_factory=dict)
