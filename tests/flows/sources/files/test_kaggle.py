"""Kaggle from the files of the Meta Kaggle set."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.contents import counts, standings

from ranklake.flows.ingestion.files import ingest_kaggle
from ranklake.flows.ingestion.report import SourceReport
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.kaggle import read_meta_kaggle
from ranklake.storage import Contest, Dataset, Lake

FILES = {
    "Competitions.csv": "Id,Slug,Title,HostSegmentTitle,DeadlineDate\n"
    '2,later,"Later, ""quoted""",Featured,02/01/2020 00:00:00\n'
    "1,first,First,Featured,01/31/2019 23:59:00\n3,open,Open,Featured,01/01/2100 00:00:00\n",
    "Teams.csv": "Id,CompetitionId,TeamName,PublicLeaderboardRank,PrivateLeaderboardRank\n"
    "10,1,alone,2,1\n11,1,trio,1,2\n12,1,old trio,9,3\n13,1,unranked,4,\n14,2,a,1,1\n15,2,b,1,2\n16,3,a,1,1\n",
    "TeamMemberships.csv": "Id,TeamId,UserId,RequestDate\n"
    "1,10,100,\n2,11,101,\n3,11,102,\n4,11,103,\n5,12,101,\n6,13,104,\n7,14,101,\n8,15,105,\n9,16,100,\n10,12,106,\n",
    "Users.csv": "Id,UserName,DisplayName\n100,ada,Ada\n101,NA,Bob\n102,null,C\n103,\u202eevil,D\n104,e,E\n106,006,F\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "meta"
    found.mkdir()
    for name, text in FILES.items():
        (found / name).write_text(text, "utf-8")
    return found


def ingest(lake: Lake, folder: Path | str | None, dataset: str = "kaggle", since: str | None = None) -> SourceReport:
    return ingest_kaggle(lake, folder and str(folder), SourceReport("kaggle", dataset), since)


def test_ingest__ended_competitions_with_teams_at_their_ranks(lake: Lake, folder: Path) -> None:
    report = ingest(lake, folder)
    assert counts(report) == {"new": 2}
    assert standings(lake, "kaggle") == {
        "1": [("ada", 0, 0), ("NA", 1, 1), ("null", 1, 1), ("\u202eevil", 1, 1), ("006", 2, 2)],
        "2": [("NA", 0, 0), ("105", 1, 1)],  # player 105 has no name
    }
    first, second = Dataset.open(lake, "kaggle").standings(0, 1), Dataset.open(lake, "kaggle").standings(1, 2)
    (teams,), (alone,) = ([part.teams for part in parts] for parts in (first, second))
    assert teams is not None
    assert teams.name.to_pylist() == [None, "trio", "trio", "trio", None]  # "old trio" keeps one member
    assert alone is None
    row = Dataset.open(lake, "kaggle").contests.to_pylist()[1]
    assert (row["name"], row["url"], row["time_seconds"]) == (
        'Later, "quoted"',
        "https://www.kaggle.com/c/later",
        1_580_515_200,
    )
    assert counts(ingest(lake, folder)) == {"unchanged": 2}
    assert counts(ingest(lake, folder, "recent", "2020-01-01")) == {"new": 1}


def test_teams__of_one_name_have_their_ids_and_those_without_a_name_are_ids(folder: Path) -> None:
    teams = FILES["Teams.csv"].replace("12,1,old trio,9,3", "12,1,trio,9,3").replace("10,1,alone", "10,1,")
    (folder / "Teams.csv").write_text(teams, "utf-8")
    with (folder / "TeamMemberships.csv").open("a") as file:
        file.write("11,12,107,\n12,10,108,\n")
    contest = next(iter(read_meta_kaggle(folder, 2_000_000_000)))
    assert isinstance(contest, Contest)
    assert contest.teams is not None
    assert contest.teams.name.to_pylist() == ["10", "10", *["trio (11)"] * 3, *["trio (12)"] * 2]
    assert contest.lo.tolist() == [0, 0, 1, 1, 1, 2, 2]


def test_rank__of_zero_is_a_fault_of_its_competition(folder: Path) -> None:
    ranks = {
        "alone,2,1": "alone,2,0",
        "trio,1,2": "trio,1,1",
        "trio,9,3": "trio,9,2",
        "a,1,1": "a,1,0",
        "b,1,2": "b,1,1",
    }
    teams = FILES["Teams.csv"]
    for old, new in ranks.items():
        teams = teams.replace(old, new)
    (folder / "Teams.csv").write_text(teams, "utf-8")
    for fault in read_meta_kaggle(folder, 2_000_000_000):
        assert isinstance(fault, SourceError)
        assert fault.rule.partition(" (")[0] == "a place must be a number from 1, got rank = 0"


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "Teams.csv",
            "PrivateLeaderboardRank",
            "Rank",
            "Teams.csv: not the format of Meta Kaggle: .*PrivateLeaderboardRank",
        ),
        ("Teams.csv", "10,1,alone", "ten,1,alone", "Teams.csv: not the format of Meta Kaggle: "),
        ("Competitions.csv", "01/31/2019 23:59:00", "2019-01-31", r"contest 1 .*got '2019-01-31'"),
    ],
)
def test_ingest__error_of_a_file_of_another_format_names_it(
    lake: Lake, folder: Path, name: str, old: str, new: str, message: str
) -> None:
    (folder / name).write_text(FILES[name].replace(old, new), "utf-8")
    with pytest.raises(SourceError, match=message):
        ingest(lake, folder)


def test_ingest__error_of_a_missing_file_or_folder_names_it(lake: Lake, folder: Path) -> None:
    (folder / "Users.csv").unlink()
    with pytest.raises(SourceError, match=r"Users.csv: no such file"):
        ingest(lake, folder)
    for wrong in (None, "https://www.kaggle.com"):
        with pytest.raises(ValueError, match="must be the folder with the files of Meta Kaggle"):
            ingest(lake, wrong)
