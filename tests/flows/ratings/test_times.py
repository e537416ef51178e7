"""Times that are given by hand, at every door: one rule, and no contest to come before the last rated one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import Command
from helpers.lakes import contest, lake_of, rate_run

from ranklake import Lake, Ratings, predict, preview, rate_history

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
