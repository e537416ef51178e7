"""Scoreboards of CLICS, DOMjudge, ICPC's tools and CTFtime: read as contests, or refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.data import shared

from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.options import ReadOptions

BOARD = {
    "time": "2024-06-25T14:13:07.832+01", "contest_time": "4:13:07.832",
    "state": {"started": "2024-06-25T09:00:00+00", "ended": "2024-06-25T14:00:00.5+00", "frozen": None},
    "rows": [
        {"rank": 1, "team_id": "7", "score": {"num_solved": 3, "total_time": 340}, "problems": []},
        {"rank": 3, "team_id": 9, "score": {"num_solved": 0, "total_time": 0}, "problems": []},
        {"rank": 1, "team_id": "8", "score": {"num_solved": 3, "total_time": 340}, "problems": []},
    ],
}  # fmt: skip
FEED = {"tasks": ["a"], "standings": [{"pos": 1, "team": "dcua", "score": 9, "lastAccept": 1500000000.7},
                                      {"pos": 2, "team": "p4", "score": 5}]}  # fmt: skip
YEAR = {
    "1788": {"title": "Late", "time": 1666443600.0, "scores": [{"team_id": 3, "points": "9.0000", "place": 1}]},
    "99": {"title": "Early", "time": 1600000000.5, "scores": [{"team_id": 3, "points": "9.0000", "place": 2},
                                                             {"team_id": 4, "points": "9.5000", "place": 1}]},
}  # fmt: skip
RESULTS = "results\t1\n894814\t1\tGold Medal\t10\t1131\t238\tAsia East\n894815\t1\tGold Medal\t10\t1131\t238\t\n"
OLD_BOARD = "scoreboard\t1\nMIT\t1001\t1\t10\t900\t280\t1\t12\nETH\t1002\t2\t9\t800\t270\t2\t13\n"


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


def read(path: Path, *columns: str, **settings: Any) -> list[tuple[Any, ...]]:
    contests = read_contests(path, ReadOptions.parse(columns, **settings))
    return [
        (c.contest_id, c.time_seconds, c.handles.to_pylist(), (c.lo + 1).tolist()) for c in contests
    ]  # fmt: skip


def refusal(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read(path)
    return str(caught.value)


EXPECTED = ("spring", 1719324000, ["7", "8", "9"], [1, 1, 3])


@pytest.mark.parametrize("name", ["spring.json", "spring/scoreboard.json"])
def test_clics__a_scoreboard_is_a_contest(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "all" / name, BOARD)
    write(tmp_path / "all" / "other" / "scoreboard.json", BOARD)
    assert read(path) == [EXPECTED]
    assert sorted(read(tmp_path / "all", order="time")) == [("other", *EXPECTED[1:]), EXPECTED]
    running = BOARD | {"state": {"ended": None}}
    assert read(write(tmp_path / "scoreboard.json", running))[0][:2] == (tmp_path.name, 1719321187)


def test_clics__a_fault_names_the_row(tmp_path: Path) -> None:
    rows: list[Any] = BOARD["rows"]  # type: ignore[assignment]
    path = write(tmp_path / "a.json", BOARD | {"rows": [rows[0], rows[1] | {"rank": None}]})
    remedy = "--absent last ties such participants behind all others, --absent drop leaves them out"
    assert f"a scoreboard that cannot be read: places are from 1, got empty in row 2; {remedy}" in refusal(path)
    path = write(tmp_path / "a.json", BOARD | {"rows": [*rows, rows[0] | {"rank": 0, "team_id": 5}]})
    assert f"a scoreboard that cannot be read: places are from 1, got 0 in row 4; {remedy}" in refusal(path)
    assert read(path, absent="drop")[0][2:] == (["7", "8", "9"], [1, 1, 3])
    assert read(path, absent="last")[0][2:] == (["7", "8", "9", "5"], [1, 1, 3, 4])
    path = write(tmp_path / "a.json", BOARD | {"rows": [rows[0] | {"rank": 0}]})
    with pytest.raises(SourceError, match="a scoreboard that cannot be read: nobody has a place"):
        read(path, absent="last")
    assert "the standings are empty" in refusal(write(tmp_path / "a.json", BOARD | {"rows": []}))


def test_ctftime__a_scoreboard_feed_is_a_contest(tmp_path: Path) -> None:
    assert read(write(tmp_path / "final.json", FEED)) == [("final", 1500000000, ["dcua", "p4"], [1, 2])]


def test_ctftime__results_of_a_year_are_contests_in_order_of_time(tmp_path: Path) -> None:
    path = write(tmp_path / "2022.json", YEAR)
    assert read(path) == [("99", 1600000000, ["4", "3"], [1, 2]), ("1788", 1666443600, ["3"], [1])]
    (contest, _) = read_contests(path)
    assert (contest.name, contest.url) == ("Early", "https://ctftime.org/event/99")
    write(tmp_path / "all" / "2022.json", YEAR)
    assert "the results of a year hold several contests; ingest the file by itself" in refusal(tmp_path / "all")


def test_ctftime__samples_are_read_or_refused() -> None:
    folder = shared("api-samples/ctftime")
    contests = list(read_contests(folder / "results_top10_reconstructed.json"))
    assert (len(contests), {len(contest) for contest in contests}) == (12, {10})
    assert [c.time_seconds for c in contests] == sorted(c.time_seconds for c in contests)
    assert "a list of CTFtime's events has no results" in refusal(folder / "events.json")
    assert "CTFtime's ranking of teams has no contests" in refusal(folder / "top.json")


OTHER = {
    "a list of CTFtime's teams has no results": {"limit": 1, "offset": 0, "result": [{"id": 1, "name": "p4"}]},
    "an event feed of CLICS has no places; the contest's scoreboard.json has": {"type": "teams", "id": "1", "data": {}},
}


@pytest.mark.parametrize("rule", OTHER)
def test_documents__without_results_are_refused(tmp_path: Path, rule: str) -> None:
    assert rule in refusal(write(tmp_path / "a.json", OTHER[rule]))
    assert rule in refusal(write(tmp_path / "a.jsonl", OTHER[rule]))


def test_icpc__results_are_a_contest_of_their_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "2023" / "results.tsv", RESULTS)
    write(tmp_path / "2024" / "results.tsv", RESULTS.replace("894815\t1", "894815\t2"))
    first = ("2023", 0, ["894814", "894815"], [1, 1])
    assert read(path) == [first]
    assert read(tmp_path) == [first, ("2024", 0, ["894814", "894815"], [1, 2])]
    assert read(path, "score=solved") == [first]
    assert read(write(tmp_path / "final.tsv", OLD_BOARD)) == [("final", 0, ["1001", "1002"], [1, 2])]


def test_icpc__faults_name_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "2023" / "results.tsv", RESULTS + "894816\t\tHonorable\t3\t9\t1\t\n")
    assert "contest 2023, row 3 (line 4)" in refusal(path)
    path = write(tmp_path / "2023" / "results.tsv", RESULTS + "894816\t3\n")
    assert "row 3 (line 4)" in refusal(path)
    assert "a table teams of ICPC's tools has no results" in refusal(write(tmp_path / "a.tsv", "teams\t1\n1\t2\n"))
