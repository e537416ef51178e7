"""An existing run keeps its configuration; another one is refused without ``replace``."""

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
    "more", ["--dataset games", "", "--system elo", "--dataset games --system elo --set k=16", "--set k=16.0"]
)
def test_rate__of_an_existing_run_keeps_its_configuration(lake: Lake, invoke: Command, more: str) -> None:
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
        ("--set pairs=sum", "pairs mean", "pairs sum"),
        ("--dataset other", "data set games", "data set other"),
        ("--keep-uninformative", "contests skipped: one participant", "contests skipped: none"),
    ],
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["", "dry"])
def test_rate__another_configuration_is_refused_and_the_run_unchanged(
    lake: Lake, invoke: Command, more: str, is_there: str, asked: str, dry: tuple[str, ...]
) -> None:
    before = files(Path(lake.url))
    message = invoke.refuses("rate", "--run", "mine", *more.split(), *dry, "--lake", lake.url, code=2)
    assert message == (
        f"run mine exists with {is_there}; requested was {asked}. Add --replace to discard its ratings and rate it "
        "again, or give another --run"
    )
    assert files(Path(lake.url)) == before


def test_rate__replace_rates_again_and_keeps_omitted_options(lake: Lake, invoke: Command) -> None:
    answer = invoke("rate", "--run", "mine", "--set", "n=300", "--replace", "--lake", lake.url)
    assert "kept 0 rounds rated before (other parameters), rated 14" in answer.out
    assert (recorded(lake).params.k, recorded(lake).params.n) == (16.0, 300.0)
    rate_run(lake, run="beside", system="elo", k=16.0, n=300.0)
    assert same_tables(rated(lake, "mine"), rated(lake, "beside"))
    assert (
        "kept 14 rounds rated before, rated 0" in invoke("rate", "--run", "mine", "--replace", "--lake", lake.url).out
    )


def test_rate__replace_by_another_system_keeps_no_settings(lake: Lake, invoke: Command) -> None:
    answer = invoke("rate", "--run", "mine", "--system", "elo-mmr", "--replace", "--lake", lake.url)
    assert "kept 0 rounds rated before (other parameters), rated 14" in answer.out
    rate_run(lake, run="beside")
    assert same_tables(rated(lake, "mine"), rated(lake, "beside"))


def test_rate__an_existing_run_with_a_default_name_keeps_its_configuration(lake: Lake, invoke: Command) -> None:
    rate_run(lake, run="games-elo-mmr", system="elo")
    answer = invoke("rate", "--dataset", "games", "--lake", lake.url)
    assert answer.out.startswith("run games-elo-mmr: kept 14 rounds rated before, rated 0")
    several = ("rate", "--dataset", "games", "--system", "elo-mmr", "--system", "elo", "--lake", lake.url)
    assert "run games-elo-mmr exists with system elo;" in invoke.refuses(*several, code=2)
    assert Run.names(lake) == ["games-elo-mmr", "mine"]  # no run was created


def test_rate__the_function_refuses_the_same_as_the_command(lake: Lake) -> None:
    before = files(Path(lake.url))
    for other in ({}, {"system": "elo-mmr"}, {"k": 16.0, "skip_uninformative": False}):
        with pytest.raises(ValueError, match=r"run mine exists with .*; requested was .* Add --replace"):
            rate_run(lake, run="mine", **{"system": "elo", **other})
    assert files(Path(lake.url)) == before
    assert rate_run(lake, run="mine", system="elo", k=16.0).kept == 14


def test_rate__keeps_exclusions_unless_the_data_set_changes(lake: Lake, invoke: Command) -> None:
    rate_run(lake, run="mine", system="elo", k=16.0, exclude=("3",))
    assert "kept 14 rounds" in invoke("rate", "--run", "mine", "--lake", lake.url).out
    assert Run.open(lake, "mine").config["exclude"] == ["3"]
    lake_of(Path(lake.url), CONTESTS[:5], "other")
    answer = invoke("rate", "--run", "mine", "--dataset", "other", "--replace", "--lake", lake.url)
    assert answer.code == 0, answer.err
    assert "exclude" not in Run.open(lake, "mine").config


def test_rate__max_rounds_keeps_later_rounds(lake: Lake, invoke: Command) -> None:
    answer = invoke("rate", "--run", "mine", "--max-rounds", 5, "--lake", lake.url)
    assert "kept 14 rounds rated before, rated 0" in answer.out
    assert Run.open(lake, "mine").segments().stop_round == 14


def edit(lake: Lake, **facts: object) -> None:
    path = Path(lake.url) / "runs" / "mine" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def rate_by_release(lake: Lake, numerics: int) -> None:
    """Rate the run as a release with other numerics."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ranklake.flows.rating.config.NUMERICS", numerics)
        rate_run(lake, run="mine", system="elo", k=16.0)


def test_rate__a_run_of_a_newer_release_is_refused_unless_replaced(lake: Lake, invoke: Command) -> None:
    rate_by_release(lake, 999)
    before = files(Path(lake.url))
    message = invoke.refuses("rate", "--run", "mine", "--lake", lake.url)
    assert message.startswith("run mine: a newer release of ranklake rated it; update ranklake")
    assert files(Path(lake.url)) == before
    answer = invoke("rate", "--run", "mine", "--replace", "--lake", lake.url)
    assert "kept 0 rounds rated before (another release rated it), rated 14" in answer.out


def test_rate__a_run_of_an_older_release_is_rated_again(lake: Lake, invoke: Command) -> None:
    rate_by_release(lake, 1)
    answer = invoke("rate", "--run", "mine", "--lake", lake.url)
    assert "kept 0 rounds rated before (another release rated it), rated 14" in answer.out


def test_resolve_runs__reports_newer_formats_and_unknown_settings(lake: Lake) -> None:
    edit(lake, params={"k": 16.0, "unheard_of": 1})
    with pytest.raises(DamagedError, match=r"elo has no parameter 'unheard_of'.*`ranklake delete --run mine`"):
        resolve_runs(lake, "games", ["mine"])
    (config,) = resolve_runs(lake, "games", ["mine"], ["elo"], replace=True)
    assert (config.system, config.params.k) == ("elo", 32.0)
    edit(lake, format=999)
    for replace in (False, True):
        with pytest.raises(FormatError, match="update ranklake"):
            resolve_runs(lake, "games", ["mine"], ["elo"], replace=replace)


def test_resolve_runs__without_a_lake_returns_new_runs() -> None:
    (config,) = resolve_runs(None, "games", settings=["rho=0.5"])
    assert (config.system, config.params.rho, config.run.startswith("games-elo-mmr-")) == ("elo-mmr", 0.5, True)
    with pytest.raises(ValueError, match="no run 'x' in the lake; give --dataset to make it"):
        resolve_runs(None, None, ["x"])


def test_rate__reports_a_missing_data_set(lake: Lake, invoke: Command) -> None:
    (Path(lake.url) / "games" / "contests" / "contests.parquet").unlink()
    with pytest.raises(LakeError):
        rate_run(lake, run="mine", system="elo", k=16.0)
    assert "no data set 'games'" in invoke.refuses("rate", "--run", "mine", "--lake", lake.url)
