"""Codeforces on the loopback: contests as a test has them, in the form of the recorded responses."""

from __future__ import annotations

from typing import Any

from helpers.server import Reply, Server

from ranklake.flows.http.client import Client

BEGAN = 1_500_000_000  # of the first contest; long ago by the server's clock
DAY = 86_400


def changes(number: int, *ranked: tuple[str, int], time: int | None = None) -> list[dict[str, Any]]:
    """Rating changes of a contest: handles and ranks, best first."""
    when = BEGAN + number * DAY + 9000 if time is None else time
    facts = {"contestId": number, "contestName": f"Round {number}", "ratingUpdateTimeSeconds": when}
    return [{**facts, "handle": handle, "rank": rank, "oldRating": 1500, "newRating": 1500} for handle, rank in ranked]


def team_standings(number: int, *parties: tuple[str | None, int, list[str]]) -> dict[str, Any]:
    """Standings of a contest: team, rank and handles of each party; None for an individual."""
    rows = [
        {
            "party": {
                "contestId": number, "members": [{"handle": handle} for handle in handles], "ghost": False,
                "participantType": "CONTESTANT", **({} if team is None else {"teamId": 100 + at, "teamName": team}),
            },
            "rank": rank, "points": 100.0 - at, "penalty": 0, "problemResults": [],
        }
        for at, (team, rank, handles) in enumerate(parties)
    ]  # fmt: skip
    start = BEGAN + number * DAY
    contest = {"id": number, "name": f"Round {number}", "type": "CF", "phase": "FINISHED", "durationSeconds": 7200}
    return {"contest": {**contest, "startTimeSeconds": start}, "problems": [], "rows": rows}


class FakeCodeforces:
    """A server that speaks as Codeforces does."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.contests: dict[int, Any] = {}
        self.listed: dict[int, dict[str, Any]] = {}
        self._update_list()

    def add(self, number: int, result: Any, *, begins: int | None = None, phase: str = "FINISHED") -> None:
        """A contest and its rating changes; None for one that is not rated, a Reply as it is."""
        start = BEGAN + number * DAY if begins is None else begins
        self.listed[number] = {
            "id": number, "name": f"Round {number}", "type": "CF", "phase": phase, "frozen": False,
            "durationSeconds": 7200, "startTimeSeconds": start, "relativeTimeSeconds": 5,
        }  # fmt: skip
        unrated = {"status": "FAILED", "comment": "contestId: Rating changes are unavailable for this contest"}
        reply = {"status": "OK", "result": result}
        if result is None:
            reply = Reply(Reply.of(unrated).body, 400)
        elif isinstance(result, Reply):
            reply = result
        self.server[self.path(number)] = reply
        self._update_list()

    def client(self) -> Client:
        """One whose patience costs no time."""
        return Client("codeforces", self.server.url, interval_seconds=2.0, clock=self.server.clock)

    @staticmethod
    def path(number: int) -> str:
        """Where the rating changes of a contest are."""
        return f"/api/contest.ratingChanges?contestId={number}"

    def _update_list(self) -> None:
        newest_first = [self.listed[number] for number in sorted(self.listed, reverse=True)]
        self.server["/api/contest.list"] = {"status": "OK", "result": newest_first}
