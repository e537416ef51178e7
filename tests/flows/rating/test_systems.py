"""Every system in a lake and with ``rate_history``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.answers import leaderboard, player_history
from helpers.lakes import NUMBERS, contest, lake_of, rate_run, rated, rated_in_memory, same_tables, synthetic

from ranklake import rate_history
from ranklake.flows.common.configuration.settings import build_params
from ranklake.flows.rating.config import RunConfig
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.registry import of_contests

CONTESTS = synthetic(40, seed=5, large=20)
PERFORMERS = ("elo-mmr", "elo-mmx", "elo-mms", "elo-r", "codeforces", "cf-general", "leetcode", "atcoder", "topcoder")


@pytest.fixture(params=of_contests())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


SETTINGS = [  # of elo-mmr
    {"rho": float("inf"), "tie_mode": "split"},
    {"rho": 0.04, "noob_delay": (0.6, 0.8), "drift_per_day": 30.0},
    {"beta": 200.0, "gamma": 35.0, "history_len": 3, "mu_init": 1200.0},
    {"tie_loss": 0.25, "tie_win": 0.75},
]
CASES = {
    **{name: {"system": name} for name in of_contests()},
    **{",".join(settings): settings for settings in SETTINGS},
    "keeping": {"skip_uninformative": False},
}


@pytest.mark.quick("elo-mmr", "trueskill", "keeping")
@pytest.mark.parametrize("case", CASES)
def test_rate__rows_in_the_lake_are_those_of_the_kernels_to_the_bit(tmp_path: Path, case: str) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    rate_run(lake, **CASES[case])
    rows, (outcome, labels) = rated(lake), rated_in_memory(CONTESTS, **CASES[case])
    for label, expected in labels.items():
        assert rows.column(label).to_pylist() == expected
    for column in NUMBERS[1:]:
        found = rows.column(column).to_numpy()
        assert np.array_equal(found.view(np.int64), getattr(outcome, column).view(np.int64))
        assert np.isfinite(found).all()
    assert rows.column("n_before").to_pylist() == outcome.n_before.tolist()
    name = CASES[case].get("system", "elo-mmr")
    assert rows.column("perf").null_count == (0 if name in PERFORMERS else len(rows))
    if name in PERFORMERS:
        assert np.array_equal(rows.column("perf").to_numpy().view(np.int64), outcome.perf.view(np.int64))


@pytest.mark.quick("elo-mmr", "trueskill")
def test_rate__resumed_has_the_same_bits(tmp_path: Path, name: str) -> None:
    whole, parts = (lake_of(tmp_path / folder, CONTESTS) for folder in ("whole", "parts"))
    rate_run(whole, system=name)
    for stop in (13, 21, 22, None):
        rate_run(parts, system=name, max_rounds=stop)
    assert same_tables(rated(whole), rated(parts))


@pytest.mark.quick("elo-mmr", "trueskill")
def test_leaderboard__shows_every_system(tmp_path: Path, name: str) -> None:
    lake = lake_of(tmp_path / "lake", CONTESTS)
    rate_run(lake, system=name)
    board = leaderboard(lake, "run")
    shown = board.column("rating").to_numpy()
    assert np.isfinite(shown).all()
    assert (np.diff(shown) <= 0).all()
    best = board.column("handle")[0].as_py()
    history = player_history(lake, "run", best).rows
    assert history.column("rating")[-1].as_py() == shown[0]
    assert np.max(history.column("rating").to_numpy()) == board.column("max_rating")[0].as_py()


@pytest.mark.quick("elo-mmr", "trueskill")
def test_rate_history__resumes_from_the_returned_beliefs(name: str) -> None:
    frame = pd.concat(
        pd.DataFrame({"contest": one.contest_id, "player": one.handles.to_pylist(), "lo": one.lo, "hi": one.hi})
        for one in [*CONTESTS, contest("40", "player 3", "a newcomer", "player 5")]
    )
    late = frame["contest"].astype(int) >= 25
    whole, end = rate_history(frame, system=name, return_beliefs=True)
    _, middle = rate_history(frame[~late], system=name, return_beliefs=True)
    rest, again = rate_history(frame[late], system=name, beliefs=middle, return_beliefs=True)
    tail = whole[whole["contest"].isin(rest["contest"])]
    for column in NUMBERS:
        assert np.array_equal(tail[column].to_numpy(), rest[column].to_numpy(), equal_nan=True)
    assert np.array_equal(again.loc[end.index, "mu"], end["mu"])


def test_run_config__hyperparameters_survive_json(name: str) -> None:
    system = SYSTEMS[name]
    result = json.loads(json.dumps(RunConfig("games", "run", name, system.params()).to_json()))
    assert build_params(system, result["params"]) == system.params()
