"""Reads golden vectors and compares answers with them: unknown systems, parameters and fields are failures.

A vector file is one case: ``{"id", "system", "rtol", "params", "contests", "expected", ...}``. Modules ``answers_*``
beside this one answer them, each for one family of systems.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Vector = Mapping[str, Any]
Answers = list[dict[Hashable, dict[str, Any]]]  # a contest: player or row -> field -> number, or rows of them

FOLDER = Path(__file__).parent
ABOUT = {
    "id",
    "system",
    "source",
    "note",
    "rtol",
    "params",
    "contests",
    "expected",
    "printed",
    "misprint",
}  # any vector


@dataclass(frozen=True)
class Case:
    """One vector file and the name of its test."""

    name: str
    path: Path

    def load(self) -> Vector:
        """The file's content; raises ``ValueError`` where it is no vector."""
        vector = json.loads(self.path.read_text(encoding="utf-8"))
        if not isinstance(vector, dict) or not {"id", "system", "contests", "expected"} <= set(vector):
            raise ValueError(f"{self.path.name} is no vector: it needs id, system, contests and expected")
        return vector


def cases(folders: Iterable[Path] | None = None) -> list[Case]:
    """All vector files of ``folders``: by default this one and those that ``RANKLAKE_VECTORS`` names.

    Equal files in two folders are one case. Different files of one id are two cases, the second named by its folder.
    """
    if folders is None:
        named = os.environ.get("RANKLAKE_VECTORS", "").split(os.pathsep)
        folders = [FOLDER, *(Path(name) for name in named if name)]
    found: dict[str, Path] = {}
    for folder in folders:
        paths = sorted(folder.glob("*.json"))
        if not paths:
            raise FileNotFoundError(f"no vector files (*.json) in {folder}")
        for path in paths:
            name = _id(path)
            if name in found and found[name].read_bytes() == path.read_bytes():
                continue
            found[name if name not in found else f"{name}@{folder.name}/{path.stem}"] = path
    return [Case(name, path) for name, path in found.items()]


def _id(path: Path) -> str:
    """The vector's id; the file's name where that cannot be read, so that its own test fails and not all of them."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["id"])
    except (ValueError, KeyError, TypeError):
        return path.stem


def check(vector: Vector, answers: Answers, excused: Collection[str] = ()) -> None:
    """Raise ``AssertionError`` with what differs, unless ``|x - y| <= rtol * max(1, |y|)`` for all expected numbers.

    Rows that name no player are known by their position, or by their key. Fields ``excused`` need not be answered.
    """
    rtol, expected = vector.get("rtol", 0.0), vector["expected"]
    assert len(answers) == len(expected), f"{len(answers)} contests answered, {len(expected)} expected"
    wrong = []
    for index, (answer, rows) in enumerate(zip(answers, expected, strict=True)):
        if isinstance(rows, dict) and not any(isinstance(column, dict) for column in rows.values()):
            rows = {"player": rows}  # the columns or the numbers of the one player there is
        keyed = rows if isinstance(rows, dict) else {row.get("player", at): row for at, row in enumerate(rows)}
        assert set(answer) == set(keyed), f"contest {index}: answered {list(answer)}, expected {list(keyed)}"
        for key, row in keyed.items():
            given = answer[key]
            for name in row.keys() - {"player"}:
                if name not in given and name in excused:
                    continue
                if name not in given or not _close(given[name], row[name], rtol):
                    got = given.get(name, "nothing")
                    wrong.append(f"contest {index}, {key}, {name}: got {got!r}, expected {row[name]!r}")
    assert not wrong, "\n".join([*wrong[:20], f"... {len(wrong)} in all, rtol {rtol}"])


def _close(x: Any, y: Any, rtol: float) -> bool:
    if isinstance(y, list):
        return len(x) == len(y) and all(_close(a, b, rtol) for a, b in zip(x, y, strict=True))
    if isinstance(y, dict):
        return set(x) == set(y) and all(_close(x[name], y[name], rtol) for name in y)
    if isinstance(y, str) or x is None or y is None:
        return bool(x == y)
    return bool(abs(x - y) <= rtol * max(1.0, abs(y)))  # NaN is close to nothing


def known(what: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise ``ValueError`` if ``given`` has a name that is not among ``allowed``."""
    unknown = sorted(set(given) - set(allowed))
    if unknown:
        raise ValueError(f"unknown {what}: {', '.join(unknown)}")


def check_names(vector: Vector, parameters: Iterable[str], contest: Iterable[str]) -> None:
    """Raise ``ValueError`` if a vector has keys, parameters, or keys of a contest that nobody reads."""
    known("key", vector, ABOUT)
    known("parameter", vector["params"], parameters)
    for one in vector["contests"]:
        known("contest key", one, contest)
