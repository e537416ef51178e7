"""Valid responses of sites, in the order of the requests."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

from helpers.data import sample
from helpers.fake_codeforces import changes

DAY = 1_500_000_000


class Conversation(NamedTuple):
    """The requests and responses of one site."""

    now: float  # time of the requests, UTC seconds since the epoch
    answers: tuple[tuple[str, bytes], ...]  # path and response, in order
    contests: tuple[str, ...]  # ids of the contests in the responses


@cache
def conversations() -> dict[str, Conversation]:
    """The conversation with each site."""
    listed = {"id": 7, "name": "Round 7", "phase": "FINISHED", "durationSeconds": 7200, "startTimeSeconds": DAY}
    ranked = changes(7, ("a", 1), ("b", 2), ("c", 2), ("d", 4))
    row = {"score": 2.0, "cumulative_time": 1, "tiebreaker": 0.0, "new_rating": 1, "is_disqualified": False}
    one = {"key": "k", "name": "n", "end_time": "2020-01-01T00:00:00Z",
           "rankings": [row | {"user": "a"}, row | {"user": "b", "score": 1.0}]}  # fmt: skip
    year = sample("ctftime/results.json").read_bytes()
    teams = json.loads(sample("ctftime/teams.json").read_bytes())
    arena = {"id": "a", "fullName": "n", "finishesAt": DAY * 1000, "status": 30}
    players = sample("lichess/tournament.ndjson").read_bytes()
    return {
        "codeforces": _conversation(("7",), {
            "/api/contest.list": {"status": "OK", "result": [listed]},
            "/api/contest.ratingChanges?contestId=7": {"status": "OK", "result": ranked}}),
        "ctftime": _conversation(tuple(json.loads(year)), {
            "/api/v1/results/2011/": {}, "/api/v1/results/2012/": year,
            "/api/v1/teams/?limit=300&offset=0": {"limit": 300, "offset": 0, "result": teams}}, 1.35e9),
        "atcoder": _conversation(("a",), {
            "/atcoder/resources/contests.json": [
                {"id": "a", "start_epoch_second": DAY, "duration_second": 600, "title": "t", "rate_change": "All"}],
            "/contests/a/results/json": [
                {"IsRated": True, "Place": place, "UserScreenName": user} for place, user in ((1, "a"), (2, "b"))]}),
        "dmoj": _conversation(("k",), {
            "/api/v2/contests?is_rated=True&page=1": {
                "data": {"objects": [{"key": "k", "end_time": "2020-01-01T00:00:00Z"}], "has_more": False}},
            "/api/v2/contest/k": {"data": {"object": one}}}),
        "lichess": _conversation(("a",), {
            "/api/tournament": {"finished": [arena]}, "/api/tournament/a/results": players}),
        "topcoder": _conversation(("57-1",), {
            "/dd_round_list.xml": b"<dd_round_list><row><round_id>57</round_id><full_name>n</full_name>"
                b"<date>2001-04-21 14:00</date></row></dd_round_list>",
            "/dd_round_results_rd=57.xml": sample("topcoder/dd_round_results_rd=57.xml").read_bytes()}),
    }  # fmt: skip


def _conversation(contests: tuple[str, ...], answers: dict[str, Any], now: float = 1.7e9) -> Conversation:
    return Conversation(now, tuple((path, _bytes(body)) for path, body in answers.items()), contests)


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()
