"""Help texts of commands as reStructuredText: backticks become literals, and a single asterisk is itself."""

import re
from typing import Any

import click
from sphinx.application import Sphinx

from ranklake.flows.cli.main import cli

SECTIONS = ("description", "options", "arguments", "epilog")


def to_rst(line: str) -> str:
    """Return a line of a help text as reStructuredText."""
    if line.lstrip().startswith(("..", ":")):
        return line
    parts = re.split(r"(``[^`]+``)", re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line))
    return "".join(part if part.startswith("``") else re.sub(r"(?<!\*)\*(?!\*)", r"\*", part) for part in parts)


def process(app: Sphinx, ctx: Any, lines: list[str]) -> None:
    """Replace the lines of a section of a command."""
    lines[:] = [to_rst(line) for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Import the commands, which sphinx-click reads from their group, and register its events after itself."""
    context = click.Context(cli)
    cli.commands = {name: command for name in cli.list_commands(context) if (command := cli.get_command(context, name))}
    app.setup_extension("sphinx_click")
    for section in SECTIONS:
        app.connect(f"sphinx-click-process-{section}", process)
    return {"parallel_read_safe": True}
