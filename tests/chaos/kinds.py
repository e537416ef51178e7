"""The kinds of cases, their shares of the time and their modules, which are not imported here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chaos.cases import Violation


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cases.

    Its module of this name has ``draw(seed)``, the parameters of a case, and ``check(world, parameters)``, which raises
    :class:`Violation`; or a function ``by_seed`` without parameters: ``(seed, folder) -> str | None``, the violation.
    """

    name: str
    about: str
    share: float  # of the time, relative to the other kinds; one with 0 runs only if it is selected by name
    seconds: float = 60.0  # limit of one case
    by_seed: str = ""
    needs_folder: bool = True  # whether that function takes a folder, or only a seed
    tries: int = 1  # repetitions of a case while it is shrunk, for cases that do not fail each time

    def draw(self, seed: int) -> dict[str, Any]:
        """The parameters of a case."""
        if self.by_seed:
            return {}
        drawn: dict[str, Any] = self._module().draw(seed)
        return drawn

    def check(self, world: Any, seed: int, parameters: dict[str, Any]) -> None:
        """Run a case; ``Violation``: an invariant does not hold."""
        if not self.by_seed:
            self._module().check(world, parameters)
            return
        check: Callable[..., str | None] = getattr(self._module(), self.by_seed)
        if violation := check(seed, *([world.fresh_folder()] if self.needs_folder else [])):
            raise Violation(self.name, violation)

    def _module(self) -> Any:
        return importlib.import_module(f"chaos.{self.name}")


_ALL = (
    Kind("inputs", "files of any content are read", 12, by_seed="check_input"),
    Kind("widths", "wide and deep tables take little memory", 6),
    Kind("numbers", "histories of extreme numbers are rated", 8, by_seed="check_numbers", needs_folder=False),
    Kind("outputs", "names of any characters are shown and exported", 6, by_seed="check_output"),
    Kind("answers", "sites answer anything", 16),
    Kind("kills", "commands are killed at any operation", 20, seconds=120),
    Kind("pauses", "a writer is suspended and another one takes over", 14),
    Kind("disks", "writes fail and disks are full", 12),
    Kind("power", "the power is cut at any step of a command", 12, seconds=120),
    Kind("races", "several commands work at once", 10, seconds=120, tries=3),
    Kind("fences", "fences and leases are left or wrong, and changes are repeated", 10),
    Kind("objects", "an object store refuses, loses, delays and ignores requests", 10, seconds=180, tries=2),
    Kind("heads", "clients send any bytes to the server", 8),
    Kind("parameters", "addresses of the server have any parameters", 6),
    Kind("databases", "connections to a database server are reset at any byte", 6, seconds=120),
    Kind("cluster", "processes of a cluster of Dask are killed, suspended and started", 4, seconds=120, tries=2),
    Kind("planted", "lists of numbers in which 77 is a violation, to test the suite itself", 0, seconds=3),
)
KINDS = {kind.name: kind for kind in _ALL}
