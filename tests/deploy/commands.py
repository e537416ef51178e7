"""Check command lines with the parsers of their programs: every command and option must exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).resolve().parents[2]
OTHERS = {"cp", "git", "install", "kubectl", "openssl", "rclone", "rsync", "systemctl"}  # programs that are not checked


def check(arguments: Sequence[str]) -> None:
    """Raise for a command that its program would refuse."""
    program, *rest = arguments
    if program == "ranklake":
        from ranklake.flows.cli.main import cli

        _parse(cli, rest)
    elif program == "prefect":
        _prefect([word for word in rest if word != "--no-prompt"])
    elif program == "dask":
        pytest.importorskip("distributed", reason="needs the package distributed (extra cluster)")
        from dask.cli import cli as dask
        from distributed.cli import dask_scheduler, dask_worker

        _parse({"scheduler": dask_scheduler.main, "worker": dask_worker.main}.get(rest[0], dask), rest[1:])
    elif program == "python":
        assert rest[0] == "-m"
        assert find_spec(rest[1]) is not None
    elif program == "sh":
        assert rest[0] == "-c"
        check_shell(rest[1])
    elif program == "docker":
        _compose(rest)
    else:
        assert program in OTHERS, f"what is {program}?"


def check_shell(line: str) -> None:
    """Check a line of a shell: commands joined by ``&&``."""
    for part in re.split(r"&&|(?:>|<) \S+", line):
        if words := shlex.split(part, comments=True):
            check(words)


def shell_lines(page: Path) -> list[str]:
    """The lines of all blocks of shell commands of a page; one that goes on after a backslash is one line."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]


def _parse(command: click.Command, arguments: list[str]) -> None:
    above: click.Context | None = None
    while isinstance(command, click.Group):
        above = click.Context(command, parent=above, info_name=command.name, **command.context_settings)
        name, *arguments = arguments
        if name == "--help":
            return
        found = command.get_command(above, name)
        assert found is not None, f"no command {name}"
        command = found
    with command.make_context(command.name, list(arguments), parent=above):
        pass


def _prefect(arguments: list[str]) -> None:
    from prefect.cli._app import _app

    _app.parse_args(arguments, exit_on_error=False, print_error=False)


def _compose(arguments: list[str]) -> None:
    """``docker compose``: the file and the named services must exist."""
    import yaml

    if arguments[0] == "build":
        assert (ROOT / arguments[arguments.index("--file") + 1]).is_file()
        return
    compose, option, file, *rest = arguments
    assert (compose, option) == ("compose", "--file")
    profiles = {rest[1]} if rest[0] == "--profile" else set()
    verb, *rest = rest[2 * len(profiles) :]
    assert verb in {"build", "exec", "logs", "ps", "restart", "up", "down", "stop"}
    services = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["services"]
    named = [word for word in rest if not word.startswith("-")][: 1 if verb == "exec" else None]
    assert set(named) <= services.keys(), named
    assert all(profiles & set(services[one].get("profiles", profiles)) == profiles for one in named)
