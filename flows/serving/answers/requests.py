"""Bodies of requests, of limited size, and whether the client is a browser."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import ClientDisconnect, Request

from ...published.run import NoPlayerError
from .problems import Problem

__all__ = ["missing_player", "prefers_html", "read_body"]


async def missing_player(request: Request, error: NoPlayerError, run_name: str) -> Problem:
    """The error about a player that a run does not have; without similar handles if too many searches wait."""
    try:
        near = await request.app.state.workers.run(lambda: error.near, long=True)
    except Problem:
        near = []
    return Problem.no_player(error.handle, near, run_name)


async def read_body(request: Request, most: int) -> bytes:
    """The body of a request of at most ``most`` bytes.

    Raises
    ------
    Problem
        It is larger, compressed, or incomplete.
    """
    too_large = Problem(413, f"the body must have at most {most:,} bytes")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(415, "the body must not be compressed: no header Content-Encoding")
    if int(request.headers.get("content-length", "0")) > most:  # the server has checked that it is a number
        raise too_large
    data = bytearray()
    try:
        async for part in request.stream():
            data += part
            if len(data) > most:
                raise too_large
    except ClientDisconnect:
        raise Problem(400, "the body must be complete") from None  # nobody reads it
    return bytes(data)


def prefers_html(headers: Mapping[str, str]) -> bool:
    """Whether the header ``Accept`` names HTML, as that of a browser does, and not JSON with a greater weight."""
    weights = {}
    for item in headers.get("accept", "").lower().split(","):
        kind, *parameters = (part.strip() for part in item.split(";"))
        weight = next((part.partition("=")[2] for part in parameters if part.startswith("q=")), "1")
        try:
            weights[kind] = float(weight)
        except ValueError:
            weights[kind] = 0.0
    html = weights.get("text/html", 0.0)
    return html > 0.0 and html >= max(weights.get(f"application/{kind}", 0.0) for kind in ("json", "problem+json"))
