"""JSON schemas of the answers of the API: rows from the schemas of the tables, other answers member by member.

A client that is generated from the OpenAPI document has a class for each of them. An answer may have further members in
a later release.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ranklake.storage.lake.schemas import OF_ATTRIBUTES, OF_SEASONS, PUBLISHED, SEASON_COLUMNS

from ..common.brand import WORDS
from ..http.server.documents import PROBLEM, Kinds, object_of, schema_of
from ..problems.columns import ABOUT, COLUMNS

_NULLABLE = {  # columns of rows that may be null; others are there, and finite
    "place", "title", "percentile", "component", "place_high", "place_low", "tier", "perf", "perf_ceiling", "precision",
    "url", "name", "time_seconds", "n_players", "team", "points", "value", "rating_before", "change", "year",
    "difficulty", "deviation", "share", "bound", "rating_80", "first_solved", "first_solver", "tags",
    "end_seconds", "centre", "keep", "widen", "history", "restart_counts", "who",
    "season_start_rating", "season_best", "season_change",
}  # fmt: skip
_OF_PLACES = ("component", "place_high", "place_low", "tier")  # not of every run
_TYPES = ((pa.types.is_integer, "integer"), (pa.types.is_floating, "number"), (pa.types.is_boolean, "boolean"))


def _columns(table: pa.Schema, names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Columns of a table as members of a row: all, or those of ``names``."""
    return {name: _column(table.field(name)) for name in names or table.names}


def _column(field: pa.Field) -> dict[str, Any]:
    if pa.types.is_list(field.type):
        return {"type": ["array", "null"], "items": {"type": "string"}, **_described(field)}
    kind = next((name for fits, name in _TYPES if fits(field.type)), "string")
    return schema_of(kind + "?" * (field.name in _NULLABLE)) | _described(field)


def _described(field: pa.Field) -> dict[str, str]:
    facts = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    unit = f" ({facts['unit']})" if "unit" in facts else ""
    return {"description": facts.get("meaning", "") + unit}


_ABOUT: Kinds = {"run": "string", "version": "string"}
_RATINGS, _CONTESTS = PUBLISHED["ratings"], PUBLISHED["contests"]
_BOARD = _columns(PUBLISHED["leaderboard"])
_RANKED: Kinds = {name: kind for name, kind in _BOARD.items() if name not in _OF_PLACES}
_RANGES: Kinds = {name: _BOARD[name] for name in _OF_PLACES}
_OF_SEASON: Kinds = _columns(SEASON_COLUMNS)
_NAMED: Kinds = {"name": "string?"}  # where players have display names
_PLAYER: Kinds = {**_RANKED, "attributes": "{string}", "first_contest": "ContestName", "last_contest": "ContestName",
                   "n_ranked": "integer", "change": "number?", "change_year": "number?", "peak": "Peak",
                   "next_title": "NextTitle?"}  # fmt: skip
_CONTEST = _columns(_CONTESTS)
_PERIOD: Kinds = {"n_games": "integer"}
_NAMES = ("round_index", "contest_id", "name", "time_seconds")
_ROUND = _columns(_RATINGS, ("round_index", "lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma", "n_before"))
_ROUND |= _columns(_RATINGS, ("rating", "team", "points", "contest_id"))
_ROUND |= _columns(_CONTESTS, ("name", "url", "time_seconds", "n_players"))
_STANDING: Kinds = {
    "place": "integer", "rating_before": "number?", "change": "number?",
    "leaderboard_place_before": "integer?", "leaderboard_place": "integer?",
    **_columns(_RATINGS, ("handle", "perf", "mu", "sigma", "n_before", "team", "points", "rated")),
}  # fmt: skip
_PROBLEM = _columns(COLUMNS) | _columns(ABOUT)
_GAME: Kinds = {"win": "number", "draw": "number", "loss": "number"}
_LEARNT: Kinds = {
    "draws": "string", "nu": "number?", "nu_error": "number?", "advantage": "number?", "advantage_error": "number?",
    "games": "integer",
}  # fmt: skip


def _list(description: str, rows: str, more: Kinds | None = None, further: Kinds | None = None) -> dict[str, Any]:
    """A page of a list; ``further`` members are not in every answer."""
    numbers: Kinds = {"total": "integer", "start": "integer", "next": "integer?", "rows": f"[{rows}]"}
    return object_of(description, {**_ABOUT, **(more or {}), **numbers}, further)


SCHEMAS: dict[str, dict[str, Any]] = {
    "Runs": object_of("All published runs.", {"runs": "[Run]"}),
    "Run": object_of(
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
    "Brand": object_of("How the run presents itself to readers.", {
        "title": "string", "description": "string", **dict.fromkeys(WORDS, "string"), "logo": "string?"}),
    "Title": object_of("A title and the lowest rating of its players.",
                     {"name": "string", "minimum": "number?", "colour": "string"}),
    "PlaceRule": object_of("Who has a place, and how wide its interval is.", {
        "min_rounds": "integer", "max_sigma": "number?", "interval": "number", "rule": "string"}),
    "LeaderboardRow": object_of("A player on the leaderboard.", _RANKED, {**_RANGES, **_NAMED, **_OF_SEASON}),
    "Leaderboard": _list("A page of a leaderboard.", "LeaderboardRow"),
    "Season": object_of("A season; the facts of a reset are null without one.", _columns(OF_SEASONS["seasons"])),
    "Seasons": object_of("The seasons of a run.", {**_ABOUT, "rows": "[Season]"}),
    "Group": object_of("Players with the same value of an attribute.", _columns(OF_ATTRIBUTES["groups"]),
                     {"best_name": "string?"}),
    "Groups": _list("A page of groups.", "Group"),
    "ContestName": object_of("A contest.", _columns(_CONTESTS, _NAMES)),
    "Peak": object_of("The highest rating after any round, and the first contest that gave it.",
                    {"rating": "number", **_columns(_CONTESTS, _NAMES)}),
    "NextTitle": object_of("The title above a rating, and the points to it.",
                         {"name": "string", "minimum": "number", "points": "number"}),
    "Player": object_of("A player.", {**_ABOUT, **_PLAYER}, {**_RANGES, **_NAMED}),
    "PlayerOfMany": object_of("A player, with the handle of the request.", {"requested": "string", **_PLAYER},
                            {**_RANGES, **_NAMED}),
    "ComparedPlayer": object_of("A player.", _PLAYER, {**_RANGES, **_NAMED}),
    "MissingPlayer": object_of("A handle without a player, and similar handles.",
                             {"requested": "string", "near": "[string]"}),
    "Players": object_of("Several players.", {**_ABOUT, "players": "[PlayerOfMany]", "missing": "[MissingPlayer]"}),
    "Round": object_of("A rated round of a player; with an opponent, a game.", {**_ROUND, "change": "number?"},
                     {"opponent": "string"}),
    "History": object_of("The rated rounds of a player, in order.",
                       {**_ABOUT, "handle": "string", "rows": "[Round]"}),
    "Progress": object_of("The difference of a skill between two dates.", {
        **_ABOUT, "handle": "string", "start_seconds": "integer", "end_seconds": "integer", "start_mu": "number",
        "end_mu": "number", "difference": "number", "deviation": "number", "chance_higher": "number"}),
    "Pair": object_of(
        "What is known of two players: common rounds, and the chance that the first one is before the other.",
        {"handle": "string", "against": "string", "wins": "integer", "losses": "integer", "draws": "integer",
         "chance": "number", "connected": "boolean"},
        {"difference": "number", "deviation": "number", "skill_chance": "number", **_GAME, "expected": "number",
         "advantage": "number"},
    ),
    "CommonContest": object_of("A round of several of the players.",
                             {**_columns(_CONTESTS, (*_NAMES, "n_players")), "places": "{integer}"},
                             {"teams": "{string}", "changes": "{number?}"}),
    "LearntGames": object_of("What games have taught.", {**_LEARNT, "neutral": "boolean"}),
    "Comparison": object_of("Players compared.", {
        **_ABOUT, "players": "[ComparedPlayer]", "pairs": "[Pair]", "contests": "[CommonContest]", "note": "string",
        "unknown": "[MissingPlayer]",
    }, {"games": "LearntGames"}),
    "TeamMember": object_of("A member of a team.", {"handle": "string", "rating": "number"}),
    "TeamRating": object_of("The rating of a team.",
                          {**_ABOUT, "rating": "number", "players": "[TeamMember]", "note": "string"}),
    "Bin": object_of("Players with a rating from low to below high.",
                   {"low": "number", "high": "number", "count": "integer"}),
    "PlayerShare": object_of("A player in a distribution.",
                           {"handle": "string", "rating": "number?", "percentile": "number?"}),
    "Distribution": object_of("Players by rating; quantiles by the share of players below.", {
        **_ABOUT, "n_players": "integer", "width": "number", "bins": "[Bin]", "quantiles": "{number}",
    }, {"player": "PlayerShare"}),
    "Count": object_of("A number of players.", {**_ABOUT, "min": "number?", "max": "number?", "count": "integer"}),
    "Contest": object_of("A contest, or a period of games.", _CONTEST, _PERIOD),
    "Contests": _list("A page of contests.", "Contest"),
    "Standing": object_of("A participant of a contest and the change of the rating.", {
        **_STANDING, "rating": "number?", "mu": "number", "sigma": "number"}, _NAMED),
    "Standings": _list("A contest with its standings.", "Standing", _CONTEST, _PERIOD),
    "ProblemRow": object_of("A problem with its difficulty.", _PROBLEM),
    "Problems": _list("A page of problems.", "ProblemRow", {"scale": "number"}),
    "ChanceAt": object_of("The chance to solve a problem, of a player of a skill.",
                        {"rating": "number", "chance": "number"}),
    "ProblemBand": object_of("Participations with a rating at entry from low to below high.", {
        "low": "number", "high": "number", "counted": "number", "solved": "number", "share": "number?"}),
    "OneProblem": object_of("A problem with its chance by skill, and its solves by rating.", {
        **_ABOUT, **_PROBLEM, "contest_ids": "[string]", "scale": "number", "curve": "[ChanceAt]",
        "bands": "[ProblemBand]"}),
    "PlayerProblem": object_of("A problem and the chance of a player.",
                             {**_PROBLEM, "chance": "number", "unsolved": "boolean"}),
    "PlayerProblems": _list("A page of problems for a player.", "PlayerProblem", {"handle": "string"}),
    "Match": object_of("A player that a search found.",
                     {name: _BOARD[name] for name in ("place", "handle", "rating", "title")}, _NAMED),
    "Matches": object_of("Players that a search found, best match first.",
                       {**_ABOUT, "q": "string", "rows": "[Match]"}),
    "Change": object_of(
        "A participant of a contest that is not rated yet.",
        {
            "place": "integer?", "handle": "string", "perf": "number?", "mu_prior": "number", "sigma_prior": "number",
            "mu": "number?", "sigma": "number?", "rating_before": "number?", "rating": "number?", "change": "number?",
            "expected_place": "number", "next_title": "string?", "next_title_chance": "number?",
            "next_title_place": "integer?", "known": "boolean", "near": "[string]",
        },
        {"team": "string?", **_GAME},
    ),
    "Preview": object_of("The changes of a contest that is not rated yet.",
                       {**_ABOUT, "notes": "[string]", "rows": "[Change]"}),
    "Health": object_of("That the server works.", {"status": "string", "runs": "integer"}),
    "Problem": object_of("An error (RFC 9457).", PROBLEM, {
        "parameter": "string", "value": "string?", "rule": "string", "near": "[string]", "runs": "[string]",
        "total": "integer", "last": "integer", "limit": "integer?",
    }),
}  # fmt: skip
"""By the names of the components of the OpenAPI document."""
