"""Runs and frames with contests of teams, smoothed: the same bits, engines, interruptions, and what is published."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.commands import Command
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import lake_of, rate_run
from helpers.tables import read
from helpers.teams import draw_team_contests, team_contests, team_frame

from ranklake import smooth_history
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication.publish import publish
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.rating_kernels.smoothing import sweeps
from ranklake.storage import Lake
from ranklake.storage.runs.smoothing import StoredSmoothing

NUMBERS = ("perf", "smooth_mu", "smooth_sigma", "cavity_mu", "cavity_sigma")
SETTINGS = {"beta": 150.0, "gamma": 20.0, "drift_per_day": 5.0, "practice": 6.0}
ALONE = [(place, place, [player], None) for place, player in enumerate(range(9))]
TEAMS = draw_team_contests(3, 18, 14)
HISTORY = [*TEAMS[:5], (ALONE, TEAMS[4][1] + 1_000, 1.0, math.inf), *TEAMS[5:]]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A rated run of contests of teams, with one of individuals between them."""
    made = lake_of(tmp_path / "lake", team_contests(HISTORY))
    rate_run(made)
    return made


def bits(lake: Lake) -> list[bytes]:
    table = smoothed(lake)
    return [table.column(name).to_numpy().tobytes() for name in NUMBERS]


def smoothed(lake: Lake) -> pa.Table:
    stored = StoredSmoothing(lake, "run")
    manifest = stored.manifest("smoothed")
    assert manifest is not None
    assert "team" not in manifest.params  # defaults that came later: earlier smoothings stay valid
    return stored.read("smoothed", manifest)


def test_run__of_teams_has_the_bits_of_the_frame(lake: Lake) -> None:
    report = smooth_run(lake, "run", Serial(), SETTINGS)
    columns = {"team": "team", "share": "share"}
    history = smooth_history(team_frame(HISTORY), columns=columns, tie_mode="full", **SETTINGS)
    assert bits(lake) == [history[name].to_numpy().tobytes() for name in NUMBERS]
    assert report.sweeps == history.attrs["sweeps"]
    assert history["team"].tolist() == [f"team {at}" for at in _teams()]


def _teams() -> list[int]:
    return [at for standings, *_ in HISTORY for at, row in enumerate(standings) for _ in row[2]]


def test_run__of_teams_has_the_same_bits_on_every_engine_and_after_an_interruption(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "PERIOD", 2)
    smooth_run(lake, "run", Serial())
    expected = bits(lake)

    class InterruptedError(Exception):
        pass

    def interrupt(sweep: int, mean_move: float, spread: float) -> None:
        if sweep == 4:
            raise InterruptedError

    for engine in (Threads(2), InProcessEngine(3, losses=(2,))):
        (Path(lake.url.removeprefix("file://")) / "runs/run/smoothing/smoothed.json").unlink()
        with engine as opened:
            with pytest.raises(InterruptedError):
                smooth_run(lake, "run", opened, on_sweep=interrupt)
            assert smooth_run(lake, "run", opened).resumed == 3
        assert bits(lake) == expected


def test_publish__has_the_smoothed_skills_of_members(lake: Lake) -> None:
    smooth_run(lake, "run", Serial())
    publish(lake, "run")
    rows = read(lake, "ratings").sort_by([("round_index", "ascending"), ("handle", "ascending")])
    assert rows.column("smooth_mu").null_count == 0
    assert np.isin(np.round(smoothed(lake)["smooth_mu"], 9), np.round(rows["smooth_mu"], 9)).all()
    assert list(Verifier(lake).everything()) == []


def test_command__smooths_the_mean_of_members_only(lake: Lake, invoke: Command) -> None:
    rate_run(lake, run="best", team="best")
    there = ("--run", "best", "--lake", lake.url)
    assert "smoothing has no rule for contests of teams with team=best; set team=mean" in invoke.refuses(
        "smooth", *there
    )
    assert "smoothed in" in invoke("smooth", *there, "--set", "team=mean", "--engine", "serial").out


def test_frame__of_teams_and_of_unrated_participants_is_refused() -> None:
    frame = team_frame(HISTORY)
    frame["rated"] = (frame["contest"] != "5") | (frame["rank"] > 1)
    with pytest.raises(ValueError, match="contests of teams and with unrated participants cannot be smoothed together"):
        smooth_history(frame, columns={"team": "team", "share": "share", "rated": "rated"})
