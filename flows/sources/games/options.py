"""How files of games are read: their columns (white, black and result, or winner, loser and draw), times and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ranklake.rating_kernels.core.limits import ADVANTAGE

from ...common.text import quoted
from ..base import OnError, SourceError
from ..column_names import chosen_columns
from ..durations import check_duration, check_one_of_both
from ..limits import Limits
from ..options import check_delimiter, check_encoding
from ..time_columns import check_time_format
from .batch import OF_POINTS
from .covariates import find_covariates
from .keeping import check_kept, find_kept
from .periods import PERIODS

KEYS = {
    "white": ("white", "player", "player1"),
    "black": ("black", "opponent", "player2"),
    "result": ("result", "score"),
    "winner": ("winner", "winner_name"),
    "loser": ("loser", "loser_name"),
    "draw": ("draw", "is_draw"),
    "time": ("time_seconds", "time", "timestamp", "utcdate", "date"),
    "clock": ("utctime",),
    "weight": ("weight",),
    "precision": ("precision",),
    "duration": (),
    "advantage": ("advantage",),
    "importance": ("importance",),
    "points": ("home_score", "score1", "goals_for", "points"),
    "opponent_points": ("away_score", "score2", "goals_against", "opponent_points"),
}
"""The meaning of columns, and the names by which they are found, in any case of the letters; of points in pairs."""

_OF_SIDES, _OF_WINNERS = ("white", "black", "result"), ("winner", "loser", "draw")


GAME_ADVANTAGE = replace(ADVANTAGE, low=2.0 * ADVANTAGE.low, high=2.0 * ADVANTAGE.high)
"""Permitted advantages of a first player: each of the two players has half of one, with opposite signs."""


def parse_columns(settings: Sequence[str]) -> dict[str, str]:
    """Names of columns from settings such as ``white=White``; ``ValueError`` for another form, an unknown key, or a key
    twice.
    """
    return chosen_columns(settings, KEYS, "white=White")


@dataclass(frozen=True)
class GamesOptions:
    """How files of games are read.

    ``columns``: names of columns by key of :data:`KEYS`.
    ``delimiter``: of CSV files: one character, or ``tab``; None finds it from the header.
    ``advantage``: rating points by which every game favours its first player; None: those of a column, or none.
    ``importance``: K by the name of an importance, which the games have in a column; it is stored as their weight.
    ``limits``: ``expanded`` holds for each compressed file.
    ``points_may_disagree``: whether the side with more points may have lost, as by penalties.
    ``fewer_wins``: whether fewer points are better, as in golf; the sign of all points is changed.
    ``fractional``: whether a result may be any score from 0 to 1.
    ``values``: scores of the texts of results, see :func:`.scores.parse_values`.
    ``encoding``: of texts, as Python names encodings.
    ``duration_unit``: seconds of a game of precision 1, for a column of durations.
    ``keep``: further columns of tables that the data set keeps.
    ``covariates``: columns of covariates by name, see :func:`.covariates.parse_covariates`; ``covariate_null``: 0 for
    the value of an empty one, which is otherwise an error.
    ``on_error``: ``stop`` at the first game with an invalid value, or ``skip`` such games.
    Raises ValueError: the period, the time format or the encoding is unknown, the advantage is out of range or beside a
    column of advantages, or the importance is beside a column of weights, or without a table.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    period: str = "day"
    time_format: str = "auto"
    delimiter: str | None = None
    limits: Limits = field(default_factory=Limits)
    advantage: float | None = None
    encoding: str = "utf-8"
    on_error: OnError = "stop"
    points_may_disagree: bool = False
    fewer_wins: bool = False
    fractional: bool = False
    importance: Mapping[str, float] | None = None
    duration_unit: int | None = None
    keep: tuple[str, ...] = ()
    values: Mapping[str, float | None] = field(default_factory=dict)
    covariates: Mapping[str, str] = field(default_factory=dict)
    covariate_null: float | None = None

    def __post_init__(self) -> None:
        check_duration(self.columns.get("duration", ""), self.duration_unit)
        check_time_format(self.time_format)
        check_kept(self.keep)
        between = [f"{text}={score}" for text, score in self.values.items() if score not in (None, 0.0, 0.5, 1.0)]
        if between and not self.fractional:
            raise ValueError(f"--value {between[0]} is between a win, a draw and a loss, which needs --fractional")
        if self.covariate_null:
            raise ValueError(
                f"--covariate-null must be 0, the number that favours neither player, got {self.covariate_null:g}"
            )
        if self.covariate_null is not None and not self.covariates:
            raise ValueError("--covariate-null needs --covariate, the names of covariates")
        check_encoding(self.encoding)
        if self.period not in PERIODS:
            raise ValueError(f"period must be one of {', '.join(PERIODS)}, got {self.period!r}")
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", check_delimiter(self.delimiter))
        if self.importance is None and self.columns.get("importance"):
            raise ValueError("--column importance= needs --importance, a table of names and K")
        if self.importance is not None and self.columns.get("weight"):
            raise ValueError(
                "--importance makes the weights of games, and so does --column weight=; give one of the two"
            )
        if self.advantage is None:
            return
        if not GAME_ADVANTAGE.contains(self.advantage):
            raise ValueError(f"advantage must be {GAME_ADVANTAGE.rule}, got {self.advantage}")
        if column := self.columns.get("advantage"):
            raise ValueError(
                f"--advantage {self.advantage:g} is for all games and --column advantage={column} has one for each; "
                "give one of the two"
            )

    def find(self, present: Sequence[str], source: str) -> dict[str, str]:
        """The column of each key: the chosen one, or one of the usual names. ``KEY=`` uses no column.

        A table has either ``white``, ``black`` and ``result`` or points of both, or ``winner`` and ``loser`` and
        perhaps ``draw``. Raises ``SourceError`` if a column is missing, exists twice, or differs from another one in
        the case of its letters only; for two advantages, or one without a first player; for an option without points.
        """
        chosen = self.columns
        folded = {name.lower(): name for name in reversed(present)}
        usual = {key: next((folded[name] for name in names if name in folded), "") for key, names in KEYS.items()}
        if chosen.get("time", usual["time"]).lower() != "utcdate":
            usual["clock"] = ""
        if self.importance is None:
            usual["importance"] = ""
        found = {**usual, **chosen}
        winners = bool(found["winner"] and found["loser"] and not all(found[key] for key in _OF_SIDES))
        winners |= any(chosen.get(key) for key in _OF_WINNERS)
        for key in _OF_SIDES if winners else _OF_WINNERS:
            if chosen.get(key):
                raise SourceError(
                    f"--column {key}= and a column of {' or '.join(_OF_WINNERS)} exclude each other", source
                )
            found[key] = ""
        points = found["points"], found["opponent_points"] = self._points(folded, winners, source)
        needed = (*(_OF_WINNERS[:2] if winners else _OF_SIDES[:2] if any(points) else _OF_SIDES), "time")
        needed += ("importance",) if self.importance is not None else ()
        for key, column in found.items():
            if (column or key in needed) and column not in present:
                have = ", ".join(map(quoted, present[:20]))
                what = f"has no column {quoted(column)} for {key}" if column else f"needs a column for {key}"
                remedy = f"name the column with --column {key}=..."
                if key in _OF_SIDES:
                    remedy += ", or columns of winners and losers with --column winner=... --column loser=..."
                if key == "result":
                    remedy += ", or of the points of both with --column points=... --column opponent_points=..."
                raise SourceError(f"{what}; it has {have}; {remedy}", source)
            if present.count(column) > 1:
                raise SourceError(f"there are two columns {quoted(column)}", source)
            alike = [name for name in present if column and name.lower() == column.lower()]
            if len(alike) > 1 and key not in chosen:
                names = " and ".join(map(quoted, alike))
                rule = f"the columns {names} differ in the case of their letters only"
                raise SourceError(f"{rule}; choose one with --column {key}={alike[0]}", source)
        found = {key: column for key, column in found.items() if column}
        check_one_of_both(found, source)
        if self.values and "result" not in found:
            raise SourceError("--value is of results, and no column of them is used; leave it out", source)
        if "importance" in found and "weight" in found:
            rule = f"has a column {quoted(found['weight'])}, and --importance makes the weights of games"
            raise SourceError(f"{rule}; leave out the option, or the column with --column weight=", source)
        without = "leave out the column with --column advantage="
        if self.advantage is not None and "advantage" in found:
            rule = f"has a column advantage, and --advantage is {self.advantage:g}"
            raise SourceError(f"{rule}; leave out --advantage to use it, or {without}", source)
        if winners and (self.advantage is not None or "advantage" in found):
            remedy = without if self.advantage is None else "leave out --advantage"
            raise SourceError(f"a table of winners and losers does not say who had the advantage; {remedy}", source)
        return found | find_kept(self.keep, present, source) | find_covariates(self.covariates, present, source)

    def _points(self, folded: Mapping[str, str], winners: bool, source: str) -> tuple[str, str]:
        """The columns of points: those chosen, or the first usual pair that exists; two empty names for none.

        A table of winners and losers does not say which of them was the home side or the first player.
        """
        chosen = {key: self.columns[key] for key in OF_POINTS if key in self.columns}
        if any(chosen.values()):
            missing = [key for key in OF_POINTS if not chosen.get(key)]
            if missing:
                raise SourceError(
                    f"points are those of both players: name the column with --column {missing[0]}=...", source
                )
            return chosen["points"], chosen["opponent_points"]
        pairs = [] if chosen or winners else list(zip(*(KEYS[key] for key in OF_POINTS), strict=True))
        found = [(folded[one], folded[other]) for one, other in pairs if {one, other} <= folded.keys()]
        if not found:
            self.check_without_points(source)
        return found[0] if found else ("", "")

    def check_pgn(self, source: str) -> None:
        """Raise ``SourceError`` for options about columns that no PGN file has."""
        self.check_without_points(source)
        if self.importance is not None:
            raise SourceError("--importance needs a column importance, and a PGN file has none; leave it out", source)
        if self.values:
            raise SourceError("--value is for tables: PGN files have results of one form; leave it out", source)
        if self.keep:
            raise SourceError("--keep names columns of tables, and a PGN file has none; leave it out", source)
        if self.covariates:
            raise SourceError("--covariate names columns of tables, and a PGN file has none; leave it out", source)

    def check_without_points(self, source: str) -> None:
        """Raise ``SourceError`` for options about points, given a file that has none."""
        for option, given in (("points-may-disagree", self.points_may_disagree), ("fewer-wins", self.fewer_wins)):
            if given:
                rule = f"--{option} needs the points of both players, and the file has no columns of them"
                raise SourceError(f"{rule}; name them with --column points=... --column opponent_points=...", source)
