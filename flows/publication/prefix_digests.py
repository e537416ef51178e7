"""Digests of prefixes of a growing sequence, which locate its first change; stored in every commit."""

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

__all__ = ["PrefixDigests", "Rows", "as_bytes", "digest_of_rows"]

MAX_DIGESTS = 2_048  # longer sequences have a digest every 2, 4, 8, ... rows
_DIGITS = 12  # hex digits of a digest

Rows = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class PrefixDigests:
    """Digests of the prefixes of a sequence of rows.

    Attributes
    ----------
    rows : int
        Length of the sequence.
    step : int
        Rows from one digest to the next; the last digest covers all rows.
    digests : str
        The digests in order, each of all rows before it, ``_DIGITS`` hex digits.
    """

    rows: int
    step: int
    digests: str

    @classmethod
    def of(cls, rows: Rows, seed: str = "") -> Self:
        """Digest the rows of ``uint8[n, width]``; ``seed`` has all other inputs of the rows."""
        step = 1
        while len(rows) > MAX_DIGESTS * step:
            step *= 2
        return cls(len(rows), step, "".join(_digests(rows, seed, step)))

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """The inverse of ``dataclasses.asdict``.

        Raises
        ------
        KeyError, TypeError, ValueError
            A value is missing or has the wrong type.
        """
        return cls(int(facts["rows"]), max(int(facts["step"]), 1), str(facts["digests"]))

    def kept(self, rows: Rows, seed: str = "") -> int:
        """Number of leading rows that are certainly unchanged; all of them if no row has changed."""
        known = [self.digests[at : at + _DIGITS] for at in range(0, len(self.digests), _DIGITS)]
        kept = 0
        for number, digest in enumerate(_digests(rows[: self.rows], seed, self.step)):
            if number >= len(known) or digest != known[number]:
                break
            kept = min((number + 1) * self.step, self.rows, len(rows))
        return kept


def as_bytes(*columns: npt.NDArray[Any]) -> Rows:
    """Rows of columns of equal length, as bytes."""
    widths = [column.dtype.itemsize * math.prod(column.shape[1:]) for column in columns]
    parts = [np.ascontiguousarray(column).view(np.uint8) for column in columns]
    return np.hstack([part.reshape(-1, width) for part, width in zip(parts, widths, strict=True)])


def digest_of_rows(table: pa.Table) -> str:
    """Digest of all numbers and strings, 32 hex digits; it does not depend on how the table is chunked."""
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


def _digests(rows: Rows, seed: str, step: int) -> list[str]:
    digest, digests = blake2b(seed.encode(), digest_size=16), []
    for start in range(0, len(rows), step):
        digest.update(np.ascontiguousarray(rows[start : start + step]).data)
        digests.append(digest.hexdigest()[:_DIGITS])
    return digests
