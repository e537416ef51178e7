"""Validators and caching of answers: ETag, Last-Modified, 304, Cache-Control."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate, parsedate_to_datetime

__all__ = ["is_unchanged", "validators"]

_MAX_AGE = 5  # seconds for which a cache may use an answer without asking


def validators(etag: str, time_seconds: float) -> dict[str, str]:
    """The headers of an answer of a state.

    The ETag is weak, because the answer may be compressed. It is that of the state, the same for all addresses.
    """
    return {
        "etag": f'W/"{etag}"',
        "last-modified": formatdate(int(time_seconds), usegmt=True),
        "cache-control": f"public, max-age={_MAX_AGE}",
        "vary": "Accept-Encoding",
    }


def is_unchanged(headers: Mapping[str, str], etag: str, time_seconds: float) -> bool:
    """Whether the client has the state already, by If-None-Match, or else by If-Modified-Since."""
    if (known := headers.get("if-none-match")) is not None:
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        return "*" in tags or f'"{etag}"' in tags
    if (since := headers.get("if-modified-since")) is not None:
        try:
            return int(time_seconds) <= parsedate_to_datetime(since).timestamp()
        except (ValueError, TypeError, OverflowError):
            return False
    return False
