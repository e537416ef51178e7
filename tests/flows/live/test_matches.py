"""The normal form of matches, and what is refused with a pointer to the value."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ranklake.flows.live.log.records import Record
from ranklake.flows.live.matches.match import (
    Match,
    MatchError,
    MatchLimits,
    MatchRules,
    Side,
    first_difference,
    read_match,
    split_batch,
)
from ranklake.flows.live.periods.logged import entry_of, match_of

GAMES = MatchRules("games", ("length", "side"))
CONTESTS = MatchRules("")


def read(facts: Any, rules: MatchRules = GAMES) -> Match:
    return read_match(json.dumps(facts).encode(), rules)


def test_both_forms__of_a_match_are_one() -> None:
    short = read({"id": "m", "a": "ada", "b": "bo", "score": 0})
    sides = [{"players": ["ada"], "place": 7}, {"players": ["bo"], "place": 3}]
    assert short == read({"id": "m", "sides": sides, "weight": 1, "advantage": -0.0, "x": {"length": 0}})
    assert short.sides == (Side(("ada",), 2), Side(("bo",), 1))
    kind, name, body = entry_of(short, "")
    assert body == b'{"match":{"id":"m","sides":[{"players":["ada"],"place":2},{"players":["bo"],"place":1}]}}'
    assert match_of(Record(1, kind, name, 0.0, body)) == short


def test_normal_form__has_places_of_a_table_and_shares_that_differ() -> None:
    sides = [{"players": ["a", "b"], "place": 9}, {"players": ["c", "d"], "place": 4}, {"players": ["e"], "place": 9}]
    found = read({"id": "m", "sides": sides, "shares": {"a": 2, "c": 0.5, "d": 0.5}}, CONTESTS)
    assert [side.place for side in found.sides] == [2, 1, 2]
    assert [side.shares for side in found.sides] == [(2.0, 1.0), None, None]


def test_fractional_score__is_kept_beside_the_places() -> None:
    found = read({"id": "m", "a": "ada", "b": "bo", "score": 0.25, "x": {"side": -1, "length": 3}})
    assert found.score == found.first_score == 0.25
    assert [side.place for side in found.sides] == [2, 1]
    assert list(found.x.items()) == [("length", 3.0), ("side", -1.0)]


TWO = [{"players": ["a"], "place": 1}, {"players": ["b"], "place": 2}]


@pytest.mark.parametrize(
    ("facts", "pointer", "text"),
    [
        ({}, "", "id"),
        ({"id": "m"}, "", "a match has sides"),
        ({"id": "m", "a": "x", "b": "y"}, "/score", "a match has sides"),
        ({"id": "m", "a": "x", "b": "x", "score": 1}, "/b", "once"),
        ({"id": "m", "a": "x", "b": "y", "score": 1.5}, "/score", "within 0..1"),
        ({"id": "", "sides": TWO}, "/id", "1 to 128 characters"),
        ({"id": "x" * 129, "sides": TWO}, "/id", "1 to 128 characters"),
        ({"id": "m\x00", "sides": TWO}, "/id", "no control characters"),
        ({"id": "m", "sides": TWO, "score": 1}, "/score", "leave one of them out"),
        ({"id": "m", "sides": TWO[:1]}, "/sides", "2 to 64 sides"),
        ({"id": "m", "sides": [TWO[0], {"players": ["a"], "place": 1}]}, "/sides/1/players/0", "once"),
        ({"id": "m", "sides": [TWO[0], {"players": [], "place": 1}]}, "/sides/1/players", "at least one"),
        ({"id": "m", "sides": [TWO[0], {"players": ["b"], "place": 0}]}, "/sides/1/place", ">= 1"),
        ({"id": "m", "sides": [TWO[0], {"players": ["b"], "place": 1.5}]}, "/sides/1/place", "int"),
        ({"id": "m", "sides": [TWO[0], {"players": ["b"]}]}, "/sides/1", "place"),
        ({"id": "m", "sides": [TWO[0], {"players": ["b"], "place": 2, "points": 1e10}]}, "/sides/1/points", "within"),
        ({"id": "m", "sides": TWO, "weight": 0}, "/weight", "within"),
        ({"id": "m", "sides": TWO, "advantage": 20_000}, "/advantage", "within"),
        ({"id": "m", "sides": TWO, "shares": {"c": 1}}, "/shares/c", "not in the match"),
        ({"id": "m", "sides": TWO, "shares": {"a": 0}}, "/shares/a", "within"),
        ({"id": "m", "sides": TWO, "x": {"wide": 1}}, "/x/wide", "no such covariate"),
        ({"id": "m", "sides": TWO, "map": "dust"}, "/map", "unknown field"),
        ({"id": "m", "sides": [TWO[0], {"players": ["b"], "place": 2, "rank": 1}]}, "/sides/1/rank", "unknown field"),
        ({"id": "m", "sides": TWO, "time": "now"}, "/time", "int"),
        ({"id": "m", "sides": [{"players": ["a", "c"], "place": 1}, TWO[1]]}, "/sides", "one player each"),
    ],
)
def test_bad_matches__are_refused_with_a_pointer(facts: dict[str, Any], pointer: str, text: str) -> None:
    with pytest.raises(MatchError) as found:
        read(facts)
    assert found.value.pointer == pointer
    assert text in found.value.text


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b"[]", b'{"id": NaN}', b'{"id": "m", "weight": 1e999}', b"\xff", b'{"id": "\\ud800"}', b"[" * 5_000],
)
def test_bytes_that_are_no_match__are_refused(data: bytes) -> None:
    with pytest.raises(MatchError):
        read_match(data, GAMES)


def test_contests__have_no_advantages_and_no_fractions() -> None:
    for name, facts in (("advantage", {"sides": TWO, "advantage": 1}), ("score", {"a": "a", "b": "b", "score": 0.3})):
        with pytest.raises(MatchError) as found:
            read({"id": "m", **facts}, CONTESTS)
        assert found.value.pointer == f"/{name}"


def test_rules_of_runs__are_told_in_their_words() -> None:
    rules = MatchRules("games", fractional="run r rates wins only", whole="run r", limits=MatchLimits(players=1))
    with pytest.raises(MatchError, match="run r rates wins only"):
        read({"id": "m", "a": "a", "b": "b", "score": 0.3}, rules)
    with pytest.raises(MatchError, match="whole numbers"):
        read({"id": "m", "a": "a", "b": "b", "score": 1, "advantage": 3}, rules)
    sides = [{"players": ["a", "c"], "place": 1}, TWO[1]]
    with pytest.raises(MatchError, match="no rule for teams"):
        read({"id": "m", "sides": sides}, MatchRules("", teams="run r has no rule for teams"))


def test_batch__is_split_without_reading_its_matches() -> None:
    assert [bytes(one) for one in split_batch(b'{"matches": [{"id": 1}, 2]}')] == [b'{"id": 1}', b"2"]
    with pytest.raises(MatchError, match="1 to 2 matches"):
        split_batch(b'{"matches": [1, 2, 3]}', MatchLimits(batch=2))


def test_first_difference__names_the_field() -> None:
    one = read({"id": "m", "sides": TWO, "x": {"side": 1}})
    assert first_difference(one, one) == ""
    for facts, pointer in (
        ({"sides": TWO}, "/x"),
        ({"sides": TWO, "x": {"side": 1}, "weight": 2}, "/weight"),
        ({"sides": TWO[::-1], "x": {"side": 1}}, "/sides/0/players"),
        ({"sides": [TWO[0], {"players": ["b"], "place": 1}], "x": {"side": 1}}, "/sides/1/place"),
    ):
        assert first_difference(one, read({"id": "m", **facts})) == pointer


def test_stored_bodies__are_canonical() -> None:
    facts = {"x": {"side": 1, "length": 2}, "weight": 2.0, "sides": TWO, "id": "m"}
    again = msgspec.json.decode(msgspec.json.encode(read(facts)))
    assert msgspec.json.encode(read(again)) == msgspec.json.encode(read(facts))
