"""The OpenAPI document, made from the endpoints and the rules of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import Any

from ..http.server.documents import answer, in_path, operation, problem, reference
from .endpoints import ENDPOINTS, MOST_HANDLES, Endpoint
from .schemas import SCHEMAS

_RUN = {"$ref": "#/components/parameters/run"}
_MEDIA = ("application/json", "text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream")


_OPERATIONS = {  # of each endpoint by its path: name, tag, and the schema of the answer; names of clients, so they stay
    "": ("get_run", "runs", "Run"),
    "/leaderboard": ("get_leaderboard", "players", "Leaderboard"),
    "/seasons": ("list_seasons", "runs", "Seasons"),
    "/groups": ("list_groups", "players", "Groups"),
    "/players/{handle}/history": ("get_player_history", "players", "History"),
    "/players/{handle}/between": ("get_player_progress", "players", "Progress"),
    "/players/{handle}": ("get_player", "players", "Player"),
    "/players": ("get_players", "players", "Players"),
    "/compare": ("compare_players", "players", "Comparison"),
    "/teamrate": ("get_team_rating", "players", "TeamRating"),
    "/distribution": ("get_distribution", "players", "Distribution"),
    "/count": ("count_players", "players", "Count"),
    "/contests": ("list_contests", "contests", "Contests"),
    "/contests/{contest_id}": ("get_contest", "contests", "Standings"),
    "/problems": ("list_problems", "problems", "Problems"),
    "/problems/{problem}": ("get_problem", "problems", "OneProblem"),
    "/players/{handle}/problems": ("list_player_problems", "problems", "PlayerProblems"),
    "/search": ("search_players", "players", "Matches"),
}
_TAGS = {
    "runs": "Published runs and their versions.",
    "players": "Players: leaderboards, histories, comparisons, distributions.",
    "contests": "Contests: standings with changes, and previews.",
    "problems": "Problems of contests: difficulties, and the chances of players.",
    "server": "The server itself.",
}


def openapi(root_path: str = "", runs: Sequence[str] = ()) -> dict[str, Any]:
    """The document, for a server of ``runs`` below ``root_path``."""
    paths: dict[str, Any] = {
        "/api/v1/runs": {
            "get": operation(("list_runs", "runs"), "All published runs.", [], _answers(_MEDIA[:1], "Runs"))
        },
        "/healthz": {"get": _of_server("get_health", "Whether the server works.", _MEDIA[0], reference("Health"))},
        "/metrics": {"get": _of_server("get_metrics", "Metrics for Prometheus.", "text/plain", {"type": "string"})},
        "/openapi.json": {"get": _of_server("get_openapi", "This document.", _MEDIA[0], {"type": "object"})},
    }
    for endpoint in ENDPOINTS:
        paths[f"/api/v1/runs/{{run}}{endpoint.path}"] = {"get": _of_run(endpoint)}
    events = {
        "200": answer("Events `version`, the current one first.", ("text/event-stream",)),
        "404": problem("No run."),
    }
    watch = operation(("watch_versions", "runs"), "New versions, as they come.", [_RUN], events)
    paths["/api/v1/runs/{run}/events"] = {"get": watch}
    data = {"200": answer("The file.", ("application/vnd.apache.parquet", "application/json"))}
    data |= {"206": answer("A part.", ("application/vnd.apache.parquet",)), "404": problem("No such file.")}
    file = operation(("get_file", "runs"), "A published file.", [_RUN, in_path("path")], data)
    paths["/data/{run}/{path}"] = {"get": file}
    paths["/api/v1/runs/{run}/preview"] = {"post": _post_preview()}
    paths["/api/v1/runs/{run}/players"]["post"] = _post_players()
    return {
        "openapi": "3.1.0",
        "info": {"title": "ranklake", "version": metadata.version("ranklake"), "description": "Published ratings."},
        "servers": [{"url": root_path or "/"}],
        "tags": [{"name": name, "description": description} for name, description in _TAGS.items()],
        "paths": paths,
        "components": {"schemas": SCHEMAS, "parameters": {"run": in_path("run", runs)}},
    }


def _of_server(name: str, summary: str, media: str, schema: dict[str, Any]) -> dict[str, Any]:
    answer = {"description": summary, "content": {media: {"schema": schema}}}
    return operation((name, "server"), summary, [], {"200": answer})


def _of_run(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [_RUN, *([in_path(endpoint.variable)] if endpoint.variable else [])]
    parameters += [parameter.openapi() for parameter in endpoint.parameters]
    name, tag, schema = _OPERATIONS[endpoint.path]
    formats = any(parameter.name == "format" for parameter in endpoint.parameters)
    answers = _answers(_MEDIA if formats else _MEDIA[:1], schema)
    if endpoint.variable == "handle":
        answers["301"] = {"description": "The player has another handle now."}
    return operation((name, tag), endpoint.summary, parameters, answers)


def _post_players() -> dict[str, Any]:
    handles = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_HANDLES}
    schema = {"type": "object", "required": ["handles"], "properties": {"handles": handles}}
    errors = {"413": problem("The body is too large.")}
    return _post(operation(("post_players", "players"), "Several players.", [_RUN], _posted("Players", errors)), schema)


def _posted(schema: str, errors: dict[str, Any]) -> dict[str, Any]:
    """The answers to a body, which no client has already."""
    answers = {key: answer for key, answer in _answers(_MEDIA[:1], schema).items() if key != "304"}
    return answers | errors | {"415": problem("The body is compressed.")}


def _post(operation: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """An operation with a body of JSON."""
    return {**operation, "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


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
    errors = {"413": problem("The body is too large."), "429": problem("All cores are busy.")}
    errors |= {"503": problem("The run cannot be read now.")}
    summary = "Changes of a contest that is not rated yet."
    return _post(operation(("preview_contest", "contests"), summary, [_RUN], _posted("Preview", errors)), schema)


def _answers(media: tuple[str, ...], schema: str) -> dict[str, Any]:
    return {
        "200": answer("The answer.", media, reference(schema)),
        "304": {"description": "The client has this version."},
        "400": problem("A parameter breaks its rule."),
        "404": problem("There is no such run, player, contest or problem, or the page is beyond the end."),
        "429": problem("Too many requests wait for a core."),
    }
