"""All parameters of the server: those of the OpenAPI document, of the pages, and of their routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from ranklake.flows.serving.openapi import openapi
from ranklake.flows.serving.pages import PARAMETERS, ServerPages

VALID = {"run": "run", "handle": "player 1", "contest_id": "3", "problem": "3-A", "path": "latest.parquet",
         "name": "graph.js", "number": "0", "digest": "0",
         "handles": "player 1", "q": "pl", "since": "2002-01-01", "until": "2030-01-01"}  # fmt: skip


class Asked(NamedTuple):
    """A parameter and its address, with ``{}`` in the place of the parameter; the others are ``VALID``."""

    address: str
    name: str


def all_parameters() -> list[Asked]:
    """Every parameter of every address, so that a new one is here, too. Streams of events are left out."""
    found = []
    for path, operations in openapi()["paths"].items():
        named = [one for one in operations.get("get", {}).get("parameters", ()) if one.get("in") == "query"]
        required = [one["name"] for one in named if one["required"]]
        found += [_in_query(path, one["name"], required) for one in named]
        query = "&".join(f"{name}={quote(VALID[name])}" for name in required)
        found += [one._replace(address=f"{one.address}?{query}") if query else one for one in _in_path(path)]
    for path, parameters in PARAMETERS.items():
        found += [_in_query(path, one.name, ()) for one in parameters]
    for route in ServerPages().routes():
        found += _in_path(route.path_format)  # type: ignore[attr-defined]
    return found


def _in_query(path: str, name: str, required: Iterable[str]) -> Asked:
    others = "".join(f"&{other}={quote(VALID[other])}" for other in required if other != name)
    return Asked(f"{path.format_map(VALID)}?{name}={{}}{others}", name)


def _in_path(path: str) -> list[Asked]:
    names = [part.partition("}")[0] for part in path.split("{")[1:]]
    return [Asked(path.format_map({**VALID, name: "{}"}), name) for name in names if not path.endswith("/events")]
