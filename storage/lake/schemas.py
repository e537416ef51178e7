"""Each table's schema: types, nulls, units and meaning; and the format version that every file carries."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from .errors import FormatError
from .remedies import damaged, remedy_for

FORMAT_VERSION = 1
SHARDED_FORMAT = 2  # of a table beside shards only: releases before them would take its rows for all
EVENTS_FORMAT = 3  # of a table of contests with events: releases before them would rate as if there were none


def check_format(found: object, path: str, *, reads: int | None = None, newest: int = 0) -> None:
    """Stop at a file of another format.

    Raises FormatError: ``found`` is another version than ``reads``, by default ``FORMAT_VERSION``, or those up to
    ``newest``.
    Raises DamagedError: ``found`` is no version at all.
    """
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise damaged(path, f"has format {found!r}, which no release wrote")
    reads = FORMAT_VERSION if reads is None else reads
    newest = max(reads, newest)
    if not reads <= found <= newest:
        remedy = "update ranklake" if found > newest else f"use an older release, or {remedy_for(path)}"
        message = f"{path} is format {found}, this code reads {newest}; {remedy}"
        raise FormatError(message, path=path, found=found)


def conform(table: pa.Table, name: str) -> pa.Table:
    """``table`` under the declared schema of ``name``: its columns, their order, its metadata. Copies nothing.

    Columns of ``OPTIONAL`` without a value are left out; those of ``OPEN`` come last, in the order of the table.

    Raises ValueError: a column is missing, of another type, or has nulls where none are allowed.
    """
    fields, columns = [], []
    for field in (*TABLES[name], *open_fields(name, table.column_names)):
        index = table.schema.get_field_index(field.name)
        if field.name in OPTIONAL.get(name, ()) and (index < 0 or table.column(index).null_count == table.num_rows):
            continue
        if index < 0:
            raise ValueError(f"table {name} needs a column {field.name} ({field.type}), got {table.column_names}")
        column = table.column(index)
        if column.type != field.type:
            raise ValueError(f"{name}.{field.name} must be {field.type}, got {column.type}")
        if not field.nullable and column.null_count:
            raise ValueError(f"{name}.{field.name} must have no nulls, got {column.null_count}")
        fields.append(field)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def open_fields(name: str, columns: Iterable[str]) -> list[pa.Field]:
    """The fields of those of ``columns`` that a table of kind ``name`` has by their prefix, see ``OPEN``."""
    template = OPEN.get(name)
    return [template.with_name(column) for column in columns if template and column.startswith(template.name)]


def _field(name: str, kind: pa.DataType, meaning: str, unit: str = "", *, nullable: bool = False) -> pa.Field:
    metadata = {"meaning": meaning} | ({"unit": unit} if unit else {})
    return pa.field(name, kind, nullable=nullable, metadata=metadata)


_CONTEST_ID = _field("contest_id", pa.string(), "the contest, unique in its data set")
_PLAYER = _field("player", pa.int32(), "dense index of the player in the data set")
_HANDLE = _field("handle", pa.string(), "the site's name for the player")
_LO = _field("lo", pa.int32(), "first place of the tie group, zero-based, inclusive", "place")
_HI = _field("hi", pa.int32(), "last place of the tie group, zero-based, inclusive", "place")

_PRECISION = _field("precision", pa.float64(), "factor on the precision of performances; null is 1", nullable=True)

CONTESTS = pa.schema(
    [
        _CONTEST_ID,
        _field("name", pa.string(), "title, as the source tells it"),
        _field("url", pa.string(), "where people read about it; null if nowhere", nullable=True),
        _field("time_seconds", pa.int64(), "end of the contest", "UTC seconds since the epoch"),
        _field("weight", pa.float64(), "how much it counts; 1 is usual"),
        _field(
            "perf_ceiling",
            pa.float64(),
            "highest performance it can show; null if none",
            "rating points",
            nullable=True,
        ),
        _field("n_players", pa.int32(), "participations that count", "players"),
        _field("content_digest", pa.string(), "BLAKE2b-128 of all that ratings depend on", "hex"),
        _field("file", pa.string(), "name of the standings file that holds it"),
        _field("row_start", pa.int64(), "where its rows begin in that file", "row"),
        _field("n_rows", pa.int32(), "its rows there: participations before anybody was disqualified", "rows"),
        _field("source_digest", pa.string(), "content_digest as the source gave it, before corrections", "hex"),
        _field(
            "n_teams",
            pa.int32(),
            "teams; null if all participants are alone. Places count teams",
            "teams",
            nullable=True,
        ),
        _field(
            "field_includes_unrated",
            pa.bool_(),
            "whether rated participants compete with unrated ones; null is false",
            nullable=True,
        ),
        _field(
            "rated_above",
            pa.float64(),
            "participants with a lower rating at entry are unrated; null if there is no such limit",
            "rating points",
            nullable=True,
        ),
        _field(
            "rated_below",
            pa.float64(),
            "participants with this rating at entry or a higher one are unrated; null if there is no such limit",
            "rating points",
            nullable=True,
        ),
        _field(
            "fractional",
            pa.bool_(),
            "whether a game of the period had a score besides 1, 0.5 and 0 in the source; null is false",
            nullable=True,
        ),
        _PRECISION,
        _field(
            "scored",
            pa.bool_(),
            "whether points of a participant were known in the source; null is false",
            nullable=True,
        ),
        _field(
            "covariates",
            pa.string(),
            "names of the covariates of its games, with blanks between; null if none",
            nullable=True,
        ),
    ]
)

_RATED = _field("rated", pa.bool_(), "whether the rating of the participant may change; null is true", nullable=True)
_POINTS = _field("points", pa.float64(), "points of the player, more is better; null if unknown", nullable=True)

STANDINGS = pa.schema(
    [
        _CONTEST_ID,
        _PLAYER,
        _HANDLE,
        _LO,
        _HI,
        _field("team", pa.string(), "the player's team in the contest; null if alone", nullable=True),
        _field("share", pa.float64(), "share of the member in its team; null is 1", nullable=True),
        _RATED,
        _POINTS,
    ]
)

PLAYERS = pa.schema([_PLAYER, _HANDLE])

GAMES = pa.schema(
    [
        _CONTEST_ID,
        _PLAYER,
        _field("opponent", pa.int32(), "dense index of the second player in the data set"),
        _field("score", pa.float64(), "score of the player, from 0 to 1; the opponent has the rest"),
        _field("time_seconds", pa.int64(), "time of the game", "UTC seconds since the epoch"),
        _field("weight", pa.float64(), "how much the game counts; null is 1", nullable=True),
        _field(
            "advantage",
            pa.float64(),
            "advantage of the player over the opponent in the game; null is 0",
            "rating points",
            nullable=True,
        ),
        _POINTS,
        _field("opponent_points", pa.float64(), "those of the opponent", nullable=True),
        _PRECISION,
        _field("kept", pa.string(), "kept columns of the source, as a JSON object; null if none", nullable=True),
    ]
)

ATTRIBUTES = pa.schema(
    [
        _HANDLE,
        _field("attribute", pa.string(), "what it is, as country or organisation"),
        _field("value", pa.string(), "its value for the player, not empty"),
    ]
)

_PROBLEM = _field("problem", pa.string(), "the problem, unique in its data set")

RESULTS = pa.schema(
    [
        _CONTEST_ID,
        _PLAYER,
        _field("problem", pa.dictionary(pa.int32(), pa.string()), "the problem that the player attempted"),
        _field("share", pa.float64(), "share of the problem that the player solved, from 0 to 1"),
        _field(
            "after", pa.float64(), "when, after the start of the contest; null if unknown", "seconds", nullable=True
        ),
        _field("attempts", pa.int32(), "submissions; null if unknown", nullable=True),
    ]
)

RESULT_CONTESTS = pa.schema(
    [
        _CONTEST_ID,
        _field("content_digest", pa.string(), "BLAKE2b-128 of the results; no rating depends on it", "hex"),
        _field("file", pa.string(), "name of the file of results that holds them"),
        _field("row_start", pa.int64(), "where its rows begin in that file", "row"),
        _field("n_rows", pa.int32(), "its rows there", "rows"),
    ]
)

PROBLEMS = pa.schema(
    [
        _PROBLEM,
        _field("name", pa.string(), "title; null if unknown", nullable=True),
        _field("url", pa.string(), "where people read it; null if nowhere", nullable=True),
        _field("position", pa.int32(), "place in the order of its contests; null if unknown", nullable=True),
        _field("tags", pa.list_(pa.string()), "topics; null if unknown", nullable=True),
        _field("max_score", pa.float64(), "score of a full solve; null if unknown", nullable=True),
        _field("same_as", pa.string(), "the problem that this one is under another id; null if none", nullable=True),
    ]
)

LOG = pa.schema(
    [
        _field(
            "kind",
            pa.string(),
            "what was done: remove, disqualify, reinstate, alias, unalias, season, season removed or season restored",
        ),
        _field("contest_id", pa.string(), "the contest it was done to; null for names", nullable=True),
        _field("handle", pa.string(), "the player, or the old name; null for whole contests", nullable=True),
        _field("new_handle", pa.string(), "the name that counts instead; null if none", nullable=True),
        _field(
            "since_seconds",
            pa.int64(),
            "when the old name was given up, null for always; or the time of the season",
            "UTC seconds since the epoch",
            nullable=True,
        ),
        _field("who", pa.string(), "who did it, user@host"),
        _field("time_seconds", pa.int64(), "when it was done", "UTC seconds since the epoch"),
        _field("why", pa.string(), "in their own words; may be empty"),
        _field("season", pa.string(), "the season it was done to; null for anything else", nullable=True),
    ]
)

EVENTS = pa.schema(
    [
        _field("event_id", pa.int32(), "number of the event, from 0 in the order of their recording; never used again"),
        _field("time_seconds", pa.int64(), "when it takes place", "UTC seconds since the epoch"),
        _field("kind", pa.string(), "season: a name from then on; reset: also acts on beliefs"),
        _field("name", pa.string(), "name of the season that begins"),
        _field("centre", pa.string(), "what ratings are pulled to: mu_init, mean or a number", "rating points"),
        _field("keep", pa.float64(), "factor on the distance from the centre, from 0 to 1"),
        _field("widen", pa.float64(), "standard deviation that is added to the belief", "rating points"),
        _field("history", pa.string(), "keep or forget: what beliefs with a history do with it"),
        _field("restart_counts", pa.bool_(), "whether rules that count games of a player count from then on"),
        _field("who", pa.string(), "all, attribute=value, or active_since=UTC seconds"),
        _field("log_entry", pa.int32(), "row of the log that has author, time and reason, from 0"),
        _field("removed", pa.bool_(), "whether it was removed since"),
    ]
)

ROUNDS = pa.schema(
    [
        _field("round_index", pa.int32(), "place of the contest in the rated order, from 0", "round"),
        _CONTEST_ID,
        _PLAYER,
        _LO,
        _HI,
        _field("perf", pa.float64(), "performance; null if the system has none", "rating points", nullable=True),
        _field("mu_prior", pa.float64(), "mean of the belief brought to the round, after diffusion", "rating points"),
        _field("sigma_prior", pa.float64(), "its standard deviation", "rating points"),
        _field("mu", pa.float64(), "mean of the belief taken from the round", "rating points"),
        _field("sigma", pa.float64(), "its standard deviation", "rating points"),
        _field("n_before", pa.int32(), "rounds the player had played before this one", "rounds"),
    ]
)

SMOOTHED = pa.schema(
    [
        *(ROUNDS.field(name) for name in ("round_index", "contest_id", "player", "lo", "hi")),
        _field("perf", pa.float64(), "performance against the cavities of the other participants", "rating points"),
        _field("smooth_mu", pa.float64(), "mean of the skill at the round, given all rounds", "rating points"),
        _field("smooth_sigma", pa.float64(), "its standard deviation", "rating points"),
        _field("cavity_mu", pa.float64(), "mean of the skill, given all rounds but this one", "rating points"),
        _field("cavity_sigma", pa.float64(), "its standard deviation", "rating points"),
        _field(
            "log_gain",
            pa.float64(),
            "logarithm of the product of the smoother's gains at the player's earlier rounds",
            nullable=True,
        ),
    ]
)

CHECKPOINT = pa.schema(
    [_field("mean", pa.float64(), "cavity mean with which the next sweep begins, less mu_init", "rating points")]
)

ENTRY = pa.schema(
    [
        _CONTEST_ID,
        _field("handle", pa.string(), "name of the player when the contest was first rated"),
        _field("rating", pa.float64(), "rating that the run showed before the contest", "rating points"),
    ]
)

RESET_PLAYERS = pa.schema([_field("handle", pa.string(), "name of a player of the reset when it was first applied")])

# Columns of later releases: a file without a value in them lacks them, and its bytes are those of earlier releases.
OPTIONAL = {
    "contests": (
        "n_teams",
        "field_includes_unrated",
        "rated_above",
        "rated_below",
        "fractional",
        "precision",
        "scored",
        "covariates",
    ),
    "standings": ("team", "share", "rated", "points"),
    "games": ("weight", "advantage", "points", "opponent_points", "precision", "kept"),
    "log": ("season",),
    "rounds": ("rated",),
    "smoothed": ("log_gain",),
}

COVARIATE = "x_"

# Columns with these prefixes; a file may have any number of them.
OPEN = {"games": _field(COVARIATE, pa.float64(), "covariate of the game, oriented to the player")}

TABLES = {
    "contests": CONTESTS,
    "standings": STANDINGS,
    "games": GAMES,
    "players": PLAYERS,
    "attributes": ATTRIBUTES,
    "results": RESULTS,
    "result_contests": RESULT_CONTESTS,
    "problems": PROBLEMS,
    "log": LOG,
    "events": EVENTS,
    "rounds": ROUNDS.append(_RATED),
    "smoothed": SMOOTHED,
    "checkpoint": CHECKPOINT,
    "entry": ENTRY,
    "reset_players": RESET_PLAYERS,
}

_TIME = _field("time_seconds", pa.int64(), "end of the contest; null if unknown", "UTC seconds since the epoch")
_RATING = _field("rating", pa.float64(), "the conservative rating that people are shown", "rating points")

_RATINGS = pa.schema(
    [
        *(ROUNDS.field(name) for name in ("round_index", "contest_id", "player")),
        _HANDLE,
        *(ROUNDS.field(name) for name in ("lo", "hi", "perf", "mu_prior", "sigma_prior", "mu", "sigma")),
        _RATING,
        ROUNDS.field("n_before"),
        _TIME,
        _field("year", pa.int32(), "of the end of the contest, UTC; null if unknown or beyond the calendar", "year"),
        *(SMOOTHED.field(name) for name in ("smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma")),
        STANDINGS.field("team"),
        _field("rated", pa.bool_(), "whether the rating of the participant may change"),
        _POINTS,
    ]
)

# The columns of a leaderboard before anything about its places, see ``PLACES``.
LEADERBOARD = pa.schema(
    [
        _field("place", pa.int64(), "from 1, best first; equals share", "place"),
        _HANDLE,
        _RATING,
        _field("mu", pa.float64(), "mean of the belief after the last round", "rating points"),
        _field("sigma", pa.float64(), "its standard deviation", "rating points"),
        _field("n_rounds", pa.int32(), "rounds rated", "rounds"),
        _field("last_time_seconds", pa.int64(), "end of the last contest; 0 if unknown", "UTC seconds since the epoch"),
        _field("max_rating", pa.float64(), "highest rating after any round", "rating points"),
        _field(
            "title",
            pa.string(),
            "title for the rating; null if the run has no titles, or the rating is below the lowest",
        ),
        _PLAYER,
        _field("percentile", pa.float64(), "share of the other ranked players with a lower rating", "percent"),
        _field(
            "component", pa.int32(), "group of players who met, even through others: 0 is the largest; null if unknown"
        ),
    ]
)

# Columns of leaderboards that say how sure a place is; see :func:`ranklake.flows.results.ranks.ranked`.
PLACES = pa.schema(
    [
        _field("provisional", pa.bool_(), "whether rounds are too few, or sigma too large, for a place", nullable=True),
        _field("place_high", pa.int64(), "best place by skill that the player may have", "place", nullable=True),
        _field("place_low", pa.int64(), "worst place by skill that the player may have", "place", nullable=True),
        _field("tier", pa.int64(), "from 1, best first: nobody can be told from the first of the tier", nullable=True),
    ]
)

# Columns of the leaderboard of a season; see :func:`ranklake.flows.answers.leaderboard.season_leaderboard`.
SEASON_COLUMNS = pa.schema(
    [
        _field("season_rounds", pa.int32(), "rounds of the season that were rated", "rounds"),
        _field(
            "season_start_rating",
            pa.float64(),
            "rating brought to the first round of the season, after a reset; null for newcomers and without a round",
            "rating points",
            nullable=True,
        ),
        _field(
            "season_best", pa.float64(), "highest rating after a round of the season", "rating points", nullable=True
        ),
        _field("season_change", pa.float64(), "rating - season_start_rating", "rating points", nullable=True),
    ]
)

_CONTESTS = pa.schema(
    [
        ROUNDS.field("round_index"),
        *(CONTESTS.field(name) for name in ("contest_id", "name", "url", "time_seconds", "weight", "perf_ceiling")),
        *(CONTESTS.field(name) for name in ("n_players", "content_digest")),
        _field("skipped", pa.bool_(), "whether it was passed over: it tells nobody apart, or was excluded"),
        _PRECISION,
    ]
)

# Tables for consumers. A column of a later release is null in rows of earlier releases, so all columns may have nulls.
PUBLISHED = {
    name: pa.schema([field.with_nullable(True) for field in schema])
    for name, schema in {
        "players": PLAYERS,
        "contests": _CONTESTS,
        "ratings": _RATINGS,
        "leaderboard": pa.schema([*LEADERBOARD, *PLACES]),
    }.items()
}

_CATEGORY = _field("category", pa.string(), "value of the column by which games are divided; null: all", nullable=True)

STRENGTHS = pa.schema(
    [
        _CATEGORY,
        LEADERBOARD.field("place").with_nullable(True),
        *(PLACES.field(name) for name in ("place_high", "place_low", "tier")),
        _HANDLE,
        _field("rating", pa.float64(), "strength that explains all games at once", "rating points"),
        _field("sigma", pa.float64(), "deviation from the mean of the component", "rating points"),
        _field("sigma_sandwich", pa.float64(), "the same where the model may be wrong", "rating points"),
        _field("sigma_model", pa.float64(), "the same where the model is right", "rating points"),
        _field("extreme", pa.bool_(), "whether the player never won or never lost; a draw is half of both"),
        _field("component", pa.int32(), "players who met, directly or through others; 0 is the largest"),
        _field("n_games", pa.int64(), "games of the player", "games"),
        *(_field(name, pa.int64(), f"of these, {name}", "games") for name in ("wins", "draws", "losses")),
    ]
)

COEFFICIENTS = pa.schema(
    [
        _CATEGORY,
        _field("name", pa.string(), "covariate; ln_nu: logarithm of how common draws are, by Davidson's model"),
        _field("value", pa.float64(), "its coefficient", "natural units"),
        _field("se", pa.float64(), "standard error of the value", "natural units"),
        _field("z", pa.float64(), "value / se; null if se is 0", nullable=True),
    ]
)

PAIRS = pa.schema(
    [
        _CATEGORY,
        *(_field(name, pa.string(), "handle of a player of the pair") for name in ("a", "b")),
        _field("games", pa.int64(), "their games", "games"),
        *(_field(name, pa.int64(), f"of these, {name} of a", "games") for name in ("wins", "draws", "losses")),
        _field("score", pa.float64(), "points of a, a draw is half a point", "points"),
        _field("expected", pa.float64(), "the same as expected by the strengths and the covariates", "points"),
    ]
)

# Further published tables, of runs whose system explains all games at once.
OF_STRENGTHS = {
    name: pa.schema([field.with_nullable(True) for field in schema])
    for name, schema in {"strengths": STRENGTHS, "coefficients": COEFFICIENTS, "pairs": PAIRS}.items()
}

# A further published table, of data sets with seasons.
OF_SEASONS = {
    "seasons": pa.schema(
        [
            field.with_nullable(True)
            for field in (
                _field("name", pa.string(), "name of the season"),
                _field("start_seconds", pa.int64(), "when it began", "UTC seconds since the epoch"),
                _field("end_seconds", pa.int64(), "when the next one began; null of the last one", "UTC seconds"),
                _field("first_round", pa.int64(), "its first round", "round"),
                _field("n_rounds", pa.int64(), "its rounds", "rounds"),
                _field("n_players", pa.int64(), "players rated in it", "players"),
                _field("reset", pa.bool_(), "whether it began with a reset of beliefs; else the next ones are null"),
                *(EVENTS.field(name) for name in ("centre", "keep", "widen", "history", "restart_counts", "who")),
                EVENTS.field("event_id"),
            )
        ]
    )
}

_ATTRIBUTE, _VALUE = (ATTRIBUTES.field(name) for name in ("attribute", "value"))

# Further published tables, of data sets whose players have attributes.
OF_ATTRIBUTES = {
    name: pa.schema([field.with_nullable(True) for field in fields])
    for name, fields in {
        "attributes": [_PLAYER, _HANDLE, _ATTRIBUTE, _VALUE],
        "groups": [
            _ATTRIBUTE,
            _field("value", pa.string(), "the value that the players of the group have"),
            _field("place", pa.int64(), "from 1, best first, among the groups of the attribute; equals share", "place"),
            _field("rating", pa.float64(), "rating of the group, by the ratings of all its players", "rating points"),
            _field("n_players", pa.int64(), "its rated players", "players"),
            _field("best", pa.string(), "its best player"),
            _field("best_rating", pa.float64(), "the rating of its best player", "rating points"),
        ],
    }.items()
}
