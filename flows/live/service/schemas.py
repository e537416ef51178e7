"""JSON schemas of the requests and answers of the service. An answer may have further members in a later release."""

from __future__ import annotations

from typing import Any

from ...http.server.documents import PROBLEM, Kinds, object_of
from ..matches.match import MatchLimits
from .proposals import MOST_BALANCED

_LIMITS = MatchLimits()
_NAME: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": _LIMITS.name}
_ABOVE: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0}


def _list(items: Any, least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _sent(description: str, members: Kinds, further: Kinds | None = None) -> dict[str, Any]:
    """An object of a request: other members are errors."""
    return object_of(description, members, further) | {"additionalProperties": False}


_PLAYER: Kinds = {"player": "string", "mu": "number", "sigma": "number", "rating": "number"}
_SIDES = _list({"$ref": "#/components/schemas/Side"}, 2, _LIMITS.sides)
_MATCH: Kinds = {
    "time": {"type": ["integer", "null"]}, "sides": _SIDES, "a": _NAME, "b": _NAME,
    "score": {"type": "number", "minimum": 0, "maximum": 1}, "weight": _ABOVE, "advantage": "number",
    "shares": {"type": "object", "additionalProperties": _ABOVE}, "x": "{number}",
}  # fmt: skip
_NUMBERS: Kinds = {"players": "[PlayerResult]", "expected": "[number]"}
_LIVE: Kinds = {**_PLAYER, "n_rounds": "integer", "last_match": "integer?", "provisional": "boolean"}
_STATE: Kinds = {"run": "string", "sequence": "integer"}
_STALE: Kinds = {"stale": "boolean"}

SCHEMAS: dict[str, dict[str, Any]] = {
    "Side": _sent("A side of a match: its players and its place from 1; sides that tie have equal places.", {
        "players": _list(_NAME, 1, _LIMITS.players), "place": {"type": "integer", "minimum": 1},
    }, {"points": {"type": ["number", "null"]}}),
    "Match": _sent("A match: sides, or two players a and b with the score of a.", {"id": _NAME}, _MATCH),
    "MatchOrMatches": {"oneOf": [
        {"$ref": "#/components/schemas/Match"},
        _sent("A list of matches, accepted in their order.",
              {"matches": _list({"$ref": "#/components/schemas/Match"}, 1, _LIMITS.batch)}),
    ]},
    "Handles": _sent("Players.", {"handles": _list({"type": "string"}, 1, 200)}),
    "Teams": _sent("The sides of a proposed match.", {
        "teams": _list(_list(_NAME, 1, _LIMITS.players), 2, _LIMITS.sides)}),
    "Parties": _sent("Players of two teams to come; those of a party stay together.", {
        "parties": _list(_list(_NAME, 1, MOST_BALANCED), 1, MOST_BALANCED),
    }, {"sizes": {**_list({"type": "integer", "minimum": 1}, 2, 2), "type": ["array", "null"]}}),
    "PlayerResult": object_of("What a match did to a player, in rating points.", {
        **_PLAYER, "change": "number", "mu_before": "number", "n_rounds": "integer"}),
    "RunResult": object_of("What a match did in one run.", _NUMBERS, {"skipped": "string"}),
    "Result": object_of("What a match did, in the order of its players; with several runs, in each by its name.",
                        {"id": "string", "sequence": "integer", **_NUMBERS},
                        {"skipped": "string", "runs": "{RunResult}"}),
    "OneOfList": object_of("What became of a match of a list.", {"status": "integer"},
                           {"result": "Result", "error": "Problem"}),
    "Results": object_of("What became of each match of a list, in its order.", {"results": "[OneOfList]"}),
    "StoredMatch": object_of("A match of the log with its result.", {
        **_STATE, "match": "object", "received": "number", "period": "string", "result": "RunResult"}),
    "Accepted": object_of("The number of the record of a change.", {"sequence": "integer"}),
    "LivePlayer": object_of("A player after the last match of the state.", {**_STATE, **_STALE, **_LIVE}),
    "LivePlayerOfMany": object_of("A player.", _LIVE),
    "LiveRow": object_of("A player; equal ratings share a place.", {
        "place": "integer", **_PLAYER, "n_rounds": "integer"}),
    "LivePlayers": object_of("Players of one state.", {
        **_STATE, **_STALE, "players": "[LivePlayerOfMany]", "missing": "[string]"}),
    "LiveLeaderboard": object_of("A page of a leaderboard, at most a second old.", {
        **_STATE, **_STALE, "total": "integer", "start": "integer", "rows": "[LiveRow]"}),
    "Quality": object_of("The chances of a proposed match.", {
        **_STATE, "chances": "[number]", "win": "number?", "draw": "number?", "loss": "number?", "quality": "number?"}),
    "Balance": object_of("Two teams, and the chances of their match; exact if all splits were compared.", {
        **_STATE, "teams": _list({"type": "array", "items": {"type": "string"}}, 2, 2), "chances": "[number]",
        "win": "number?", "draw": "number?", "loss": "number?", "quality": "number?", "exact": "boolean"}),
    "LiveRuns": object_of("The runs that the process rates.", {"runs": "[string]"}),
    "Health": object_of("The state of the process.", {"status": "string"}),
    "Problem": object_of("An error (RFC 9457).", PROBLEM, {
        "parameter": "string", "value": "string?", "rule": "string", "runs": "[string]", "pointer": "string",
        "sequence": "integer",
    }),
}  # fmt: skip
"""By the names of the components of the OpenAPI document."""
