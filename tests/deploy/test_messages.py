"""Every command in a message of the program is valid."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

import click
import pytest
from deploy.commands import ROOT, check

from ranklake.flows.cli.main import cli
from ranklake.storage.lake.remedies import remedy_for

NOUNS = "rounds|contests|players|participations|rows|games|ratings|trials|groups|sweeps|periods"
COUNTED = re.compile(rf" ({NOUNS})\b(?!/s)")
AFTER_A_VALUE = re.compile(rf"\}}[\s\"'f]* ({NOUNS})\b")  # in the source: also at the beginning of the next string
RUN_TIME = "7"  # replaces values that are inserted at run time; valid as a name and as a number
COMMAND = re.compile(r"`ranklake ([^`]+)`")
PATHS = (  # one path for each kind of file
    "runs/x/run.json", "runs/x/rounds/000412.json", "runs/x/snapshots/000499", "published/x/ratings",
    "published/x/latest.parquet", "raw/codeforces/standings/1.0.zst", "raw/codeforces/index.json",
    "d/sources/codeforces.json", "d/standings/ab.parquet", "d/contests/contests.parquet", "d/players/000000-ab.parquet",
    "d/log/ab.parquet",
)  # fmt: skip


def texts(node: ast.AST) -> Iterator[str]:
    """The strings of a program; values inserted at run time are ``RUN_TIME``."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else RUN_TIME for part in node.values)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


def advised() -> Iterator[tuple[str, str]]:
    """The commands in all messages, docstrings and help texts, each with its module."""
    for folder in ("src", "flows", "storage", "rating_kernels"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            for text in texts(ast.parse(source)) if "`ranklake" in source else ():
                for command in COMMAND.findall(text):
                    yield str(path.relative_to(ROOT)), " ".join(command.split())


def check_advice(command: str) -> None:
    """Raise for an invalid command; a name without arguments is a mention, others must be complete without the lake."""
    words = command.split()
    found: click.Command | None = cli
    while words and words != ["--help"] and isinstance(found, click.Group):
        name = words.pop(0)
        found = found.get_command(click.Context(found), "codeforces" if name == RUN_TIME else name)
    assert found is not None, f"there is no command {command!r}"
    if words and words != ["--help"]:
        lake = [] if "--lake" in words or found.name == "systems" else ["--lake", "lake"]
        check(["ranklake", *command.split(), *lake])


ADVISED = sorted(set(advised()))


@pytest.mark.parametrize(("module", "command"), ADVISED)
def test_messages__advise_existing_commands(module: str, command: str) -> None:
    check_advice(command)


def test_messages__are_found() -> None:
    assert len({command for _, command in ADVISED}) > 15


@pytest.mark.parametrize("sources", [(), ("codeforces",), ("codeforces", "dmoj")], ids=len)
@pytest.mark.parametrize("path", PATHS)
def test_remedy__is_an_existing_command(path: str, sources: tuple[str, ...]) -> None:
    said = remedy_for(path, sources)
    commands = COMMAND.findall(said)
    assert commands or "index.json" in path or (path.startswith("d/standings") and not sources)
    for command in commands:
        check_advice(command)


def test_check_advice__refuses_invalid_commands() -> None:
    for wrong in ("ingest codeforces --rewrite", "mend --run x", "rate --from 3 --rewrite", "compact --run"):
        with pytest.raises((AssertionError, click.UsageError)):
            check_advice(wrong)


def test_messages__have_a_singular() -> None:
    """A number has its noun from ``count``, except in limits, steps of progress and captions of experiments."""
    wrong = []
    for path in sorted((ROOT / "flows").rglob("*.py")):
        if path.parts[-2] in ("papers", "properties", "execution"):
            continue
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if AFTER_A_VALUE.search(source) else ():
            parts = node.values if isinstance(node, ast.JoinedStr) else []
            for number, noun in pairwise(parts):
                counted = isinstance(noun, ast.Constant) and COUNTED.match(str(noun.value))
                if counted and isinstance(number, ast.FormattedValue) and number.format_spec is not None:
                    wrong.append(f"{path.name}, line {number.lineno}: {ast.unparse(number.value)}")
    assert [
        one
        for one in wrong
        if not re.search(r"[A-Z]{4}|limits\.|read\.participations|n_rounds$|self\._rows|: (number|games|least)$", one)
    ] == []
