"""Columns of a source that a data set of games keeps beside them, such as the league or the surface of a game.

No rating depends on them by itself. A file has one column ``kept`` for all of them: for each game a JSON object of the
columns with a value, as text; few different ones, so that they cost almost nothing. Null: no column has one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int32]

NO_VALUE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The kept columns of games.

    ``texts``: different contents, each a JSON object.
    ``codes`` (int32[m]): the content of each game, as a place in ``texts``; ``NO_VALUE``: none.
    """

    texts: tuple[str, ...]
    codes: Ints

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Kept | None:
        """A column of texts; None if all are null."""
        if column.null_count == len(column):
            return None
        encoded = column.combine_chunks().dictionary_encode()
        codes = encoded.indices.fill_null(NO_VALUE).to_numpy().astype(np.int32)
        return cls(tuple(encoded.dictionary.to_pylist()), codes)

    def take(self, games: Any) -> Kept:
        """Some of the games: a slice, a mask or numbers."""
        return Kept(self.texts, self.codes[games])

    def column(self) -> pa.Array:
        """The column of a file."""
        codes = pa.array(self.codes, mask=self.codes == NO_VALUE)
        return pa.array(self.texts, pa.string()).take(codes)

    def names(self) -> list[str]:
        """The columns with a value, sorted."""
        return sorted({name for text in self.texts for name in json.loads(text)})

    def values(self, name: str) -> tuple[list[str], Ints]:
        """The different values of a column, sorted, and that of each game as a place among them, or ``NO_VALUE``."""
        of_text = [json.loads(text).get(name) for text in self.texts]
        values = sorted({value for value in of_text if value is not None})
        places = [NO_VALUE if value is None else values.index(value) for value in of_text]
        return values, np.array([*places, NO_VALUE], np.int32)[self.codes]

    def content(self) -> bytes:
        """Bytes that differ for other values, for digests; none if no game has one."""
        codes, first = np.unique(self.codes, return_index=True)
        order = [code for code in codes[np.argsort(first)].tolist() if code != NO_VALUE]  # by first appearance
        if not order:
            return b""
        places = np.full(len(self.texts) + 1, NO_VALUE, np.int32)
        places[order] = np.arange(len(order))
        texts = json.dumps([self.texts[code] for code in order], allow_nan=False).encode()
        return b"kept" + texts + places[self.codes].tobytes()


def text_of(values: Mapping[str, str]) -> str:
    """The content of one game as text, one for the same values."""
    return json.dumps(dict(sorted(values.items())), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def join_kept(parts: Sequence[Kept | None], sizes: Sequence[int]) -> Kept | None:
    """The kept columns of all parts, one part after the other; ``sizes`` are the numbers of their games."""
    if all(part is None for part in parts):
        return None
    texts = list(dict.fromkeys(text for part in parts if part is not None for text in part.texts))
    at = {text: place for place, text in enumerate(texts)}
    codes = [np.full(n, NO_VALUE, np.int32) for n in sizes]
    for number, part in enumerate(parts):
        if part is not None:
            codes[number] = np.array([*(at[text] for text in part.texts), NO_VALUE], np.int32)[part.codes]
    return Kept(tuple(texts), np.concatenate(codes))
