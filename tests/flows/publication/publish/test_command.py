"""The command, and the package that it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner
from helpers.lakes import ingest, rate_run
from helpers.publishing import CONTESTS, publishing
from helpers.tables import assert_published
from helpers.timeouts import TIMEOUT

from ranklake.flows.cli.main import cli
from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake
from ranklake.storage.lake.remedies import install_extra


def test_publish__without_the_package_names_it(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtraError) as caught:
        publish(lake, "run")
    assert str(caught.value) == f"publishing needs the package deltalake: {install_extra('publish')}"


def test_publish_command__without_the_package_ends_with_one_line(lake: Lake) -> None:
    with publishing(lake, before="sys.modules['deltalake'] = None") as process:
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out) == (1, b"")
    assert err.decode() == f"Error: publishing needs the package deltalake: {install_extra('publish')}\n"


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


def test_import__delta_is_imported_only_for_publishing() -> None:
    code = "import sys, ranklake.flows.cli.main, ranklake.flows.publication.publish; print('deltalake' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
