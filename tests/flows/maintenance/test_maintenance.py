"""Maintenance: damage is reported with a remedy that works, and deletion asks for confirmation."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from click.testing import CliRunner
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import (
    commit_often,
    contest,
    files,
    ingest,
    rate_run,
    rated,
    same_tables,
    small_files,
    stamps,
    synthetic,
)

from ranklake.flows.cli.main import cli
from ranklake.flows.engines.serial import Serial
from ranklake.flows.maintenance.status import status
from ranklake.flows.maintenance.verify import replay
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.storage import Dataset, Lake, Run, Segment
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.layout import dataset_folder, run_folder
from ranklake.storage.leases.acquire import hold_lease

CONTESTS = synthetic(60, n_players=30)


@pytest.fixture(scope="module", autouse=True)
def _small_files() -> Iterator[None]:
    """Many files of each kind from a small history."""
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=40, snapshot_rows=120)
        small_files(patch, file_rows=100)
        yield


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of contests."""
    return write_folder(tmp_path_factory.mktemp("source") / "games", CONTESTS)


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory, source: Path, _small_files: None) -> Path:
    folder = tmp_path_factory.mktemp("rated")
    lake = folder / "lake"
    early = write_folder(folder / "early", CONTESTS[:40])
    for command in (
        f"ingest files {early} --dataset games --lake {lake}",
        f"ingest files {source} --dataset games --lake {lake}",
        f"amend --dataset games 3 --remove 'player 1' --why cheated --lake {lake}",
        f"rate --dataset games --run run --lake {lake}",
    ):
        result = CliRunner().invoke(cli, shlex.split(command))
        assert result.exit_code == 0, result.output
    return lake


@pytest.fixture
def lake(tmp_path: Path, rated_once: Path) -> Path:
    """A lake with a data set from two ingests and a correction, and a run over it."""
    return shutil.copytree(rated_once, tmp_path / "lake")


def ratings(lake: Path) -> object:
    return rated(Lake.open(lake))


def kinds(lake: Path) -> list[str]:
    """One file of each kind in a lake; of several files, one in the middle."""
    by_kind: dict[str, list[str]] = {}
    for path in sorted(files(lake)):
        folder, _, name = path.rpartition("/")
        folder = re.sub("snapshots/[0-9]+", "snapshots/N", folder)
        by_kind.setdefault(folder + (name if "part" in name else Path(name).suffix), []).append(path)
    return [paths[len(paths) // 2] for paths in by_kind.values()]


def replace_rows(run: Run, segment: Segment, table: pa.Table) -> None:
    """Replace a segment's rows as another release could have written them: data and manifest match."""
    written = run.lake.write_table(run.path_of(segment), table, "rounds")
    changed = msgspec.structs.replace(segment, file_size=written.size, file_digest=written.digest)
    manifest = f"{run.path_of(segment).removesuffix('parquet')}json"
    run.lake.write_bytes(manifest, changed.to_json())


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def follow_remedy(invoke: Command, lake: Path, source: Path, problem: str) -> None:
    """Follow the remedy after the last semicolon."""
    remedy = problem.rpartition("; ")[2]
    for command in re.findall("`ranklake (.*?)`", remedy):
        result = invoke(*shlex.split(command), "--lake", lake, *(["--yes"] if command.startswith("delete") else []))
        assert result.code == 0, result.err
    ingest_again = ["ingest", "files", source, "--dataset", "games", "--lake", lake]
    if "--rewrite" in remedy:
        assert invoke(*ingest_again, "--rewrite").code == 0
    if "ingest again" in remedy:
        assert invoke(*ingest_again).code == 0
        amend = ["amend", "--dataset", "games", "3", "--remove", "player 1", "--why", "cheated", "--lake", lake]
        assert invoke(*amend).code == 0
    if "again" in remedy:
        assert invoke("rate", "--dataset", "games", "--run", "run", "--lake", lake).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("harm", [flipped, cut, emptied, Path.unlink], ids=["flipped", "cut", "emptied", "gone"])
def test_verify__names_any_damaged_file_and_its_remedy_works(
    lake: Path, source: Path, tmp_path: Path, invoke: Command, harm
) -> None:
    assert invoke("verify", "--lake", lake).code == 0
    before = ratings(lake)
    found = kinds(lake)
    assert {Path(path).suffix for path in found} == {".json", ".parquet", ".arrow"}
    assert len(found) == 9
    for path in found:
        damaged = tmp_path / "damaged"
        shutil.copytree(lake, damaged)
        harm(damaged / path)
        result = invoke("verify", "--lake", damaged)
        problems = result.out.splitlines()
        place = re.sub("(snapshots/[0-9]+)/.*", r"\1", path)
        if path.endswith("run.json") and harm is Path.unlink:  # then there is no run
            assert result.code == 0
            assert "`ranklake delete --run run` removes them" in result.err
            problems = [result.err.splitlines()[0] + " and rate again with the options of before"]
        elif path.endswith("contests.parquet") and harm is Path.unlink:  # nor a data set; the run over it is reported
            assert result.code == 1
            assert any("no data set 'games'" in problem for problem in problems)
            assert "`ranklake delete --dataset games` removes them" in result.err
            problems = ["; restore it, or `ranklake delete --dataset games --with-runs` and ingest again"]
        elif path.endswith("contests.parquet") and harm is flipped:  # in another test, as some bits have no effect
            problems = []
        elif path.endswith("manifest.json") and harm is Path.unlink:  # a snapshot that was never finished
            assert result.code == 0
            problems = []
        else:
            assert result.code == 1, path
            assert any(problem.startswith(place) for problem in problems), (path, problems)
            assert " problem" in result.err
        for problem in problems[:1]:
            follow_remedy(invoke, damaged, source, problem)
        result = invoke("verify", "--lake", damaged)
        assert (result.code, result.out.startswith("no problems")) == (0, True), (path, problems, result)
        assert same_tables(ratings(damaged), before)
        shutil.rmtree(damaged)


@pytest.mark.slow
def test_verify__a_flipped_bit_of_the_table_of_contests_is_found_or_harmless(lake: Path, invoke: Command) -> None:
    path = lake / "games" / "contests" / "contests.parquet"
    whole, before = path.read_bytes(), Dataset.open(Lake.open(lake), "games").contests
    named = 0
    for at in range(0, len(whole), len(whole) // 150):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        result = invoke("verify", "--dataset", "games", "--lake", lake)
        named += result.code
        if result.code:
            assert result.out.startswith("games/")
            assert "Traceback" not in result.err
        else:
            assert Dataset.open(Lake.open(lake), "games").contests.equals(before)
    assert named > 50


@pytest.mark.slow
def test_verify__names_a_file_that_was_replaced_by_another_valid_one(lake: Path, invoke: Command) -> None:
    for folder in ("games/standings", "runs/run/rounds"):
        one, other = sorted(path for path in (lake / folder).iterdir() if path.suffix == ".parquet")[:2]
        kept = one.read_bytes()
        shutil.copy(other, one)
        result = invoke("verify", "--lake", lake)
        assert result.code == 1
        assert f"{folder}/{one.name}: " in result.out
        one.write_bytes(kept)
    assert invoke("verify", "--lake", lake).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("harm", [emptied, Path.unlink], ids=["emptied", "gone"])
def test_verify__says_that_no_source_has_the_corrections_of_a_lost_table_of_contests(
    lake: Path, invoke: Command, harm
) -> None:
    invoke("remove", "3", "--dataset", "games", "--lake", lake)
    harm(lake / "games" / "contests" / "contests.parquet")
    result = invoke("verify", "--lake", lake)
    assert "corrections" in (output := result.out + result.err)
    assert "no source can send again" in output
    assert "restore" in output


def test_verify__of_a_run_or_a_data_set_reads_nothing_else(lake: Path, invoke: Command) -> None:
    flipped(next((lake / "games" / "standings").iterdir()))
    run, rows = invoke("verify", "--run", "run", "--lake", lake), Dataset.open(Lake.open(lake), "games").contests
    assert (run.code, "data set" in run.out) == (0, False)
    dataset = invoke("verify", "--dataset", "games", "--lake", lake)
    participations = f"{sum(rows.column('n_players').to_pylist())} participations"
    assert (dataset.code, f"1 data set with 60 contests and {participations}" in dataset.err) == (1, True)
    assert "not both" in invoke.refuses("verify", "--run", "run", "--dataset", "games", "--lake", lake, code=2)
    for what in ("run", "dataset"):
        refused = invoke.refuses("verify", f"--{what}", "other", "--lake", lake)
        assert re.match("no (run|data set) 'other' in .*; there are: ", refused)


def test_verify__names_rows_of_other_players_than_those_of_the_data_set(lake: Path, invoke: Command) -> None:
    opened = Lake.open(lake)
    run = Run.open(opened, "run")
    segment = run.segments().segments[1]
    table = run.read_segment(segment)
    player = table.column("player").to_numpy().copy()
    player[:2] = player[1::-1]
    table = table.set_column(table.column_names.index("player"), table.schema.field("player"), [player])
    replace_rows(run, segment, table)
    result = invoke("verify", "--lake", lake)
    assert result.code == 1
    assert f"{run.path_of(segment)}: player differs from data set games; `ranklake rate --run run --from" in result.out


@pytest.mark.slow
def test_replay__of_any_range_gives_the_recorded_ratings(lake: Path, invoke: Command) -> None:
    for stretch in ("0:0", "17:31", "50:", ":9", ":"):
        result = invoke("verify", "--run", "run", "--replay", stretch, "--lake", lake)
        assert result.code == 0
        assert "computed again, have the same bits" in result.out
    for wrong, message in (("0:60", "has rounds 0 to 59"), ("9:8", "has rounds"), ("x", "takes rounds A:B")):
        assert message in invoke.refuses("verify", "--run", "run", "--replay", wrong, "--lake", lake, code=2)
    assert "--replay needs --run" in invoke.refuses("verify", "--replay", "0:1", "--lake", lake, code=2)
    checked = invoke("rate", "--run", "run", "--check", "--lake", lake)
    assert checked.code == 0
    assert re.search("run run: rounds [0-9]+ to 59, computed again, have the same bits", checked.out)
    assert "--check needs --run" in invoke.refuses("rate", "--dataset", "games", "--check", "--lake", lake, code=2)


@pytest.mark.slow
def test_replay__of_other_ratings_names_the_segment_and_the_remedy_works(lake: Path, invoke: Command) -> None:
    before = ratings(lake)
    opened = Lake.open(lake)
    run = Run.open(opened, "run")
    last = run.segments().segments[2]
    table = run.read_segment(last)
    mu = table.column("mu").to_numpy() + 1e-9
    table = table.set_column(table.column_names.index("mu"), table.schema.field("mu"), [mu])
    replace_rows(run, last, table)
    assert invoke("verify", "--lake", lake).code == 0
    with Serial() as engine:
        problems = list(replay(opened, "run", 0, 59, engine, notes := []))
    assert (len(problems), notes) == (1, [])
    assert problems[0].startswith(f"{run.path_of(last)}: rounds {last.first_round}-{last.stop_round - 1}")
    assert "have another mu, by up to 1e-09; another release or kind of machine wrote them; `ranklake" in problems[0]
    follow_remedy(invoke, lake, lake, problems[0])
    assert same_tables(ratings(lake), before)


def test_compact__makes_few_files_with_the_same_data(lake: Path, invoke: Command) -> None:
    before, board = ratings(lake), invoke("leaderboard", "--run", "run", "--all", "--format", "csv", "--lake", lake)
    result = invoke("compact", "--lake", lake)
    assert result.code == 0
    assert "run run: segments: 20 before, now 1\n" in result.out
    assert invoke("verify", "--lake", lake).code == 0
    assert same_tables(ratings(lake), before)
    assert invoke("leaderboard", "--run", "run", "--all", "--format", "csv", "--lake", lake) == board
    assert invoke("compact", "--lake", lake).code == 0  # this deletes the replaced files
    assert len(list((lake / "runs" / "run" / "rounds").iterdir())) == 2
    assert len(list((lake / "games" / "standings").iterdir())) <= 2
    held = stamps(lake)
    assert invoke("compact", "--lake", lake).code == 0
    assert stamps(lake) == held
    ingest(Lake.open(lake), [contest("30", "player 3", "player 2", "player 1", time_seconds=1)])
    result = invoke("rate", "--run", "run", "--lake", lake)
    assert "kept 30 rounds" in result.out or "kept 0 rounds" in result.out
    assert invoke("verify", "--run", "run", "--replay", ":", "--lake", lake).code == 0


def test_compact__keeps_the_files_of_an_open_data_set(lake: Path, invoke: Command) -> None:
    dataset = Dataset.open(Lake.open(lake), "games")
    assert invoke("compact", "--dataset", "games", "--lake", lake).code == 0
    assert sum(len(part.player) for part in dataset.standings()) == sum(map(len, CONTESTS)) - 1


def test_compact__removes_a_damaged_snapshot_and_reports_it(lake: Path, invoke: Command) -> None:
    last = max((lake / "runs" / "run" / "snapshots").iterdir())
    flipped(last / "part-0000.arrow")
    result = invoke("compact", "--run", "run", "--lake", lake)
    assert result.code == 0
    assert f"runs/run/snapshots/{last.name}: damaged or of other rounds, removed" in result.err
    assert not last.exists()


def test_commands__do_not_wait_for_an_ended_holder_and_name_a_running_one(
    lake: Path, invoke: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ranklake.flows.maintenance.compact.WAIT_SECONDS", 0.0)
    opened = Lake.open(lake)
    lost = pytest.raises(LeaseHeldError, match="took over")
    with lost, hold_lease(opened, run_folder("run"), "rate run"):
        for command in (["compact", "--run", "run"], ["delete", "--run", "run", "--yes"]):
            result = invoke(*command, "--lake", lake)
            assert result.code == 1
            assert "rate run" in result.err
            assert "--steal" in result.err
        result = invoke("runs", "--lake", lake, "--format", "json")
        assert "rate run" in json.loads(result.out)["runs"][0]["writer"]
        result = invoke("verify", "--lake", lake)
        assert result.code == 0
        assert re.search("note: runs/run: .* holds the lease; files that change meanwhile may look damaged", result.err)
        assert invoke("delete", "--run", "run", "--yes", "--steal", "--lake", lake).code == 0
    with hold_lease(opened, dataset_folder("games"), "ingest into games"):
        assert invoke("compact", "--dataset", "games", "--lake", lake).code == 1


def test_delete__asks_for_confirmation_and_accepts_a_no(
    lake: Path, invoke: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = stamps(lake)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert "--with-runs` deletes them, too" in invoke.refuses("delete", "--dataset", "games", "--lake", lake)
    result = invoke("delete", "--run", "run", "--lake", lake)  # without a terminal
    assert result.code == 1
    assert "run run: 60 rounds" in result.err
    assert "\nError: cannot ask for confirmation without a terminal; nothing was deleted" in result.err
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    assert invoke("delete", "--run", "run", "--lake", lake).code == 1
    assert "give --run or --dataset" in invoke.refuses("delete", "--lake", lake, code=2)
    assert "needs --dataset" in invoke.refuses("delete", "--run", "run", "--with-runs", "--lake", lake, code=2)
    assert "no run 'other'" in invoke.refuses("delete", "--run", "other", "--yes", "--lake", lake)
    assert stamps(lake) == held


@pytest.mark.slow
def test_delete__of_a_data_set_with_its_runs_leaves_nothing(lake: Path, invoke: Command) -> None:
    assert invoke("publish", "--run", "run", "--lake", lake).code == 0
    result = invoke("delete", "--dataset", "games", "--with-runs", "--yes", "--lake", lake)
    assert result.code == 0
    assert "published/run stays; `ranklake delete --run run --with-published` deletes it" in result.err
    result = invoke("delete", "--run", "run", "--with-published", "--yes", "--lake", lake)
    assert result.code == 0, result.err
    assert files(lake) == {}
    assert invoke("runs", "--lake", lake).code == 0


def test_delete__a_data_set_with_the_same_name_does_not_inherit_runs(lake: Path, source: Path, invoke: Command) -> None:
    (lake / "games" / "contests" / "contests.parquet").unlink()
    message = invoke.refuses("ingest", "files", source, "--dataset", "games", "--lake", lake)
    assert "there are runs over the data set: run" in message
    assert "`ranklake delete --dataset games --with-runs`" in message


def test_runs__shows_data_sets_runs_and_damage(lake: Path, invoke: Command) -> None:
    found = status(Lake.open(lake))
    (dataset,), (run,) = found.datasets, found.runs
    size = sum(len(data) for path, data in files(lake).items() if path.startswith("runs/"))
    assert (dataset.contests, dataset.state, run.state, run.rounds) == (60, "sound", "complete", 60)
    assert run.size_bytes == size + sum(path.stat().st_size for path in lake.glob("runs/run/lease-*"))
    assert run.last_contest == "59"
    assert run.writer is None
    later = contest("later", "player 1", "player 2")
    ingest(Lake.open(lake), [later])
    assert status(Lake.open(lake)).runs[0].state == "behind by 1 round"
    segment = sorted((lake / "runs" / "run" / "rounds").glob("*.parquet"))[3]
    segment.unlink()
    result = invoke("runs", "--lake", lake)
    assert result.code == 0
    assert f"runs/run/rounds/{segment.name}: is missing" in result.out
    assert status(Lake.open(lake)).runs[0].state == f"damaged from round {int(segment.stem)} on"
    (lake / "runs" / "run" / "run.json").write_text("{")
    (lake / "games" / "contests" / "contests.parquet").write_bytes(b"PAR1")
    result = invoke("runs", "--lake", lake, "--format", "json")
    report = json.loads(result.out)
    assert [one["state"] for one in (*report["datasets"], *report["runs"])] == ["damaged", "damaged"]


@pytest.mark.slow
def test_runs__shows_whether_the_smoothing_is_of_the_rounds_of_the_run(lake: Path, invoke: Command) -> None:
    opened = Lake.open(lake)

    def state() -> str | None:
        [run] = json.loads(invoke("runs", "--lake", lake, "--format", "json").out)["runs"]
        return run["smoothing"]

    assert state() is None
    assert "current" not in invoke("runs", "--lake", lake).out
    smooth_run(opened, "run", Serial(), {"beta": "150"})
    assert state() == "current"
    assert "│ current" in invoke("runs", "--lake", lake).out
    ingest(opened, [contest("later", "player 1", "player 2")])
    assert state() == "current"
    rate_run(opened)
    assert state() == "stale"
    smooth_run(opened, "run", Serial())
    assert state() == "current"
    (lake / "runs/run/smoothing/smoothed.json").write_text("{")
    assert state() == "damaged"


@pytest.mark.parametrize("folder", ["standings", "players", "log"])
def test_runs__names_a_missing_file_of_a_data_set_and_the_runs_over_it(
    lake: Path, invoke: Command, folder: str
) -> None:
    files = sorted((lake / "games" / folder).iterdir())
    files[0].unlink()
    report = json.loads(invoke("runs", "--lake", lake, "--format", "json").out)
    (dataset,), (run,) = report["datasets"], report["runs"]
    assert (dataset["state"], run["state"]) == ("damaged", "data set games is damaged")
    assert dataset["contests"] == 60
    output = invoke("runs", "--lake", lake).out.splitlines()[-1]
    assert output == dataset["problem"]
    assert output.startswith(f"games/{folder}/{files[0].name}: is missing; restore it, or ")
    if len(files) > 1:
        files[1].unlink()
        assert "is missing, and 1 other file too" in invoke("runs", "--lake", lake).out
    assert invoke("verify", "--lake", lake).code == 1


def test_runs__of_an_empty_lake_are_none(tmp_path: Path, invoke: Command) -> None:
    Lake.open(tmp_path, create=True)
    assert json.loads(invoke("runs", "--lake", tmp_path, "--format", "json").out) == {"datasets": [], "runs": []}
    assert f"{tmp_path} has no data set and no run" in invoke("verify", "--lake", tmp_path).out
    assert invoke("compact", "--lake", tmp_path).out == f"{tmp_path} has no data set and no run; nothing to merge\n"
    for command in ("verify --run x", "verify --dataset x", "compact --run x", "smooth --run x"):
        assert "it has none yet; `ranklake" in invoke.refuses(*command.split(), "--lake", tmp_path)
    assert list(tmp_path.iterdir()) == []  # no lease either


@pytest.mark.slow
def test_verify__after_any_undisturbed_commands_has_no_notes(lake: Path, tmp_path: Path, invoke: Command) -> None:
    write_folder(tmp_path / "more", synthetic(66, n_players=30))
    again = ("rate --run run", "publish --run run")
    commands = (
        *again,
        f"ingest files {tmp_path / 'more'} --dataset games",
        *again,
        "compact --rows 100",
        "amend 3 --remove 'player 1' --undo --dataset games",
        *again,
        "compact",
        "publish --run run --maintain",
        "alias 'player 4' 'another name' --dataset games",
        "remove 7 --why twice --dataset games",
        *again,
        f"ingest files {tmp_path / 'more'} --dataset games --rewrite",
        *again,
        "delete --run run --with-published --yes",
    )
    for command in commands:
        result = invoke(*shlex.split(command), "--lake", lake)
        assert result.code == 0, result.err
        notes = invoke("verify", "--lake", lake).err.splitlines()
        assert [line for line in notes if "brings it up to date" not in line] == [], command
        if command.startswith(("publish", "delete")):
            assert notes == [], command
    left = lake / "games" / "standings" / "left.parquet"
    left.write_bytes(b"half")
    ingest(Lake.open(lake), [contest("later", "player 1", "player 2")])
    assert not left.exists()
    left.write_bytes(b"half")
    message = "note: games: an interrupted command left 1 file without a reference; the next commit removes them\n"
    assert invoke("verify", "--lake", lake).err == message
