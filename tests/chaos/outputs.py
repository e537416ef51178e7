"""Hostile names in the output of commands: escaped on a terminal, unchanged on a pipe."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.lakes import contest, lake_of, rate_run
from rich.cells import cell_len

from ranklake.flows.cli.main import main
from ranklake.storage import Contest, Dataset, Lake

HOSTILE = (
    "\x1b[31mred\x1b[0m", "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0gLXJm\x07", "\x1bP0;0|17/ab\x9c", "\x9b31mc1", "\x90\x9d\x85", "a\u202egnp.exe",
    "\u2066a\u2069\u061c\u200e", "nul\x00\x7f", "line\nError: all is well", "tab\there", "over\rwrite",
    "ab\x08\x08cd", "ze\u200bro\u200c\ufeff\u2060", "\u2028\u2029", "\U000e0041\U000e0042", "\u3164\u115f\u034f",
    "z" + "\u0301\u0489" * 40, "\u0301first", "👨‍👩‍👧‍👦", "🏳️‍🌈❤️🇩🇪", "选手选手选手", "\u3000wide\u3000", "=1+1",
    "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", ' "=1', "a;=1+1", "＝1", "=cmd|' /C calc'!A0", "$x^2$", "$\\frac{",
    "<script>alert(1)</script>", "[x](javascript:alert)", "![x](http://evil.example/p.png)", "[red]x[/red]", "[/]",
    "[link=http://evil.example]y[/link]", ":cat: {x} %s {0}", "a | b || c", "│┃ frame", '"quoted", comma', "'", "\\",
    "\\x1b", "--debug", " ", "\u00a0", "null",
)  # fmt: skip
LONG = 1_000_000  # characters of the longest name
COLUMNS = 80
MOST = 400_000  # maximum length of a table of few rows, characters
_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # categories that must not be sent to a terminal
_FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
Check = Callable[["Printed"], str | None]


@dataclass(frozen=True, slots=True)
class HostileLake:
    """A data set ``games`` and a run ``run`` over it whose names are hostile."""

    lake: Lake
    handles: list[str]
    contests: list[Contest]


@dataclass(frozen=True, slots=True)
class Printed:
    """The output and the exit code of a command."""

    code: int
    out: str
    err: str


def hostile_name(rng: random.Random) -> str:
    """A name of one to three hostile parts, sometimes repeated to any length."""
    name = "".join(rng.choice(HOSTILE) for _ in range(rng.choice((1, 1, 2, 3))))
    kind = rng.random()
    if kind < 0.03:
        return (name * (LONG // len(name) + 1))[:LONG]
    if kind < 0.2:
        return name * rng.randint(2, 400)
    return name if kind < 0.9 else chr(rng.choice((*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2067, 0xFEFF))) + name


def make_lake(folder: Path, handles: list[str], names: list[str]) -> HostileLake:
    """Two contests a name, which is also in an address and in a correction, rated by the fastest system."""
    contests = []
    for i, name in enumerate([*names, names[0]]):
        order = handles[i % len(handles) :] + handles[: i % len(handles)]
        one = contest(f"{name[:80]}{i}", *order, time_seconds=1_600_000_000 + i * 86_400)
        url = f"https://example.org/{name[:80]}"
        contests.append(Contest(one.contest_id, name, url, one.time_seconds, one.handles, one.lo, one.hi))
    lake = lake_of(folder, contests)
    with Dataset.ingest(lake, "games") as adding:
        adding.disqualify(contests[0].contest_id, handles[-1], f"why {names[-1]}")
    rate_run(lake, system="elo")
    return HostileLake(lake, handles, contests)


def command(*arguments: str, lake: Lake, terminal: bool) -> Printed:
    """Run ``ranklake`` in this process, with a pipe or a pseudo-terminal of 80 columns as each output."""
    with _output(terminal) as (out, out_text), _output(terminal) as (err, err_text):
        before = sys.argv, sys.stdout, sys.stderr, dict(os.environ)
        for name in ("FORCE_COLOR", "PYTHONIOENCODING", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            os.environ.pop(name, None)
        os.environ |= {"COLUMNS": str(COLUMNS), "TERM": "dumb", "NO_COLOR": "1", "RANKLAKE_LAKE": lake.url}
        sys.argv, sys.stdout, sys.stderr = ["ranklake", *arguments], out, err
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            sys.argv, sys.stdout, sys.stderr, environment = before
            os.environ.clear()
            os.environ.update(environment)
        return Printed(code, out_text(), err_text())


def violation(text: str) -> str | None:
    """The characters in a text that control a terminal or are invisible, as a message; None without any."""
    bad = {c for c in text if c != "\n" and unicodedata.category(c) in _SHOWN}
    return f"raw on a terminal: {sorted(map(ascii, bad))}" if bad else None


def check_output(seed: int, folder: Path) -> str | None:
    """Print random hostile names with random commands, on terminals and on pipes; the first violation or None."""
    rng = random.Random(seed)
    handles = list(dict.fromkeys(hostile_name(rng) for _ in range(rng.randint(3, 6))))
    handles = handles if len(handles) > 1 else [*handles, "another"]
    made = make_lake(folder / "lake", handles, [hostile_name(rng) for _ in range(rng.randint(1, 3))])
    commands = _commands(made, folder, rng)
    for arguments, check in rng.sample(commands, 6):
        for terminal in (False, True) if hasattr(os, "openpty") else (False,):
            printed = command(*arguments, lake=made.lake, terminal=terminal)
            try:
                found = _common(printed, arguments, terminal) or check(printed)
            except (ValueError, KeyError) as error:  # no JSON, no such column
                found = f"{error!r}, exit code {printed.code}, {printed.err[:500]!r}"
            if found:
                return f"{[ascii(word[:80]) for word in arguments]} on a {'terminal' if terminal else 'pipe'}: {found}"
    return None


def _commands(made: HostileLake, folder: Path, rng: random.Random) -> list[tuple[list[str], Check]]:
    """Every command with output, in every format, and the check of its output beside the common checks."""
    handle, other = rng.sample(made.handles, 2)
    one = rng.choice(made.contests)
    run, end = ["--run", "run"], ["--", handle]
    exported = folder / "export.csv"
    logged = [made.handles[-1], *(f"{name}?" for name in made.handles)]  # the alias may have come before

    def nothing(printed: Printed) -> str | None:
        return None

    def fails(printed: Printed) -> str | None:
        return None if printed.code in (1, 2) and printed.err else f"exit code {printed.code}, {printed.err[:200]!r}"

    def file(printed: Printed) -> str | None:
        return _csv(made.handles, "handle", exported.read_bytes().decode())

    tables: list[tuple[list[str], Check]] = [
        (["leaderboard", *run], _is_table),
        (["leaderboard", *run, "--wide"], _is_table),
        (["player", *run, *end], _is_table),
        (["predict", *run, *end, other], _is_table),
        (["predict", *run, "--pairs", *end, other], _is_table),
        (["predict", *run, "--of", other, *end], _is_table),
        (["log", "--dataset", "games"], _is_table),
        (["amend", "--dataset", "games", "--", made.contests[0].contest_id], _is_table),
        (["runs"], _is_table),
        (["evaluate", *run], _is_table),
    ]
    machine: list[tuple[list[str], Check]] = [
        (["leaderboard", *run, "--all", "--format", "json"], _is_json(made.handles, "handle")),
        (["leaderboard", *run, "--all", "--format", "csv"], _is_csv(made.handles, "handle")),
        (["leaderboard", *run, "--all", "--format", "csv", "--safe"], _is_safe),
        (["player", *run, "--format", "json", *end], _is_json([c.name for c in made.contests], "name")),
        (["player", *run, "--format", "csv", *end], _is_csv([c.name for c in made.contests], "name")),
        (["player", *run, "--format", "csv", "--safe", *end], _is_safe),
        (["predict", *run, "--format", "json", *end, other], _is_json([handle, other], "handle")),
        (["predict", *run, "--format", "csv", "--safe", *end, other], _is_safe),
        (["log", "--dataset", "games", "--format", "json"], _is_json(logged, "handle")),
        (["export", *run, "--what", "leaderboard", "--format", "csv"], _is_csv(made.handles, "handle")),
        (["export", *run, "--what", "leaderboard", "--format", "csv", "--safe"], _is_safe),
        (["export", *run, "--what", "leaderboard", "--format", "jsonl"], _is_json_lines(made.handles)),
        (["export", *run, "--what", "leaderboard", "-o", str(exported)], file),
        (["runs", "--format", "json"], lambda printed: None if json.loads(printed.out) else "empty"),
        (["evaluate", *run, "--format", "json"], lambda printed: None if json.loads(printed.out) else "empty"),
    ]
    messages: list[tuple[list[str], Check]] = [
        (["verify"], nothing),
        (["player", *run, "--", f"{handle}?"], fails),
        (["player", "--run", one.name[:200], "--", handle], fails),
        (["leaderboard", *run, "--format", one.name], fails),
        (["leaderboard", *run, f"--{handle}"], fails),
        (["amend", "--dataset", "games", "--", f"{one.contest_id}?"], fails),
        (["amend", "--dataset", "games", "--remove", f"{handle}?", "--", one.contest_id], fails),
        (["alias", "--dataset", "games", "--", f"{handle}?", f"{other}?"], fails),
        (["rate", *run, "--exclude", f"{one.contest_id}?"], nothing),
        (["ingest", "files", *_faulty_file(folder, handle, rng), "--dataset", "more"], fails),
    ]
    return [*tables, *machine, *messages]


def _faulty_file(folder: Path, handle: str, rng: random.Random) -> list[str]:
    """A contest with a repeated handle, in a file with a hostile name."""
    name = "".join(c for c in rng.choice(HOSTILE) if c not in '/\0\\:*?"<>|')[:60].strip(" .") or "x"
    path = folder / f"{name}.csv"
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["contest", "player", "rank"], *[["1", handle, 1]] * 2])
    except OSError:  # a name that this file system does not support
        path = folder / "x.csv"
        path.write_text(f"contest,player,rank\n1,{handle!r},1\n1,{handle!r},1\n", encoding="utf-8")
    return [str(path)]


def _common(printed: Printed, arguments: list[str], terminal: bool) -> str | None:
    if "Traceback" in printed.err:
        return f"a traceback: {printed.err[-1500:]}"
    if printed.code not in (0, 1, 2):
        return f"exit code {printed.code}"
    machine = bool({"csv", "json", "jsonl"} & set(arguments))
    if found := violation(printed.err) or (violation(printed.out) if terminal or not machine else None):
        return found
    longest = max(map(len, printed.err.split("\n")))
    return f"a message of {longest:,} characters" if longest > 4_100 else None


def _is_table(printed: Printed) -> str | None:
    if printed.code:
        return f"exit code {printed.code}: {printed.err[-500:]!r}"
    if len(printed.out) > MOST:
        return f"a table of {len(printed.out):,} characters"
    table: list[int] = []
    for line in [*printed.out.split("\n"), ""]:
        if line[:1] in tuple("┏┃┡│└├"):
            table.append(cell_len(line))
        else:
            if len(set(table)) > 1:
                return f"lines of a table are {sorted(set(table))} columns wide"
            table = []
    return None


def _is_json(values: list[str], key: str) -> Check:
    def check(printed: Printed) -> str | None:
        found = [row[key] for row in json.loads(printed.out)]
        return None if set(found) <= set(values) and found else f"other values: {ascii(found)[:300]}"

    return check


def _is_json_lines(values: list[str]) -> Check:
    def check(printed: Printed) -> str | None:
        found = [json.loads(line)["handle"] for line in printed.out.split("\n")[:-1]]
        return None if sorted(found) == sorted(values) else f"other values: {ascii(found)[:300]}"

    return check


def _is_csv(values: list[str], key: str) -> Check:
    def check(printed: Printed) -> str | None:
        if violation(printed.out.replace("\r", "x")) is None and all(c != "\r" for c in printed.out):
            expected = {_without_controls(value) for value in values}  # a terminal's, or one without any
            return _csv(sorted(expected | set(values)), key, printed.out)
        return _csv(values, key, printed.out)

    return check


def _csv(values: list[str], key: str, text: str) -> str | None:
    found = [row[key] for row in _csv_rows(text)]
    return None if set(found) <= set(values) and found else f"other values: {ascii(found)[:300]}"


def _csv_rows(text: str) -> list[dict[str, Any]]:
    before = csv.field_size_limit(2**31 - 1)
    try:
        return list(csv.DictReader(io.StringIO(text, newline="")))
    finally:
        csv.field_size_limit(before)


def _without_controls(value: str) -> str:
    from ranklake.flows.common.text import visible

    return visible(value)


def _is_safe(printed: Printed) -> str | None:
    for row in _csv_rows(printed.out):
        for key in ("handle", "name", "contest_id"):
            if row.get(key, "").startswith(_FORMULAS):
                return f"a formula: {ascii(row[key])[:100]}"
    return None if printed.out.count("\n") > 1 else "no rows"


@contextmanager
def _output(terminal: bool) -> Iterator[tuple[io.TextIOWrapper, Callable[[], str]]]:
    """A stream, and a function that closes it and gives all that was written, exactly."""
    if terminal:
        import tty

        reading, writing = os.openpty()
        tty.setraw(writing)  # no line ends are added
    else:
        reading, writing = os.pipe()
    stream = io.TextIOWrapper(io.BufferedWriter(io.FileIO(writing, "w")), encoding="utf-8", newline="\n")
    parts: list[bytes] = []
    # A reader of its own: a pipe has room for 64 kB only.
    reader = threading.Thread(target=_read_all, args=(reading, parts), daemon=True)
    reader.start()

    def text() -> str:
        stream.close()
        reader.join()
        return b"".join(parts).decode()

    try:
        yield stream, text
    finally:
        text()
        os.close(reading)


def _read_all(descriptor: int, parts: list[bytes]) -> None:
    while True:
        try:
            part = os.read(descriptor, 1 << 16)
        except OSError:  # how Linux says that a pseudo-terminal has no writer any more
            return
        if not part:
            return
        parts.append(part)
