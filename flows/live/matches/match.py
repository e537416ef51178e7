"""A match as a client sends it: its checks, its normal form, and what differs between two of one id.

The normal form has sides with places, whatever form was sent. Its JSON is what the log keeps: two bodies of a match are
the same exactly if these bytes are. A match without a time has that of its acceptance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ranklake.rating_kernels.core.limits import ADVANTAGE, SCORE, SCORED, SHARE, TIME_SECONDS, WEIGHT, Limits
from ranklake.storage.datasets.tables.games import GAMES_KIND

from ...common.text import listed


@dataclass(frozen=True, slots=True)
class MatchLimits:
    """Bounds of a match.

    ``name``: characters of an id or a handle. ``batch``: matches of one request.
    ``ahead``, ``behind``: seconds between the time of a match and the clock of the process.
    """

    name: int = 128
    sides: int = 64
    players: int = 256
    batch: int = 1_000
    ahead: int = 300
    behind: int = 86_400


_LIMITS = MatchLimits()


class MatchError(ValueError):
    """A match that is refused.

    Attributes
    ----------
    pointer : str
        JSON pointer of the value; empty for the whole match.
    text : str
        The rule, with the permitted values.
    """

    def __init__(self, pointer: str, text: str) -> None:
        super().__init__(pointer, text)
        self.pointer, self.text = pointer, text

    def __str__(self) -> str:
        return f"{self.pointer}: {self.text}" if self.pointer else self.text


@dataclass(frozen=True, slots=True)
class MatchRules:
    """What the data set and the runs over it can take.

    ``kind``: of the data set: ``games``, or empty for contests.
    ``covariates``: names of those of its games.
    ``fractional``, ``teams``, ``advantages``: why a run cannot rate scores besides 1, 0.5 and 0, teams, or advantages;
    empty if all can. ``whole``: the run that has whole advantages only.
    """

    kind: str
    covariates: tuple[str, ...] = ()
    fractional: str = ""
    teams: str = ""
    advantages: str = ""
    whole: str = ""
    limits: MatchLimits = _LIMITS


_WEIGHT, _ADVANTAGE = 1.0, 0.0  # a default is left out of JSON where a value is this very object


class Side(msgspec.Struct, frozen=True, omit_defaults=True):
    """One side of a match.

    ``place``: as in a table of results: 1, 2, 2, 4. ``points``: more is better.
    ``shares``: of its players, in their order; None: they have equal ones.
    """

    players: tuple[str, ...]
    place: int
    points: float | None = None
    shares: tuple[float, ...] | None = None


class Match(msgspec.Struct, frozen=True, omit_defaults=True):
    """A match in its normal form.

    ``time``: UTC seconds; None: that of its acceptance.
    ``score``: of the first side of two, if the places do not tell it.
    ``advantage``: rating points in favour of the first side.
    ``x``: covariates by name, sorted, without zeros, as the first side sees them.
    """

    id: str
    sides: tuple[Side, ...]
    time: int | None = None
    score: float | None = None
    weight: float = _WEIGHT
    advantage: float = _ADVANTAGE
    x: dict[str, float] = {}

    @property
    def first_score(self) -> float:
        """The score of the first side of two."""
        if self.score is not None:
            return self.score
        one, other = self.sides[0].place, self.sides[1].place
        return 0.5 if one == other else float(one < other)


class _SentSide(msgspec.Struct, forbid_unknown_fields=True):
    players: list[str]
    place: int
    points: float | None = None


class _Sent(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    time: int | None = None
    sides: list[_SentSide] | None = None
    a: str | None = None
    b: str | None = None
    score: float | None = None
    weight: float = 1.0
    advantage: float = 0.0
    shares: dict[str, float] | None = None
    x: dict[str, float] | None = None


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    matches: list[msgspec.Raw]


_SENT, _BATCH = msgspec.json.Decoder(_Sent), msgspec.json.Decoder(_Batch)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_PATH = re.compile(r" - at `(?:key in )?\$([^`]*)`$")


def read_match(data: bytes | msgspec.Raw, rules: MatchRules) -> Match:
    """The normal form of a match, from its JSON.

    Raises MatchError: it is no JSON, has an unknown field or another value than allowed. Its time is not compared with
    the clock.
    """
    try:
        sent = _SENT.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise error_of(error) from None
    limits = rules.limits
    check_name("/id", sent.id, limits)
    if sent.time is not None:
        _check("/time", sent.time, TIME_SECONDS)
    if sent.weight != _WEIGHT:
        _check("/weight", sent.weight, WEIGHT)
    if sent.advantage != _ADVANTAGE:
        _check("/advantage", sent.advantage, ADVANTAGE)
    sides, score = _sides(sent, limits)
    if rules.kind == GAMES_KIND:
        _check_game(sides, score, sent.advantage, rules)
    else:
        _check_contest(sides, score, sent.advantage, rules)
    weight = _WEIGHT if sent.weight == _WEIGHT else sent.weight
    return Match(
        sent.id, sides, sent.time, score, weight, sent.advantage or _ADVANTAGE, _covariates(sent.x or {}, rules)
    )


def split_batch(data: bytes, limits: MatchLimits = _LIMITS) -> list[msgspec.Raw]:
    """The JSON of each match of a request ``{"matches": [...]}``.

    Raises MatchError: it is no such object, or has no match or too many.
    """
    try:
        found = _BATCH.decode(data).matches
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise error_of(error) from None
    if not 1 <= len(found) <= limits.batch:
        raise MatchError("/matches", f"a request has 1 to {limits.batch:,} matches, got {len(found):,}")
    return found


def error_of(error: Exception) -> MatchError:
    """A decoding error with a JSON pointer."""
    text, pointer = str(error), ""
    if (found := _PATH.search(text)) is not None:
        steps = re.findall(r"\[(\d+|\.\.\.)\]|\.([^.\[]+)", found[1])
        pointer, text = "".join(f"/{number or name}" for number, name in steps), text[: found.start()]
    if (unknown := _UNKNOWN.fullmatch(text)) is not None:
        return MatchError(f"{pointer}/{unknown[1]}", "an unknown field; `/openapi.json` has the known ones")
    is_json = bool(pointer) or isinstance(error, msgspec.ValidationError)
    return MatchError(pointer, text if is_json else f"no valid JSON: {text}")


def first_difference(known: Match, sent: Match) -> str:
    """JSON pointer of the first value, in the order of the fields, by which two matches of one id differ."""
    for name in ("time", "score", "weight", "advantage", "x"):
        if getattr(known, name) != getattr(sent, name):
            return f"/{name}"
    if len(known.sides) != len(sent.sides):
        return "/sides"
    for at, (one, other) in enumerate(zip(known.sides, sent.sides, strict=True)):
        for name in ("players", "place", "points", "shares"):
            if getattr(one, name) != getattr(other, name):
                return f"/sides/{at}/{name}" if name != "shares" else "/shares"
    return ""


def _sides(sent: _Sent, limits: MatchLimits) -> tuple[tuple[Side, ...], float | None]:
    """The sides in normal form, and the score of the first of two if no place tells it."""
    if sent.sides is None:
        return _two_players(sent, limits)
    for name in ("a", "b", "score"):
        if getattr(sent, name) is not None:
            raise MatchError(f"/{name}", "a match has sides, or a, b and score; leave one of them out")
    if not 2 <= len(sent.sides) <= limits.sides:
        raise MatchError("/sides", f"a match has 2 to {limits.sides} sides, got {len(sent.sides)}")
    seen: set[str] = set()
    for at, side in enumerate(sent.sides):
        if not side.players:
            raise MatchError(f"/sides/{at}/players", "a side has at least one player")
        for number, handle in enumerate(side.players):
            pointer = f"/sides/{at}/players/{number}"
            check_name(pointer, handle, limits)
            if handle in seen:
                raise MatchError(pointer, "a player is in a match once")
            seen.add(handle)
        if side.place < 1:
            raise MatchError(f"/sides/{at}/place", f"a place is a whole number >= 1, got {side.place}")
        if side.points is not None:
            _check(f"/sides/{at}/points", side.points, SCORED)
    if len(seen) > limits.players:
        raise MatchError("/sides", f"a match has at most {limits.players} players, got {len(seen)}")
    places = sorted(side.place for side in sent.sides)
    shares = _shares(sent, seen)
    return tuple(
        Side(
            tuple(side.players),
            places.index(side.place) + 1,
            None if side.points is None else side.points + 0.0,
            _shares_of(side.players, shares),
        )
        for side in sent.sides
    ), None


def _two_players(sent: _Sent, limits: MatchLimits) -> tuple[tuple[Side, ...], float | None]:
    if sent.a is None or sent.b is None or sent.score is None:
        missing = next(name for name in ("a", "b", "score") if getattr(sent, name) is None)
        form = "a match has sides, each with players and a place, or the players a and b and the score of a"
        raise MatchError("" if missing == "a" and sent.b is None else f"/{missing}", form)
    for name, handle in (("a", sent.a), ("b", sent.b)):
        check_name(f"/{name}", handle, limits)
    if sent.a == sent.b:
        raise MatchError("/b", "a player is in a match once")
    if sent.shares:
        raise MatchError("/shares", "shares are of members of teams")
    _check("/score", sent.score, SCORE)
    places = (1, 1) if sent.score == 0.5 else (1, 2) if sent.score > 0.5 else (2, 1)
    score = None if sent.score in (0.0, 0.5, 1.0) else sent.score
    return (Side((sent.a,), places[0]), Side((sent.b,), places[1])), score


def _shares(sent: _Sent, players: set[str]) -> dict[str, float]:
    shares = sent.shares or {}
    for handle, share in shares.items():
        pointer = f"/shares/{handle.replace('~', '~0').replace('/', '~1')}"
        if handle not in players:
            raise MatchError(pointer, "this player is not in the match")
        _check(pointer, share, SHARE)
    return shares


def _shares_of(players: Sequence[str], shares: dict[str, float]) -> tuple[float, ...] | None:
    """The shares of the players of a side; None if all are equal: only their ratios matter."""
    own = tuple(shares.get(handle, 1.0) for handle in players)
    return own if len(set(own)) > 1 else None


def _check_game(sides: tuple[Side, ...], score: float | None, advantage: float, rules: MatchRules) -> None:
    if len(sides) != 2 or len(sides[0].players) != 1 or len(sides[1].players) != 1:
        raise MatchError("/sides", "the data set has games: a match has two sides of one player each")
    if score is not None and rules.fractional:
        raise MatchError("/score", f"{rules.fractional}; a score is 0, 0.5 or 1")
    if advantage and rules.advantages:
        raise MatchError("/advantage", f"{rules.advantages}; leave it out")
    if rules.whole and advantage / 2 % 1.0:
        raise MatchError("/advantage", f"{rules.whole} computes in whole numbers; an even number of rating points")


def _check_contest(sides: tuple[Side, ...], score: float | None, advantage: float, rules: MatchRules) -> None:
    if rules.teams and (at := next((at for at, side in enumerate(sides) if len(side.players) > 1), None)) is not None:
        raise MatchError(f"/sides/{at}/players", rules.teams)
    if score is not None:
        raise MatchError("/score", "the data set has contests: a score is 0, 0.5 or 1")
    if advantage:
        raise MatchError("/advantage", "the data set has contests, which have no advantages; leave it out")


def _covariates(sent: dict[str, float], rules: MatchRules) -> dict[str, float]:
    if not sent:
        return {}
    for name, value in sent.items():
        pointer = f"/x/{name.replace('~', '~0').replace('/', '~1')}"
        if name not in rules.covariates:
            known = f"its covariates are {listed(rules.covariates)}" if rules.covariates else "its matches have none"
            raise MatchError(pointer, f"the data set has no such covariate; {known}")
        if not math.isfinite(value):
            raise MatchError(pointer, "a covariate is a finite number")
    return {name: sent[name] + 0.0 for name in sorted(sent) if sent[name]}


def check_name(pointer: str, name: str, limits: MatchLimits) -> None:
    """Raise MatchError if an id or a handle is too long, empty, or has control characters."""
    if not 1 <= len(name) <= limits.name:
        raise MatchError(pointer, f"1 to {limits.name} characters, got {len(name):,}")
    if _CONTROL.search(name):
        raise MatchError(pointer, "no control characters")


def _check(pointer: str, value: Any, limits: Limits) -> None:
    if not limits.contains(value):
        raise MatchError(pointer, f"must be {limits.rule}, got {value}")
