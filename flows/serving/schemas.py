"""JSON schemas of the answers of the API: rows from the schemas of the tables, other answers member by member.

A client that is generated from the OpenAPI document has a class for each of them. An answer may have further members in
a later release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ranklake.storage.lake.schemas import OF_ATTRIBUTES, PUBLISHED

from ..common.brand import WORDS
from ..problems.columns import ABOUT, COLUMNS

_Kinds = Mapping[str, str | dict[str, Any]]

_NULLABLE = {  # columns of rows that may be null; others are there, and finite
    "place", "title", "percentile", "component", "place_high", "place_low", "tier", "perf", "perf_ceiling", "precision",
    "url", "name", "time_seconds", "n_players", "team", "points", "value", "rating_before", "change", "year",
    "difficulty", "deviation", "share", "bound", "rating_80", "first_solved", "first_solver", "tags",
}  # fmt: skip
_OF_PLACES = ("component", "place_high", "place_low", "tier")  # not of every run
_TYPES = ((pa.types.is_integer, "integer"), (pa.types.is_floating, "number"), (pa.types.is_boolean, "boolean"))


def _schema(kind: str | dict[str, Any]) -> dict[str, Any]:
    """The schema of ``integer``, ``integer?`` (or null), ``Player`` (a component), ``[Player]`` (a list of them)
    or ``{number}`` (an object of them).
    """
    if isinstance(kind, dict):
        return kind
    if kind[0] == "[":
        return {"type": "array", "items": _schema(kind[1:-1])}
    if kind[0] == "{":
        return {"type": "object", "additionalProperties": _schema(kind[1:-1])}
    name = kind.removesuffix("?")
    if not name[0].isupper():
        return {"type": name if name == kind else [name, "null"]}
    reference = {"$ref": f"#/components/schemas/{name}"}
    return reference if name == kind else {"oneOf": [reference, {"type": "null"}]}


def _object(description: str, members: _Kinds, further: _Kinds | None = None) -> dict[str, Any]:
    """An object; ``further`` members are not in every answer."""
    properties = {name: _schema(kind) for name, kind in (dict(members) | dict(further or {})).items()}
    return {"type": "object", "description": description, "required": list(members), "properties": properties}


def _columns(table: pa.Schema, names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Columns of a table as members of a row: all, or those of ``names``."""
    return {name: _column(table.field(name)) for name in names or table.names}


def _column(field: pa.Field) -> dict[str, Any]:
    if pa.types.is_list(field.type):
        return {"type": ["array", "null"], "items": {"type": "string"}, **_described(field)}
    kind = next((name for fits, name in _TYPES if fits(field.type)), "string")
    return _schema(kind + "?" * (field.name in _NULLABLE)) | _described(field)


def _described(field: pa.Field) -> dict[str, str]:
    facts = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    unit = f" ({facts['unit']})" if "unit" in facts else ""
    return {"description": facts.get("meaning", "") + unit}


_ABOUT: _Kinds = {"run": "string", "version": "string"}
_RATINGS, _CONTESTS = PUBLISHED["ratings"], PUBLISHED["contests"]
_BOARD = _columns(PUBLISHED["leaderboard"])
_RANKED: _Kinds = {name: kind for name, kind in _BOARD.items() if name not in _OF_PLACES}
_RANGES: _Kinds = {name: _BOARD[name] for name in _OF_PLACES}
_NAMED: _Kinds = {"name": "string?"}  # where players have display names
_PLAYER: _Kinds = {**_RANKED, "attributes": "{string}", "first_contest": "ContestName", "last_contest": "ContestName",
                   "n_ranked": "integer", "change": "number?", "change_year": "number?", "peak": "Peak",
                   "next_title": "NextTitle?"}  # fmt: skip
_CONTEST = _columns(_CONTESTS)
_PERIOD: _Kinds = {"n_games": "integer"}
_NAMES = ("round_index", "contest_id", "name", "time_seconds")
_ROUND = _columns(_RATINGS, ("round_index", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before"))
_ROUND |= _columns(_RATINGS, ("rating", "team", "points", "contest_id"))
_ROUND |= _columns(_CONTESTS, ("name", "url", "time_seconds", "n_players"))
_STANDING: _Kinds = {
    "place": "integer", "rating_before": "number?", "change": "number?",
    "leaderboard_place_before": "integer?", "leaderboard_place": "integer?",
    **_columns(_RATINGS, ("handle", "perf", "mu", "sigma", "n_before", "team", "points", "rated")),
}  # fmt: skip
_PROBLEM = _columns(COLUMNS) | _columns(ABOUT)
_GAME: _Kinds = {"win": "number", "draw": "number", "loss": "number"}
_LEARNT: _Kinds = {
    "draws": "string", "nu": "number?", "nu_error": "number?", "advantage": "number?", "advantage_error": "number?",
    "games": "integer",
}  # fmt: skip


def _list(description: str, rows: str, more: _Kinds | None = None, further: _Kinds | None = None) -> dict[str, Any]:
    """A page of a list; ``further`` members are not in every answer."""
    numbers: _Kinds = {"total": "integer", "start": "integer", "next": "integer?", "rows": f"[{rows}]"}
    return _object(description, {**_ABOUT, **(more or {}), **numbers}, further)


SCHEMAS: dict[str, dict[str, Any]] = {
    "Runs": _object("All published runs.", {"runs": "[Run]"}),
    "Run": _object(
        "A run: its system, hyperparameters, rounds, players, version and times.",
        {
            **_ABOUT, "title": "string", "brand": "Brand",
            "published_seconds": "integer", "dataset": "string", "system": "string", "params": "object",
            "deviations": "number", "sigma_limit": "number", "level": "string", "decimals": "integer",
            "titles": "[Title]", "attributes": "[string]", "n_rounds": "integer", "n_players": "integer",
            "n_problems": "integer", "n_provisional": "integer", "places": "PlaceRule",
            "components": {"type": ["array", "null"], "items": {"type": "integer"}},
            "note": "string", "chances": "object?", "last_time_seconds": "integer?",
        },
    ),
    "Brand": _object("How the run presents itself to readers.", {
        "title": "string", "description": "string", **dict.fromkeys(WORDS, "string"), "logo": "string?"}),
    "Title": _object("A title and the lowest rating of its players.",
                     {"name": "string", "minimum": "number?", "colour": "string"}),
    "PlaceRule": _object("Who has a place, and how wide its interval is.", {
        "min_rounds": "integer", "max_sigma": "number?", "interval": "number", "rule": "string"}),
    "LeaderboardRow": _object("A player on the leaderboard.", _RANKED, {**_RANGES, **_NAMED}),
    "Leaderboard": _list("A page of a leaderboard.", "LeaderboardRow"),
    "Group": _object("Players with the same value of an attribute.", _columns(OF_ATTRIBUTES["groups"]),
                     {"best_name": "string?"}),
    "Groups": _list("A page of groups.", "Group"),
    "ContestName": _object("A contest.", _columns(_CONTESTS, _NAMES)),
    "Peak": _object("The highest rating after any round, and the first contest that gave it.",
                    {"rating": "number", **_columns(_CONTESTS, _NAMES)}),
    "NextTitle": _object("The title above a rating, and the points to it.",
                         {"name": "string", "minimum": "number", "points": "number"}),
    "Player": _object("A player.", {**_ABOUT, **_PLAYER}, {**_RANGES, **_NAMED}),
    "PlayerOfMany": _object("A player, with the handle of the request.", {"requested": "string", **_PLAYER},
                            {**_RANGES, **_NAMED}),
    "ComparedPlayer": _object("A player.", _PLAYER, {**_RANGES, **_NAMED}),
    "MissingPlayer": _object("A handle without a player, and similar handles.",
                             {"requested": "string", "near": "[string]"}),
    "Players": _object("Several players.", {**_ABOUT, "players": "[PlayerOfMany]", "missing": "[MissingPlayer]"}),
    "Round": _object("A rated round of a player; with an opponent, a game.", {**_ROUND, "change": "number?"},
                     {"opponent": "string"}),
    "History": _object("The rated rounds of a player, in order.",
                       {**_ABOUT, "handle": "string", "rows": "[Round]"}),
    "Progress": _object("The difference of a skill between two dates.", {
        **_ABOUT, "handle": "string", "start_seconds": "integer", "end_seconds": "integer", "start_mu": "number",
        "end_mu": "number", "difference": "number", "deviation": "number", "chance_higher": "number"}),
    "Pair": _object(
        "What is known of two players: common rounds, and the chance that the first one is before the other.",
        {"handle": "string", "against": "string", "wins": "integer", "losses": "integer", "draws": "integer",
         "chance": "number", "connected": "boolean"},
        {"difference": "number", "deviation": "number", "skill_chance": "number", **_GAME, "expected": "number",
         "advantage": "number"},
    ),
    "CommonContest": _object("A round of several of the players.",
                             {**_columns(_CONTESTS, (*_NAMES, "n_players")), "places": "{integer}"},
                             {"teams": "{string}", "changes": "{number?}"}),
    "LearntGames": _object("What games have taught.", {**_LEARNT, "neutral": "boolean"}),
    "Comparison": _object("Players compared.", {
        **_ABOUT, "players": "[ComparedPlayer]", "pairs": "[Pair]", "contests": "[CommonContest]", "note": "string",
        "unknown": "[MissingPlayer]",
    }, {"games": "LearntGames"}),
    "TeamMember": _object("A member of a team.", {"handle": "string", "rating": "number"}),
    "TeamRating": _object("The rating of a team.",
                          {**_ABOUT, "rating": "number", "players": "[TeamMember]", "note": "string"}),
    "Bin": _object("Players with a rating from low to below high.",
                   {"low": "number", "high": "number", "count": "integer"}),
    "PlayerShare": _object("A player in a distribution.",
                           {"handle": "string", "rating": "number?", "percentile": "number?"}),
    "Distribution": _object("Players by rating; quantiles by the share of players below.", {
        **_ABOUT, "n_players": "integer", "width": "number", "bins": "[Bin]", "quantiles": "{number}",
    }, {"player": "PlayerShare"}),
    "Count": _object("A number of players.", {**_ABOUT, "min": "number?", "max": "number?", "count": "integer"}),
    "Contest": _object("A contest, or a period of games.", _CONTEST, _PERIOD),
    "Contests": _list("A page of contests.", "Contest"),
    "Standing": _object("A participant of a contest and the change of the rating.", {
        **_STANDING, "rating": "number?", "mu": "number", "sigma": "number"}, _NAMED),
    "Standings": _list("A contest with its standings.", "Standing", _CONTEST, _PERIOD),
    "ProblemRow": _object("A problem with its difficulty.", _PROBLEM),
    "Problems": _list("A page of problems.", "ProblemRow", {"scale": "number"}),
    "ChanceAt": _object("The chance to solve a problem, of a player of a skill.",
                        {"rating": "number", "chance": "number"}),
    "ProblemBand": _object("Participations with a rating at entry from low to below high.", {
        "low": "number", "high": "number", "counted": "number", "solved": "number", "share": "number?"}),
    "OneProblem": _object("A problem with its chance by skill, and its solves by rating.", {
        **_ABOUT, **_PROBLEM, "contest_ids": "[string]", "scale": "number", "curve": "[ChanceAt]",
        "bands": "[ProblemBand]"}),
    "PlayerProblem": _object("A problem and the chance of a player.",
                             {**_PROBLEM, "chance": "number", "unsolved": "boolean"}),
    "PlayerProblems": _list("A page of problems for a player.", "PlayerProblem", {"handle": "string"}),
    "Match": _object("A player that a search found.",
                     {name: _BOARD[name] for name in ("place", "handle", "rating", "title")}, _NAMED),
    "Matches": _object("Players that a search found, best match first.",
                       {**_ABOUT, "q": "string", "rows": "[Match]"}),
    "Change": _object(
        "A participant of a contest that is not rated yet.",
        {
            "place": "integer?", "handle": "string", "perf": "number?", "mu_prior": "number", "sigma_prior": "number",
            "mu": "number?", "sigma": "number?", "rating_before": "number?", "rating": "number?", "change": "number?",
            "expected_place": "number", "next_title": "string?", "next_title_chance": "number?",
            "next_title_place": "integer?", "known": "boolean", "near": "[string]",
        },
        {"team": "string?", **_GAME},
    ),
    "Preview": _object("The changes of a contest that is not rated yet.",
                       {**_ABOUT, "notes": "[string]", "rows": "[Change]"}),
    "Health": _object("That the server works.", {"status": "string", "runs": "integer"}),
    "Problem": _object("An error (RFC 9457).", {
        "type": "string", "title": "string", "status": "integer", "detail": "string",
    }, {
        "parameter": "string", "value": "string?", "rule": "string", "near": "[string]", "runs": "[string]",
        "total": "integer", "last": "integer", "limit": "integer?",
    }),
}  # fmt: skip
"""By the names of the components of the OpenAPI document."""
