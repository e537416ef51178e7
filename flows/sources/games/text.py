"""Faults that Arrow's reader of CSV finds in CSV and PGN files, in the words of these files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from ..base import SourceError
from ..files.inputs import Input
from ..files.text_head import undecodable
from ..files.text_tables import BLOCK_BYTES

__all__ = ["SEPARATOR", "faults_of_text"]

SEPARATOR = "\x01"  # of the only column of PGN text

_FAULTS = {
    "straddling object": f"a line is longer than {BLOCK_BYTES // 2**20} MiB",
    "Empty CSV file": "the file is empty",
}
_PGN_FAULTS = {"Expected 1 columns": "the file is no PGN text: a line has the control character 0x01"}


@contextmanager
def faults_of_text(source: Input, encoding: str, others: Callable[[str], SourceError] | None = None) -> Iterator[None]:
    """Raise errors of Arrow and of encodings as :class:`SourceError`; ``others`` makes one of an unknown message."""
    try:
        yield
    except UnicodeError as error:
        raise undecodable(error, encoding, source.name) from None
    except pa.ArrowInvalid as error:
        faults = _FAULTS | (_PGN_FAULTS if source.form == "pgn" else {})
        for words, fault in faults.items():
            if words in str(error):
                raise SourceError(fault, source.name) from None
        if others is None:
            raise
        raise others(str(error)) from None
