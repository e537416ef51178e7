"""Undisturbed lives to compare with, and what of a lake is compared."""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from chaos.cases import Violation
from chaos.commands import Words, command_server, told
from chaos.world import World
from helpers.command_server import Ended
from helpers.lakes import same_tables
from helpers.life import put, what_counts
from helpers.tables import contents

from ranklake.flows.maintenance.verify import Verifier
from ranklake.storage import Lake

__all__ = ["Content", "Lives", "Step", "check_content", "check_ended", "check_sound", "content", "lives"]

KEPT = 120  # states of lakes, each some hundred kilobytes
EXITS = (0, 1)


class Content(NamedTuple):
    """What of a lake counts: files to the byte, published tables to the bit."""

    files: dict[str, bytes]
    tables: dict[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Step:
    """One command of an undisturbed life.

    Attributes
    ----------
    before, after : Path
        The lake then. Nobody may change it.
    content : Content
        What counts of it after the command.
    ended : Ended
        How it ended.
    """

    command: Words
    before: Path
    after: Path
    content: Content
    ended: Ended

    @property
    def operations(self) -> list[str]:
        """What it did to the files of the lake."""
        return self.ended.operations

    @property
    def writes(self) -> list[int]:
        """Numbers of the operations that write into a file."""
        return [number for number, what in enumerate(self.operations) if what.startswith("write ")]


class Lives:
    """Lakes after sequences of commands, each computed once while there is room."""

    def __init__(self, world: World) -> None:
        self._world, self._folder, self._number = world, world.fresh_folder("lives"), 0
        self._known: OrderedDict[tuple[tuple[str, ...], ...], Step] = OrderedDict()
        self.start = self._folder / "start"
        self.start.mkdir()

    def after(self, commands: Sequence[Words]) -> Step:
        """The last of some commands, at least one.

        Raises
        ------
        Violation
            One shows a traceback, or the lake is damaged afterwards.
        """
        key = tuple(map(tuple, commands))
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        before = self.after(commands[:-1]).after if len(commands) > 1 else self.start
        self._number += 1
        lake = self._folder / str(self._number)
        put(before, lake)
        ended = command_server(self._world).run(*told(self._world, commands[-1]), "--lake", str(lake))
        check_ended(ended, commands[-1])
        check_sound(lake, "after undisturbed commands")
        step = self._known[key] = Step(commands[-1], before, lake, content(lake), ended)
        while len(self._known) > KEPT + len(commands):
            _, old = self._known.popitem(last=False)
            shutil.rmtree(old.after)
        return step


def lives(world: World) -> Lives:
    """The lives of this process."""
    return world.once("lives", lambda: Lives(world))


def content(path: Path) -> Content:
    """What counts of a lake."""
    tables: dict[str, pa.Table] = {}
    published = path / "published"
    for folder in sorted(published.iterdir()) if published.exists() else ():
        found = contents(Lake.open(path), folder.name)
        tables |= {f"{folder.name}/{name}": table for name, table in found.items()}
    return Content(what_counts(path) if any(path.iterdir()) else {}, tables)


def differences(found: Content, wanted: Content) -> str:
    """What of two lakes is not the same; empty if all is."""
    files = found.files.keys() ^ wanted.files.keys()
    files |= {name for name, data in wanted.files.items() if found.files.get(name, data) != data}
    tables = found.tables.keys() ^ wanted.tables.keys()
    both = found.tables.keys() & wanted.tables.keys()
    tables |= {name for name in both if not same_tables(found.tables[name], wanted.tables[name])}
    named = sorted(files) + sorted(f"table {name}" for name in tables)
    return ", ".join(named[:12]) + (f" and {len(named) - 12} more" if len(named) > 12 else "")


def check_content(found: Content, wanted: Content, rule: str, words: str = "") -> None:
    """Violated if two lakes differ."""
    if told := differences(found, wanted):
        raise Violation(rule, f"{words}\ndifferent: {told}")


def check_sound(path: Path, when: str) -> None:
    """Violated if verify finds anything wrong, or fails."""
    if any(path.iterdir()):
        problems = list(Verifier(Lake.open(path)).everything())
        if problems:
            raise Violation(f"verify finds damage {when}", "\n".join(problems))


def check_ended(ended: Ended, command: Words, codes: Sequence[int] = EXITS) -> None:
    """Violated by a traceback, an exit code that is not documented, or an error that is not told in a line or two."""
    words = f"{' '.join(command)}: exit {ended.code}\n{ended.err}"
    if "Traceback" in ended.err:
        raise Violation(f"{command[0]} shows a traceback", words)
    if ended.code not in codes:
        raise Violation(f"{command[0]} exits with a code that is not documented", words)
    if ended.code == 1 and command[0] != "verify":
        told = ended.err.rpartition("Error: ")
        if not told[1] or not 1 <= told[2].count("\n") <= 2:
            raise Violation(f"{command[0]} does not tell its error in a line or two", words)
