"""What commands show while they work: amounts and remaining time, on a terminal or as lines of a log."""

from __future__ import annotations

import os
import pty
import re
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import lake_of, rate_run, synthetic

from ranklake.flows.cli.terminal.output import print_line, progress, show_compilation
from ranklake.flows.common.progress import ProgressLog

CONTESTS = synthetic(30, seed=3, spice=False)
ROWS = sum(map(len, CONTESTS))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake with two rated runs."""
    lake = lake_of(tmp_path_factory.mktemp("shown") / "lake", CONTESTS)
    rate_run(lake, run="one", system="elo-mmr")
    for rounds in (10, None):  # two segments
        rate_run(lake, run="two", system="elo", max_rounds=rounds)
    return lake.url


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[int, int | None, str]]]:
    """All progress of the commands, by the name of the work."""
    found: dict[str, list[tuple[int, int | None, str]]] = defaultdict(list)

    def line(log: ProgressLog, done: int, total: int | None, message: str, units: str | None = None) -> None:
        found[log._what].append((done, total, message))

    monkeypatch.setattr(ProgressLog, "line", line)
    return found


@pytest.mark.quick("leaderboard*", "publish --run two*", "rate*", "compact*", "export*", "verify-*")
@pytest.mark.parametrize(
    ("command", "what", "total"),
    [
        ("verify", "verifying", None),
        ("verify --run one --replay :", "rating again", 30),
        ("diff one two", "comparing", 2 * ROWS),
        ("leaderboard --run one", "reading one", ROWS),
        ("leaderboard --run one --at 2100-01-01", "reading one", ROWS),
        ("export --run one --what ratings", "exporting", ROWS),
        ("export --run one --what leaderboard --output {}/board.csv", "exporting", ROWS),
        ("publish --run two", "publishing two", 3 * ROWS),
        ("publish --run one --to sqlite:///{}/file.db", "publishing one", 2 * ROWS),
        ("publish --run one --site {}/site", "site of one", None),
        ("compact --run two", "compacting", 1),
        ("plot distribution --run one --output {}/figure.svg", "reading one", ROWS),
        ("rate --run one --from 0", "rating", ROWS),
        ("evaluate --run one", "scoring", 30),
    ],
)
def test_command__shows_how_much_is_done(
    command: str, what: str, total: int | None, url: str, invoke: Command, shown: Any, tmp_path: Path
) -> None:
    invoke(*command.format(tmp_path).split(), "--lake", url)
    points = [point for point in shown[what] if point[1] is not None]
    assert points
    assert [done for done, *_ in points] == sorted(done for done, *_ in points)
    totals = {there for _, there, _ in points}
    assert max(totals) == points[-1][1]
    if total is not None:
        assert totals == {total}
    assert points[-1][0] >= points[-1][1] - 1  # of files, the last one is read


@pytest.mark.parametrize("kind", ["folder", "tar.xz", "csv"])
def test_ingest_files__shows_what_is_read_then_contests_of_all(
    kind: str, invoke: Command, shown: Any, tmp_path: Path
) -> None:
    import shutil

    from helpers.frames import frame_of

    path = write_folder(tmp_path / "games", CONTESTS)
    if kind == "tar.xz":
        path = Path(shutil.make_archive(str(path), "xztar", tmp_path, "games"))
    if kind == "csv":
        path = tmp_path / "games.csv"
        frame_of(CONTESTS).to_csv(path, index=False)
    invoke("ingest", "files", path, "--dataset", "games", "--lake", tmp_path / "lake")
    points = shown["ingesting"]
    read = [message for _, total, message in points if total is None]
    pattern = {"folder": "^$", "tar.xz": r"[\d.]+ k?B of [\d.]+ k?B read", "csv": f"{ROWS} rows read"}[kind]
    assert all(re.fullmatch(pattern, message) for message in read)
    assert bool(read) == (kind != "folder")
    contests = [(done, total) for done, total, _ in points if total is not None]
    assert contests == [(number, 30) for number in range(1, 31)]


def test_smooth__names_the_sweeps_and_when_they_end(invoke: Command, shown: Any, url: str) -> None:
    invoke("smooth", "--run", "one", "--lake", url)
    sweeps = [message for done, _, message in shown["smoothing"] if done > 1]
    rule = r"a round's mean moves by [\d.]+ points \(until 0.5\), two players apart by [\d.]+ \(until 1\)"
    assert sweeps
    assert all(re.fullmatch(rule, message) for message in sweeps)


def test_compilation__is_a_line_of_a_log_with_the_time_that_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("rating") as update:
        on_compile = show_compilation(update)
        for kernels in range(3):
            on_compile(["elo-mmr"], kernels, 55)
    assert capsys.readouterr().err == "compiling elo-mmr, about 30 s (once per machine)\n"


def read_all(terminal: int) -> str:
    """What was written to a pseudo-terminal that is closed."""
    pieces = []
    with suppress(OSError):  # the end, on Linux
        while piece := os.read(terminal, 1 << 16):
            pieces.append(piece)
    return b"".join(pieces).decode()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of POSIX")
def test_progress__of_a_terminal_is_a_bar_and_stdout_stays_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    master, slave = pty.openpty()
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    try:
        with os.fdopen(slave, "w") as terminal, monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", terminal)
            with progress("rating", "participations") as update:
                show_compilation(update)(["elo-mmr"], 12, 55)
                update(50, 200, "3 of 9 contests")
                print_line("run r: rated")
                update(7, None, "a sweep")
        text = read_all(master)
    finally:
        os.close(master)
    assert capsys.readouterr().out == "run r: rated\n"
    assert "7 participations, a sweep" in text
