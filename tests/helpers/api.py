"""The test client of Starlette, which warns about httpx when it is imported, and requests with any bytes in them."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Sequence
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from ranklake.storage import Lake

Headers = Sequence[tuple[bytes, bytes]]

ROW_NAMES = re.compile(r"<tr[^>]*><td>\d+<td><a [^>]*>([^<]*)</a>")
"""The names of the players in the rows of a page of standings, of a contest or of a preview."""


def client_of(lake: Lake, **options: Any) -> TestClient:
    """A client of a server of the published runs of a lake, which looks for no new version."""
    from ranklake.flows.serving.app import create_app
    from ranklake.flows.serving.state.served_runs import ServedRuns

    return TestClient(create_app(ServedRuns(lake), 0), **{"follow_redirects": False, **options})


async def ask(
    app: Any, path: str, query: bytes = b"", headers: Headers = (), method: str = "GET", body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer of an application, whatever a client library would correct or refuse."""
    status, received, data = 0, {}, bytearray()
    asked = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        if (message := next(asked, None)) is None:
            await asyncio.Event().wait()  # the client stays
        return message or {}

    async def send(message: Any) -> None:
        nonlocal status, received
        if message["type"] == "http.response.start":
            status = message["status"]
            received = {name.decode(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            data.extend(message.get("body", b""))

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query,
        "headers": [(b"host", b"testserver"), *headers], "scheme": "http", "server": ("testserver", 80),
        "client": ("test", 1), "root_path": "",
    }  # fmt: skip
    await app(scope, receive, send)
    return status, received, bytes(data)
