"""Undisturbed sequences of commands for comparison, and the comparison of lakes."""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from chaos.cases import Violation
from chaos.commands import Words, command_server, with_paths
from chaos.world import World
from helpers.command_server import Ended
from helpers.lakes import same_tables
from helpers.life import put, what_counts
from helpers.tables import contents

from ranklake.flows.maintenance.verify import Verifier
from ranklake.storage import Lake

KEPT = 120  # cached states of lakes, each some hundred kilobytes
EXITS = (0, 1)


class Content(NamedTuple):
    """The compared content of a lake: files to the byte, published tables to the bit."""

    files: dict[str, bytes]
    tables: dict[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Step:
    """One command of an undisturbed sequence.

    The lakes before and after it must not be changed; ``content`` is the compared content of the latter.
    """

    command: Words
    before: Path
    after: Path
    content: Content
    ended: Ended

    @property
    def operations(self) -> list[str]:
        """The operations of the command on the files of the lake."""
        return self.ended.operations

    @property
    def writes(self) -> list[int]:
        """Numbers of the operations that write into a file."""
        return [number for number, operation in enumerate(self.operations) if operation.startswith("write ")]


class Lives:
    """Lakes after sequences of commands, cached: at least the ``kept`` steps that were used last."""

    def __init__(self, world: World, kept: int = KEPT) -> None:
        self.kept = kept
        self._world, self._folder, self._number = world, world.fresh_folder("lives"), 0
        self._known: OrderedDict[tuple[tuple[str, ...], ...], Step] = OrderedDict()
        self.start = self._folder / "start"
        self.start.mkdir()

    def after(self, commands: Sequence[Words]) -> Step:
        """The last step of a sequence of at least one command.

        ``Violation``: a command has a traceback, or the lake is damaged afterwards.
        """
        key = tuple(map(tuple, commands))
        if key not in self._known:
            self._known[key] = self._made(commands)
        for length in range(len(key), 0, -1):  # a step is deleted before the one that it starts from
            self._known.move_to_end(key[:length])
        while len(self._known) > self.kept + len(commands):
            _, old = self._known.popitem(last=False)
            shutil.rmtree(old.after)
        return self._known[key]

    def _made(self, commands: Sequence[Words]) -> Step:
        before = self.after(commands[:-1]).after if len(commands) > 1 else self.start
        self._number += 1
        lake = self._folder / str(self._number)
        put(before, lake)
        ended = run(self._world, commands[-1], lake)
        check_sound(lake, "after undisturbed commands")
        return Step(commands[-1], before, lake, content(lake), ended)


def lives(world: World) -> Lives:
    """The cache of this process."""
    return world.once("lives", lambda: Lives(world))


def run(world: World, command: Words, lake: Path, **how: Any) -> Ended:
    """Run a command in a lake, and check how it ended."""
    ended = command_server(world).run(*with_paths(world, command), "--lake", str(lake), **how)
    check_ended(ended, command)
    return ended


def said(command: Words, ended: Ended) -> str:
    """A command and how it ended."""
    return f"{' '.join(command)}: exit {ended.code}\n{ended.err}"


def check_again(world: World, step: Step, lake: Path, rule: str, when: str) -> Ended:
    """Run the command of a step in a lake, where it must end with the content of the undisturbed one."""
    ended = run(world, step.command, lake)
    words = f"{when}: {said(step.command, ended)}"
    check_content(content(lake), step.content, f"{step.command[0]} {rule} does not end as if undisturbed", words)
    check_sound(lake, f"{when} and the command again")
    return ended


def content(path: Path) -> Content:
    """The compared content of a lake."""
    tables: dict[str, pa.Table] = {}
    published = path / "published"
    for folder in sorted(published.iterdir()) if published.exists() else ():
        found = contents(Lake.open(path), folder.name)
        tables |= {f"{folder.name}/{name}": table for name, table in found.items()}
    return Content(what_counts(path) if any(path.iterdir()) else {}, tables)


def differences(actual: Content, expected: Content) -> str:
    """The files and tables that differ between two lakes; empty if there are none."""
    files = actual.files.keys() ^ expected.files.keys()
    files |= {name for name, data in expected.files.items() if actual.files.get(name, data) != data}
    tables = actual.tables.keys() ^ expected.tables.keys()
    both = actual.tables.keys() & expected.tables.keys()
    tables |= {name for name in both if not same_tables(actual.tables[name], expected.tables[name])}
    named = sorted(files) + sorted(f"table {name}" for name in tables)
    return ", ".join(named[:12]) + (f" and {len(named) - 12} more" if len(named) > 12 else "")


def check_content(actual: Content, expected: Content, rule: str, words: str = "") -> None:
    """Raise :class:`Violation` if two lakes differ."""
    if different := differences(actual, expected):
        raise Violation(rule, f"{words}\ndifferent: {different}")


def check_sound(path: Path, when: str) -> None:
    """Raise :class:`Violation` if verify finds a fault, or fails."""
    if any(path.iterdir()):
        problems = list(Verifier(Lake.open(path)).everything())
        if problems:
            raise Violation(f"verify finds damage {when}", "\n".join(problems))


def check_ended(ended: Ended, command: Words, codes: Sequence[int] = EXITS) -> None:
    """Raise :class:`Violation` for a traceback, an undocumented exit code, or an error of more than two lines."""
    words = said(command, ended)
    if "Traceback" in ended.err:
        raise Violation(f"{command[0]} prints a traceback", words)
    if ended.code not in codes:
        raise Violation(f"{command[0]} exits with a code that is not documented", words)
    if ended.code == 1 and command[0] != "verify":
        _, prefix, message = ended.err.rpartition("Error: ")
        if not prefix or not 1 <= message.count("\n") <= 2:
            raise Violation(f"{command[0]} does not print its error in one or two lines", words)
