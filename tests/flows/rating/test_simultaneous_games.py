"""Runs over periods of simultaneous games: resumed and corrected, and refused where there are no periods."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.games import DAY, as_contests, as_periods, ingest_periods, league
from helpers.lakes import ingest, often, rate_run, rated

from ranklake import rate_history
from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.maintenance.verify import verify_rows, verify_run

OFTEN = often(segment_rows=30, snapshot_rows=40)

GAMES = league(150)
CHOICE = {"dataset": "league", "games": "simultaneous"}


@pytest.fixture
def both(lake: Lake) -> Lake:
    """A lake with periods of games, and with one contest a game."""
    ingest_periods(lake, as_periods(GAMES))
    ingest(lake, as_contests(GAMES), "contests")
    return lake


@pytest.mark.parametrize("system", ["glicko", "glicko2"])
def test_games__of_a_period_share_its_beginning_and_its_end(both: Lake, system: str) -> None:
    rate_run(both, run="whole", system=system, **CHOICE, policy=OFTEN)
    rate_run(both, run="threads", system=system, engine=Threads(2), **CHOICE, policy=OFTEN)
    rate_run(both, run="sequential", system=system, dataset="league", policy=OFTEN)
    rows = rated(both, "whole").to_pandas()
    assert rated(both, "threads").equals(rated(both, "whole"))
    for _, period in rows.groupby(["round_index", "player"]):
        assert all(period[name].nunique() == 1 for name in ("mu_prior", "sigma_prior", "mu", "sigma"))
        assert np.all(np.diff(period["n_before"]) == 1)
    starts = rows.drop_duplicates(["round_index", "player"])
    before = starts.groupby("player")["mu"].shift()
    assert starts["mu_prior"].equals(before.fillna(1500.0))
    assert not np.array_equal(rows["mu"], rated(both, "sequential").column("mu").to_numpy())
    assert Run.open(both, "whole").config["params"]["games"] == "simultaneous"
    assert "games" not in Run.open(both, "sequential").config["params"]
    opened = Run.open(both, "whole")
    assert list(verify_run(opened)) == []
    assert list(verify_rows(opened, Dataset.open(both, "league"), opened.segments().stop_round)) == []


def test_rating__resumes_and_follows_corrections(both: Lake) -> None:
    for stop in range(1, 7):
        assert rate_run(both, run="parts", system="glicko2", max_rounds=stop, **CHOICE, policy=OFTEN).rated == 1
    rate_run(both, run="whole", system="glicko2", **CHOICE, policy=OFTEN)
    assert rated(both, "parts").equals(rated(both, "whole"))
    at = next(i for i, game in enumerate(GAMES) if game.time_seconds // DAY == GAMES[0].time_seconds // DAY + 3)
    ingest_periods(both, as_periods([*GAMES[:at], GAMES[at]._replace(white="late"), *GAMES[at + 1 :]]))
    report = rate_run(both, run="parts", system="glicko2", **CHOICE, policy=OFTEN)
    assert (report.kept, report.rated) == (3, 3)


def test_contests__are_refused(both: Lake) -> None:
    with pytest.raises(
        ValueError, match=r"games=simultaneous is for .*; data set contests has contests, and a contest"
    ):
        rate_run(both, run="contests", system="glicko", dataset="contests", games="simultaneous", policy=OFTEN)
    table = {"contest": ["c", "c"], "player": ["a", "b"], "rank": [1, 2]}
    with pytest.raises(ValueError, match=r"games=simultaneous is for .*; contests are rated here"):
        rate_history(pd.DataFrame(table), system="glicko2", games="simultaneous", engine=Serial())


def test_command__rates_games_at_the_same_time(invoke: Command, both: Lake) -> None:
    chosen = ("rate", "--dataset", "league", "--set", "games=simultaneous", "--run", "r", "--lake", both.url)
    refused = invoke(*chosen, "--system", "elo")
    assert refused.code == 2
    assert "elo has no parameter 'games'" in refused.err
    assert invoke(*chosen, "--system", "glicko").code == 0
    contests = invoke(
        "rate", "--dataset", "contests", "--set", "games=simultaneous", "--system", "glicko", "--lake", both.url
    )
    assert contests.code == 1
    assert "data set contests has contests" in contests.err
