"""Remedies: the command that repairs a damaged file, by the file's place in the lake, or installs an extra."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .errors import DamagedError, LakeError
from .layout import PUBLISHED, RAW, RUNS, dataset_folder, raw_index

if TYPE_CHECKING:
    from .access.files import LakeFiles

_RESTORE = "restore it or make it again"
_OF_SITES = ("standings", "contests", "players", "log", "events")  # folders that can be rebuilt from a site's responses


def remedy_for(path: str, sources: Sequence[str] = ()) -> str:
    """The remedy if the file or folder at ``path`` inside the lake is missing or damaged.

    ``sources``: sites from whose responses the data set was made, if they are known.
    """
    top, name, *more = [*path.split("/"), "", ""]
    if path.rpartition("/")[2].startswith("lease-"):
        return "delete it if no process uses that folder"
    if top == RUNS and name:
        return _of_run(name, *more)
    if top == PUBLISHED and name:
        if more[0].startswith("latest"):
            return f"delete it if it exists, and `ranklake publish --run {name}` makes it again"
        return f"`ranklake publish --run {name} --afresh` makes it again"
    if top == RAW and name:
        index = raw_index(name)
        if path == index:
            return "delete it, it is made again"
        return f"delete it and {index}, and the next `ranklake ingest` of the site requests it again"
    if name == "attributes":
        return f"delete it, and `ranklake attributes FILE --dataset {top}` writes it again"
    if name == "results":
        return f"delete the folder {top}/results, and `ranklake ingest results FILES --dataset {top}` makes it again"
    if name == "sources":
        site = more[0].removesuffix(".json")
        return f"delete it, and `ranklake normalise --source {site} --dataset {top}` makes it again"
    again = [f"`ranklake normalise --source {source} --dataset {top}" for source in sources]
    if name == "standings":
        if again:
            return f"restore it, or {' and '.join(f'{command} --rewrite`' for command in again)} makes it again"
        return f"restore it, or ingest {top} again with --rewrite"
    if name in ("contests", "players", "log", "events"):
        then = " and ".join(f"{command}`" for command in again) or "ingest again"
        lost = "without the corrections of amend, alias, remove and season, which no source can send again"
        return f"restore it, or `ranklake delete --dataset {top} --with-runs` and {then}, {lost}"
    return _RESTORE


def install_extra(extra: str) -> str:
    """The commands that install an extra: with ranklake installed, and in a checkout, where it may not be yet."""
    return f"pip install 'ranklake[{extra}]', or in a checkout pip install '.[{extra}]'"


def damaged(path: str, damage: str) -> DamagedError:
    """The error for a damaged ``path``, with a description of the damage and the remedy."""
    return DamagedError(f"{path}: {damage}; {remedy_for(path)}", path=path)


@contextmanager
def with_remedies(lake: LakeFiles) -> Iterator[None]:
    """Add the remedy of :func:`remedies_for_sources` to errors about files of ``lake``."""
    try:
        yield
    except LakeError as error:
        error.args = (remedies_for_sources(lake, str(error), error.path),)
        raise


def remedies_for_sources(lake: LakeFiles, message: str, path: str) -> str:
    """A message about ``path``; if its data set came from sites, with the remedy to rebuild it from their responses."""
    top, _, rest = path.partition("/")
    if rest.partition("/")[0] not in _OF_SITES or top in (RUNS, PUBLISHED, RAW):
        return message
    try:
        names = lake.list(dataset_folder(top, "sources"))
    except (LakeError, ValueError):
        return message
    sources = [name.removesuffix(".json") for name in names if name.endswith(".json")]
    return message.replace(remedy_for(path), remedy_for(path, sources))


def _of_run(run: str, kind: str = "", file: str = "", *_: str) -> str:
    if kind == "run.json":
        return f"restore it, or `ranklake delete --run {run}` and rate again with the options of before"
    kind = kind.partition("-")[0]  # an epoch follows, see ranklake.storage.leases.roots
    if kind == "rounds" and (number := re.match("[0-9]+", file)):
        return f"`ranklake rate --run {run} --from {int(number[0])}` rates it again"
    if kind == "rounds" and file == "chances.json":
        return f"delete it, and `ranklake rate --run {run}` makes it again"
    if kind == "entry" and file.startswith("reset-"):
        return f"restore it; or delete it, and `ranklake rate --run {run}` records the players of the reset anew"
    if kind == "entry":
        return f"restore it; or delete it, and `ranklake rate --run {run} --from 0` records new ratings at entry"
    if kind == "smoothing":
        return f"`ranklake smooth --run {run}` makes it again"
    if kind == "snapshots":
        return f"`ranklake compact --run {run}` removes it, and an older one is used"
    return _RESTORE
