"""Output of names with control characters, formulas or markup, on terminals, in spreadsheets and in pages."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from chaos.outputs import HOSTILE, LONG, HostileLake, Printed, check_output, command, make_lake, violation
from helpers.commands import Command
from helpers.lakes import start
from rich.console import Console

import ranklake.flows.maintenance.status
from ranklake.flows.cli.terminal.output import progress
from ranklake.flows.common.text import LONGEST_CELL, LONGEST_MESSAGE, visible
from ranklake.flows.experiments.base import Report, Table
from ranklake.flows.experiments.run import to_html

ESCAPE = "\x1b]0;owned\x07\u202e"
pty_only = pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals")
RUN = ("--run", "run")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> HostileLake:
    return make_lake(tmp_path_factory.mktemp("lake"), [*HOSTILE], [HOSTILE[0] + "=1", ESCAPE])


def rows(printed: Printed) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(printed.out, newline="")))


@pytest.mark.quick("0")
@pytest.mark.parametrize("seed", [0, 3])
def test_commands__print_random_hostile_names_without_harm(seed: int, tmp_path: Path) -> None:
    assert check_output(seed, tmp_path) is None


@pty_only
@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_machine_formats__are_escaped_on_a_terminal_and_exact_on_a_pipe(made: HostileLake, form: str) -> None:
    arguments = ("leaderboard", *RUN, "--all", "--format", form)
    if form == "jsonl":
        arguments = ("export", *RUN, "--what", "leaderboard", "--format", form)
    piped, shown = (command(*arguments, lake=made.lake, terminal=terminal) for terminal in (False, True))
    assert (piped.code, shown.code, shown.err) == (0, 0, "")
    assert violation(shown.out) is None
    assert violation(piped.out)  # the names are there as they are
    if form == "csv":
        assert [row["handle"] for row in rows(shown)] == [visible(row["handle"]) for row in rows(piped)]
        found = [row["handle"] for row in rows(piped)]
    elif form == "json":
        assert json.loads(shown.out) == json.loads(piped.out)
        found = [row["handle"] for row in json.loads(piped.out)]
    else:
        assert [json.loads(line) for line in shown.out.split("\n")[:-1]] == [
            json.loads(line) for line in piped.out.split("\n")[:-1]
        ]
        found = [json.loads(line)["handle"] for line in piped.out.split("\n")[:-1]]
    assert sorted(found) == sorted(made.handles)


@pytest.mark.parametrize(
    "arguments",
    [
        ("leaderboard", *RUN, "--all", "--format", "csv"),
        ("player", *RUN, "--format", "csv", "--", HOSTILE[0]),
        ("predict", *RUN, "--format", "csv", "--", *HOSTILE),
        ("predict", *RUN, "--pairs", "--format", "csv", "--", *HOSTILE[20:30]),
        ("log", "--dataset", "games", "--format", "csv"),
        ("export", *RUN, "--what", "ratings", "--format", "csv"),
        ("export", *RUN, "--what", "leaderboard", "--format", "csv"),
    ],
    ids=["leaderboard", "player", "predict", "pairs", "log", "ratings", "board"],
)
def test_safe__makes_no_text_a_formula_and_keeps_numbers(made: HostileLake, arguments: tuple[str, ...]) -> None:
    exact, safe = (
        rows(command(*arguments[:1], *option, *arguments[1:], lake=made.lake, terminal=False))
        for option in ((), ("--safe",))
    )
    assert len(exact) == len(safe) > 0
    for before, after in zip(exact, safe, strict=True):
        for key in before:
            number = re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", before[key])
            if number and key not in ("handle", "against"):
                assert after[key] == before[key]
            else:
                assert not after[key].startswith(tuple("=+-@\t\r\n＝＋－＠"))
                assert after[key].replace("'", "") == before[key].replace("'", "")


def test_safe__is_refused_if_it_has_no_effect(invoke: Command, made: HostileLake) -> None:
    lake = ("--lake", made.lake.url, *RUN, "--safe")
    for arguments in (("leaderboard",), ("player", "x", "--format", "json"), ("predict", "x", "y")):
        assert "--safe is for --format csv" in invoke.refuses(*arguments, *lake, code=2)
    assert "--safe is for --format csv" in invoke.refuses("preview", "x.csv", *lake, code=2)
    assert "--safe is for --format csv" in invoke.refuses("export", "--what", "ratings", "--format", "jsonl", *lake,
                                                            code=2)  # fmt: skip


@pytest.mark.slow
def test_tables__of_a_name_of_a_million_characters_are_small(tmp_path: Path) -> None:
    long = ("long name " * LONG)[:LONG]
    made = make_lake(tmp_path, [long, "ada"], [long + "!"])
    for arguments in (("leaderboard", *RUN), ("leaderboard", *RUN, "--wide"), ("player", "ada", *RUN), ("runs",),
                      ("predict", "ada", long, *RUN), ("log", "--dataset", "games")):  # fmt: skip
        printed = command(*arguments, lake=made.lake, terminal=False)
        assert (printed.code, printed.err) == (0, "")
        assert len(printed.out) < 20_000
    assert long[: LONGEST_CELL - 1] + "…" in command("leaderboard", *RUN, lake=made.lake, terminal=False).out
    printed = command("leaderboard", *RUN, "--format", "csv", lake=made.lake, terminal=False)
    assert long in printed.out  # complete in formats for programs
    printed = command("player", *RUN, "--", long + "?", lake=made.lake, terminal=False)
    assert printed.code == 1
    assert len(printed.err) < LONGEST_MESSAGE + 10
    assert "characters in all" in printed.err


def test_errors__quote_arguments_without_their_control_characters(made: HostileLake, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("contest,player,rank\n1,a,1\n", encoding="utf-8")
    for arguments in (
        (ESCAPE,),
        ("leaderboard", f"--{ESCAPE}"),
        ("leaderboard", "--run", ESCAPE),
        ("leaderboard", *RUN, "--format", ESCAPE),
        ("leaderboard", *RUN, "--titles", f"{ESCAPE}.csv"),
        ("player", ESCAPE + "?", *RUN),
        ("runs", "--lake", str(tmp_path / ESCAPE)),
        ("ingest", "files", str(tmp_path / f"{ESCAPE}.csv"), "--dataset", "d"),
        ("ingest", "files", str(tmp_path / "x.csv"), "--dataset", "d", "--column", f"rank={ESCAPE}"),
        ("rate", *RUN, "--set", f"{ESCAPE}=1"),
        ("export", *RUN, "--what", "ratings", "-o", str(tmp_path / ESCAPE / "x.csv")),
        ("plot", "player", "x", *RUN, "-o", ESCAPE),
        ("tune", "--dataset", "games", "--space", ESCAPE),
        ("predict", *RUN, "--field", str(tmp_path / ESCAPE), "x"),
    ):
        printed = command(*arguments, lake=made.lake, terminal=False)
        assert printed.code in (1, 2), arguments
        assert violation(printed.err) is None
        assert "Traceback" not in printed.err
        assert "Error: " in printed.err
        assert "\\x1b" in printed.err or "x1b" in printed.err


def test_errors__of_the_program_have_a_traceback_without_control_characters(
    made: HostileLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(lake: object) -> None:
        raise RuntimeError(f"a fault {ESCAPE}")

    monkeypatch.setattr(ranklake.flows.maintenance.status, "status", fail)
    printed = command("runs", lake=made.lake, terminal=False)
    assert printed.code == 1
    assert "Traceback" in printed.err
    assert "RuntimeError: a fault \\x1b]0;owned" in printed.err
    assert violation(printed.err) is None


def test_logs__without_a_handler_are_escaped(made: HostileLake) -> None:
    assert command("runs", lake=made.lake, terminal=False).code == 0
    assert logging.lastResort is not None
    try:
        raise ValueError(f"{ESCAPE}\nError: x")
    except ValueError as error:
        record = logging.LogRecord("ranklake.rate", logging.ERROR, "", 0, "run %s failed: %s", (ESCAPE, error), None)
        shown = logging.lastResort.format(record)
        assert shown.count("\\x1b") == 2
        assert "\n" not in shown
        record.exc_info = (ValueError, error, error.__traceback__)
        shown += logging.lastResort.format(record)
    assert violation(shown) is None


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", ESCAPE, "[link=http://evil.example]y"])
def test_progress__shows_names_as_they_are_on_a_terminal(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        "rich.console.Console",
        lambda **_: Console(file=shown, force_terminal=True, width=200, color_system=None, legacy_windows=False),
    )
    with progress(name) as tell:
        tell(1, 2, f"contest {name}")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", shown.getvalue())
    assert violation(text) is None
    assert f"contest {visible(name)}" in text


def test_tables__do_not_interpret_names_as_markup(made: HostileLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system and the data set of a run are read from a file of the lake."""
    found = ranklake.flows.maintenance.status.status(made.lake)
    run = found.runs[0]
    odd = ranklake.flows.maintenance.status.RunStatus(
        run.run, "[/nothing]", f"[red]{ESCAPE}", *(getattr(run, name) for name in list(run.__dataclass_fields__)[3:])
    )
    monkeypatch.setattr(
        ranklake.flows.maintenance.status,
        "status",
        lambda lake: ranklake.flows.maintenance.status.LakeStatus(found.datasets, [odd]),
    )
    printed = command("runs", lake=made.lake, terminal=False)
    assert (printed.code, printed.err) == (0, "")
    assert "[/nothing]" in printed.out
    assert "[red]\\x1b]0;owned\\x07\\u202e" in printed.out


def test_report__escapes_names_for_a_page() -> None:
    name = f"<script>alert(1)</script>{ESCAPE}"
    experiment = SimpleNamespace(name="x", title=name, source=name)
    table = Table("t", name, {name: [name, name]})
    page = to_html(experiment, Report([name, table]), name)  # type: ignore[arg-type]
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\x1b]0;owned\\x07\\u202e" in page
    assert violation(page) is None


@pty_only
@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("leaderboard", *RUN), ("leaderboard", *RUN, "--format", "json"), ("player", *RUN, "--", ESCAPE)]
)
def test_command__writes_no_escape_sequences_except_colours_to_a_pseudo_terminal(
    made: HostileLake, arguments: tuple[str, ...]
) -> None:
    """The command in a process whose outputs are a terminal; colours are the only escape sequences that it writes."""
    reading, writing = os.openpty()
    env = os.environ | {"TERM": "xterm", "COLUMNS": "100", "RANKLAKE_LAKE": made.lake.url}
    shown = b""
    try:
        with start(*arguments, stdout=writing, stderr=writing, env=env):
            os.close(writing)
            with suppress(OSError):  # the error of Linux after the end of the writer
                while part := os.read(reading, 1 << 16):
                    shown += part
    finally:
        os.close(reading)
    text = re.sub(r"\x1b\[([0-9;]*m|2K|1A|\?25[lh])|\r", "", shown.decode("utf-8"))  # of rich
    assert "\\x1b" in text or "\\u001b" in text
    assert violation(text) is None
