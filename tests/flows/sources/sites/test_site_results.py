"""Results of problems in the responses of sites, from the same documents as the contests."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.contents import counts
from helpers.data import sample, shared
from helpers.fake_codeforces import FakeCodeforces, changes, team_standings
from helpers.lakes import rate_run
from helpers.responses import follow
from helpers.server import Server

from ranklake.flows.ingestion.sites import ingest_source, normalise_source
from ranklake.flows.problems.difficulties import RunProblems
from ranklake.flows.problems.options import ProblemOptions
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.sites.documents import Document, Key, Response
from ranklake.flows.sources.sites.results import SiteResults
from ranklake.flows.sources.sites.site import find_site
from ranklake.storage import Dataset, Lake
from ranklake.storage.datasets.results import StoredResults

PROBLEMS = [
    {"contestId": 7, "index": "A", "name": "Apples", "type": "PROGRAMMING", "points": 500.0, "tags": ["dp", "greedy"]},
    {"contestId": 7, "index": "B1", "name": "Beans", "type": "PROGRAMMING", "points": 1000.0, "tags": []},
]


def solve(points: float, rejected: int = 0, seconds: int | None = None) -> dict[str, Any]:
    found = {"points": points, "rejectedAttemptCount": rejected, "type": "FINAL"}
    return found if seconds is None else found | {"bestSubmissionTimeSeconds": seconds}


def row(handles: str, *solves: dict[str, Any], kind: str = "CONTESTANT", ghost: bool = False) -> dict[str, Any]:
    party = {"members": [{"handle": one} for one in handles.split()], "participantType": kind, "ghost": ghost}
    return {"party": party | {"teamName": None}, "rank": 1, "points": 0, "penalty": 0, "problemResults": [*solves]}


def standings(*rows: dict[str, Any], number: int = 7, kind: str = "CF", problems: Any = PROBLEMS) -> dict[str, Any]:
    return {"status": "OK", "result": {"contest": {"id": number, "type": kind}, "problems": problems, "rows": [*rows]}}


SOLVED = (
    row("ann", solve(478.0, 1, 120), solve(0.0, 3)),
    row("bob", solve(0.0), solve(700.0, 0, 3000)),
    row("cid", solve(0.0), solve(0.0)),
    row("dan", solve(490.0, 0, 60), solve(0.0), kind="OUT_OF_COMPETITION"),
    row("ann", solve(500.0, 0, 1), solve(1000.0, 0, 2), kind="VIRTUAL"),
    row("ghost", solve(500.0, 0, 1), solve(0.0), ghost=True),
    row("eve", solve(0.0, 2), solve(0.0)),  # official, but not rated
)


def results_of(source: str, kind: str, name: str, body: bytes) -> list[SiteResults | SourceError]:
    document = Document(Key(kind, name), Response("URL", 200, body, 0), {})
    return list(find_site(source).results(document))


def solved(lake: Lake, dataset: str) -> dict[str, list[tuple[Any, ...]]]:
    """Player, problem, share, time and attempts of all results, by contest."""
    stored, handles, found = StoredResults.open(lake, dataset), Dataset.open(lake, dataset).handles().to_pylist(), {}
    ids = stored.contests.column("contest_id").to_pylist()
    for rows, offsets, table in stored.parts():
        for at, one in enumerate(rows):
            own = table.slice(int(offsets[at]), int(offsets[at + 1] - offsets[at])).to_pylist()
            found[ids[one]] = [(handles[r["player"]], *list(r.values())[1:]) for r in own]
    return found


@pytest.fixture
def site(server: Server) -> FakeCodeforces:
    fake = FakeCodeforces(server)
    fake.add(7, changes(7, ("ann", 1), ("bob", 2), ("cid", 3)))
    fake.add(8, None)
    server["/api/contest.standings?contestId=7&showUnofficial=false"] = standings(*SOLVED)
    return fake


def again(lake: Lake, site: FakeCodeforces, **choices: Any) -> Any:
    site.server.requests.clear()
    return ingest_source(lake, "codeforces", client=site.client(), **choices)


def test_codeforces__standings_of_rated_rounds_have_results_and_change_no_rating(
    lake: Lake, site: FakeCodeforces
) -> None:
    assert counts(again(lake, site)) == {"new": 1, "requests": 3}
    rate_run(lake, dataset="codeforces")
    before = {path: path.read_bytes() for path in Path(lake.url).rglob("*.parquet")}
    report = again(lake, site, results=True)
    assert site.server.paths[1:] == ["/api/contest.standings?contestId=7&showUnofficial=false"]
    assert report.lines()[:-1] == [
        "1 row of players who were not in the contest left out",
        "3 results of 2 problems; 1 new contest",
    ]
    assert solved(lake, "codeforces") == {
        "7": [("ann", "7A", 1.0, 120.0, 2), ("ann", "7B1", 0.0, None, 3), ("bob", "7B1", 1.0, 3000.0, 1)]
    }
    assert {path: path.read_bytes() for path in before} == before
    facts = StoredResults.open(lake, "codeforces").problems().to_pylist()
    assert [list(one.values())[:6] for one in facts] == [
        ["7A", "Apples", "https://codeforces.com/contest/7/problem/A", 1, ["dp", "greedy"], 500.0],
        ["7B1", "Beans", "https://codeforces.com/contest/7/problem/B1", 2, None, 1000.0],
    ]
    table = RunProblems(lake, "run", ProblemOptions(count="reached")).table().rows.to_pylist()
    assert {one["problem"]: (one["counted"], one["solved"]) for one in table} == {"7A": (2, 1), "7B1": (2, 1)}


def test_codeforces__results_follow_changed_standings_and_nothing_else(lake: Lake, site: FakeCodeforces) -> None:
    again(lake, site, results=True)
    report = again(lake, site, results=True)
    assert (counts(report), report.results) == ({"unchanged": 1, "requests": 1}, None)
    site.server["/api/contest.standings?contestId=7&showUnofficial=false"] = standings(*SOLVED[:1])
    assert again(lake, site, again=True, results=True).results.corrected == 1
    assert solved(lake, "codeforces") == {"7": [("ann", "7A", 1.0, 120.0, 2), ("ann", "7B1", 0.0, None, 3)]}
    # eve is in the standings now: the stored responses are read beside them, without a request for results
    site.add(7, changes(7, ("ann", 1), ("bob", 2), ("cid", 3), ("eve", 4)))
    site.server["/api/contest.standings?contestId=7&showUnofficial=false"] = standings(*SOLVED)
    again(lake, site, again=True, results=True)
    assert [one[:3] for one in solved(lake, "codeforces")["7"]][-1] == ("eve", "7A", 0.0)


def test_teams__raw_responses_of_an_earlier_release_are_read_again_without_a_request(
    lake: Lake, server: Server
) -> None:
    site, result = FakeCodeforces(server), team_standings(524, ("red", 1, ["ada", "bob"]), (None, 2, ["cid"]))
    site.add(524, None)
    result["problems"], result["contest"]["type"] = [PROBLEMS[0] | {"contestId": 524}], "ICPC"
    result["rows"][0]["problemResults"], result["rows"][1]["problemResults"] = [solve(1.0, 0, 60)], [solve(0.0, 1)]
    server["/api/contest.standings?contestId=524&showUnofficial=false"] = {"status": "OK", "result": result}
    ingest_source(lake, "codeforces-teams", client=site.client())
    found = {"524": [("ada", "524A", 1.0, 60.0, 1), ("bob", "524A", 1.0, 60.0, 1), ("cid", "524A", 0.0, None, 1)]}
    assert solved(lake, "codeforces-teams") == found
    folder = Path(lake.url) / "codeforces-teams"
    shutil.rmtree(folder / "results")
    (folder / "sources" / "codeforces-teams-results.json").unlink()
    server.requests.clear()
    report = normalise_source(lake, "codeforces-teams")
    assert (solved(lake, "codeforces-teams"), server.paths, report.results.new) == (found, [], 1)
    assert normalise_source(lake, "codeforces-teams").results.unchanged == 1


def test_ioi_rounds__have_shares_of_the_points() -> None:
    (found,) = results_of_standings(standings(row("ann", solve(125.0), solve(0.0, 1)), kind="IOI"))
    assert isinstance(found, SiteResults)
    assert found.share == [0.25, 0.0]
    assert math.isnan(found.after[0])


def test_codeforces__sample_of_standings_has_results() -> None:
    body = json.loads(shared("api-samples/codeforces/result_contest_standings.json").read_bytes())
    (found,) = results_of("codeforces", "standings", "1", json.dumps({"status": "OK", "result": body}).encode())
    assert isinstance(found, SiteResults)
    assert [one.problem for one in found.problems] == ["1A", "1B"]
    assert (found.players, found.share, found.after, found.attempts) == (
        ["tourist"] * 2,
        [1.0] * 2,
        [300, 1200],
        [1, 2],
    )


def results_of_standings(body: dict[str, Any]) -> list[SiteResults | SourceError]:
    return results_of("codeforces", "standings", "7", json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (standings(number=8), "the response for 7 is of contest 8"),
        (standings(kind="BLITZ"), "type must be CF, ICPC or IOI, got 'BLITZ'"),
        (standings(row("ann", solve(1.0))), "row 0 has 1 results, and there are 2 problems"),
        (standings(kind="IOI", problems=[{"index": "A"}]), "the points of problem 'A' are unknown"),
    ],
)
def test_codeforces__standings_with_a_fault_have_no_results(body: dict[str, Any], rule: str) -> None:
    (found,) = results_of_standings(body)
    assert isinstance(found, SourceError)
    assert rule in found.rule


def test_results__that_break_a_rule_are_left_out_and_named(lake: Lake, site: FakeCodeforces) -> None:
    site.server["/api/contest.standings?contestId=7&showUnofficial=false"] = standings(
        row("ann", solve(-5.0), solve(0.0))
    )
    report = again(lake, site, results=True)
    ((contest, reason),) = report.rejected
    assert contest == "7"
    assert "its results of problems are left out: player 'ann', problem '7A': the share of the points" in reason
    assert solved(lake, "codeforces") == {}
    assert Dataset.open(lake, "codeforces").contests.num_rows == 1


def test_dmoj__solutions_are_shares_of_the_points(lake: Lake, server: Server) -> None:
    end = "2017-07-14T02:40:00+00:00"
    facts = {"cumulative_time": 0.0, "tiebreaker": 0.0}
    rankings = [
        {"user": "ann", "score": 8, "new_rating": 1, "is_disqualified": False, **facts,
         "solutions": [{"time": 60.5, "points": 5.0}, {"time": 90.0, "points": 0.0}]},
        {"user": "bob", "score": 3, "new_rating": 1, "is_disqualified": False, **facts,
         "solutions": [{"time": -3.0, "points": 1.0}, None]},
        {"user": "cheat", "score": 0, "new_rating": None, "is_disqualified": True, **facts,
         "solutions": [{"time": 1.0, "points": 5.0}, None]},
    ]  # fmt: skip
    problems = [{"points": 5, "name": "Ants", "code": "ants", "label": "1", "partial": True},
                {"points": 10, "name": "Bees", "code": "bees", "label": "2", "partial": False}]  # fmt: skip
    server["/api/v2/contests?is_rated=True&page=1"] = {
        "data": {"objects": [{"key": "one", "end_time": end}], "has_more": False}
    }
    server["/api/v2/contest/one"] = {
        "data": {"object": {"key": "one", "name": "One", "end_time": end, "problems": problems, "rankings": rankings}}
    }
    report = follow(lake, server, "dmoj")
    assert solved(lake, "dmoj") == {
        "one": [("ann", "ants", 1.0, 60.5, None), ("ann", "bees", 0.0, None, None), ("bob", "ants", 0.2, None, None)]
    }
    assert report.results is not None
    assert report.results.n_strangers == 1
    names = StoredResults.open(lake, "dmoj").problems().select(["name", "url", "position", "max_score"]).to_pylist()
    assert [list(one.values()) for one in names] == [
        ["Ants", "https://dmoj.ca/problem/ants", 1, 5.0],
        ["Bees", "https://dmoj.ca/problem/bees", 2, 10.0],
    ]


def test_topcoder__recorded_rounds_have_results(lake: Lake, tmp_path: Path) -> None:
    for name in ("dd_round_results_rd=2009.xml", "dd_round_results_rd=57.xml"):
        shutil.copyfile(sample("topcoder") / name, tmp_path / name)
    rows = "".join(
        f"<row><round_id>{n}</round_id><full_name>Final {n}</full_name><date>2001-05-0{at} 21:00</date></row>"
        for at, n in ((1, 57), (2, 2009))
    )
    (tmp_path / "dd_round_list.xml").write_text(f"<l>{rows}</l>", "latin-1")
    ingest_source(lake, "topcoder", base_url=str(tmp_path))
    found = solved(lake, "topcoder")
    # by the recorded statuses: problem 67 is the first one of round 2009, challenged with success twice
    assert {one[0]: one[2] for one in found["2009-1"] if one[1] == "67"}["qubits"] == 0.0
    assert sum(one[2] for one in found["2009-1"] if one[1] == "67") == 2
    assert {one[0]: one[2] for one in found["2009-1"] if one[1] == "72"}["vulture"] == 1.0
    assert sum(one[2] for one in found["57-1"] if one[1] == "207") == 3
    assert len(found["57-1"]) == 11  # of twelve, one problem was opened and not submitted
