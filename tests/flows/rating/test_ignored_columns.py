"""Weights and performance ceilings: every system either reads them, or declares and says that it ignores them."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.documents import ROOT
from helpers.frames import frame_of
from helpers.lakes import synthetic

from ranklake import Ratings, predict, preview, rate_history
from ranklake import systems as table_of_systems
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.registry import of_contests

FRAME = frame_of(synthetic(12, seed=5, spice=False)).drop(columns=["weight", "perf_ceiling"])
NUMBER = pd.factorize(FRAME["contest"])[0]
COLUMNS = {"weight": np.where(NUMBER % 3, 1.0, 0.5), "perf_ceiling": np.where(NUMBER % 2, np.inf, 1300.0)}


@pytest.mark.quick("elo-mmr", "trueskill")
@pytest.mark.parametrize("name", of_contests())
def test_system__ignores_what_it_declares(name: str) -> None:
    plain = rate_history(FRAME, name)["mu"].to_numpy()
    for column, values in COLUMNS.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            changed = rate_history(FRAME.assign(**{column: values}), name)["mu"].to_numpy()
        ignored = column in SYSTEMS[name].ignores
        assert np.array_equal(plain, changed) == ignored
        assert [str(one.message).partition(",")[0] for one in said] == [f"{name} ignores {column}"] * ignored


def test_systems__have_one_answer_everywhere(invoke: Command) -> None:
    page = (ROOT / "docs/systems/index.md").read_text(encoding="utf-8")
    texts = {
        (): "nothing",
        ("weight", "perf_ceiling"): "both",
        ("weight",): "`weight`",
        ("perf_ceiling",): "`perf_ceiling`",
    }
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` (?:\|[^|]*){5}\| ([^|]+) \|", page, re.MULTILINE))
    assert rows == {name: texts[system.ignores] for name, system in SYSTEMS.items()}
    assert table_of_systems()["ignores"].to_dict() == {name: ", ".join(one.ignores) for name, one in SYSTEMS.items()}
    assert "weight, perf_ceiling" in invoke("systems").out
    assert "Ignores weight and perf_ceiling of contests." in invoke("systems", "glicko").out


def test_rate__says_once_what_it_ignores(tmp_path: Path, invoke: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKLAKE_LAKE", str(tmp_path / "lake"))
    results = pd.DataFrame({"contest": list("xxyy"), "player": ["ann", "bob"] * 2, "rank": [1, 2, 2, 1]})
    results = results.assign(weight=[2, 2, 1, 1])
    results.to_csv(tmp_path / "results.csv", index=False)
    results.iloc[:2].to_csv(tmp_path / "next.csv", index=False)
    invoke("ingest", "files", tmp_path / "results.csv", "--dataset", "d")
    said = invoke("rate", "--dataset", "d", "--system", "glicko2").err
    line = "glicko2 ignores weight, and 1 round has a weight other than 1"
    assert said.count(line) == 1
    assert "`ranklake systems` shows which systems read it" in said
    assert "ignores" not in invoke("rate", "--dataset", "d", "--system", "glicko2").err  # nothing new was rated
    assert "ignores" not in invoke("rate", "--dataset", "d", "--system", "elo").err
    assert line in invoke("predict", "ann", "bob", "--run", "d-glicko2", "--weight", "3").err
    assert line in invoke("preview", tmp_path / "next.csv", "--run", "d-glicko2").err


def test_notebook__says_what_a_round_to_come_has_and_the_system_ignores() -> None:
    ratings = Ratings.rate(FRAME, "leetcode")
    players = FRAME["player"].unique()[:2].tolist()
    standings = pd.DataFrame({"player": players, "rank": [1, 2], "weight": 2.0})
    with pytest.warns(UserWarning, match="leetcode ignores weight, and 1 round has a weight other than 1"):
        predict(ratings, players, weight=2.0)
    with pytest.warns(UserWarning, match="leetcode ignores perf_ceiling, and 1 round has a perf_ceiling"):
        ratings.predict(players, perf_ceiling=1500.0)
    with pytest.warns(UserWarning, match="leetcode ignores weight"):
        preview(ratings, standings)
