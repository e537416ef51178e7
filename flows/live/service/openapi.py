"""The OpenAPI document of the service, made from its routes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import Any

from ...http.server.documents import JSON, answer, in_path, operation, problem, reference
from .routes import Route
from .schemas import SCHEMAS

_ERRORS = {
    400: "A parameter breaks its rule, or the body is incomplete.",
    401: "The token is missing or not known.",
    403: "The process answers this machine alone.",
    404: "There is no such run, match or player.",
    409: "A match of this id and another content is in the log.",
    410: "The log has released these events.",
    413: "The body is too large.",
    415: "The body is compressed.",
    422: "A value breaks its rule; `pointer` is its place in the body.",
    429: "Too many matches wait, or too many requests came.",
    503: "The process starts or ends, or the log takes nothing at present.",
}
_SEVERAL = 207
_BEARER = "token"


def document(routes: Sequence[Route], runs: Sequence[str]) -> dict[str, Any]:
    """The document of a service that rates ``runs``."""
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, runs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "ranklake rated", "version": metadata.version("ranklake"), "description": "Live ratings."},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": {_BEARER: {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route, runs: Sequence[str]) -> dict[str, Any]:
    variables = [part[1:-1] for part in route.path.split("/") if part[:1] == "{"]
    parameters = [in_path(name, runs if name == "run" else ()) for name in variables]
    parameters += [parameter.openapi() for parameter in route.parameters]
    found = operation((route.name, "live"), route.summary, parameters, _answers(route, bool(variables)))
    if route.access != "open":
        found["security"] = [{_BEARER: []}, {}]
    if route.body:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": reference(route.body)}}}
    return found


def _answers(route: Route, variable: bool) -> dict[str, Any]:
    found = {}
    for status, meaning in route.statuses:
        schema = reference("Results" if status == _SEVERAL else route.schema) if route.schema else None
        found[str(status)] = answer(meaning, (route.media,), schema)
    errors = {400, *route.errors} | ({404} if variable else set())
    errors |= set() if route.access == "open" else {401, 403, 429}
    return found | {str(status): problem(_ERRORS[status]) for status in sorted(errors)}
