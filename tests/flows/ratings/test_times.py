"""Times that are given by hand, at every door: one rule, and no contest to come before the last rated one."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import Command
from helpers.lakes import contest, ingest, lake_of, rate_run

from ranklake import Lake, Ratings, predict, preview, rate_history, smooth_history, tune
from ranklake.flows.common.configuration.settings import SystemName
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.core.limits import limits_of
from ranklake.storage import Dataset

DAY = 86_400
FIRST, LAST = 1_577_836_800, 1_609_459_200  # the starts of 2020 and 2021
PLAYERS = ["ada", "grace"]


def duels(*times: int, first: int = 1) -> pd.DataFrame:
    """A contest of two at each time."""
    contests = [str(first + i) for i in range(len(times)) for _ in PLAYERS]
    each = [time for time in times for _ in PLAYERS]
    return pd.DataFrame(
        {"contest": contests, "player": PLAYERS * len(times), "rank": [1, 2] * len(times), "time": each}
    )


RATINGS = Ratings.rate(duels(FIRST, LAST), "elo-mmr", drift_per_day=4.0)
NEXT = pd.DataFrame({"player": PLAYERS, "rank": [1, 2]})


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(lake_of(tmp_path_factory.mktemp("times") / "lake", [
        contest("1", PLAYERS, time_seconds=FIRST), contest("2", PLAYERS, time_seconds=LAST),
    ]).url)  # fmt: skip
    rate_run(lake)
    return lake


DOORS: dict[str, Any] = {
    "leaderboard(at)": lambda time: RATINGS.leaderboard(at=time),
    "leaderboard(since)": lambda time: RATINGS.leaderboard(since=time),
    "groups(at)": lambda time: RATINGS.groups({}, at=time),
    "Ratings.predict": lambda time: RATINGS.predict(PLAYERS, time=time),
    "predict": lambda time: predict(RATINGS.beliefs, PLAYERS, time=time),
    "Ratings.preview": lambda time: RATINGS.preview(NEXT, time=time),
    "preview": lambda time: preview(RATINGS.beliefs, NEXT, time=time),
}


@pytest.mark.parametrize("door", DOORS)
def test_time__is_read_by_one_rule_in_python(door: str) -> None:
    day = pd.Timestamp("2021-01-01")
    for time in ("2021-01-01", "2021-01-01T03:00+03:00", LAST, float(LAST), day, day.date()):
        DOORS[door](time)
    for wrong in ("01/02/2026", "13/02/2026", "June", "2021", LAST * 1000, float("nan"), pd.NaT, True, "-"):
        with pytest.raises(ValueError, match=r"^(at|since|time) must be a time as 2020-01-31, .*, got") as caught:
            DOORS[door](wrong)
        assert "--" not in str(caught.value)


@pytest.mark.slow
def test_time__of_a_contest_to_come_is_not_before_the_last_one(lake: Lake, invoke: Command, tmp_path: Path) -> None:
    old, rule = LAST - DAY, r"the contest to come cannot end at 2020-12-31 00:00:00 UTC: .* ended at 2021-01-01 00:00"
    run = lake.run("run")
    for refused in (
        lambda: RATINGS.predict(PLAYERS, time=old),
        lambda: predict(RATINGS.beliefs, PLAYERS, time_seconds=old),
        lambda: RATINGS.preview(NEXT, time=old),
        lambda: RATINGS.preview(NEXT.assign(time=old)),
        lambda: preview(run, NEXT, time=old),
        lambda: preview(run, NEXT.assign(time=old)),
        lambda: run.ratings().predict(PLAYERS, time=old),
    ):
        with pytest.raises(ValueError, match=rule):
            refused()
    standings = tmp_path / "next.csv"
    NEXT.to_csv(standings, index=False)
    for command in (["predict", *PLAYERS], ["preview", str(standings)]):
        found = invoke.refuses(*command, "--run", "run", "--time", "2020-12-31", "--lake", lake.url, code=2)
        assert "the contest to come cannot end at 2020-12-31 00:00:00 UTC" in found
        assert invoke(*command, "--run", "run", "--time", "2021-01-01", "--lake", lake.url).code == 0


def test_time__of_a_division_may_be_before_the_latest_contest() -> None:
    with pytest.warns(UserWarning, match="time goes back at 1 contest"):
        ratings = Ratings.rate(duels(LAST, LAST - DAY))
    assert len(ratings.preview(NEXT, time=LAST - DAY)) == 2
    with pytest.raises(ValueError, match="cannot end at 2020-12-30"):
        ratings.preview(NEXT, time=LAST - 2 * DAY)


def test_results__before_the_beliefs_are_said() -> None:
    later = duels(FIRST, first=3)
    said = r"time goes back at the first contest, to 2020-01-01 00:00:00 UTC from 2021-01-01 00:00:00 UTC"
    with pytest.warns(UserWarning, match=said):
        RATINGS.update(later)
    with pytest.warns(UserWarning, match=said):
        rate_history(later, beliefs=RATINGS)


# Columns of times


@pytest.mark.parametrize("times", [[-5_000_000_000, -4_000_000_000], [-62_135_596_800, 0], [5, 7_258_118_399]])
def test_column__has_seconds_before_1900(times: list[int], invoke: Command, tmp_path: Path) -> None:
    frame = duels(*times)
    assert Ratings.rate(frame).history["time_seconds"].drop_duplicates().tolist() == times
    frame.to_csv(tmp_path / "games.csv", index=False)
    where = (tmp_path / "games.csv", "--dataset", "games", "--lake", tmp_path / "lake")
    assert invoke("ingest", "files", *where).code == 0
    stored = Dataset.open(Lake.open(str(tmp_path / "lake")), "games").contests
    assert stored.column("time_seconds").to_pylist() == times


def test_column__of_milliseconds_is_never_seconds_without_a_word() -> None:
    milliseconds = duels(FIRST * 1000, LAST * 1000)
    with pytest.raises(ValueError, match=r"time holds Unix milliseconds; .* pandas.to_datetime\(..., unit='ms'\)"):
        rate_history(milliseconds)
    with pytest.warns(UserWarning, match="time_seconds = 1609459200000 was read as seconds; if these are milliseconds"):
        rate_history(milliseconds.rename(columns={"time": "time_seconds"}))


@pytest.mark.parametrize("name", ["date", "day", "Timestamp", "datetime", "end_time", "when"])
def test_column__that_is_called_as_times_are_is_used_or_named(name: str) -> None:
    days = duels(FIRST, LAST)
    texts = pd.to_datetime(days["time"], unit="s").dt.strftime("%Y-%m-%d")
    named = days.drop(columns="time").assign(**{name: texts})
    rule = f"there is no column time, and {name!r} is ignored: columns={{'time': {name!r}}} uses it"
    for door in (rate_history, Ratings.rate, smooth_history):
        with pytest.warns(UserWarning, match=re.escape(rule)):
            door(named)
    with pytest.warns(UserWarning, match=re.escape(rule)):
        RATINGS.preview(named[2:].drop(columns="contest"))
    assert Ratings.rate(named, columns={"time": name}).history["time_seconds"].tolist() == days["time"].tolist()
    assert Ratings.rate(named, columns={"time": ""}).history["time_seconds"].unique().tolist() == [0]


def test_column__date_of_datetimes_is_the_time_at_both_doors() -> None:
    days = duels(FIRST, LAST + DAY)
    dated = days.assign(time=pd.to_datetime(days["time"], unit="s")).rename(columns={"time": "date"})
    assert Ratings.rate(dated).history["time_seconds"].tolist() == days["time"].tolist()
    later = preview(RATINGS, dated[2:].drop(columns="contest"))
    assert later["sigma"].tolist() == preview(RATINGS, NEXT, time=LAST + DAY)["sigma"].tolist()


# Hyperparameters that count days

BY_DAYS = [
    (name, field.name)
    for name, system in SYSTEMS.items()
    for field in dataclasses.fields(system.params)
    if "day" in limits_of(field).unit
]
TIMELESS = duels(0, 0, 0, 0, 0, 0, 0, 0).drop(columns="time")


def test_days__are_counted_by_these_hyperparameters() -> None:
    assert dict(BY_DAYS) == dict.fromkeys(["elo-mmr", "elo-mmx", "elo-mms", "elo-r"], "drift_per_day") | dict.fromkeys(
        ["glicko", "glicko2", "glicko-allpairs"], "period_days"
    ) | {"bt": "window"}


@pytest.mark.parametrize(("system", "name"), BY_DAYS)
def test_days__of_results_without_times_are_refused(system: SystemName, name: str) -> None:
    doors = [
        lambda: rate_history(TIMELESS, system, **{name: 5.0}),
        lambda: rate_history(TIMELESS.assign(time=0), system, **{name: "5"}),
        lambda: Ratings.rate(TIMELESS, system, **{name: 5.0}),
        lambda: tune(TIMELESS, system, {name: [5.0, 9.0]}, method="grid", trials=None, filter="everyone"),
        lambda: tune(TIMELESS, system, {name: "5:9"}, trials=2, filter="everyone"),
    ]
    of_rounds = SYSTEMS[system].all_games is None  # others cannot be tuned
    for door in doors if of_rounds else doors[:3]:
        with pytest.raises(ValueError, match=rf"^{name} = [59] counts the days between contests, and .* have no times"):
            door()


def test_days__that_are_a_default_add_nothing_without_times() -> None:
    default, none = (rate_history(TIMELESS, "elo-mms", **more) for more in ({}, {"drift_per_day": 0.0}))
    assert default["sigma"].tolist() == none["sigma"].tolist()
    with pytest.raises(ValueError, match="drift_per_day = 12 counts the days"):  # the default, but chosen
        rate_history(TIMELESS, "elo-mms", drift_per_day=12.0)
    assert len(smooth_history(TIMELESS)) == len(TIMELESS)
    for chosen in (lambda: smooth_history(TIMELESS, drift_per_day=12.0), lambda: RATED.smooth(drift_per_day=1.0)):
        with pytest.raises(ValueError, match=r"drift_per_day = 12? counts the days between contests, and .* no times"):
            chosen()


RATED = Ratings.rate(TIMELESS, "elo-mms")


@pytest.mark.parametrize(
    "door",
    [
        lambda: RATED.update(duels(LAST, first=100)),
        lambda: rate_history(duels(LAST, first=100), beliefs=RATED),
        lambda: RATED.predict(PLAYERS, time=LAST),
        lambda: RATED.preview(NEXT, time=LAST),
    ],
)
def test_days__are_not_counted_from_1970(door: Any) -> None:
    with pytest.raises(ValueError, match=r"drift_per_day = 12 counts the days between contests, and the .* no times"):
        door()


def test_days__of_a_data_set_without_times_are_refused(tmp_path: Path, invoke: Command) -> None:
    lake = lake_of(tmp_path / "lake", [contest(str(i), PLAYERS) for i in range(8)])
    at = ("--dataset", "games", "--lake", lake.url)
    rule = "counts the days between contests, and data set games has no times: ingest it with them, or give no"
    for command in (
        ("rate", "--system", "glicko", "--set", "period_days=30", *at),
        ("rate", "--system", "elo-mmr", "--set", "drift_per_day=30", "--dry-run", *at),
        ("tune", "--system", "elo-mms", "--space", "drift_per_day=0,3", "--filter", "everyone", *at),
    ):
        assert rule in invoke.refuses(*command), command
    rate_run(lake, system="elo-mms")
    assert invoke("rate", "--run", "run", "--lake", lake.url).code == 0
    assert rule in invoke.refuses("smooth", "--run", "run", "--set", "drift_per_day=3", "--lake", lake.url)
    assert invoke("smooth", "--run", "run", "--lake", lake.url).code == 0
    for command in (["predict", *PLAYERS], ["predict", *PLAYERS, "--time", "2021-01-01"]):
        found = invoke(*command, "--run", "run", "--lake", lake.url)
        assert found.code == (2 if "--time" in command else 0)
    assert "the rated contests have no times: give none to the contest to come either" in found.err


def test_days__of_an_older_run_go_on(tmp_path: Path) -> None:
    contests = [contest(str(i), PLAYERS, time_seconds=FIRST * (i == 0)) for i in range(3)]
    lake = lake_of(tmp_path / "lake", contests[:1])
    rate_run(lake, system="glicko", period_days=30.0)
    ingest(lake, [dataclasses.replace(contests[0], time_seconds=0), *contests[1:]])
    assert rate_run(lake, system="glicko", period_days=30.0).rated == 3
