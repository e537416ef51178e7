"""Presets: a run that is rated with one records the expanded configuration and displays by its rule."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.lakes import lake_of, synthetic

from ranklake import rate_history, systems
from ranklake.flows.common.presets import PRESETS, choose_preset, find_preset
from ranklake.flows.common.settings import build_params
from ranklake.flows.engines.serial import Serial
from ranklake.flows.rating.rate import rate
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.flows.results.display import Display
from ranklake.flows.results.leaderboard import leaderboard
from ranklake.rating_kernels import SYSTEMS
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


def _dmoj_root(field: list[tuple[float, float]], target: float, width: float) -> float:
    """The level with this sum over all players: bisection down to ``width``, then interpolation, as DMOJ does."""

    def pull(x: float) -> float:
        return math.fsum(math.tanh(math.pi * (x - mu) / (2 * math.sqrt(3) * spread)) / spread for mu, spread in field)

    low, high = (1500.0 + side * 20 * 350 * 328.33 / 212 for side in (-1, 1))
    while high - low > width:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if pull(middle) > target else (middle, high)
    part = (target - pull(low)) / (pull(high) - pull(low))
    return low + part * (high - low)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_dmoj__interpolated_roots_are_within_a_thousandth_of_the_exact_ones(n: int) -> None:
    draw = np.random.default_rng(n)
    mu, spread = draw.normal(1500, 300, n), np.hypot(328.33, draw.uniform(128, 542, n))
    order = np.argsort(-mu - draw.normal(0, 328.33, n))
    field = [(float(mu[i]), float(spread[i])) for i in order]
    for place in range(n):
        target = math.fsum(np.sign(j - place) / field[j][1] for j in range(n))
        assert abs(_dmoj_root(field, target, 2.0) - _dmoj_root(field, target, 1e-9)) < 1e-3


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
    with pytest.raises(ValueError, match="preset must be one of dmoj, codechef, got 'dmo'; did you mean dmoj"):
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
