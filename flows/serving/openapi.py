"""The OpenAPI document, made from the endpoints and the rules of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import Any

from .endpoints import ENDPOINTS, MOST_HANDLES, Endpoint

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "parameter": {"type": "string"},
        "value": {"type": ["string", "null"]},
        "rule": {"type": "string"},
        "near": {"type": "array", "items": {"type": "string"}},
        "runs": {"type": "array", "items": {"type": "string"}},
    },
}
_RUN = {"$ref": "#/components/parameters/run"}
_MEDIA = ("application/json", "text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream")


def openapi(root_path: str = "", runs: Sequence[str] = ()) -> dict[str, Any]:
    """The document, for a server of ``runs`` below ``root_path``."""
    paths: dict[str, Any] = {
        "/api/v1/runs": {"get": _operation("All published runs.", [], _answers(_MEDIA[:1]))},
        "/healthz": {"get": _operation("Whether the server works.", [], {"200": _answer("It works.", _MEDIA[:1])})},
        "/metrics": {"get": _operation("Metrics for Prometheus.", [], {"200": _answer("Metrics.", ("text/plain",))})},
        "/openapi.json": {"get": _operation("This document.", [], {"200": _answer("The document.", _MEDIA[:1])})},
    }
    for endpoint in ENDPOINTS:
        paths[f"/api/v1/runs/{{run}}{endpoint.path}"] = {"get": _of_run(endpoint)}
    events = {
        "200": _answer("Events `version`, the current one first.", ("text/event-stream",)),
        "404": _problem("No run."),
    }
    paths["/api/v1/runs/{run}/events"] = {"get": _operation("New versions, as they come.", [_RUN], events)}
    data = {"200": _answer("The file.", ("application/vnd.apache.parquet", "application/json"))}
    data |= {"206": _answer("A part.", ("application/vnd.apache.parquet",)), "404": _problem("No such file.")}
    paths["/data/{run}/{path}"] = {"get": _operation("A published file.", [_RUN, _in_path("path")], data)}
    paths["/api/v1/runs/{run}/preview"] = {"post": _post_preview()}
    paths["/api/v1/runs/{run}/players"]["post"] = _post_players()
    return {
        "openapi": "3.1.0",
        "info": {"title": "ranklake", "version": metadata.version("ranklake"), "description": "Published ratings."},
        "servers": [{"url": root_path or "/"}],
        "paths": paths,
        "components": {"schemas": {"Problem": _PROBLEM}, "parameters": {"run": _in_path("run", runs)}},
    }


def _of_run(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [_RUN, *([_in_path(endpoint.variable)] if endpoint.variable else [])]
    parameters += [parameter.openapi() for parameter in endpoint.parameters]
    formats = any(parameter.name == "format" for parameter in endpoint.parameters)
    answers = _answers(_MEDIA if formats else _MEDIA[:1])
    if endpoint.variable == "handle":
        answers["301"] = {"description": "The player has another handle now."}
    return _operation(endpoint.summary, parameters, answers)


def _post_players() -> dict[str, Any]:
    handles = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_HANDLES}
    schema = {"type": "object", "required": ["handles"], "properties": {"handles": handles}}
    return _post("Several players.", schema, {"413": _problem("The body is too large.")})


def _post(summary: str, schema: dict[str, Any], errors: dict[str, Any]) -> dict[str, Any]:
    """An operation with a body of JSON, whose answer no client has already."""
    answers = {key: answer for key, answer in _answers(_MEDIA[:1]).items() if key != "304"}
    answers |= errors | {"415": _problem("The body is compressed.")}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {**_operation(summary, [_RUN], answers), "requestBody": body}


def _post_preview() -> dict[str, Any]:
    members = {"type": ["array", "null"], "items": {"type": "string"}, "minItems": 1}
    shares = {"type": ["array", "null"], "items": {"type": "number", "exclusiveMinimum": 0}}
    items = [{"type": "string"}, {"type": "integer", "minimum": 1}, members, shares]
    row = {"type": "array", "prefixItems": items, "minItems": 2}
    properties = {
        "standings": {"type": "array", "items": row | {"maxItems": 4}, "minItems": 1},
        "entrants": {"type": "array", "items": {"type": "string"}},
        "time_seconds": {"type": ["integer", "null"]},
        "weight": {"type": "number", "exclusiveMinimum": 0},
        "precision": {"type": "number", "exclusiveMinimum": 0},
    }
    schema = {"type": "object", "required": ["standings"], "properties": properties, "additionalProperties": False}
    errors = {"413": _problem("The body is too large."), "429": _problem("All cores are busy.")}
    errors |= {"503": _problem("The run cannot be read now.")}
    return _post("Changes of a contest that is not rated yet.", schema, errors)


def _in_path(name: str, values: Sequence[str] = ()) -> dict[str, Any]:
    schema = {"type": "string", "enum": list(values)} if values else {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(summary: str, parameters: list[dict[str, Any]], answers: dict[str, Any]) -> dict[str, Any]:
    return {"summary": summary, "parameters": parameters, "responses": answers}


def _answers(media: tuple[str, ...]) -> dict[str, Any]:
    return {
        "200": _answer("The answer.", media),
        "304": {"description": "The client has this version."},
        "400": _problem("A parameter breaks its rule."),
        "404": _problem("There is no such run, player or contest."),
        "429": _problem("Too many requests wait for a core."),
    }


def _answer(description: str, media: tuple[str, ...]) -> dict[str, Any]:
    content = {kind: {"schema": {"type": "object"} if kind == _MEDIA[0] else {}} for kind in media}
    return {"description": description, "content": content}


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}
