"""Following files: changed files are read; incomplete and invalid files change nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers.lakes import stamps
from helpers.tables import assert_published

import ranklake.flows.ingestion.file_changes as file_changes
import ranklake.flows.ingestion.files as file_source
import ranklake.flows.ingestion.source_update as source_update
from ranklake.flows.cli.main import cli
from ranklake.flows.ingestion.file_changes import SETTLED_SECONDS, watch
from ranklake.flows.ingestion.source_update import SourceRequest, update
from ranklake.flows.sources.base import SourceError
from ranklake.storage import Dataset, Lake
from ranklake.storage.lake import layout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three contests in files that are one hour old."""
    path = tmp_path / "results"
    path.mkdir()
    for number, players in enumerate([("ada", "bob"), ("bob", "eve"), ("eve", "ada")]):
        put(path / f"{number}.json", *players, day=number)
    return path


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Replace the waits for files; returns their lengths."""
    naps: list[float] = []
    whole = source_update.watch
    monkeypatch.setattr(source_update, "watch", lambda *where: whole(*where, sleep=naps.append))
    return naps


def put(file: Path, *players: str, day: int = 0, age: float = 3600.0) -> None:
    """A contest of the reference format, in the order of the players."""
    rows = [[player, place, place] for place, player in enumerate(players)]
    file.write_text(json.dumps({"name": file.stem, "time_seconds": 86_400 * (day + 1), "standings": rows}))
    aged(file, age)


def aged(file: Path, seconds: float) -> None:
    """Set the age of a file in seconds."""
    moment = time.time() - seconds
    os.utime(file, (moment, moment))


def contests(lake: Lake) -> list[str]:
    return Dataset.open(lake, "games").contests.column("contest_id").to_pylist()


def taken(lake: Lake, path: Path, **options: Any) -> Any:
    return update(lake, SourceRequest("files", "games", path=str(path), file_options=options))


# Changes


def test_update__reads_files_again_only_after_a_change(
    lake: Lake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (first := taken(lake, folder)).new == 3
    assert (first.n_files, first.n_changed) == (3, 3)
    before = stamps(Path(lake.url))

    def unread(*_: Any, **__: Any) -> None:
        raise AssertionError("files that did not change are not read")

    with monkeypatch.context() as patched:
        patched.setattr(file_source, "read_contests", unread)
        patched.setattr(file_changes, "_digest", unread)
        report = taken(lake, folder)
    assert (report.unchanged, report.n_changed, report.changed) == (3, 0, False)
    assert report.line().startswith("3 unchanged contests; 0 of 3 files changed, in ")
    assert stamps(Path(lake.url)) == before
    put(folder / "1.json", "eve", "bob", day=1)
    put(folder / "3.json", "ada", "eve", day=3)
    report = taken(lake, folder)
    assert (report.new, report.corrected, report.unchanged, report.n_changed) == (1, 1, 2, 2)


def test_update__a_touched_file_is_not_read(lake: Lake, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(lake, folder)
    aged(folder / "0.json", 60.0)
    monkeypatch.setattr(file_source, "read_contests", None)
    assert taken(lake, folder).n_changed == 0
    monkeypatch.setattr(file_changes, "_digest", None)  # the new time is stored by now
    assert taken(lake, folder).n_changed == 0


def test_update__detects_a_change_within_the_resolution_of_the_clock(lake: Lake, folder: Path) -> None:
    put(folder / "0.json", "ada", "bob", age=0.5)
    taken(lake, folder)
    moment = (folder / "0.json").stat().st_mtime_ns
    put(folder / "0.json", "bob", "ada")  # of the same size
    os.utime(folder / "0.json", ns=(moment, moment))
    assert taken(lake, folder).corrected == 1


def test_update__reads_the_same_files_again_with_other_options(lake: Lake, folder: Path) -> None:
    put(folder / "2.json", "eve", "ada", day=-10)
    taken(lake, folder)
    assert contests(lake) == ["0", "1", "2"]
    report = taken(lake, folder, order="time")
    assert report.changed
    assert report.moved
    assert contests(lake) == ["2", "0", "1"]


def test_update__only_a_mirror_removes_missing_contests(lake: Lake, folder: Path) -> None:
    taken(lake, folder)
    (folder / "1.json").unlink()
    assert taken(lake, folder).removed == 0
    (folder / "0.json").unlink()
    assert taken(lake, folder, mirror=True).removed == 2
    assert contests(lake) == ["2"]


def test_update__a_deleted_data_set_is_created_again(lake: Lake, folder: Path) -> None:
    taken(lake, folder)
    lake.delete(layout.contests_file("games"))
    assert taken(lake, folder).new == 3


def test_update__a_table_is_read_with_its_columns(lake: Lake, tmp_path: Path) -> None:
    table = tmp_path / "races.csv"
    table.write_text("race,driver,rank\nmonza,ada,1\nmonza,bob,2\n")
    aged(table, 3600.0)
    options = {"columns": ["contest=race", "player=driver"]}
    assert taken(lake, table, **options).new == 1
    assert taken(lake, table, **options).n_changed == 0


# Incomplete files


def test_update__a_file_that_is_being_written_is_an_error(
    lake: Lake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken(lake, folder)
    before = stamps(Path(lake.url))
    put(folder / "3.json", "ada", "bob", age=0.0)

    def goes_on(seconds: float) -> None:
        with (folder / "3.json").open("a") as file:
            file.write(" ")

    whole = file_changes.watch
    monkeypatch.setattr(source_update, "watch", lambda *where: whole(*where, sleep=goes_on))
    with pytest.raises(SourceError, match="it is being written at the moment"):
        taken(lake, folder)
    assert stamps(Path(lake.url)) == before


def test_update__waits_only_for_recently_written_files(lake: Lake, folder: Path, slept: list[float]) -> None:
    taken(lake, folder)
    assert slept == []
    put(folder / "3.json", "ada", "bob", age=0.0)
    assert taken(lake, folder).new == 1
    assert slept == [SETTLED_SECONDS]


@pytest.mark.parametrize("fault", [False, True])
def test_update__a_file_that_changes_while_it_is_read_changes_nothing(
    lake: Lake, folder: Path, monkeypatch: pytest.MonkeyPatch, fault: bool
) -> None:
    taken(lake, folder)
    put(folder / "3.json", "ada", "bob", day=3)
    before = contests(lake)
    read = file_source.read_contests

    def meanwhile(*arguments: Any, **options: Any) -> Any:
        yield from read(*arguments, **options)
        put(folder / "4.json", "ada", "eve", day=4)
        if fault:
            raise SourceError("damaged or truncated archive", "3.json")

    monkeypatch.setattr(file_source, "read_contests", meanwhile)
    with pytest.raises(SourceError, match="it was changed while it was read; nothing was ingested"):
        taken(lake, folder)
    assert contests(lake) == before
    monkeypatch.undo()
    assert taken(lake, folder).new == 2


@pytest.mark.parametrize("broken", [b'{"name": "1", "stand', b"\x00" * 300], ids=["cut", "zeros"])
def test_update__an_unreadable_file_keeps_the_old_contests_and_is_read_again(
    lake: Lake, folder: Path, broken: bytes
) -> None:
    taken(lake, folder)
    before, whole = contests(lake), (folder / "1.json").read_bytes()
    (folder / "1.json").write_bytes(broken)
    aged(folder / "1.json", 60.0)
    for _ in range(2):
        with pytest.raises(SourceError, match=r"1\.json"):
            taken(lake, folder)
    assert contests(lake) == before
    skipped = taken(lake, folder, on_error="skip")
    assert (len(skipped.details()), skipped.changed) == (1, False)
    (folder / "1.json").write_bytes(whole)
    assert taken(lake, folder).unchanged == 3


# Kaggle


def test_update__kaggle_is_read_when_one_of_its_files_changed(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "Competitions.csv": "Id,Slug,Title,DeadlineDate\n7,one,One,01/31/2020 23:59:00\n",
        "Teams.csv": "Id,CompetitionId,TeamName,PrivateLeaderboardRank\n1,7,,1\n2,7,,2\n",
        "TeamMemberships.csv": "TeamId,UserId\n1,11\n2,12\n",
        "Users.csv": "Id,UserName\n11,ada\n12,bob\n",
        "ForumMessages.csv": "Id\n",
    }.items():
        (tmp_path / name).write_text(text)
        aged(tmp_path / name, 3600.0)
    assert update(lake, SourceRequest("kaggle", "games", path=str(tmp_path))).new == 1
    (tmp_path / "ForumMessages.csv").write_text("Id\n1\n")
    with monkeypatch.context() as patched:
        patched.setattr(source_update, "ingest_kaggle", None)
        assert update(lake, SourceRequest("kaggle", "games", base_url=str(tmp_path))).unchanged == 1
    (tmp_path / "Teams.csv").write_text("Id,CompetitionId,TeamName,PrivateLeaderboardRank\n1,7,,2\n2,7,,1\n")
    assert update(lake, SourceRequest("kaggle", "games", path=str(tmp_path))).corrected == 1


# Arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "files"}, "source files needs the path"),
        ({"source": "kaggle"}, "source kaggle needs the path"),
        ({"source": "files", "path": "x", "since": "2020-01-01"}, "leave since and base_url out"),
        ({"source": "codeforces", "path": "x"}, "a path is for files and kaggle"),
        ({"source": "codeforces", "file_options": {"mirror": True}}, "mirror: an option of files"),
        ({"source": "files", "path": "x", "file_options": {"colour": 1}}, "files have no option 'colour'"),
        ({"source": "files", "path": "x", "file_options": {"order": "size"}}, "order must be one of number, time"),
        ({"source": "files", "path": "x", "file_options": {"absent": "first"}}, "absent must be one of error, last"),
        ({"source": "files", "path": "x", "file_options": {"columns": ["rank"]}}, "KEY=COLUMN|key=column"),
    ],
    ids=lambda one: "" if isinstance(one, str) else "-".join(map(str, one)),
)
def test_request__refuses_invalid_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SourceRequest(**arguments)


# The command


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["follow", *arguments])


def test_command__follows_a_folder(lake: Lake, folder: Path) -> None:
    arguments = ("--source", "files", "--path", str(folder), "--dataset", "games", "--lake", lake.url)
    done = invoke(*arguments, "--set", "weight_limit=0.3")
    assert done.exit_code == 0, done.output
    assert "data set games: 3 new contests; 3 of 3 files changed, in " in done.stdout
    again = invoke(*arguments, "--system", "elo")
    assert "data set games: 3 unchanged contests; 0 of 3 files changed, in " in again.stdout
    assert_published(lake, "games-elo")


def test_command__a_missing_folder_is_a_failure(lake: Lake, folder: Path) -> None:
    done = invoke("--source", "files", "--path", str(folder / "x"), "--dataset", "games", "--lake", lake.url)
    assert isinstance(done.exception, SourceError)
    assert "no such file or folder" in str(done.exception)


def test_watch__needs_one_stat_for_each_unchanged_file(lake: Lake, folder: Path) -> None:
    watched = watch(lake, "games", folder, "as they are")
    watched.keep()
    again = watch(lake, "games", folder, "as they are")
    assert (again.n_files, again.n_changed, again.changed) == (3, 0, False)
    assert watch(lake, "games", folder, "otherwise").changed


def test_watch__a_pattern_covers_all_matching_files(lake: Lake, folder: Path) -> None:
    first = watch(lake, "games", folder / "[01].json")
    assert first.n_files == 2
    first.keep()
    put(folder / "2.json", "bob", "ada")
    assert not watch(lake, "games", folder / "[01].json").changed
    put(folder / "1.json", "eve", "bob")
    assert watch(lake, "games", folder / "[01].json").n_changed == 1
