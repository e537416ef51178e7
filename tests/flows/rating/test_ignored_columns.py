"""Weights, precisions and performance ceilings: every system reads them, or declares and says that it ignores them."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.documents import ROOT
from helpers.frames import frame_of
from helpers.histories import players_at, same_bits
from helpers.lakes import synthetic

from ranklake import Ratings, predict, preview, rate_history, tune
from ranklake import systems as table_of_systems
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Outcome, Prior, Rounds, System
from ranklake.rating_kernels.registry import of_contests

FRAME = frame_of(synthetic(12, seed=5, spice=False)).drop(columns=["weight", "perf_ceiling"])
NUMBER = pd.factorize(FRAME["contest"])[0]
DOCUMENTED = {"weight": 2.0, "precision": 2.0, "perf_ceiling": 1510.0}
COLUMNS = {
    "weight": np.where(NUMBER % 3, 1.0, 0.5),
    "precision": np.where(NUMBER % 3, 1.0, 0.5),
    "perf_ceiling": np.where(NUMBER % 2, np.inf, 1300.0),
}


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
    for name, cells in documented().items():
        ignored = {column for column, text in zip(DOCUMENTED, cells, strict=True) if text == "nothing"}
        assert ignored == set(SYSTEMS[name].ignores)
    assert table_of_systems()["ignores"].to_dict() == {name: ", ".join(one.ignores) for name, one in SYSTEMS.items()}
    assert "weight, perf_ceiling" in invoke("systems").out
    assert "Ignores these columns of contests: weight, perf_ceiling, precision." in invoke("systems", "glicko").out


@pytest.mark.parametrize("name", SYSTEMS)
def test_page__says_what_a_column_of_contests_does(name: str) -> None:
    assert documented().keys() == SYSTEMS.keys()
    found = [effects(name, **{column: value}) for column, value in DOCUMENTED.items()]
    assert found == documented()[name]


def documented() -> dict[str, list[str]]:
    """The table of the page of systems: what each of ``DOCUMENTED`` does."""
    page = (ROOT / "docs/systems/index.md").read_text(encoding="utf-8")
    table = page[page.index("## Weights, precisions and ceilings") : page.index("## Properties")]
    return {name: cells.split(" | ") for name, cells in re.findall(r"^\| `([a-z0-9-]+)` \| (.*) \|$", table, re.M)}


def effects(name: str, **changed: float) -> str:
    """What a value of a column changes in a game that the lower rated of two players wins."""
    system = SYSTEMS[name]
    params, game = system.params(), Rounds.from_columns([0, 2], [0, 1], [0, 1], [0, 1], [86_400])
    other = replace(game, **{column: np.array([value]) for column, value in changed.items()})

    def play(round: Rounds, sigma: float) -> Outcome:
        return rate_rounds(system, params, players_at(system, params, [1500.0, 1600.0], [sigma] * 2), round, Serial())

    def chance(round: Rounds) -> float:
        one, two = (Prior(np.array([mu]), np.array([90.0]), np.zeros(1), np.ones(1, np.int32)) for mu in (1500, 1600))
        return float(system.beats(params, round.conditions.take(0), 2, one, two)[0])

    def step(outcome: Outcome) -> float:
        """The way to the performance, as a share; of a system without performances, in points."""
        shown = (outcome.perf[0] - outcome.mu_prior[0]) if system.performs else 1.0
        return float((outcome.mu[0] - outcome.mu_prior[0]) / shown)

    if system.all_games is not None:
        before, after = ([*strengths(system, params, [game, round])] for round in (game, other))
        return "nothing" if before == after else "games" if after == [*strengths(system, params, [game] * 3)] else ""
    before, after = play(game, 90.0), play(other, 90.0)
    if same_bits(before, after):
        return "nothing"
    if "perf_ceiling" in changed:
        return "caps"
    by_sigma = step(play(game, 120.0)) != pytest.approx(step(before), rel=1e-9)
    words = {
        "K": not by_sigma and step(after) != pytest.approx(step(before), rel=1e-9),
        "noise": chance(game) != chance(other),
        "drift": not same_bits(before.sigma_prior, after.sigma_prior),
    }
    return ", ".join(word for word, found in words.items() if found)


def strengths(system: System, params: Any, rounds: list[Rounds]) -> npt.NDArray[np.float64]:
    """The ratings that explain some games between two players."""
    games = system.all_games(params, 2)  # type: ignore[misc]
    for round in rounds:
        games.add(round)
    return np.round(games.explain().mu, 9)


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


def test_tune__says_what_it_ignores(tmp_path: Path, invoke: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKLAKE_LAKE", str(tmp_path / "lake"))
    results, line = FRAME.assign(perf_ceiling=COLUMNS["perf_ceiling"]), "elo ignores perf_ceiling, and 6 rounds have a"
    results.to_csv(tmp_path / "results.csv", index=False)
    invoke("ingest", "files", tmp_path / "results.csv", "--dataset", "d")
    chosen = ("--space", "k=20", "--method", "grid", "--filter", "everyone", "--train-share", "0.5")
    assert line in invoke("tune", "--dataset", "d", "--system", "elo", *chosen).err
    with pytest.warns(UserWarning, match=line):
        tune(results, "elo", {"k": [20]}, method="grid", filter="everyone")


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
