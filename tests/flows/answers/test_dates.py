"""The difference of a skill between two dates: every door has one answer, and words where there is none."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.api import client_of
from helpers.commands import Command
from helpers.frames import frame_of
from helpers.games import DAY, as_periods, ingest_periods, league
from helpers.lakes import contest, copy_of, ingest, lake_of, rate_run, synthetic

from ranklake import Ratings
from ranklake.flows.answers.dates import DatesDifference
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.answers.run import open_published
from ranklake.flows.common.times import utc
from ranklake.flows.engines.serial import Serial
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication.publish import publish
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.storage import Dataset, Lake
from ranklake.storage.lake import layout
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.runs.smoothing import StoredSmoothing

CONTESTS = synthetic(30)
DRIFT = {"drift_per_day": "12"}
FIRST, LAST = CONTESTS[4].time_seconds, CONTESTS[15].time_seconds + 30_000


def iso(time: object) -> object:
    return utc(time).isoformat() if isinstance(time, int) else time


@pytest.fixture(scope="module")
def smoothed(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A smoothed run of thirty contests."""
    lake = lake_of(tmp_path_factory.mktemp("dates") / "lake", CONTESTS)
    rate_run(lake)
    smooth_run(lake, "run", Serial(), DRIFT)
    return lake


@pytest.fixture
def lake(smoothed: Lake, tmp_path: Path) -> Lake:
    return copy_of(smoothed, tmp_path / "lake")


def test_difference__is_the_same_at_every_door(lake: Lake, invoke: Command) -> None:
    """Text, JSON, CSV, the notebook of the run, and ratings in memory that are smoothed."""
    asked = ("player", "player 3", "--run", "run", "--lake", lake.url, "--between", iso(FIRST + 5), iso(LAST))
    found = Ratings.open(lake, "run").between("player 3", FIRST + 5, utc(LAST))
    assert (found.handle, found.start_seconds, found.end_seconds) == ("player 3", FIRST + 5, LAST)
    assert found.difference == pytest.approx(found.end_mu - found.start_mu)
    assert found.deviation > 10.0
    assert json.loads(invoke(*asked, "--format", "json").out) == found.to_json()
    (row,) = csv.DictReader(io.StringIO(invoke(*asked, "--format", "csv").out))
    assert float(row["deviation"]) == found.deviation
    assert invoke(*asked).out == f"{found.line()}\n"
    memory = Ratings.rate(frame_of(CONTESTS), "elo-mmr", engine="serial")
    with pytest.raises(ValueError, match="not smoothed: call smooth"):
        memory.between("player 3", FIRST, LAST)
    frame = memory.smooth(engine="serial", drift_per_day=12.0)
    assert memory.between("player 3", FIRST + 5, LAST) == found
    rows = frame[frame["player"] == "player 3"]
    times = memory.history.set_index(["round_index", "player"])["time_seconds"]
    ended = rows[[times[key] <= LAST for key in zip(rows["round_index"], rows["player"], strict=True)]]
    between = sorted((ended["smooth_mu"].iloc[-1], rows["smooth_mu"].iloc[len(ended)]))
    assert between[0] < found.end_mu < between[1]


def test_api__answers_as_the_command_does(lake: Lake) -> None:
    """The index has the smoothing as long as it is of the run's rounds; another smoothing is another version."""
    pytest.importorskip("starlette")
    publish(lake, "run")
    with client_of(lake) as client:
        path, query = "/api/v1/runs/run/players/player 3/between", {"since": iso(FIRST + 5), "until": iso(LAST)}
        answer = client.get(path, params=query).json()
        version = {"run": "run", "version": answer["version"]}
        assert answer == version | RatedRun(lake, "run").between("player 3", FIRST + 5, LAST).to_json()
        equal = client.get(path, params=query | {"since": iso(LAST)})
        assert equal.status_code == 400
        assert equal.json()["detail"].startswith("until must be later than since, which is")
        assert client.get(path, params={"since": iso(LAST)}).status_code == 400
        assert "had no rated contest until" in client.get(path, params=query | {"since": "1960-01-01"}).json()["detail"]
        assert client.get(path.replace("3", "x"), params=query).status_code == 404
    assert publish(lake, "run").tables == ()
    smooth_run(lake, "run", Serial(), DRIFT | {"beta": "150"})
    publish(lake, "run")
    with client_of(lake) as client:
        again = client.get(path, params=query).json()
        assert again["version"] != answer["version"]
        assert again["difference"] == RatedRun(lake, "run").between("player 3", FIRST + 5, LAST).difference
        assert again["difference"] != answer["difference"]
    assert list(Verifier(lake).everything()) == []
    ingest(lake, [contest("new", "player 3", "player 4", time_seconds=CONTESTS[-1].time_seconds + 10**7)])
    rate_run(lake)
    assert "is of earlier rounds and not published" in publish(lake, "run").line()
    with client_of(lake) as client:
        missing = client.get(path, params=query)
        assert missing.status_code == 404
        assert "`ranklake smooth --run run`, then `ranklake publish --run run`" in missing.json()["detail"]


@pytest.mark.parametrize(
    ("chance", "said"),
    [(0.5, "50.0 %"), (0.99999, "99.999 %"), (0.9999955, "99.999 %"), (0.0, "0.001 %"), (0.0004, "0.040 %"),
     (0.9995, "99.950 %"), (1.0, "99.999 %"), (0.0314, "3.1 %")],
)  # fmt: skip
def test_line__never_rounds_a_chance_to_certainty(chance: float, said: str) -> None:
    line = DatesDifference("ada", 0, 1, 1500.0, 1682.3, 182.3, 41.2, chance).line()
    assert line == f"+182 +- 41 points, chance of progress {said}"
    assert DatesDifference("ada", 0, 1, 0.0, 0.0, -0.2, 0.0, 0.5).line(1).startswith("-0.2 +- 0.0 points")


def test_dates__after_the_last_contest_keep_the_mean_and_grow_apart(lake: Lake) -> None:
    run = RatedRun(lake, "run")
    last = CONTESTS[-1].time_seconds + 400 * DAY
    near, far = (run.between("player 3", last, last + days * DAY) for days in (100, 400))
    assert (near.difference, near.chance_higher, far.difference) == (0.0, 0.5, 0.0)
    assert far.deviation == pytest.approx(2.0 * near.deviation)
    assert near.deviation == pytest.approx(1200.0**0.5)


@pytest.mark.slow
def test_games__have_their_own_times(tmp_path: Path) -> None:
    """A date inside of a period counts the games before it."""
    lake, games = Lake.open(str(tmp_path / "lake"), create=True), league(120)
    ingest_periods(lake, as_periods(games, 3 * DAY))
    rate_run(lake, dataset="league")
    smooth_run(lake, "run", Serial())
    table = pq.read_table(next((tmp_path / "lake/runs/run/smoothing").glob("smoothed-*.parquet")))
    frame = table.to_pandas().sort_values("round_index", kind="stable")
    number = Dataset.open(lake, "league").find("p3")
    times = [game.time_seconds for game in games if "p3" in (game.white, game.black)]
    mine = frame[frame["player"] == number]
    assert len(mine) == len(times)
    run = RatedRun(lake, "run")
    for time, mu in zip(times[1:], mine["smooth_mu"].tolist()[1:], strict=True):
        assert run.between("p3", times[0], time).end_mu == mu
    publish(lake, "run")
    assert open_published(lake, "run").between("p3", times[0], time) == run.between("p3", times[0], time).to_json()


def test_refusals__say_what_to_do(lake: Lake, tmp_path: Path, invoke: Command) -> None:
    def refused(*dates: object, handle: str = "player 3", run: str = "run", code: int = 1) -> str:
        return invoke.refuses(
            "player", handle, "--run", run, "--lake", lake.url, "--between", *map(iso, dates), code=code
        )

    assert "the two dates must differ" in refused(FIRST, FIRST, code=2)
    assert "the earlier date comes first" in refused(LAST, FIRST, code=2)
    assert "must be a time as 2020-01-31" in refused("June", LAST, code=2)
    assert "had no rated contest until 1970-01-01 00:00:00 UTC; the first one ended at" in refused("1970-01-01", LAST)
    assert "did you mean 'player 3'" in refused(FIRST, LAST, handle="playr 3")
    rate_run(lake, run="other")
    assert "does not exist; `ranklake smooth --run other`" in refused(FIRST, LAST, run="other")
    with hold_lease(lake, layout.run_folder("run"), "test") as lease:  # as an earlier release left it
        stored = StoredSmoothing(lake, "run", lease)
        manifest = stored.manifest("smoothed")
        assert manifest is not None
        without = stored.read("smoothed", manifest).drop_columns(["log_gain"])
        stored.commit("smoothed", without, manifest.digest, manifest.n_rounds, manifest.params, manifest.sweeps)
    assert "is of an earlier release" in (said := refused(FIRST, LAST))
    assert "`ranklake smooth --run run`" in said
    assert "smoothed before" not in smooth_run(lake, "run", Serial(), DRIFT).line()
    assert "smoothed before" in smooth_run(lake, "run", Serial(), DRIFT).line()
    assert (
        invoke("player", "player 3", "--run", "run", "--lake", lake.url, "--between", iso(FIRST), iso(LAST)).code == 0
    )
    ingest(lake, [contest("new", "player 3", "player 4", time_seconds=CONTESTS[-1].time_seconds + 10**7)])
    rate_run(lake)
    assert "is of earlier rounds" in refused(FIRST, LAST)


def test_memory__refuses_contests_without_times_and_players_without_rounds() -> None:
    frame = frame_of(CONTESTS).drop(columns="time_seconds")
    ratings = Ratings.rate(frame, engine="serial")
    ratings.smooth(engine="serial")
    with pytest.raises(ValueError, match="'player 3' have no times"):
        ratings.between("player 3", "2015-01-01", "2020-01-01")
    with pytest.raises(ValueError, match="no player 'nobody'"):
        ratings.between("nobody", "2015-01-01", "2020-01-01")
