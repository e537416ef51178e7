"""Codeforces: the results of problems in the standings of a contest.

Source: codeforces.com/apiHelp, method ``contest.standings``, objects ``RanklistRow``, ``ProblemResult``, ``Problem``.
"""

from __future__ import annotations

import math

import msgspec

from ...common.text import quoted
from .results import SiteProblem, SiteResults

STANDINGS = "standings"
OFFICIAL = "CONTESTANT"
HOME = "https://codeforces.com/"

_SOLVED_BY_ANY_POINTS = ("CF", "ICPC")  # the points of a solve fall with time and attempts, or are always 1
_BY_SHARE = "IOI"
_NEVER = 2**31 - 1  # the API's number of seconds for an unknown time


class Member(msgspec.Struct, gc=False):
    handle: str


class Party(msgspec.Struct, gc=False):
    members: list[Member]
    type: str = msgspec.field(name="participantType")
    team_id: int | None = msgspec.field(name="teamId", default=None)
    name: str | None = msgspec.field(name="teamName", default=None)
    ghost: bool = False

    @property
    def counts(self) -> bool:
        """Whether the party took part officially, at the time of the contest."""
        return self.type == OFFICIAL and not self.ghost


class _Solve(msgspec.Struct, gc=False):
    points: float
    rejected: int = msgspec.field(name="rejectedAttemptCount", default=0)
    seconds: int | None = msgspec.field(name="bestSubmissionTimeSeconds", default=None)


class _Row(msgspec.Struct, gc=False):
    party: Party
    solves: list[_Solve] = msgspec.field(name="problemResults")


class _Problem(msgspec.Struct):
    index: str
    contest: int | None = msgspec.field(name="contestId", default=None)
    name: str | None = None
    points: float | None = None
    tags: list[str] = []


class _Contest(msgspec.Struct):
    id: int
    type: str


class _Result(msgspec.Struct):
    contest: _Contest
    problems: list[_Problem]
    rows: list[_Row]


class ResultsOfStandings(msgspec.Struct, tag_field="status", tag="OK"):
    """The response, as far as results need it."""

    result: _Result


def results_of(result: _Result, contest_id: str) -> SiteResults | str:
    """The results of the official participants of a contest, or the rule that its standings break.

    A problem without points and without rejected attempts was not attempted.
    """
    kind = result.contest.type
    if str(result.contest.id) != contest_id:
        return f"the response for {contest_id} is of contest {result.contest.id}"
    if kind not in (*_SOLVED_BY_ANY_POINTS, _BY_SHARE):
        return f"type must be CF, ICPC or IOI, got {quoted(kind)}"
    found = SiteResults(contest_id, [_problem(one, at, contest_id) for at, one in enumerate(result.problems)])
    most = [problem.points if kind == _BY_SHARE else None for problem in result.problems]
    if kind == _BY_SHARE and None in most:
        return f"the points of problem {quoted(result.problems[most.index(None)].index)} are unknown"
    for at, row in enumerate(result.rows):
        if len(row.solves) != len(most):
            return f"row {at} has {len(row.solves)} results, and there are {len(most)} problems"
        if not row.party.counts:
            continue
        players = [member.handle for member in row.party.members]
        for number, (solve, full) in enumerate(zip(row.solves, most, strict=True)):
            if solve.points == 0.0 and solve.rejected == 0:
                continue
            share = math.copysign(1.0, solve.points) if solve.points else 0.0
            if full is not None:
                share = solve.points / full if full else math.nan
            known = solve.points > 0.0 and solve.seconds is not None and solve.seconds != _NEVER
            after = float(solve.seconds or 0) if known else math.nan
            found.add(players, number, share, after, solve.rejected + (solve.points > 0.0))
    return found


def _problem(problem: _Problem, at: int, contest_id: str) -> SiteProblem:
    contest = contest_id if problem.contest is None else str(problem.contest)
    id = f"{contest}{problem.index}" if problem.index[:1].isalpha() else f"{contest}-{problem.index}"
    url = f"{HOME}contest/{contest}/problem/{problem.index}"
    return SiteProblem(id, problem.name or None, url, at + 1, problem.tags or None, problem.points or None)
