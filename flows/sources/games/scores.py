"""Results of games: the score of the first player from texts such as ``1-0`` and from numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels.core.standings import Floats

from ...common.text import quoted
from ..base import SourceError
from ..columns import is_text

__all__ = ["scores_of"]

_SCORES = {
    "1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5, "½-½": 0.5, "0.5-0.5": 0.5,
    "1": 1.0, "1.0": 1.0, "0": 0.0, "0.0": 0.0, "0.5": 0.5, "1/2": 0.5, "½": 0.5,
    "*": np.nan,
}  # fmt: skip
_RULE = "a result must be 1-0, 0-1, 1/2-1/2, or the score 1, 0.5 or 0 of the first player; * is an unfinished game"


def scores_of(column: pa.ChunkedArray, source: str, first_row: int) -> Floats:
    """Score of the first player of each game; NaN for an unfinished game.

    Parameters
    ----------
    first_row
        Number of the first row in the file, from 1.

    Raises
    ------
    SourceError
        A result has another form; names the row.
    """
    encoded = column.combine_chunks().dictionary_encode() if not pa.types.is_dictionary(column.type) else column
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    values = encoded.dictionary
    texts = pc.utf8_trim_whitespace(values.cast(pa.string())) if is_text(values.type) else values.cast(pa.float64())
    known = [_SCORES.get(text) if isinstance(text, str) else _of_number(text) for text in texts.to_pylist()]
    scores = np.array([-1.0 if score is None else score for score in known])
    codes = encoded.indices.fill_null(-1).to_numpy()
    found = np.full(len(codes), -1.0) if not len(scores) else np.where(codes < 0, -1.0, scores[codes])
    bad = np.flatnonzero(found == -1.0)
    if len(bad):
        given = encoded[int(bad[0])].as_py()
        raise SourceError(f"{_RULE}; got {quoted(str(given))}", source, rows=[first_row + int(bad[0])])
    return found


def _of_number(value: float | None) -> float | None:
    return value if value in (0.0, 0.5, 1.0) else None
