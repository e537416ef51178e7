"""Presets: a run that is rated with one records the expanded configuration and displays by its rule."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.answers import leaderboard
from helpers.commands import Command
from helpers.lakes import lake_of, synthetic
from helpers.timeouts import TIMEOUT
from twins.dmoj import VARIANCE_LIMIT, Twin, variance

from ranklake import rate_history, systems
from ranklake.flows.common.configuration.settings import PRESETS, build_params, choose_preset, find_preset
from ranklake.flows.engines.serial import Serial
from ranklake.flows.rating.rate import rate
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.results.display import Display
from ranklake.rating_kernels import SYSTEMS, Prior
from ranklake.rating_kernels.systems.elo_srm import PRESETS as ROWS
from ranklake.storage import DamagedError, Lake, Run

CONTESTS = synthetic(6, seed=3)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_of(tmp_path / "lake", CONTESTS)


def rate_preset(lake: Lake, *settings: str, names: tuple[str, ...] = (), replace: bool = False) -> Run:
    (config,) = resolve_runs(lake, "games", names, (), settings, None, replace, "dmoj")
    rate(lake, config, Serial())
    return Run.open(lake, config.run)


# --- the numbers ---


def test_dmoj__has_the_limit_of_sigma_that_its_program_computes() -> None:
    """judge/ratings.py: VAR_LIM = (sqrt(v^2 + 4 b v) - v) / 2 with b = 328.33^2 and v = 1219.047619 b / 212^2."""
    dmoj, b = PRESETS["dmoj"], 328.33**2
    params, system = build_params(SYSTEMS[dmoj.system], dmoj.settings), SYSTEMS[dmoj.system]
    v = 1219.047619 * b / 212**2
    assert system.sigma_limit(params) == pytest.approx(np.sqrt((np.sqrt(v**2 + 4 * b * v) - v) / 2), rel=1e-12)
    assert params.gamma**2 == pytest.approx(v, rel=1e-12)
    assert (params.mu_init, params.sigma_init) == (1500.0, pytest.approx(350.0 * 328.33 / 212))


def test_dmoj__displays_one_deviation_below_mu_and_at_least_1() -> None:
    dmoj = PRESETS["dmoj"]
    system = SYSTEMS[dmoj.system]
    display = Display(system, build_params(system, dmoj.settings), **dmoj.display)
    sigma = system.sigma_limit(display.params) + 200.0
    shown = display.rating(np.array([1500.0, 100.0]), np.full(2, sigma), np.ones(2, np.int32))
    assert shown.tolist() == pytest.approx([1300.0, 1.0])


def test_sonas__has_85_points_for_each_tenth_of_the_score() -> None:
    sonas = PRESETS["sonas"]
    params = build_params(SYSTEMS[sonas.system], sonas.settings)
    leads = np.array([-425.0, -170.0, 0.0, 85.0, 340.0, 425.0, 800.0])
    one, other = (Prior(mu, *3 * [np.zeros(7)]) for mu in (1500.0 + leads, np.full(7, 1500.0)))
    found = SYSTEMS["elo"].win_probability(params, 1.0, one, other)
    assert found == pytest.approx([0.0, 0.3, 0.5, 0.6, 0.9, 1.0, 1.0], abs=1e-15)
    frame = pd.DataFrame({"contest": [1, 1], "player": ["a", "b"], "rank": [1, 2]})
    assert rate_history(frame, preset="sonas").mu.tolist() == [1512.0, 1488.0]
    with pytest.raises(ValueError, match="n goes with cdf logistic and normal, not with linear"):
        rate_history(frame, preset="sonas", n=400)


def dmoj_contests(n_contests: int, n_players: int, most: int) -> list[tuple[list[tuple[str, int, int]], float]]:
    """Standings with ties of up to so many participants, half of them with a ceiling."""
    draw = np.random.default_rng(1)
    skill, contests = draw.normal(1500, 350, n_players), []
    for _ in range(n_contests):
        players = draw.choice(n_players, int(draw.integers(2, most + 1)), replace=False)
        score = -np.round((skill[players] + draw.normal(0, 328, len(players))) / 100)
        order = np.argsort(score)
        names, score = [f"player {player}" for player in players[order]], score[order]
        lo, hi = np.searchsorted(score, score, "left"), np.searchsorted(score, score, "right") - 1
        ceiling = float(draw.choice([math.inf, 1800.0]))
        contests.append((list(zip(names, lo.tolist(), hi.tolist(), strict=True)), ceiling))
    return contests


@pytest.mark.parametrize(
    ("shape", "width", "points"),
    [
        pytest.param((25, 16, 12), 1e-9, 1e-9, id="exact roots"),
        pytest.param((25, 16, 12), 2.0, 0.002, id="roots of the program"),
        pytest.param((60, 800, 300), 2.0, 0.003, id="roots of the program, large", marks=pytest.mark.slow),
    ],
)
def test_dmoj__has_the_ratings_of_its_program(shape: tuple[int, int, int], width: float, points: float) -> None:
    """To rounding with exact roots; with roots as in the program to thousandths of a point."""
    contests, twin = dmoj_contests(*shape), Twin(width)
    rows = [(i, *row, ceiling) for i, (standings, ceiling) in enumerate(contests) for row in standings]
    frame = pd.DataFrame(rows, columns=["contest", "player", "lo", "hi", "perf_ceiling"])
    history = rate_history(frame, preset="dmoj", skip_uninformative=False, engine="serial")
    official = {(i, one.player): one for i, (rows, ceiling) in enumerate(contests) for one in twin.rate(rows, ceiling)}
    expected = [official[key] for key in zip(history["contest"], history["player"], strict=True)]
    for name, values in (("perf", [one.perf for one in expected]), ("mu", [one.mean for one in expected])):
        assert np.abs(history[name] - values).max() <= points
    assert history["sigma"].to_numpy() == pytest.approx([variance(n + 1) ** 0.5 for n in history["n_before"]])
    shown = history["mu"] - (history["sigma"] - VARIANCE_LIMIT**0.5)
    away = np.abs(np.maximum(1.0, shown) - [one.rating for one in expected])
    assert away.max() <= 0.5 + points


@pytest.mark.parametrize("name", PRESETS)
def test_preset__is_within_the_limits_of_its_system_and_survives_json(name: str) -> None:
    preset, document = PRESETS[name], json.loads(json.dumps(PRESETS[name].to_json()))
    params = build_params(SYSTEMS[preset.system], preset.settings)
    assert build_params(SYSTEMS[document["system"]], document["params"]) == params
    assert document["display"] == dict(preset.display)


def test_preset__is_changed_by_settings_and_refused_with_another_system() -> None:
    system, settings = choose_preset("codechef", None, {"rho": 1.0})
    assert (system, settings["rho"], settings["noob_delay"]) == ("elo-mmr", 1.0, (0.6, 0.8))
    with pytest.raises(ValueError, match="preset codechef is one of elo-mmr, not of elo"):
        choose_preset("codechef", "elo", {})
    with pytest.raises(ValueError, match="preset must be one of dmoj, codechef, sonas, got 'dmo'; did you mean dmoj"):
        find_preset("dmo")


# --- runs ---


def test_run__records_the_expanded_preset(lake: Lake) -> None:
    run, preset = rate_preset(lake), PRESETS["dmoj"].to_json()
    assert run.name == "games-dmoj"
    assert {key: run.config[key] for key in ("system", "params", "display")} == {
        key: preset[key] for key in ("system", "params", "display")
    }
    board = leaderboard(lake, run.name)
    mu, sigma, shown = (board.column(name).to_numpy() for name in ("mu", "sigma", "rating"))
    limit = SYSTEMS["elo-mmr"].sigma_limit(build_params(SYSTEMS["elo-mmr"], preset["params"]))
    assert shown == pytest.approx(np.maximum(mu - (sigma - limit), 1.0))
    more = leaderboard(lake, run.name, deviations=2.0).column("rating").to_numpy()
    assert sorted(more) == pytest.approx(sorted(np.maximum(mu - 2.0 * (sigma - limit), 1.0)))


def test_run__has_the_ratings_of_its_hyperparameters_and_keeps_its_display(lake: Lake) -> None:
    rate_preset(lake)
    (config,) = resolve_runs(lake, None, ["games-dmoj"])
    report = rate(lake, config, Serial())
    assert report.rated == 0
    assert Run.open(lake, "games-dmoj").config["display"] == {"deviations": 1.0, "minimum": 1.0}
    settings = [f"{key}={value}" for key, value in PRESETS["dmoj"].settings.items()]
    (plain,) = resolve_runs(lake, "games", ["plain"], ["elo-mmr"], settings)
    rate(lake, plain, Serial())
    one, other = (Run.open(lake, name) for name in ("games-dmoj", "plain"))
    assert one.segments().segments[-1].digests == other.segments().segments[-1].digests


def test_run__replaced_by_another_system_loses_the_display(lake: Lake) -> None:
    rate_preset(lake)
    (config,) = resolve_runs(lake, "games", ["games-dmoj"], ["elo"], replace=True)
    rate(lake, config, Serial())
    assert "display" not in Run.open(lake, "games-dmoj").config


def test_run__with_settings_has_a_name_of_its_own(lake: Lake) -> None:
    run = rate_preset(lake, "rho=2")
    assert run.name.startswith("games-dmoj-")
    assert run.config["params"]["rho"] == 2.0
    assert run.config["params"]["beta"] == 328.33


def test_run__of_another_configuration_is_refused(lake: Lake) -> None:
    (plain,) = resolve_runs(lake, "games", ["mine"])
    rate(lake, plain, Serial())
    with pytest.raises(ValueError, match=r"run mine exists with .*tie_mode full"):
        rate_preset(lake, names=("mine",))
    assert rate_preset(lake, names=("mine",), replace=True).config["params"]["beta"] == 328.33


@pytest.mark.parametrize("arguments", [{"systems": ["elo"]}, {"names": ["a", "b"]}], ids=str)
def test_preset__is_for_one_run_without_a_system(lake: Lake, arguments: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match="--preset has its own system and is for one run"):
        resolve_runs(lake, "games", **arguments, preset="dmoj")


@pytest.mark.parametrize("display", [{"deviations": "one"}, {"floor": 1.0}, 1.0], ids=str)
def test_display__that_is_invalid_is_reported_with_the_file(lake: Lake, display: object) -> None:
    run = rate_preset(lake)
    path = Path(lake.url) / "runs" / run.name / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"display": display}))
    with pytest.raises(DamagedError, match=r"runs/games-dmoj/run.json: the display rating is invalid"):
        leaderboard(lake, run.name)


def test_rate_history__takes_a_preset() -> None:
    frame = {"contest": ["a", "a", "b", "b"], "player": ["x", "y", "x", "y"], "rank": [1, 2, 2, 1]}
    one = rate_history(pd.DataFrame(frame), preset="codechef", engine="serial")
    other = rate_history(pd.DataFrame(frame), "elo-mmr", engine="serial", **PRESETS["codechef"].settings)
    assert one.equals(other)
    assert one["mu_prior"].iloc[0] == 1600.0


def test_rate_history__still_takes_the_presets_of_elo_srm() -> None:
    assert choose_preset("W", "elo-srm", {"c": 1.0}) == ("elo-srm", {"c": 1.0, "preset": "W"})
    assert not PRESETS.keys() & ROWS.keys()


def test_systems__has_the_values_of_a_preset() -> None:
    assert systems("codechef").loc["noob_delay", "default"] == (0.6, 0.8)
    assert systems("dmoj").index.equals(systems("elo-mmr").index)


# --- commands ---


def test_systems__lists_and_shows_presets(invoke: Command) -> None:
    listed = invoke("systems").out
    assert "ratings of dmoj.ca" in listed
    shown = invoke("systems", "dmoj").out
    assert "a preset of elo-mmr" in shown
    assert "328.33" in shown
    assert json.loads(invoke("systems", "codechef", "--format", "json").out)["params"]["history_len"] == 50


@pytest.mark.slow
def test_import__of_presets_declares_the_kernels_of_no_system() -> None:
    code = "import sys, ranklake.flows.rating.resolve; print([name for name in sys.modules if '.systems.' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.stdout == "[]\n", done.stderr
