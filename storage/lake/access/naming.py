"""Names that a new data set, run or search may have, so that a lake can be copied to any disk."""

from __future__ import annotations

from .. import layout
from ..errors import NameRefusedError
from .lake import Lake


def check_folder(lake: Lake, folder: str) -> None:
    """Refuse a new folder with a name that some disk cannot have beside the existing ones.

    An existing folder with exactly this name is accepted: lakes made before this rule stay usable.

    ``folder``: the folder of a data set, run or search, inside the lake.
    Raises NameRefusedError: the name differs from an existing one only in case, which is one folder for Windows and
    macOS; or Windows reserves it.
    """
    parent, _, name = folder.rpartition("/")
    names = lake.list(parent)
    if name in names:
        return
    kind = layout.kind_of(folder)
    twin = next((existing for existing in names if existing.lower() == name.lower()), None)
    if twin is not None:
        raise NameRefusedError(
            f"the name of a new {kind} must differ from {twin!r} in more than upper and lower case, got {name!r}; "
            f"use {twin!r} or another name",
            path=folder,
        )
    if reason := layout.portability_problem(name):
        raise NameRefusedError(
            f"the name of a new {kind} must not {reason}, got {name!r}; use another name", path=folder
        )
