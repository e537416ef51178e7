"""Arbitrary responses of sites: valid contests, or a readable error; never another exception."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.fake_codeforces import changes, team_standings
from helpers.strategies import repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.sites.documents import Document, Key, Response
from ranklake.flows.sources.sites.site import find_site
from ranklake.storage import Contest

ABOUT = {"name": "n", "time_seconds": 1_500_000_000}
FACTS = {"cumulative_time": 1, "tiebreaker": 0.0, "new_rating": 1, "is_disqualified": False}
RANKINGS = [{"user": "a", "score": 2.0, **FACTS}, {"user": "b", "score": 1.0, **FACTS}]
DMOJ = {"key": "k", "name": "n", "end_time": "2020-01-01T00:00:00Z", "rankings": RANKINGS}
RESPONSES: dict[str, tuple[Key, Any]] = {
    "codeforces": (Key("rating-changes", "7"), {"status": "OK", "result": changes(7, ("a", 1), ("b", 2), ("c", 2))}),
    "codeforces-teams": (Key("standings", "7"), {"status": "OK", "result": team_standings(
        7, ("red", 1, ["a", "b"]), (None, 2, ["c"]), ("blue", 2, ["d", "e"]))}),
    "ctftime": (Key("results", "2020"), {"5": {"title": "t", "time": 1.5e9, "scores": [
        {"team_id": 1, "points": "1", "place": 1}, {"team_id": 2, "points": "0", "place": 2}]}}),
    "atcoder": (Key("results", "abc"), [{"IsRated": True, "Place": 1, "UserScreenName": "a"},
                                        {"IsRated": True, "Place": 2, "UserScreenName": "b"}]),
    "dmoj": (Key("contest", "k"), {"data": {"object": DMOJ}}),
    "lichess": (Key("swiss", "s"), {"rank": 1, "username": "a"}),
}  # fmt: skip
LISTS: dict[str, Any] = {
    "codeforces": {"status": "OK", "result": [
        {"id": 1, "phase": "FINISHED", "durationSeconds": 7200, "startTimeSeconds": 1_500_000_000}]},
    "codeforces-teams": {"status": "OK", "result": [
        {"id": 524, "phase": "FINISHED", "durationSeconds": 7200, "startTimeSeconds": 1_500_000_000}]},
    "atcoder": [
        {"id": "a", "start_epoch_second": 1_500_000_000, "duration_second": 600, "title": "t", "rate_change": "All"}],
    "dmoj": {"data": {"objects": [{"key": "k", "end_time": "2020-01-01T00:00:00Z"}], "has_more": False}},
    "lichess": {"finished": [{"id": "a", "fullName": "n", "finishesAt": 1_500_000_000_000, "status": 30}]},
}  # fmt: skip

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 1e300, -0.0, 0.5, "9999-12-31T23:59:59+00:00"]),
    st.text(max_size=5),
    st.sampled_from(["", "\x00", "\x1b[2J", "\u202e", "../..", "0001-01-01T00:00:00+14:00", "x" * 10_000]),
    st.just([]),
    st.just({}),
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all parts of a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(way for key, part in inside for way in paths(part, (*path, key)))]


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """The value with one or two of its parts replaced or deleted."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 2))):
        way = draw(st.sampled_from(paths(value)))
        if not way:
            return draw(anything)
        inside = value
        for step in way[:-1]:
            inside = inside[step]
        if draw(st.booleans()) and isinstance(inside, dict):
            del inside[way[-1]]
        else:
            inside[way[-1]] = draw(anything)
    return value


@pytest.mark.parametrize("source", RESPONSES)
@repeatable(60)
@given(choice=st.data())
def test_parse__any_response_is_parsed_or_a_readable_error(source: str, choice: st.DataObject) -> None:
    key, good = RESPONSES[source]
    body = json.dumps(choice.draw(spoilt(good))).encode()
    document = Document(key, Response("URL", 200, body, 0), ABOUT)
    try:
        found = list(find_site(source).parse(document))
    except SourceError as error:
        found = [error]
    for one in found:
        if isinstance(one, Contest):
            assert len(one.content_digest) == 32
            assert len(set(one.handles.to_pylist())) == len(one) > 0
        else:
            assert str(one).isprintable()
            assert len(str(one)) < 1000


@pytest.mark.parametrize("source", LISTS)
@repeatable(60)
@given(choice=st.data())
def test_list_documents__any_list_is_parsed_or_a_readable_error(source: str, choice: st.DataObject) -> None:
    def fetch_list(key: Key, path: str, read: Any) -> Any:
        return read(Document(key, Response("URL", 200, json.dumps(choice.draw(spoilt(LISTS[source]))).encode(), 0)))

    try:
        fetcher: Any = SimpleNamespace(fetch_list=fetch_list)
        requests = list(find_site(source).list_documents(fetcher, None, 1_800_000_000))
    except SourceError as error:
        texts, requests = [str(error)], []
    else:
        texts = [request.key.shown for request in requests]
    assert all(text.isprintable() for text in texts)
    for request in requests:
        assert request.path.isascii()
        assert request.path.isprintable()
        json.dumps(request.about)


@pytest.mark.parametrize(
    ("source", "body"),
    [
        ("codeforces", b'{"status": 1, "result": ['),
        ("ctftime", b'{"5": 1, "6": {'),
        ("atcoder", b'[{"IsRated": 1}, {'),
        ("dmoj", b'{"data": 1, "error'),
        ("lichess", b'{"rank": "first", "username"'),
    ],
)
def test_parse__json_truncated_after_an_invalid_value_is_an_error(source: str, body: bytes) -> None:
    document = Document(RESPONSES[source][0], Response("URL", 200, body, 0), ABOUT)
    with pytest.raises(SourceError, match="not JSON: "):
        list(find_site(source).parse(document))
