"""Responses of sites: parsed alone, or ingested from a server."""

from __future__ import annotations

import json
from typing import Any

from helpers.server import Server

from ranklake.flows.http.client import Client
from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.ingestion.sites import ingest_source
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.sites.documents import Document, Key, Response
from ranklake.flows.sources.sites.site import find_site
from ranklake.storage import Contest, Lake


def parse(source: str, kind: str, name: str, body: Any, about: Any = None, status: int = 200) -> list[Any]:
    """What a parser makes of a response: contests and errors; a body that is not bytes becomes JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return list(find_site(source).parse(Document(Key(kind, name), Response("URL", status, raw, 0), about or {})))


def parse_one(source: str, kind: str, name: str, body: Any, about: Any = None) -> Contest:
    """The only contest of a response."""
    (contest,) = parse(source, kind, name, body, about)
    assert isinstance(contest, Contest), contest
    return contest


def fault_of(source: str, kind: str, name: str, body: Any, about: Any = None) -> str:
    """The fault of the only contest of a response."""
    (error,) = parse(source, kind, name, body, about)
    assert isinstance(error, SourceError), error
    return str(error)


def follow(lake: Lake, server: Server, source: str, **choices: Any) -> SourceReport:
    """One ingestion; the server's list of requests begins anew."""
    server.requests.clear()
    client = Client(source, server.url, interval_seconds=1.0, clock=server.clock)
    return ingest_source(lake, source, base_url=server.url, client=client, **choices)
