"""What a run has learnt of draws and advantages: the file ``chances.json`` beside its rounds.

The rounds determine it, so that it is replaced as a whole and can be made again. Each fit has the chain digest of the
round before it: after a correction, the fits before the corrected round still hold.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ..lake.access.lake import Lake
from ..lake.errors import MissingError
from ..lake.json_files import decode
from ..lake.schemas import FORMAT_VERSION
from .stored_run import StoredRun

FILE = "chances.json"


class StoredLearnt(msgspec.Struct, frozen=True):
    """Draws and advantage with the standard errors of ln nu and of the advantage, and the number of games."""

    games: int
    nu: float
    ln_nu_error: float
    advantage: float
    advantage_error: float


class StoredFit(msgspec.Struct, frozen=True):
    """What the games of the rounds before ``round`` have taught: of all, and by value of a column.

    ``digest``: chain digest of the round before, hex.
    """

    round: int
    games: int
    digest: str
    overall: StoredLearnt
    values: dict[str, StoredLearnt]


class StoredChances(msgspec.Struct, frozen=True, tag_field="format", tag=FORMAT_VERSION):
    """The content of the file, in this order of keys.

    ``settings``: what is learnt, and of which games.
    ``rounds``, ``digest``: rounds that are covered, and the chain digest of the last one, hex.
    """

    settings: dict[str, Any]
    rounds: int
    digest: str
    fits: list[StoredFit]


def chances_path(run: StoredRun) -> str:
    """Path of the file, inside the lake."""
    return f"{run.rounds_folder}/{FILE}"


def read_chances(run: StoredRun) -> StoredChances | None:
    """The content of the file; None if there is none.

    Raises DamagedError, FormatError: it cannot be read.
    """
    path = chances_path(run)
    try:
        return decode(StoredChances, run.lake.read_bytes(path), path)
    except MissingError:
        return None


def write_chances(run: StoredRun, lake: Lake, chances: StoredChances) -> None:
    """Replace the file; ``lake`` is that of the lease, which was checked."""
    data = json.dumps(msgspec.to_builtins(chances), allow_nan=False, ensure_ascii=False)
    lake.commit_bytes(chances_path(run), data.encode())
