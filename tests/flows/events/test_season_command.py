"""The command `season`: what it records, what it refuses, and what the other commands say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import Command
from helpers.games import DAY, Game, as_periods, ingest_periods
from helpers.lakes import contest, lake_of

from ranklake.flows.events.seasons import ends_of, season_at, season_named, seasons
from ranklake.flows.events.start import check_event, season_event
from ranklake.storage import Dataset, Lake, LakeError, MissingError
from ranklake.storage.datasets.tables.events import positions
from ranklake.storage.maintenance.verify import verify_dataset

CONTESTS = [contest(str(i), "ann", "bob", "cy", time_seconds=i * DAY) for i in range(1, 7)]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    opened = lake_of(tmp_path / "lake", CONTESTS)
    monkeypatch.setenv("RANKLAKE_LAKE", opened.url)
    return opened


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


def listed(command: Command) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(command("season", "list", "--dataset", "games", "--format", "json").out)
    return found


def test_season__is_recorded_listed_removed_and_restored(lake: Lake, command: Command) -> None:
    bytes_before = Path(lake.url, "games/contests/contests.parquet").read_bytes()
    options = ("--at", "1970-01-04", "--keep", 0.75, "--widen", 60, "--centre", 1500, "--why", "new year")
    answer = command("season", "start", "2026", *options, "--dataset", "games")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(
        "data set games: season 2026 starts at 1970-01-04 00:00:00 UTC, reset: keep 0.75, centre 1500.0, widen 60\n"
    )
    command("season", "start", "2027", "--at", "1970-01-06", "--no-reset", "--dataset", "games")
    assert [(row["name"], row["first_round"], row["n_rounds"], row["reset"]) for row in listed(command)] == [
        ("2026", 2, 2, True),
        ("2027", 4, 2, False),
    ]
    dataset = Dataset.open(lake, "games")
    assert list(verify_dataset(dataset)) == []
    assert dataset.events_path in dataset.files()
    found = seasons(dataset)
    assert [season_at(found, day * DAY) and season_at(found, day * DAY).name for day in (2, 3, 4, 5, 9)] == [
        None, "2026", "2026", "2027", "2027",
    ]  # fmt: skip
    assert season_named(found, "current", ends_of(dataset), "games").name == "2027"

    command("season", "remove", "2026", "--dataset", "games", "--why", "a mistake")
    assert [row["name"] for row in listed(command)] == ["2027"]
    command("season", "undo", "2026", "--dataset", "games")
    assert [(row["name"], row["event_id"]) for row in listed(command)] == [("2026", 0), ("2027", 1)]
    log = json.loads(command("log", "--dataset", "games", "--format", "json").out)
    assert [(row["kind"], row["season"], row["why"]) for row in log] == [
        ("season", "2026", "new year"),
        ("season", "2027", ""),
        ("season removed", "2026", "a mistake"),
        ("season restored", "2026", ""),
    ]
    assert "2026" in command("log", "--dataset", "games").out
    assert bytes_before != Path(lake.url, "games/contests/contests.parquet").read_bytes()


def test_data_set__without_events_has_the_bytes_of_before(lake: Lake, command: Command) -> None:
    assert b"events" not in Path(lake.url, "games/contests/contests.parquet").read_bytes()
    assert not Path(lake.url, "games/events").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--keep", 1.5), "keep must be from 0 to 1, got 1.5; more than 1 would stretch the ratings"),
        (("--keep", -0.1), "keep must be from 0 to 1, got -0.1"),
        (("--keep", "nan"), "keep must be from 0 to 1, got nan"),
        (("--widen", -1), "widen must be a finite number >= 0 rating points, got -1.0"),
        (("--keep", 0.5, "--centre", "inf"), "finite number of rating points, got 'inf'"),
        (("--keep", 0.5, "--centre", "median"), "centre must be mu_init, mean or a finite number"),
        (("--keep", 0.5, "--who", "poland"), "who must be all, ATTRIBUTE=VALUE or active_since=DATE, got 'poland'"),
        (("--keep", 0.5, "--who", "active_since=soon"), "who: active_since must be a time as 2020-01-31"),
        (("--no-reset", "--keep", 0.5), "--no-reset and --keep exclude each other"),
    ],
)
def test_season__out_of_range_names_the_value_and_the_range(
    lake: Lake, command: Command, options: tuple[object, ...], message: str
) -> None:
    said = command.refuses("season", "start", "2026", "--at", "1970-01-04", *options, "--dataset", "games", code=2)
    assert message in said
    assert not Dataset.open(lake, "games").events()


def test_season__with_a_bad_name_is_refused(lake: Lake, command: Command) -> None:
    start = ("--at", "1970-01-04", "--dataset", "games")
    assert "1 to 100 printable characters" in command.refuses("season", "start", " ", *start, code=2)
    assert "means the season of now" in command.refuses("season", "start", "current", *start, code=2)
    command("season", "start", "2026", *start)
    other = ("--at", "1970-01-05", "--dataset", "games")
    assert "must be a new one, got '2026'" in command.refuses("season", "start", "2026", *other)
    assert "has no season '2025'" in command.refuses("season", "remove", "2025", "--dataset", "games")
    assert "has no removed season '2026'" in command.refuses("season", "undo", "2026", "--dataset", "games")
    entries = len(Dataset.open(lake, "games").log().entries)
    assert command("season", "start", "2026", *start).code == 0
    assert len(Dataset.open(lake, "games").log().entries) == entries
    command("season", "remove", "2026", "--dataset", "games")
    command("season", "start", "2026", *start)
    assert "is in force" in command.refuses("season", "undo", "2026", "--dataset", "games")


def test_season__of_unknown_attributes_is_refused(lake: Lake, command: Command, tmp_path: Path) -> None:
    start = ("season", "start", "2026", "--at", "1970-01-04", "--keep", "0.5", "--dataset", "games", "--who")
    assert "`ranklake attributes` records them" in command.refuses(*start, "country=PL")
    (tmp_path / "a.csv").write_text("handle,country\nann,PL\n")
    command("attributes", tmp_path / "a.csv", "--dataset", "games")
    assert "an attribute 'club'; there are: country" in command.refuses(*start, "club=PL")
    assert "country='PT'; there are: PL" in command.refuses(*start, "country=PT")
    assert command(*start, "country=PL").code == 0


def test_season__before_the_first_contest_acts_on_nobody(lake: Lake, command: Command) -> None:
    answer = command("season", "start", "0", "--at", "1970-01-01", "--keep", "0.5", "--dataset", "games")
    assert answer.code == 0
    assert "before the first contest, which ended at 1970-01-02 00:00:00 UTC; its reset acts on nobody" in answer.err


def test_season__within_a_period_of_games_is_refused(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    hours = (1, 5, 30, 31)
    ingest_periods(lake, as_periods(Game("ann", "bob", 1.0, 10 * DAY + hour * 3600) for hour in hours))
    dataset = Dataset.open(lake, "league")
    within = season_event("x", 10 * DAY + 4 * 3600, keep=0.5)
    with pytest.raises(LakeError, match=r"within period .* a shorter --period"):
        check_event(dataset, within)
    for hour, first in ((1, 0), (6, 1), (25, 1), (30, 1), (32, 2)):
        between = season_event("x", 10 * DAY + hour * 3600, keep=0.5)
        assert bool(check_event(dataset, between)) == (first == 0)
        assert positions([between], dataset.contests.column("time_seconds").to_numpy()) == [first]


def test_events__come_before_the_first_contest_of_their_time(lake: Lake) -> None:
    with Dataset.ingest(lake, "games") as body:
        for name, time in (("b", 3 * DAY), ("a", 3 * DAY), ("early", 2 * DAY + 1), ("late", 6 * DAY + 1)):
            body.start_season(season_event(name, time, keep=0.5))
    dataset = Dataset.open(lake, "games")
    assert [(one.name, one.first_round) for one in seasons(dataset)] == [("early", 2), ("b", 2), ("a", 2), ("late", 6)]
    with pytest.raises(MissingError, match="no season 'never'"):
        season_named(seasons(dataset), "never", ends_of(dataset), "games")


def test_older_releases__stop_at_a_data_set_with_events(lake: Lake) -> None:
    with Dataset.ingest(lake, "games") as body:
        body.start_season(season_event("2026", DAY, reset=False))
    root = Path(lake.url, "games/contests/contests.parquet").read_bytes()
    assert pq.read_schema(pa.BufferReader(root)).metadata[b"ranklake.format"] == b"3"
