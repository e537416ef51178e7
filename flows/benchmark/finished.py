"""The finished cells of a benchmark in a folder, one file each: an interrupted benchmark continues after them."""

from __future__ import annotations

import io
import json
import math
import zipfile
from dataclasses import asdict
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..common.configuration.settings import params_to_json
from ..common.finite import finite_json
from ..common.text import slug
from ..publication.export import atomic_file
from ..rating.chain import NUMERICS
from .candidates import Candidate
from .cells import Cell
from .histories import BenchmarkHistory

_FORMAT = 3  # increased by a change of what cells hold or of how they are measured
_FOLDER = "cells"


class FinishedCells:
    """The cells of a benchmark's folder. A cell holds as long as its history, code, settings and share do."""

    def __init__(self, folder: Path | None, skip_share: float) -> None:
        """``folder``: None to keep nothing; it is created if it does not exist.

        Raises OSError: the folder cannot be created.
        """
        self._folder, self._skip_share = None if folder is None else folder / _FOLDER, skip_share
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)

    def find(self, history: BenchmarkHistory, candidate: Candidate) -> Cell | None:
        """The finished cell of a system on a history; None if there is none, or it cannot be read."""
        path = self._path(history, candidate)
        if path is None:
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
                facts: dict[str, Any] = json.loads(stored["facts"].tobytes())
                if facts.pop("key") != self._key(history, candidate):
                    return None
                sums = {name.removeprefix("sums."): stored[name] for name in stored.files if name.startswith("sums.")}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        facts |= {name: math.nan for name, value in facts.items() if value is None}
        return Cell(**facts, sums=sums)

    def keep(self, history: BenchmarkHistory, candidate: Candidate, cell: Cell) -> None:
        """Write a finished cell. One that failed is measured again.

        Raises OSError: it cannot be written.
        """
        path = self._path(history, candidate)
        if path is None or cell.status == "failed":
            return
        facts = {name: value for name, value in asdict(cell).items() if name != "sums"}
        text = json.dumps({"key": self._key(history, candidate), **finite_json(facts)}, allow_nan=False)
        arrays: dict[str, Any] = {f"sums.{name}": table for name, table in cell.sums.items()}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, facts=np.frombuffer(text.encode(), np.uint8), **arrays)
        with atomic_file(path) as file:
            file.write(buffer.getvalue())

    def _path(self, history: BenchmarkHistory, candidate: Candidate) -> Path | None:
        if self._folder is None or not candidate.code:
            return None
        name = f"{history.name} {candidate.label}"
        return self._folder / f"{slug(name)}-{_digest(history.name, candidate.label)}.npz"

    def _key(self, history: BenchmarkHistory, candidate: Candidate) -> str:
        params = json.dumps(params_to_json(candidate.params, whole=True), allow_nan=False)
        release = metadata.version("ranklake")
        facts = (history.digest, candidate.code, params, self._skip_share, release, NUMERICS, _FORMAT)
        return _digest(*map(str, facts))


def _digest(*texts: str) -> str:
    return blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
