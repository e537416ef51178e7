"""Faults that Arrow's reader of CSV finds in CSV and PGN files, in the words of these files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from ..base import SourceError
from ..files.inputs import Input

__all__ = ["BLOCK_BYTES", "SEPARATOR", "faults_of_text"]

BLOCK_BYTES = 2**24  # read at a time; a line must fit
SEPARATOR = "\x01"  # of the only column of PGN text

_FAULTS = {
    "straddling object": f"a line is longer than {BLOCK_BYTES // 2**20} MiB",
    "Empty CSV file": "the file is empty",
}
_PGN_FAULTS = {"Expected 1 columns": "the file is no PGN text: a line has the control character 0x01"}


@contextmanager
def faults_of_text(source: Input) -> Iterator[None]:
    """Raise errors of Arrow as :class:`SourceError`; others pass."""
    try:
        yield
    except pa.ArrowInvalid as error:
        faults = _FAULTS | (_PGN_FAULTS if source.form == "pgn" else {})
        rule = next((rule for words, rule in faults.items() if words in str(error)), None)
        if rule is None:
            raise
        raise SourceError(rule, source.name) from None
