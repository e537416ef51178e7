"""CTFtime: years, teams, and names that are not unique."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from helpers.contents import counts, standings
from helpers.data import sample
from helpers.responses import follow, parse, parse_one
from helpers.server import Reply, Server

from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.ingestion.sites import normalise_source
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.sites import ctftime
from ranklake.storage import Contest, Dataset, Lake

YEARS = range(2011, 2028)  # by the server's clock it is January 2027
LAST = "/api/v1/results/2026/"
THIS = "/api/v1/results/2027/"


def event(title: str, day: int, *teams: int, year: int = 2026) -> dict[str, Any]:
    time = datetime(year, 1, day, tzinfo=UTC).timestamp()
    scores = [{"team_id": team, "points": "1.0000", "place": place} for place, team in enumerate(teams, 1)]
    return {"title": title, "time": time, "scores": scores}


def teams(offset: int, **named: str) -> tuple[str, dict[str, Any]]:
    result = [{"id": int(team[1:]), "name": name, "country": "", "aliases": []} for team, name in named.items()]
    path = f"/api/v1/teams/?limit={ctftime.PAGE}&offset={offset}"
    return path, {"limit": ctftime.PAGE, "offset": offset, "result": result}


@pytest.fixture
def site(server: Server) -> Server:
    """Two events, three teams, two of one name."""
    for year in YEARS:
        server[f"/api/v1/results/{year}/"] = {}
    server[LAST] = {"10": event("First", 3, 1, 2, 3), "9": event("Later", 5, 3, 1)}
    path, page = teams(0, t1="dcua", t2="Unknown", t3="Unknown", t4="unused")
    server[path] = page
    return server


def ingest(lake: Lake, site: Server, **choices: Any) -> SourceReport:
    return follow(lake, site, "ctftime", **choices)


def test_ingest__years_then_teams_then_events_in_order_of_time(lake: Lake, site: Server) -> None:
    report = ingest(lake, site)
    assert site.paths == [*(f"/api/v1/results/{year}/" for year in YEARS), teams(0)[0]]
    assert counts(report) == {"new": 2, "requests": 18}
    # The second of two teams with one name gets its id as a suffix.
    assert standings(lake, "ctftime") == {
        "10": [("dcua", 0, 0), ("Unknown", 1, 1), ("Unknown (3)", 2, 2)],
        "9": [("Unknown (3)", 0, 0), ("dcua", 1, 1)],
    }
    row = Dataset.open(lake, "ctftime").contests.slice(0, 1).to_pylist()[0]
    assert (row["name"], row["url"]) == ("First", "https://ctftime.org/event/10")


def test_ingest__without_changes_requests_this_year_and_one_other_document(lake: Lake, site: Server) -> None:
    ingest(lake, site)
    report = ingest(lake, site)
    assert report.requests <= 2
    assert THIS in site.paths
    assert report.unchanged == 2


def test_ingest__a_new_event_requests_only_its_new_teams(lake: Lake, site: Server) -> None:
    ingest(lake, site)
    site[THIS] = {"11": event("New", 6, 5, 1, 77, year=2027)}
    path, page = teams(0, t1="dcua", t2="Unknown", t3="Unknown", t4="unused", t5="fresh")
    site[path] = page
    site["/api/v1/teams/77/"] = {"id": 77, "name": "late", "country": ""}
    report = ingest(lake, site)
    assert site.paths == [THIS, path, "/api/v1/teams/77/"]
    assert counts(report) == {"new": 1, "unchanged": 2, "requests": 3}
    assert [name for name, *_ in standings(lake, "ctftime")["11"]] == ["fresh", "dcua", "late"]


def test_ingest__requests_some_teams_now_and_the_others_in_the_next_run(
    lake: Lake, site: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctftime, "SINGLE_TEAMS", 1)
    site[LAST] = {"10": event("First", 3, 404, 405)}
    for team in (404, 405):
        site[f"/api/v1/teams/{team}/"] = {"id": team, "name": f"team {team}", "country": ""}
    requested = []
    for _ in range(2):
        ingest(lake, site)
        requested.append([path for path in site.paths if path.startswith("/api/v1/teams/40")])
    assert requested == [["/api/v1/teams/404/"], ["/api/v1/teams/405/"]]


def test_ingest__a_deleted_team_has_its_id_as_name_and_is_requested_once(lake: Lake, site: Server) -> None:
    site[LAST] = {"10": event("First", 3, 1, 404)}
    assert ingest(lake, site).new == 1
    assert "/api/v1/teams/404/" in site.paths
    assert [name for name, *_ in standings(lake, "ctftime")["10"]] == ["dcua", "404"]
    site[THIS] = {"11": event("New", 6, 404, 1, year=2027)}
    assert ingest(lake, site).new == 1
    assert "/api/v1/teams/404/" not in site.paths


@pytest.mark.slow
def test_ingest__a_renamed_team_keeps_its_history_under_the_new_name(lake: Lake, site: Server) -> None:
    ingest(lake, site)
    digests = Dataset.open(lake, "ctftime").contests.column("content_digest")
    site[teams(0)[0]] = teams(0, t1="DCUA", t2="Unknown", t3="third", t4="unused", t5="dcua")[1]
    site[THIS] = {"11": event("New", 6, 5, 1, year=2027)}
    report = ingest(lake, site)
    assert (report.new, report.corrected) == (1, 0)
    assert Dataset.open(lake, "ctftime").contests.column("source_digest")[:2].to_pylist()
    found = standings(lake, "ctftime")
    assert [name for name, *_ in found["9"]] == ["third", "DCUA"]
    assert [name for name, *_ in found["11"]] == ["dcua (5)", "DCUA"]  # the name dcua stays with its first team
    assert len(digests) == 2
    site[teams(0)[0]] = teams(0, t1="dcua", t2="Unknown", t3="third", t4="unused", t5="other", t6="six")[1]
    site[THIS] = {"11": event("New", 6, 5, 1, 6, year=2027)}
    ingest(lake, site)
    assert [name for name, *_ in standings(lake, "ctftime")["11"]] == ["other", "dcua", "six"]


def test_ingest__stopped_at_a_page_of_teams_continues_at_this_page(
    lake: Lake, site: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctftime, "PAGE", 2)
    for path, page in (teams(0, t1="dcua", t2="two"), teams(2, t3="three", t4="four"), teams(4, t5="five")):
        site[path] = page
    good = site.replies[teams(2)[0]]
    site[teams(2)[0]] = Reply(b"", 503)
    with pytest.raises(SourceError, match="HTTP 503"):
        ingest(lake, site)
    site.replies[teams(2)[0]] = good
    assert ingest(lake, site).new == 2
    assert site.paths == [THIS, teams(2)[0], teams(4)[0]]
    assert [name for name, *_ in standings(lake, "ctftime")["10"]] == ["dcua", "two", "three"]


def test_ingest__an_event_that_the_site_deleted_is_removed(lake: Lake, site: Server) -> None:
    ingest(lake, site)
    site[LAST] = {"10": event("First", 3, 1, 2, 3), "12": {"title": "To come", "time": 1.9e9, "scores": []}}
    report = ingest(lake, site, again=True)
    assert (report.removed, report.unchanged) == (1, 1)
    assert list(standings(lake, "ctftime")) == ["10"]


def test_normalise__again_gives_the_same(lake: Lake, site: Server) -> None:
    ingest(lake, site)
    before = standings(lake, "ctftime")
    assert counts(normalise_source(lake, "ctftime")) == {"unchanged": 2}
    assert standings(lake, "ctftime") == before


def test_ingest__recorded_events_and_teams(lake: Lake, site: Server) -> None:
    year = json.loads(sample("ctftime/results.json").read_text())
    site[LAST] = year
    site[teams(0)[0]] = {"result": json.loads(sample("ctftime/teams.json").read_text())}
    assert (report := ingest(lake, site)).rejected == []
    assert report.new == len(year) == 12
    found = standings(lake, "ctftime")
    assert [name for name, *_ in found["1788"]][:3] == ["NuttyShell", "willwam845", "unblvr"]
    times = Dataset.open(lake, "ctftime").contests.column("time_seconds").to_pylist()
    assert times == sorted(times)


def test_parse__equal_places_tie_and_the_list_need_not_be_sorted() -> None:
    scores = [{"team_id": 1, "points": "0", "place": 3}, {"team_id": 2, "points": "9", "place": 1},
              {"team_id": 3, "points": "9", "place": 1}]  # fmt: skip
    contest = parse_one("ctftime", "results", "2022", {"5": {"title": "T", "time": 1.5e9, "scores": scores}})
    assert (contest.handles.to_pylist(), contest.lo.tolist()) == (["2", "3", "1"], [0, 0, 2])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (event("T", 1, 1, 1), "contest 5 (URL), rows 0 and 1: player '1' is listed twice"),
        ({**event("T", 1, 1), "time": -5.0}, "contest 5 (URL): -5 s is no time"),
        ({**event("T", 1, 1), "time": 1e300}, "contest 5 (URL): 10000"),
        ({"title": "T", "time": 1.5e9, "scores": [{"team_id": 1, "place": 0}]}, "contest 5 (URL), row 0: place = 0;"),
    ],
)
def test_parse__an_event_with_a_fault_is_its_error(found: Any, message: str) -> None:
    error, good = parse("ctftime", "results", "2022", {"5": found, "6": event("T", 1, 1, 2)})
    assert isinstance(error, SourceError)
    assert str(error).startswith(f"ctftime, {message}")
    assert isinstance(good, Contest)


@pytest.mark.slow
def test_ingest__contests_that_were_listed_in_two_years_stay(lake: Lake, site: Server) -> None:
    ingest(lake, site)
    before = standings(lake, "ctftime")
    site["/api/v1/results/2025/"] = site.replies[LAST][0]
    report = ingest(lake, site, again=True)
    assert len(report.rejected) == 2
    assert "it is also in results/2026" in report.rejected[0][1]
    site["/api/v1/results/2025/"] = {}
    assert counts(ingest(lake, site, again=True))["unchanged"] == 2
    assert standings(lake, "ctftime") == before
