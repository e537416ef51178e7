"""The examples of CONTRIBUTING.md work as modules of their paths."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from deploy.commands import check_shell, shell_lines
from helpers.answers import leaderboard
from helpers.documents import ROOT, blocks_of

from ranklake import SYSTEMS, Lake, rate_history
from ranklake.flows.cli import main
from ranklake.flows.cli.main import LazyGroup
from ranklake.flows.sources.sites.documents import Document, Key, Response
from ranklake.flows.sources.sites.site import SITES, find_site
from ranklake.storage import Contest

PAGE = ROOT / "CONTRIBUTING.md"
EXAMPLES = dict(
    re.findall(r"\A# (\S+)\.py\n(.*)\Z", block, re.DOTALL)[0] for block in blocks_of(PAGE.read_text("utf-8"), "python")
)
RESULTS = pd.DataFrame({"contest": [1, 1, 1, 2, 2], "player": list("abcba"), "rank": [1, 2, 2, 1, 2]})


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that makes the example of a path importable under its module's name."""

    def installed(path: str) -> ModuleType:
        name = "ranklake." + path.replace("/", ".")
        module = ModuleType(name)
        module.__package__ = name.rpartition(".")[0]
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(EXAMPLES[path], path, "exec"), module.__dict__)
        return module

    return installed


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with a data set ``club`` and its run ``club-elo``."""
    RESULTS.to_csv(tmp_path / "club.csv", index=False)
    for arguments in (
        ["ingest", "files", str(tmp_path / "club.csv"), "--dataset", "club"],
        ["rate", "--dataset", "club", "--system", "elo"],
    ):
        done = CliRunner().invoke(main.cli, [*arguments, "--lake", str(tmp_path / "lake")], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    return Lake.open(str(tmp_path / "lake"))


def test_contributing__a_rating_system_rates(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    system = install("rating_kernels/systems/place_share").SYSTEM
    monkeypatch.setitem(SYSTEMS, system.name, system)
    history = rate_history(RESULTS, system="place-share", k=40.0, engine="serial")
    assert history["mu"].tolist() == [1520.0, 1490.0, 1490.0, 1510.0, 1500.0]
    assert np.isnan(history["perf"]).all()
    crowd = pd.DataFrame({"contest": 1, "player": range(101), "rank": range(1, 102)})  # more than ``small``
    large = rate_history(crowd, system="place-share", k=40.0, engine="serial")
    assert large["mu"].tolist() == np.linspace(1520.0, 1480.0, 101).tolist()
    with pytest.raises(ValueError, match="k must be"):
        rate_history(RESULTS, system="place-share", k=-1.0)


def test_contributing__a_site_lists_and_parses(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install("flows/sources/sites/club")
    monkeypatch.setitem(SITES, "club", "Club")
    site = find_site("club")

    class Fetcher:
        def fetch_list(self, key: Key, path: str, read: Any) -> Any:
            body = json.dumps([{"id": "b", "end": 300}, {"id": "a", "end": 200}, {"id": "future", "end": 900}])
            return read(Document(key, Response(path, 200, body.encode(), 0)))

    requests = list(site.list_documents(Fetcher(), None, 500))  # type: ignore[arg-type]
    assert [request.path for request in requests] == ["results/a.json", "results/b.json"]
    body = b'[{"player": "ada", "rank": 2}, {"player": "grace", "rank": 1}]'
    document = Document(requests[0].key, Response("URL", 200, body, 0), requests[0].about)
    (contest,) = site.parse(document)
    assert isinstance(contest, Contest)
    assert contest.time_seconds == 200
    assert contest.handles.to_pylist() == ["grace", "ada"]
    assert list(site.follow_up(None)) == []  # type: ignore[arg-type]


def test_contributing__a_command_runs(install: Any, lake: Lake) -> None:
    install("flows/cli/commands/count")
    sections = {"Show": {"count": (".commands.count:count", "Count the contests of a data set.")}}
    group = LazyGroup(sections=sections, package="ranklake.flows.cli", renamed={})
    assert "Count the contests" in CliRunner().invoke(group, ["--help"]).output
    assert CliRunner().invoke(group, ["count", "club", "--lake", lake.url]).output == "2 contests\n"


def test_contributing__a_column_fits_the_leaderboard(install: Any, lake: Lake) -> None:
    module = install("flows/results/states")
    board = leaderboard(lake, "club-elo")
    extended = board.append_column(module.FIELD, module.veteran(board.column("n_rounds")))
    assert extended.schema.names == [*board.schema.names, "veteran"]
    assert extended.schema.field("veteran").type == pa.bool_()
    assert set(extended.column("veteran").to_pylist()) == {False}


def test_contributing__commands_and_links_exist() -> None:
    for line in shell_lines(PAGE):
        if line.startswith("ranklake "):
            check_shell(line)
    for path in re.findall(r"`((?:tests|flows|storage|rating_kernels|docs)/[\w/.]+)`", PAGE.read_text("utf-8")):
        assert (ROOT / path).exists(), path
