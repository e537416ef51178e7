"""The kinds of cases, their shares of the time and where their code is; nothing of that is imported here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chaos.cases import Violation

__all__ = ["KINDS", "Kind"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cases.

    Attributes
    ----------
    name : str
        Of the kind and of its module, which has ``draw(seed)``, the parameters of a case, and
        ``check(world, parameters)``, which raises :class:`Violation`.
    about : str
        What is tried.
    share : float
        Of the time, relative to the others; 0 only if it is asked for by name.
    seconds : float
        How long one case may take.
    by_seed : str
        Function of a module that has no parameters: ``(seed, folder) -> str | None``, what was violated.
    needs_folder : bool
        Whether that function takes a folder; if not, it takes a seed alone.
    tries : int
        How often a case is repeated while it is shrunk, because it does not fail each time.
    """

    name: str
    about: str
    share: float
    seconds: float = 60.0
    by_seed: str = ""
    needs_folder: bool = True
    tries: int = 1

    def draw(self, seed: int) -> dict[str, Any]:
        """The parameters of a case."""
        if self.by_seed:
            return {}
        drawn: dict[str, Any] = self._module().draw(seed)
        return drawn

    def check(self, world: Any, seed: int, parameters: dict[str, Any]) -> None:
        """Try a case.

        Raises
        ------
        Violation
            Something was violated.
        """
        if not self.by_seed:
            self._module().check(world, parameters)
            return
        check: Callable[..., str | None] = getattr(self._module(), self.by_seed)
        if said := check(seed, *([world.fresh_folder()] if self.needs_folder else [])):
            raise Violation(self.name, said)

    def _module(self) -> Any:
        return importlib.import_module(f"chaos.{self.name}")


_ALL = (
    Kind("inputs", "files of any content are read", 12, by_seed="check_input"),
    Kind("numbers", "histories of extreme numbers are rated", 8, by_seed="check_numbers", needs_folder=False),
    Kind("outputs", "names of any characters are shown and exported", 6, by_seed="check_output"),
    Kind("answers", "sites answer anything", 16),
    Kind("kills", "commands are killed at any operation", 20, seconds=120),
    Kind("pauses", "a writer is suspended and another one takes over", 14),
    Kind("disks", "writes fail and disks are full", 12),
    Kind("races", "several commands work at once", 10, seconds=120, tries=3),
    Kind("objects", "an object store refuses, loses and delays requests", 10, seconds=180, tries=2),
    Kind("planted", "lists of numbers in which 77 is a violation, to test the suite itself", 0, seconds=3),
)
KINDS = {kind.name: kind for kind in _ALL}
