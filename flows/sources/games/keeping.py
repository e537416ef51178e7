"""Further columns of tables of games that a data set keeps, as the option --keep names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.datasets.tables.kept import text_of

from ...common.text import quoted
from ..base import SourceError
from ..columns import decoded, is_blank
from ..limits import MAX_HANDLE
from .batch import Verdicts

OF_KEPT = "keep "
"""Before the names of kept columns among the keys of columns in use."""


def check_kept(columns: Sequence[str]) -> None:
    """Raise ``ValueError`` for a column without a name, or one that is given twice."""
    for at, column in enumerate(columns):
        if not column or column in columns[:at]:
            raise ValueError("--keep needs the name of a column" if not column else f"--keep {column} is given twice")


def find_kept(columns: Sequence[str], present: Sequence[str], source: str) -> dict[str, str]:
    """The kept columns by key; ``SourceError`` for one that the table does not have, or has twice."""
    for column in columns:
        if column not in present:
            rule = f"has no column {quoted(column)} for --keep; it has {', '.join(map(quoted, present[:20]))}"
            raise SourceError(rule, source)
        if present.count(column) > 1:
            raise SourceError(f"there are two columns {quoted(column)}", source)
    return {OF_KEPT + column: column for column in columns}


def kept_texts(columns: Mapping[str, pa.ChunkedArray], verdicts: Verdicts) -> pa.Array:
    """The values of kept columns, by name, as one text a game; null where all are null or blank."""
    codes, known = np.zeros(len(verdicts.kept), np.int64), list[dict[str, str]]([{}])
    for name, column in columns.items():
        column = decoded(column)
        text = pc.if_else(pa.array(~is_blank(column)), pc.utf8_trim_whitespace(column.cast(pa.string())), None)
        encoded = pa.concat_arrays(text.chunks).dictionary_encode()
        values = encoded.dictionary.to_pylist()
        long = pc.greater(pc.utf8_length(text), MAX_HANDLE).fill_null(False).to_numpy()
        verdicts.refuse(long, f"a value of {name} has at most {MAX_HANDLE} characters")
        of_column = encoded.indices.fill_null(len(values)).to_numpy()
        both, codes = np.unique(codes * (len(values) + 1) + of_column, return_inverse=True)
        before, added = np.divmod(both, len(values) + 1)
        known = [
            known[one] | ({name: values[other]} if other < len(values) else {})
            for one, other in zip(before.tolist(), added.tolist(), strict=True)
        ]
    texts = pa.array([text_of(values) if values else None for values in known], pa.string())
    return texts.take(pa.array(codes))
