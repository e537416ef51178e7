"""The code in the documents for each tool has the correct results for a published lake, offline and to the bit."""

from __future__ import annotations

import re
import shlex
import socket
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from helpers.answers import leaderboard, player_history
from helpers.documents import TEXT, blocks
from helpers.lakes import contest, ingest, lake_of, rate_run, synthetic

from ranklake.flows.cli.main import cli
from ranklake.storage import Contest, Dataset, Lake, Run

RUN, PLAYER, YEAR = "codeforces-elo-mmr", "tourist", 2020  # the names in the README
THREE_WEEKS = 21 * 86_400
YEARS = {2019: 1_546_300_800, 2020: 1_577_836_800, 2021: 1_609_459_200, 2022: 1_640_995_200}
TOOLS = {
    "duckdb": ("top", "distribution"),
    "polars": ("history", "climbers"),
    "pandas": ("top", "climbers"),
    "pyarrow": ("first", "history"),
    "dask": ("history", "distribution"),
    "json": (),  # the tables of one publish
}
COLUMNS = {
    "top": ("place", "handle", "rating"),
    "first": ("place", "handle", "rating"),
    "history": ("contest_id", "perf", "rating"),
    "distribution": ("year", "step", "n"),
    "climbers": ("handle", "climb"),
}


class Published(NamedTuple):
    """A lake in the folder of the README, published twice, and the leaderboard of the first publish."""

    lake: Lake
    first: pa.Table


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    contests = three_years()
    lake = lake_of(tmp_path_factory.mktemp("consumers") / "lake", contests[:40], "codeforces")
    rate_run(lake, dataset="codeforces", run=RUN)
    publish(lake)
    first = leaderboard(lake, RUN)
    ingest(lake, contests, "codeforces")
    rate_run(lake, dataset="codeforces", run=RUN)
    publish(lake)
    assert not leaderboard(lake, RUN).slice(0, 20).equals(first.slice(0, 20))
    return Published(lake, first)


def publish(lake: Lake) -> None:
    """Publish with the command of the documents."""
    (command,) = set(re.findall(rf"^ranklake (publish --run {RUN} --lake \S+)$", TEXT, re.MULTILINE))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(lake.url).parent)
        done = CliRunner().invoke(cli, shlex.split(command), catch_exceptions=False)
    assert done.exit_code == 0


def three_years() -> list[Contest]:
    """Contests from 2019 on, with a player of the README."""
    found = []
    for i, one in enumerate(synthetic(50, n_players=60, size=25)):
        handles = [PLAYER if name == "player 3" else name for name in one.handles.to_pylist()]
        ends = dict(zip(one.lo.tolist(), one.hi.tolist(), strict=True))
        groups = [handles[lo : hi + 1] for lo, hi in sorted(ends.items())]
        renamed = contest(one.contest_id, *groups, weight=one.weight, perf_ceiling=one.perf_ceiling)
        found.append(replace(renamed, time_seconds=YEARS[2019] + i * THREE_WEEKS))
    return found


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: Any) -> None:
        raise OSError(f"this must work without a network, but connects to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    duckdb.sql("set autoinstall_known_extensions = false; set autoload_known_extensions = false")


def snippets() -> dict[str, str]:
    """The code of the documents by its first import."""
    return {re.split(r"[ .\n]", block)[1]: block for block in blocks("python") if f"lake/published/{RUN}" in block}


def rows_of(tool: str, answer: Any) -> list[dict[str, Any]]:
    """The result of any tool as rows."""
    if tool == "duckdb":
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
    if tool == "polars":
        return list(answer.to_dicts())
    if tool == "pyarrow":
        return list(answer.to_pylist())
    frame = answer.reset_index(name="n" if tool == "dask" else "climb") if answer.ndim == 1 else answer
    return list(frame.to_dict("records"))


def expected(question: str, published: Published) -> list[tuple[Any, ...]]:
    """The expected rows, from commands that need no publish."""
    lake, first = published
    if question in ("top", "first"):
        board = (first if question == "first" else leaderboard(lake, RUN)).slice(0, 20)
        return list(zip(*(board.column(name).to_pylist() for name in COLUMNS[question]), strict=True))
    if question == "history":
        rows = player_history(lake, RUN, PLAYER).rows
        return list(zip(*(rows.column(name).to_pylist() for name in COLUMNS[question]), strict=True))
    if question == "distribution":
        steps = Counter((year, rating // 200 * 200) for _, year, rating in rated(lake))
        return sorted((*key, n) for key, n in steps.items())
    shown: dict[str, list[float]] = {}
    for handle, year, rating in rated(lake):
        if year == YEAR:
            shown.setdefault(handle, []).append(rating)
    return sorted(((handle, ratings[-1] - ratings[0]) for handle, ratings in shown.items()), key=lambda row: -row[1])[
        :20
    ]


def rated(lake: Lake) -> list[tuple[str, int, float]]:
    """Handle, year and rating of every participation, in order for each player."""
    handles = Dataset.open(lake, "codeforces").handles().to_pylist()
    found = []
    for player in set(Run.open(lake, RUN).read_rounds().column("player").to_pylist()):
        for row in player_history(lake, RUN, handles[player]).rows.to_pylist():
            year = max(year for year, start in YEARS.items() if start <= row["time_seconds"])
            found.append((handles[player], year, row["rating"]))
    return found


@pytest.mark.quick("duckdb", "json")
@pytest.mark.usefixtures("_offline")
@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")  # a warning of Dask
@pytest.mark.parametrize("tool", TOOLS)
def test_readme__code_answers_its_questions(tool: str, published: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(published.lake.url).parent)
    names: dict[str, Any] = {}
    with redirect_stdout(StringIO()) as printed:
        exec(compile(snippets()[tool], f"docs, {tool}", "exec"), names)
    assert printed.getvalue().strip()
    for question in TOOLS[tool]:
        found = [tuple(row[name] for name in COLUMNS[question]) for row in rows_of(tool, names[question])]
        known = expected(question, published)
        assert len(known) > 5
        assert found == known


def test_readme__shows_each_tool() -> None:
    assert snippets().keys() == TOOLS.keys()
