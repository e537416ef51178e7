"""Damaged tables, concurrent writers, and the command with and without its package: words, and the remedy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from helpers.lakes import files, ingest, rate_run
from helpers.publishing import CONTESTS, go_on, publishing
from helpers.tables import TABLES, assert_published, delta, folder, versions
from helpers.timeouts import TIMEOUT

import ranklake.flows.publication.delta_table
from ranklake.flows.cli.main import cli
from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.publication.delta_table import PublishedTable
from ranklake.flows.publication.publish import publish
from ranklake.storage import DamagedError, Lake, LakeError
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.lake.remedies import install_extra
from ranklake.storage.lake.schemas import PUBLISHED
from ranklake.storage.leases.acquire import hold_lease


def damage(lake: Lake, name: str, how: str) -> None:
    log = folder(lake, name) / "_delta_log" / f"{0:020}.json"
    data = Path(delta(lake, name).file_uris()[0])
    if how == "torn log":
        log.write_bytes(log.read_bytes()[:100])
    elif how == "empty log":
        log.write_bytes(b"")
    elif how == "no data":
        data.unlink()
    elif how == "torn data":
        data.write_bytes(data.read_bytes()[:50])
    else:
        data.write_bytes(b"x" * data.stat().st_size)


@pytest.mark.quick("players-torn log")
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("players", "torn log"),
        ("contests", "empty log"),
        ("ratings", "no data"),
        ("ratings", "torn log"),
        ("leaderboard", "torn data"),
    ],
)
def test_publish__a_damaged_table_is_reported_with_the_remedy(published: Lake, name: str, how: str) -> None:
    damage(published, name, how)
    before = files(folder(published))
    with pytest.raises(LakeError) as caught:
        publish(published, "run")
    message = str(caught.value)
    assert message.startswith(f"published/run/{name}: damaged table, ")
    assert message.endswith("; `ranklake publish --run run --afresh` makes it again")
    assert "\n" not in message
    assert files(folder(published)) == before
    publish(published, "run", rebuild=True)
    assert_published(published)


def test_publish__a_leaderboard_with_other_bytes_is_reported(published: Lake) -> None:
    damage(published, "leaderboard", "other data")
    with pytest.raises(DamagedError, match=r"published/run/leaderboard: damaged table, .*--afresh`"):
        go_on(published, CONTESTS[:31])


@pytest.mark.quick("torn", "unknown")
@pytest.mark.parametrize("how", ["removed", "torn", "of another version", "unknown"])
def test_publish__an_outdated_plain_leaderboard_is_written_again(published: Lake, how: str) -> None:
    latest, root = folder(published, "latest.parquet"), folder(published, "index.json")
    before = latest.read_bytes()
    if how == "removed":
        latest.unlink()
    elif how == "torn":
        latest.write_bytes(latest.read_bytes()[:-7])
    elif how == "of another version":
        facts = json.loads(root.read_bytes())
        root.write_text(json.dumps(facts | {"tables": facts["tables"] | {"leaderboard": 0}}))
    else:
        root.write_bytes(b"{")
    assert publish(published, "run").tables == ("latest.parquet",)
    assert latest.read_bytes() == before
    assert_published(published)
    assert publish(published, "run").tables == ()


def test_publish__a_run_without_rounds_is_refused(lake: Lake) -> None:
    rate_run(lake, run="empty", max_rounds=0)
    with pytest.raises(LakeError, match=r"run empty has no rated rounds yet; `ranklake rate --run empty` makes them"):
        publish(lake, "empty")
    with pytest.raises(LakeError, match="no run 'nobody'"):
        publish(lake, "nobody")
    assert not Path(lake.uri("runs/nobody")).exists()


# Writers


def test_publish__does_not_wait_for_a_rating(lake: Lake) -> None:
    with hold_lease(lake, "runs/run", "rate run"), pytest.raises(LeaseHeldError, match="rate run"):
        publish(lake, "run")
    assert not folder(lake).exists()
    publish(lake, "run")
    with pytest.raises(LeaseHeldError, match="took over"), hold_lease(lake, "runs/run", "rate run"):
        publish(lake, "run", steal=True)


@pytest.mark.slow
def test_publish__stops_after_the_loss_of_its_lease(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = ranklake.flows.publication.delta_table.write_deltalake

    def write_deltalake(table: Any, rows: Any, **how: Any) -> None:
        monkeypatch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", commit)
        commit(table, rows, **how)
        publish(lake, "run", steal=True)

    monkeypatch.setattr(ranklake.flows.publication.delta_table, "write_deltalake", write_deltalake)
    with pytest.raises(LeaseHeldError, match="took over"):
        publish(lake, "run")
    assert versions(lake) == dict.fromkeys(TABLES, 1)
    assert_published(lake)


def test_publish__one_of_two_concurrent_appends_fails(published: Lake) -> None:
    one, other = (PublishedTable(published, "published/run/players", PUBLISHED["players"]) for _ in range(2))
    rows = pa.table({"player": pa.array([99], pa.int32()), "handle": ["late"]}, schema=PUBLISHED["players"])
    one.append(rows.to_batches(), {"rows": 0})
    with pytest.raises(LakeError, match=r"published/run/players: cannot write: .*transaction"):
        other.append(rows.to_batches(), {"rows": 0})


# The command


def test_publish__without_the_package_names_it(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtraError) as caught:
        publish(lake, "run")
    assert str(caught.value) == f"publishing needs the package deltalake: {install_extra('publish')}"


@pytest.mark.slow
def test_publish_command__without_the_package_ends_with_one_line(lake: Lake) -> None:
    with publishing(lake, before="sys.modules['deltalake'] = None") as process:
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out) == (1, b"")
    assert err.decode() == f"Error: publishing needs the package deltalake: {install_extra('publish')}\n"


@pytest.mark.slow
def test_publish_command__reports_in_one_line(lake: Lake) -> None:
    def said(*more: str) -> str:
        done = CliRunner().invoke(cli, ["publish", "--run", "run", "--lake", lake.url, *more], catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    assert said().startswith("run run: published 30 rounds, ")
    assert said() == "run run: published already: 30 rounds\n"
    ingest(lake, CONTESTS[:31])
    rate_run(lake)
    line = said("--maintain")
    assert line.startswith("run run: published 31 rounds, 30 of them published before and unchanged, ")
    assert line.count("\n") == 1
    assert "; new versions of contests, ratings, leaderboard, latest.parquet; " in line
    assert " small files merged" in line
    said("--deviations", "0")
    assert_published(lake, deviations=0.0)


def test_publish_command__needs_a_valid_name_of_a_run(lake: Lake) -> None:
    done = CliRunner().invoke(cli, ["publish", "--run", "../x", "--lake", lake.url], standalone_mode=True)
    assert done.exit_code == 2


@pytest.mark.slow
def test_import__delta_is_imported_only_for_publishing() -> None:
    code = "import sys, ranklake.flows.cli.main, ranklake.flows.publication.publish; print('deltalake' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
