"""The state of a run (complete, behind or stale) in the output of all readers, with the command that updates it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.lakes import contest, ingest, lake_of, often, rate_run, stamps, synthetic

from ranklake.flows.maintenance.freshness import Freshness, freshness, note
from ranklake.flows.maintenance.status import status
from ranklake.storage import Dataset, Lake, Run
from ranklake.storage.leases.acquire import hold_lease

OFTEN = often(segment_rows=40)

CONTESTS = synthetic(30, n_players=12)
TURNED = contest("21", *CONTESTS[21].handles.to_pylist()[::-1], time_seconds=CONTESTS[21].time_seconds)


@pytest.fixture(scope="module")
def rated_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rated") / "the lake"  # a name that needs quotes in a shell
    rate_run(lake_of(path, CONTESTS), system="elo", k=16.0, policy=OFTEN)
    return path


@pytest.fixture
def lake(tmp_path: Path, rated_lake: Path) -> Lake:
    return Lake.open(shutil.copytree(rated_lake, tmp_path / "the lake"))


def found(lake: Lake) -> Freshness:
    """The state from the newest manifest, which must be equal to the state from all manifests."""
    run, dataset = Run.open(lake, "run"), Dataset.open(lake, "games")
    quick = freshness(run, dataset)
    assert quick == freshness(run, dataset, run.segments())
    return quick


def make_behind(lake: Lake) -> None:
    ingest(lake, [contest(f"later {i}", "player 1", "player 2", time_seconds=2_000_000_000) for i in range(3)])


def make_stale(lake: Lake) -> None:
    ingest(lake, [TURNED])


def remove(lake: Lake, *contests: str) -> None:
    with Dataset.ingest(lake, "games") as changing:
        for one in contests:
            changing.remove(one)


def test_freshness__of_a_complete_run_and_one_that_is_behind(lake: Lake) -> None:
    assert found(lake) == Freshness(30, 30, 30, "")
    assert (found(lake).state, note(lake, "run")) == ("complete", "")
    make_behind(lake)
    assert (found(lake).state, found(lake).to_rate, found(lake).stale_from) == ("behind by 3 rounds", 3, None)


@pytest.mark.parametrize(
    ("change", "holds", "why"),
    [
        (make_stale, 21, "contest 21, changed"),
        (lambda lake: remove(lake, "29"), 29, "contest 29, was removed"),
        (lambda lake: remove(lake, *map(str, range(30))), 0, "contest 0, was removed"),
    ],
    ids=["changed", "last-removed", "all-removed"],
)
def test_freshness__of_a_run_that_is_stale(lake: Lake, change: Any, holds: int, why: str) -> None:
    change(lake)
    assert (found(lake).state, found(lake).stale_from, found(lake).why) == (f"stale from round {holds}", holds, why)


def test_freshness__changes_of_excluded_contests_do_not_count(lake: Lake) -> None:
    rate_run(lake, system="elo", k=16.0, exclude=("21",), policy=OFTEN)
    make_stale(lake)
    assert found(lake).state == "complete"


def test_freshness__of_a_run_that_another_release_rated(lake: Lake) -> None:
    path = Path(lake.url) / "runs" / "run" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"numerics": 1}))
    assert (found(lake).state, found(lake).why) == ("stale from round 0", "another release of ranklake rated it")


def test_freshness__of_merged_segments(lake: Lake, invoke: Command) -> None:
    assert invoke("compact", "--run", "run", "--lake", lake.url).code == 0
    assert found(lake).state == "complete"
    make_stale(lake)
    assert found(lake).stale_from == 21


def test_freshness__of_part_of_a_history_and_of_no_rounds(lake: Lake) -> None:
    rate_run(lake, run="part", system="elo", max_rounds=7, policy=OFTEN)
    rate_run(lake, run="none", system="elo", max_rounds=0, policy=OFTEN)
    states = {run.run: run.state for run in status(lake).runs}
    assert states == {"part": "behind by 23 rounds", "none": "behind by 30 rounds", "run": "complete"}
    assert note(lake, "none").startswith("run none is behind by 30 rounds: `ranklake rate ")


def test_freshness__reads_one_manifest_of_a_complete_run_and_no_rating(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    monkeypatch.setattr(Lake, "read_bytes", lambda self, path, of=Lake.read_bytes: read.append(path) or of(self, path))
    assert note(lake, "run") == ""
    assert sum(path.startswith("runs/run/rounds/") for path in read) == 1
    make_stale(lake)
    read.clear()
    assert note(lake, "run")
    assert not any(path.endswith(".parquet") for path in read if path.startswith("runs/"))


def test_runs__imports_no_kernel() -> None:
    program = "import sys; from ranklake.flows.maintenance import freshness, status; "
    program += "sys.exit('ranklake.rating_kernels' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


READERS = {
    "leaderboard": ("leaderboard", "--run", "run"),
    "player": ("player", "player 1", "--run", "run"),
    "predict": ("predict", "player 1", "player 2", "--run", "run"),
    "evaluate": ("evaluate", "--run", "run"),
}


@pytest.mark.quick("leaderboard-*", "evaluate-*")
@pytest.mark.parametrize("change", [make_stale, make_behind], ids=["stale", "behind"])
@pytest.mark.parametrize("command", READERS.values(), ids=READERS)
def test_readers__print_the_state_of_a_run_and_the_remedy_in_one_line(
    lake: Lake, invoke: Command, command: tuple[str, ...], change: Any
) -> None:
    assert invoke(*command, "--lake", lake.url).err == ""
    change(lake)
    before = stamps(Path(lake.url))
    result = invoke(*command, "--lake", lake.url)
    assert result.code == 0
    assert stamps(Path(lake.url)) == before
    (line,) = result.err.splitlines()
    what = "stale from round 21 (contest 21, changed)" if change is make_stale else "behind by 3 rounds"
    assert line.startswith(f"run run is {what}: `ranklake rate ")
    (advised,) = re.findall("`ranklake (.*)`", line)
    assert invoke(*shlex.split(advised)).code == 0
    assert invoke(*command, "--lake", lake.url).err == ""
    assert settings_of(lake) == ("elo", 16.0)


def settings_of(lake: Lake) -> tuple[str, float]:
    config = Run.open(lake, "run").config
    return config["system"], config["params"]["k"]


@pytest.mark.slow
def test_readers__publish_and_plot_print_the_same_line(lake: Lake, tmp_path: Path, invoke: Command) -> None:
    pytest.importorskip("deltalake")
    pytest.importorskip("matplotlib")
    make_stale(lake)
    picture = ("plot", "distribution", "--run", "run", "-o", tmp_path / "picture.svg")
    for command in (("publish", "--run", "run"), picture):
        result = invoke(*command, "--lake", lake.url)
        assert result.code == 0, result.err
        assert result.err.splitlines()[0].startswith("run run is stale from round 21 (contest 21, changed): `")


def test_runs__distinguishes_stale_behind_and_complete(lake: Lake, invoke: Command) -> None:
    make_behind(lake)
    run = json.loads(invoke("runs", "--format", "json", "--lake", lake.url).out)["runs"][0]
    assert (run["state"], run["rounds_to_rate"], run["stale_from_round"]) == ("behind by 3 rounds", 3, None)
    make_stale(lake)
    run = json.loads(invoke("runs", "--format", "json", "--lake", lake.url).out)["runs"][0]
    assert (run["state"], run["rounds_to_rate"], run["stale_from_round"]) == ("stale from round 21", 12, 21)
    assert run["stale_because"] == "contest 21, changed"
    text = invoke("runs", "--lake", lake.url).out
    assert "stale from round 21" in text
    line = text.splitlines()[-1]
    assert line.startswith("run run is stale from round 21 (contest 21, changed): `ranklake rate ")
    (advised,) = re.findall("`ranklake (.*)`", line)
    assert invoke(*shlex.split(advised)).code == 0
    assert status(lake).runs[0].state == "complete"


def test_runs__without_their_data_set_have_this_state(lake: Lake, invoke: Command) -> None:
    (Path(lake.url) / "games" / "contests" / "contests.parquet").unlink()
    run = json.loads(invoke("runs", "--format", "json", "--lake", lake.url).out)["runs"][0]
    assert (run["state"], run["rounds_to_rate"], run["stale_from_round"]) == ("no data set games", None, None)
    assert note(lake, "run") == ""
    assert "no data set 'games'" in invoke.refuses("leaderboard", "--run", "run", "--lake", lake.url)


def test_note__of_an_unreadable_file_is_empty(lake: Lake) -> None:
    assert note(lake, "other") == note(lake, "../x") == ""
    for path in (Path(lake.url) / "runs" / "run" / "rounds").glob("*.json"):
        path.write_text("{")
    assert note(lake, "run") == ""


def test_note__of_a_run_that_is_being_rated_names_the_writer_instead_of_a_command(lake: Lake) -> None:
    make_behind(lake)
    with hold_lease(lake, "runs/run", "rate run"):
        assert note(lake, "run").startswith("run run is behind by 3 rounds; ")
        assert note(lake, "run").endswith(" holds the lease")


def test_corrections__name_the_runs_that_become_stale(lake: Lake, invoke: Command) -> None:
    result = invoke("remove", "7", "--dataset", "games", "--lake", lake.url)
    command = f"ranklake rate --dataset games --run run --lake {shlex.quote(lake.url)}"
    assert result.err == (f"run run is stale from round 7 (contest 7, was removed): `{command}` brings it up to date\n")


def test_compact_and_delete__take_a_stale_run_as_any_other(lake: Lake, invoke: Command) -> None:
    make_stale(lake)
    assert invoke("compact", "--run", "run", "--lake", lake.url).code == 0
    assert found(lake).state == "stale from round 21"
    result = invoke("verify", "--run", "run", "--lake", lake.url)
    assert result.code == 0
    assert "note: run run is stale from round 21 (contest 21, changed): `ranklake rate " in result.err
    assert invoke("delete", "--run", "run", "--yes", "--lake", lake.url).code == 0
    assert Run.names(lake) == []
