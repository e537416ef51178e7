"""Digests along a sequence that grows: enough to tell where it has changed, small enough to go into every commit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Marks", "as_bytes", "digest_of_rows"]

MOST = 2_048  # marks; a sequence of more rows has one every 2, 4, 8, ... rows
_DIGITS = 12  # hex digits of a mark

Rows = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Marks:
    """What a sequence of rows was.

    Attributes
    ----------
    rows : int
        How many.
    step : int
        Rows from one mark to the next; the last mark is after the last row.
    digests : str
        The marks, each a digest of all rows before it, ``_DIGITS`` hex digits.
    """

    rows: int
    step: int
    digests: str

    @classmethod
    def of(cls, rows: Rows, seed: str = "") -> Self:
        """Marks along ``uint8[n, width]``; ``seed`` is what all rows depend on beside what they say."""
        step = 1
        while len(rows) > MOST * step:
            step *= 2
        return cls(len(rows), step, "".join(_walk(rows, seed, step)))

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """As ``dataclasses.asdict`` gave them.

        Raises
        ------
        KeyError, TypeError, ValueError
            They were not.
        """
        return cls(int(facts["rows"]), max(int(facts["step"]), 1), str(facts["digests"]))

    def kept(self, rows: Rows, seed: str = "") -> int:
        """How many rows from the first on are certain to be what they were; all of them if nothing has changed."""
        known = [self.digests[at : at + _DIGITS] for at in range(0, len(self.digests), _DIGITS)]
        kept = 0
        for number, found in enumerate(_walk(rows[: self.rows], seed, self.step)):
            if number >= len(known) or found != known[number]:
                break
            kept = min((number + 1) * self.step, self.rows, len(rows))
        return kept


def as_bytes(*columns: npt.NDArray[Any]) -> Rows:
    """The rows of columns of one length, as bytes."""
    widths = [column.dtype.itemsize * math.prod(column.shape[1:]) for column in columns]
    parts = [np.ascontiguousarray(column).view(np.uint8) for column in columns]
    return np.hstack([part.reshape(-1, width) for part, width in zip(parts, widths, strict=True)])


def digest_of_rows(table: pa.Table) -> str:
    """A digest of all values of numbers and strings, 32 hex digits; the same however the table lies in memory."""
    digest = blake2b(digest_size=16)
    for column in table.columns:
        digest.update(pc.is_null(column).to_numpy().tobytes())
        if pa.types.is_string(column.type):
            text = column.fill_null("")
            digest.update(pc.binary_length(text).to_numpy().tobytes())
            for chunk in text.chunks:
                joined = pc.binary_join(pa.ListArray.from_arrays([0, len(chunk)], chunk), "")
                digest.update(joined[0].as_buffer())
        else:
            digest.update(column.fill_null(pa.scalar(0).cast(column.type)).to_numpy().tobytes())
    return digest.hexdigest()


def _walk(rows: Rows, seed: str, step: int) -> list[str]:
    digest, found = blake2b(seed.encode(), digest_size=16), []
    for start in range(0, len(rows), step):
        digest.update(np.ascontiguousarray(rows[start : start + step]).data)
        found.append(digest.hexdigest()[:_DIGITS])
    return found
