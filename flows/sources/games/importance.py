"""K by the importance of a game: tables of names and K, and the weights of games by them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.limits import WEIGHT
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.systems.federations.world_football import IMPORTANCE

from ...common.small_tables import read_columns, read_number
from ...common.text import quoted
from ..columns import decoded
from .batch import MOST_REASONS, Verdicts

_BUILT_IN: Mapping[str, Mapping[str, float]] = {"world-football": IMPORTANCE}
_COLUMNS = ("importance", "k")
_SHOWN = 20  # names of a table in a message


def find_importance(text: str) -> dict[str, float]:
    """The K of each importance: of a built-in table, or of a CSV file with the columns ``importance`` and ``k``.

    ``ValueError`` names the option, the file and its line.
    """
    if text in _BUILT_IN:
        return dict(_BUILT_IN[text])
    option = "--importance"
    if not Path(text).exists():
        built_in = " or ".join(_BUILT_IN)
        raise ValueError(f"{option} must be {built_in}, or a CSV file with the columns importance and k, got {text!r}")
    table: dict[str, float] = {}
    for where, (name, cell) in read_columns(option, Path(text), _COLUMNS):
        k = read_number(where, _COLUMNS[1], cell)
        if not WEIGHT.contains(k):
            raise ValueError(f"{where}: k is the weight of games and must be {WEIGHT.rule}, got {cell}")
        if (key := _key(name)) in table or not key:
            raise ValueError(f"{where}: importance {quoted(name)} is {'there twice' if key else 'empty'}")
        table[key] = k
    if not table:
        raise ValueError(f"{option}: file {text!r} has no row")
    return table


def weights_by(table: Mapping[str, float], column: pa.ChunkedArray, verdicts: Verdicts) -> Floats:
    """The K of the importance of each game; games of an unknown one are refused."""
    column = decoded(column).cast(pa.string()).combine_chunks()
    encoded = (column.chunk(0) if isinstance(column, pa.ChunkedArray) else column).dictionary_encode()
    names = [*encoded.dictionary.to_pylist(), ""]
    codes = encoded.indices.fill_null(len(names) - 1).to_numpy()
    weights = np.array([table.get(_key(name), np.nan) for name in names])
    for code in [code for code in np.unique(codes).tolist() if np.isnan(weights[code])][:MOST_REASONS]:
        known = ", ".join(list(table)[:_SHOWN]) + (", ..." if len(table) > _SHOWN else "")
        remedy = "correct it, or give --importance a file with a row for it"
        verdicts.refuse(codes == code, f"importance must be one of {known}, got {quoted(names[code])}; {remedy}")
    found: Floats = weights[codes]
    return found


def _key(name: str) -> str:
    """A name without differences of case and of blanks."""
    return " ".join(name.casefold().split())
