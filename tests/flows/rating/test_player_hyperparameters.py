"""Hyperparameters of single players: K of Elo and gamma of Elo-R from the table of players, at every door."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.in_process_engine import InProcessEngine
from helpers.lakes import contest, copy_of, ingest, lake_of, often, rate_run, rated, same_tables, synthetic
from helpers.rated_runs import problems

from ranklake import rate_history
from ranklake.flows.answers.explanations.caps import largest_changes
from ranklake.flows.common.skipping import Skipping
from ranklake.flows.evaluation.tuning.history import load_history
from ranklake.flows.evaluation.tuning.trials import run_trial
from ranklake.flows.ingestion.attributes import record_attributes
from ranklake.flows.preview.run_preview import RunPreview
from ranklake.flows.preview.standings import Standings
from ranklake.flows.rating.player_state import player_state
from ranklake.flows.results.display import Display
from ranklake.flows.results.rated_rounds import RatedRounds
from ranklake.rating_kernels import SYSTEMS
from ranklake.storage import Dataset, Lake, LakeError

CONTESTS = synthetic(24, n_players=20, spice=False)
OWN_K = {"player 1": "10", "player 2": "0", "player 3": "7.5", "player 19": "64"}


def record(lake: Lake, folder: Path, own: dict[str, str], name: str = "k") -> None:
    lines = [f"handle,country,{name}", "player 4,NO,", *(f"{handle},FI,{k}" for handle, k in own.items())]
    (folder / "players.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    record_attributes(lake, "games", str(folder / "players.csv"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("own-k")
    lake = lake_of(folder / "lake", CONTESTS)
    record(lake, folder, OWN_K)
    return lake


@pytest.fixture
def copied(made: Lake, tmp_path: Path) -> Lake:
    return copy_of(made, tmp_path / "lake")


def rate_elo(lake: Lake, **chosen: Any) -> Any:
    return rate_run(lake, **({"system": "elo", "policy": often(segment_rows=40)} | chosen))


def results() -> pd.DataFrame:
    rows = [
        (one.contest_id, name, lo, hi)
        for one in CONTESTS
        for name, lo, hi in zip(one.handles.to_pylist(), one.lo.tolist(), one.hi.tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["contest", "player", "lo", "hi"])


@pytest.mark.parametrize("settings", [{"k": 40.0}, {"k_rule": "fide"}])
def test_run__gives_players_their_own_k_for_every_rule(copied: Lake, settings: dict[str, Any]) -> None:
    rate_elo(copied, **settings)
    known = pd.DataFrame({"mu": 1500.0, "k": [*map(float, OWN_K.values())]}, index=list(OWN_K))
    expected = rate_history(results(), "elo", beliefs=known, **settings)
    assert rated(copied).column("mu").to_pylist() == expected.mu.tolist()
    assert set(expected.mu[expected.player == "player 2"]) == {1500.0}
    assert rated(copied).column("mu").to_pylist() != rate_history(results(), "elo", **settings).mu.tolist()
    assert problems(copied) == []


@pytest.mark.slow
def test_run__with_own_k_resumes_after_any_round_and_by_other_engines(copied: Lake) -> None:
    rate_elo(copied, run="whole")
    for stop in range(4, len(CONTESTS) + 1, 4):
        assert rate_elo(copied, run="parts", max_rounds=stop, engine=InProcessEngine(2) if stop % 8 else None).rated
    assert same_tables(rated(copied, "parts"), rated(copied, "whole"))
    assert problems(copied, "parts") == []


def test_change__of_a_k_is_rated_from_the_first_contest_of_the_player(copied: Lake, tmp_path: Path) -> None:
    rate_elo(copied)
    record(copied, tmp_path, OWN_K | {"nobody": "20"})
    assert rate_elo(copied).rated == 0
    assert rate_run(copied, run="other").rated == len(CONTESTS)
    record(copied, tmp_path, {**OWN_K, "player 19": "32"})
    first = min(i for i, one in enumerate(CONTESTS) if "player 19" in one.handles.to_pylist())
    report = rate_elo(copied)
    assert (report.kept, report.rated) == (first, len(CONTESTS) - first)
    assert rate_run(copied, run="other").rated == 0  # a system without the attribute
    rate_elo(copied, run="fresh")
    assert same_tables(rated(copied), rated(copied, "fresh"))


def test_trials__take_the_k_of_players(copied: Lake) -> None:
    dataset = Dataset.open(copied, "games")
    state = player_state("elo", dataset)
    skipping = Skipping.of(SYSTEMS["elo"])
    with_k, without = (load_history(dataset, skipping, one) for one in (state, None))
    rate_elo(copied, k=40.0)
    beliefs = with_k.first(8).newcomers(SYSTEMS["elo"], SYSTEMS["elo"].params())
    assert sorted(k for k in beliefs.state["k"].tolist() if not math.isnan(k)) == sorted(map(float, OWN_K.values()))
    scores = [run_trial(one, "elo", {"k": "40"}, "pair_inversion").scores for one in (with_k, without)]
    assert scores[0] != scores[1]


def test_preview__takes_the_k_of_players_whom_the_run_has_not_met(copied: Lake, tmp_path: Path) -> None:
    record(copied, tmp_path, OWN_K | {"new": "11"})
    rate_elo(copied)
    standings = Standings.of(["player 1", "new", "other"], np.array([0, 1, 2]), np.array([0, 1, 2]), time_seconds=None)
    found = RunPreview.open(copied, "run").preview(standings).table()
    among = RunPreview.open(copied, "run", among=["player 1", "new", "other"])
    assert among.preview(standings).table().equals(found)
    ingest(copied, [contest("next", "player 1", "new", "other", time_seconds=CONTESTS[-1].time_seconds)])
    rate_elo(copied)
    last = rated(copied).slice(sum(map(len, CONTESTS)))
    assert found.column("mu").to_pylist() == last.column("mu").to_pylist()
    change = dict(zip(*(found.column(name).to_pylist() for name in ("handle", "change")), strict=True))
    assert abs(change["new"]) < 11


@pytest.mark.parametrize("k", ["-1", "nan", "many", "1e11"])
def test_own_k__out_of_range_is_refused(copied: Lake, tmp_path: Path, k: str) -> None:
    record(copied, tmp_path, OWN_K | {"player 5": k})
    said = rf"k of player 'player 5' must be within 0\.\.1e\+10 rating points, got '{k}'; correct the table of players"
    with pytest.raises(LakeError, match=said.replace("1e+11", "1e11")):
        rate_elo(copied)


def test_beliefs__with_a_k_out_of_range_are_refused() -> None:
    known = pd.DataFrame({"mu": [1500.0, 1500.0], "k": [math.nan, -2.0]}, index=["player 1", "player 2"])
    with pytest.raises(ValueError, match=r"beliefs of player 'player 2': k must be within 0\.\.1e\+10 .*, got -2"):
        rate_history(results(), "elo", beliefs=known)


def test_systems__name_the_attributes_that_they_read(invoke: Command) -> None:
    assert "Reads k of players, as `ranklake attributes` records them." in invoke("systems", "elo").out


OWN_GAMMA = {"player 1": "120", "player 2": "900", "player 3": "250"}


def rate_elo_r(lake: Lake, **chosen: Any) -> Any:
    return rate_run(lake, **({"system": "elo-r", "policy": often(segment_rows=40)} | chosen))


@pytest.mark.slow
def test_run__of_elo_r_gives_players_their_own_gamma(copied: Lake, tmp_path: Path) -> None:
    record(copied, tmp_path, OWN_GAMMA, "gamma")
    rate_elo_r(copied, run="whole")
    known = pd.DataFrame({"mu": 1500.0, "gamma": [*map(float, OWN_GAMMA.values())]}, index=list(OWN_GAMMA))
    shown = rate_history(results(), "elo-r", beliefs=known)
    assert rated(copied, "whole").column("mu").to_pylist() == shown.mu.tolist()
    assert shown.mu.tolist() != rate_history(results(), "elo-r").mu.tolist()
    for stop in (7, 16, len(CONTESTS)):
        assert rate_elo_r(copied, run="parts", max_rounds=stop, engine=InProcessEngine(2) if stop == 16 else None).rated
    assert same_tables(rated(copied, "parts"), rated(copied, "whole"))
    assert problems(copied, "parts") == []


def test_caps__take_the_gamma_of_the_player(copied: Lake, tmp_path: Path) -> None:
    record(copied, tmp_path, OWN_GAMMA, "gamma")
    rate_elo_r(copied, run="own")
    rounds = RatedRounds(copied, "own")
    row = next(row for row in reversed(rated(copied, "own").to_pylist()) if row["player"] == "player 1")
    row |= {"player": Dataset.open(copied, "games").handles().to_pylist().index("player 1")}
    assert largest_changes(rounds, Display.of(rounds.run), row).largest_rise > 0.0


@pytest.mark.parametrize("gamma", ["99.5", "100", "inf"])
def test_own_gamma__that_sigma_star_exceeds_is_refused(copied: Lake, tmp_path: Path, gamma: str) -> None:
    record(copied, tmp_path, {"player 5": gamma}, "gamma")
    with pytest.raises(LakeError, match=r"gamma of player 'player 5' must be > 100 and < 1e\+10 rating points, got"):
        rate_elo_r(copied)
    known = pd.DataFrame({"mu": [1500.0], "gamma": [float(gamma)]}, index=["player 5"])
    with pytest.raises(ValueError, match=r"beliefs of player 'player 5': gamma must be > 100 and"):
        rate_history(results(), "elo-r", beliefs=known)


def test_trials__fail_where_sigma_star_exceeds_a_gamma_of_a_player(copied: Lake, tmp_path: Path) -> None:
    record(copied, tmp_path, OWN_GAMMA, "gamma")
    dataset, skipping = Dataset.open(copied, "games"), Skipping.of(SYSTEMS["elo-r"])
    history = load_history(dataset, skipping, player_state("elo-r", dataset))
    assert run_trial(history, "elo-r", {"sigma_star": "110"}, "pair_inversion").scores
    failed = run_trial(history, "elo-r", {"sigma_star": "130"}, "pair_inversion")
    assert failed.error == "gamma of a player must be > 130 and < 1e+10 rating points, got 120"
