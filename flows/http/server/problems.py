"""Errors of the API as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

import math
from typing import Any

from ranklake.storage.names.hints import hint

_TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    410: "Gone",
    413: "Content too large",
    415: "Unsupported media type",
    422: "Unprocessable content",
    429: "Too many requests",
    431: "Request header fields too large",
    500: "Internal error",
    503: "Not available",
}


RETRY_SECONDS = 1  # after an answer 429
_CHALLENGE = {"www-authenticate": "Bearer"}


class Problem(Exception):
    """An error with its ``status``; its ``detail`` tells people what to do.

    ``hint``: the end of the detail, which names what is ``near``; pages have links in its place.
    ``retry_after``: seconds until the request may succeed; of 429 one second, of others none.
    ``facts``: more members of the document, for programs: ``parameter, value, rule``, ``near``, ``total, last, limit``.
    """

    def __init__(
        self, status: int, detail: str, hint: str = "", retry_after: float | None = None, **facts: Any
    ) -> None:
        super().__init__(detail + hint)
        self.retry_after = RETRY_SECONDS if retry_after is None and status == 429 else retry_after
        self.status, self.detail, self.facts = status, detail + hint, facts
        self.without_hint = detail

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer: when to ask again, if that is known, and how to say who asks."""
        after = {} if self.retry_after is None else {"retry-after": str(math.ceil(self.retry_after))}
        return after | (_CHALLENGE if self.status == 401 else {})

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        title = _TITLES.get(self.status, "Error")
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, **self.facts}

    @classmethod
    def of_parameter(cls, name: str, value: str | None, rule: str) -> Problem:
        """A parameter that breaks a rule."""
        shown = None if value is None else value[:200]
        return cls(400, f"{name} {rule}, got {shown!r}", parameter=name, value=shown, rule=rule)

    @classmethod
    def no_player(cls, handle: str, near: list[str], run: str, noun: str = "player") -> Problem:
        """A handle that no player of a run has; ``near`` are similar ones, ``noun`` is the word for a player."""
        return cls(404, f"no {noun} {handle[:200]!r} in run {run}", hint(handle, near), near=near)
