"""Responses: their headers, validators and caching (ETag, Last-Modified, 304, Cache-Control), and compression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import formatdate, parsedate_to_datetime

from starlette.requests import Request
from starlette.responses import Response

from .rendering import Body, encoding_for

_MAX_AGE = 5  # seconds for which a cache may use an answer without asking
SAFE = {"x-content-type-options": "nosniff", "content-security-policy": "default-src 'none'; frame-ancestors 'none'"}
NOT_KEPT = {"cache-control": "no-store", "vary": "Accept-Encoding"}  # answers to POST


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


async def respond_if_changed(
    request: Request,
    etag: str,
    time_seconds: float,
    make: Callable[[], Body],
    headers: Mapping[str, str] = SAFE,
    quick: bool = False,
    long: bool = False,
) -> Response:
    """The answer of a state, or 304 if the client has the state; other parameters as for :func:`respond`."""
    headers = validators(etag, time_seconds) | dict(headers)
    if is_unchanged(request.headers, etag, time_seconds):
        return Response(status_code=304, headers=headers)
    return await respond(request, make, headers, quick, long)


async def respond(
    request: Request, make: Callable[[], Body], headers: Mapping[str, str], quick: bool = False, long: bool = False
) -> Response:
    """The answer, compressed as the client accepts it.

    ``make``: called in a thread.
    ``quick``: whether ``make`` takes less time than the way to a thread and back: it is called here.
    ``long``: see :meth:`ranklake.flows.serving.state.workers.Workers.run`.
    """
    encoding = encoding_for(request.headers.get("accept-encoding", ""))

    def compressed() -> Body:
        return make().compressed(encoding)

    body = compressed() if quick else await request.app.state.workers.run(compressed, long)
    encoded = {"content-encoding": body.encoding} if body.encoding else {}
    return Response(body.data, headers={**headers, **encoded}, media_type=body.media_type)
