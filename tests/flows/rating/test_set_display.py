"""Thresholds of places that a run keeps: recorded beside its ratings, changed by the next rating, read by all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.lakes import copy_of, lake_of, rate_run, synthetic

from ranklake.flows.ratings.ratings import Ratings
from ranklake.flows.results.places import PlaceOptions
from ranklake.storage import DamagedError, Lake, Run

CONTESTS = synthetic(8, spice=False, n_players=12, size=6)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    rate_run(lake := lake_of(tmp_path_factory.mktemp("rated") / "lake", CONTESTS))
    return lake


@pytest.fixture
def lake(tmp_path: Path, invoke: Command, rated: Lake) -> Lake:
    """A copy with a run that keeps thresholds."""
    lake = copy_of(rated, tmp_path / "lake")
    given = ("--set-display", "min_rounds=5", "--set-display", "rule=own")
    assert invoke("rate", "--run", "run", *given, "--lake", lake.url).code == 0
    return lake


def test_display__is_kept_and_changed_without_another_round(lake: Lake, invoke: Command) -> None:
    assert Run.open(lake, "run").config["display"] == {"places": {"min_rounds": 5, "rule": "own"}}
    for given, options in (
        ((), PlaceOptions(5, rule="own")),
        (("--set-display", "max_sigma=90"), PlaceOptions(5, 90.0, rule="own")),
        (("--level", "free", "--set-display", "max_sigma=inf"), PlaceOptions(5, rule="own")),
        (("--set-display", "min_rounds=0", "--set-display", "rule=separated"), PlaceOptions()),
    ):
        said = invoke("rate", "--run", "run", *given, "--lake", lake.url)
        assert "rated 0 rounds" in said.out
        assert PlaceOptions.of_run(Run.open(lake, "run")) == options
    assert "display" not in Run.open(lake, "run").config


@pytest.mark.slow
def test_display__survives_a_preset_and_changes_no_digest(lake: Lake, invoke: Command) -> None:
    digests = Run.open(lake, "run").segments().digests
    invoke("rate", "--dataset", "games", "--run", "plain", "--lake", lake.url)
    assert Run.open(lake, "plain").segments().digests == digests
    invoke("rate", "--dataset", "games", "--run", "run", "--preset", "dmoj", "--replace", "--lake", lake.url)
    shown = Run.open(lake, "run").config["display"]
    assert shown == {"deviations": 1.0, "minimum": 1.0, "places": {"min_rounds": 5, "rule": "own"}}
    board = Ratings.open(lake, "run").leaderboard(provisional="show")
    assert board["provisional"].tolist() == (board["n_rounds"] < 5).tolist()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("min_rounds=-1", "min_rounds must be a whole number within 0"),
        ("min_rounds=few", "min_rounds must be a whole number, got 'few'"),
        ("interval=1", "interval must be > 0 and < 1, got 1.0"),
        ("top=1", "--set-display has no parameter 'top'; it has min_rounds, max_sigma, interval, rule"),
        ("min_rounds", "a setting is key=value"),
    ],
)
def test_display__bad_values_are_refused_before_rating(rated: Lake, invoke: Command, given: str, rule: str) -> None:
    before = Run.open(rated, "run").config
    assert rule in invoke.refuses("rate", "--run", "run", "--set-display", given, "--lake", rated.url, code=2)
    assert Run.open(rated, "run").config == before


def test_display__of_uncertainty_is_refused_for_a_system_without(lake: Lake, invoke: Command) -> None:
    elo = ("rate", "--dataset", "games", "--run", "elo", "--system", "elo", "--lake", lake.url)
    said = invoke.refuses(*elo, "--set-display", "max_sigma=90", code=2)
    assert said.startswith("--set-display max_sigma needs the uncertainty of skills, which elo has not; elo-mmr, ")
    assert invoke(*elo, "--set-display", "min_rounds=2").code == 0


@pytest.mark.quick("{'top': 1}")
@pytest.mark.parametrize("places", [{"min_rounds": "few"}, {"top": 1}, 1.0], ids=str)
def test_display__that_is_invalid_is_reported_with_the_file(lake: Lake, places: object) -> None:
    path = Path(lake.url) / "runs/run/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"display": {"places": places}}))
    with pytest.raises(DamagedError, match=r"runs/run/run.json: the display of places is invalid"):
        PlaceOptions.of_run(Run.open(lake, "run"))
