"""A run that is there goes on as it is; whatever else is asked for is refused, until it is to be replaced."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.lakes import files, lake_of, rate_run, rated, same_tables, synthetic

from ranklake.flows.rating.config import RunConfig
from ranklake.flows.rating.resolve import resolve_runs
from ranklake.storage import DamagedError, FormatError, Lake, LakeError, Run

CONTESTS = synthetic(14, n_players=12)


@pytest.fixture(scope="module")
def rated_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a run of a system and settings that are not the defaults."""
    path = tmp_path_factory.mktemp("rated") / "lake"
    rate_run(lake_of(path, CONTESTS), run="mine", system="elo", k=16.0)
    return path


@pytest.fixture
def lake(tmp_path: Path, rated_lake: Path) -> Lake:
    return Lake.open(shutil.copytree(rated_lake, tmp_path / "lake"))


def recorded(lake: Lake) -> RunConfig:
    return RunConfig.of(Run.open(lake, "mine"))


@pytest.mark.parametrize(
    "more",
    [
        "--dataset games",
        "",
        "--system elo",
        "--dataset games --system elo --set k=16",
        "--set k=16.0",
    ],
)
def test_rate__of_a_run_that_is_there_goes_on_as_it_is(lake: Lake, invoke: Command, more: str) -> None:
    before = files(Path(lake.url))
    answer = invoke("rate", "--run", "mine", *more.split(), "--lake", lake.url)
    assert (answer.code, answer.err) == (0, "")
    assert "kept 14 rounds rated before, rated 0" in answer.out
    assert files(Path(lake.url)) == before


@pytest.mark.parametrize(
    ("more", "is_there", "asked"),
    [
        ("--system elo-mmr", "system elo", "system elo-mmr"),
        ("--set k=20", "k 16.0", "k 20.0"),
        ("--dataset other", "data set games", "data set other"),
        ("--keep-uninformative", "contests skipped: one participant", "contests skipped: none"),
    ],
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["", "dry"])
def test_rate__something_else_than_recorded_is_refused_and_the_run_left_alone(
    lake: Lake, invoke: Command, more: str, is_there: str, asked: str, dry: tuple[str, ...]
) -> None:
    before = files(Path(lake.url))
    message = invoke.refuses("rate", "--run", "mine", *more.split(), *dry, "--lake", lake.url, code=2)
    assert message == (
        f"run mine is there with {is_there}; asked for was {asked}. Add --replace to discard its ratings and rate it "
        "anew with that, or give another --run"
    )
    assert files(Path(lake.url)) == before


def test_rate__replace_rates_it_anew_and_what_is_not_given_stays(lake: Lake, invoke: Command) -> None:
    answer = invoke("rate", "--run", "mine", "--set", "n=300", "--replace", "--lake", lake.url)
    assert "kept 0 rounds rated before (other parameters), rated 14" in answer.out
    assert (recorded(lake).params.k, recorded(lake).params.n) == (16.0, 300.0)
    rate_run(lake, run="beside", system="elo", k=16.0, n=300.0)
    assert same_tables(rated(lake, "mine"), rated(lake, "beside"))
    assert (
        "kept 14 rounds rated before, rated 0" in invoke("rate", "--run", "mine", "--replace", "--lake", lake.url).out
    )


def test_rate__replace_by_another_system_takes_nothing_of_the_old_one(lake: Lake, invoke: Command) -> None:
    answer = invoke("rate", "--run", "mine", "--system", "elo-mmr", "--replace", "--lake", lake.url)
    assert "kept 0 rounds rated before (other parameters), rated 14" in answer.out
    rate_run(lake, run="beside")
    assert same_tables(rated(lake, "mine"), rated(lake, "beside"))


def test_rate__the_name_that_rate_would_give_goes_on_as_what_it_is(lake: Lake, invoke: Command) -> None:
    rate_run(lake, run="games-elo-mmr", system="elo")
    answer = invoke("rate", "--dataset", "games", "--lake", lake.url)
    assert answer.out.startswith("run games-elo-mmr: kept 14 rounds rated before, rated 0")
    several = ("rate", "--dataset", "games", "--system", "elo-mmr", "--system", "elo", "--lake", lake.url)
    assert "run games-elo-mmr is there with system elo;" in invoke.refuses(*several, code=2)
    assert Run.names(lake) == ["games-elo-mmr", "mine"]  # none was made, the other neither


def test_rate__the_python_door_refuses_what_the_command_refuses(lake: Lake) -> None:
    before = files(Path(lake.url))
    for other in ({}, {"system": "elo-mmr"}, {"k": 16.0, "skip_uninformative": False}):
        with pytest.raises(ValueError, match=r"run mine is there with .*; asked for was .* Add --replace"):
            rate_run(lake, run="mine", **{"system": "elo", **other})
    assert files(Path(lake.url)) == before
    assert rate_run(lake, run="mine", system="elo", k=16.0).kept == 14


def test_rate__the_exclusions_of_a_run_stay_but_not_over_another_data_set(lake: Lake, invoke: Command) -> None:
    rate_run(lake, run="mine", system="elo", k=16.0, exclude=("3",))
    assert "kept 14 rounds" in invoke("rate", "--run", "mine", "--lake", lake.url).out
    assert Run.open(lake, "mine").config["exclude"] == ["3"]
    lake_of(Path(lake.url), CONTESTS[:5], "other")
    answer = invoke("rate", "--run", "mine", "--dataset", "other", "--replace", "--lake", lake.url)
    assert answer.code == 0, answer.err
    assert "exclude" not in Run.open(lake, "mine").config


def test_rate__max_rounds_keeps_what_lies_beyond(lake: Lake, invoke: Command) -> None:
    answer = invoke("rate", "--run", "mine", "--max-rounds", 5, "--lake", lake.url)
    assert "kept 14 rounds rated before, rated 0" in answer.out
    assert Run.open(lake, "mine").segments().stop_round == 14


def edit(lake: Lake, **facts: object) -> None:
    path = Path(lake.url) / "runs" / "mine" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def rate_by_release(lake: Lake, numerics: int) -> None:
    """Rate the run as a release does whose numbers are others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ranklake.flows.rating.config.NUMERICS", numerics)
        rate_run(lake, run="mine", system="elo", k=16.0)


def test_rate__a_run_of_a_newer_release_is_left_alone_unless_replaced(lake: Lake, invoke: Command) -> None:
    rate_by_release(lake, 999)
    before = files(Path(lake.url))
    message = invoke.refuses("rate", "--run", "mine", "--lake", lake.url)
    assert message.startswith("run mine: a newer release of ranklake rated it; update ranklake")
    assert files(Path(lake.url)) == before
    answer = invoke("rate", "--run", "mine", "--replace", "--lake", lake.url)
    assert "kept 0 rounds rated before (another release rated it), rated 14" in answer.out


def test_rate__a_run_of_an_older_release_is_rated_anew(lake: Lake, invoke: Command) -> None:
    rate_by_release(lake, 1)
    answer = invoke("rate", "--run", "mine", "--lake", lake.url)
    assert "kept 0 rounds rated before (another release rated it), rated 14" in answer.out


def test_resolve_runs__of_a_newer_format_or_with_unknown_settings_are_told(lake: Lake) -> None:
    edit(lake, params={"k": 16.0, "unheard_of": 1})
    with pytest.raises(DamagedError, match=r"elo has no parameter 'unheard_of'.*`ranklake delete --run mine`"):
        resolve_runs(lake, "games", ["mine"])
    (config,) = resolve_runs(lake, "games", ["mine"], ["elo"], replace=True)
    assert (config.system, config.params.k) == ("elo", 32.0)
    edit(lake, format=999)
    for replace in (False, True):
        with pytest.raises(FormatError, match="update ranklake"):
            resolve_runs(lake, "games", ["mine"], ["elo"], replace=replace)


def test_resolve_runs__without_a_lake_are_those_that_would_be_made() -> None:
    (config,) = resolve_runs(None, "games", settings=["rho=0.5"])
    assert (config.system, config.params.rho, config.run.startswith("games-elo-mmr-")) == ("elo-mmr", 0.5, True)
    with pytest.raises(ValueError, match="no run 'x' in the lake; give --dataset to make it"):
        resolve_runs(None, None, ["x"])


def test_rate__of_a_run_whose_data_set_is_gone_says_so(lake: Lake, invoke: Command) -> None:
    (Path(lake.url) / "games" / "contests" / "contests.parquet").unlink()
    with pytest.raises(LakeError):
        rate_run(lake, run="mine", system="elo", k=16.0)
    assert "no data set 'games'" in invoke.refuses("rate", "--run", "mine", "--lake", lake.url)
