"""Search for handles, folded: without case and accents; equal first, then prefixes, then parts, best rating first."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np

__all__ = ["Search", "fold"]

_END = b"\n"
_LONGEST = 100  # characters of a query


def fold(text: str) -> str:
    """A text without case, accents and line ends, for comparison."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in decomposed if not unicodedata.combining(character))
    return text.casefold().replace("\n", " ")


class Search:
    """Search in texts; a match is the row of a text, and earlier rows come first.

    Notes
    -----
    The folded texts are one string of bytes in their order, so that a search is a search of bytes: 350,000 handles take
    4 MB and at most some milliseconds.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        folded = [_encode(fold(text)) for text in texts]
        self._data = _END + _END.join(folded) + _END
        self._ends = np.cumsum([len(text) + 1 for text in folded])

    def rows(self, q: str, limit: int) -> list[int]:
        """Rows of the best matches, at most ``limit``; none for an empty query."""
        wanted = _encode(fold(q.strip()[:_LONGEST]))
        if not wanted:
            return []
        found: dict[int, None] = {}
        for pattern in (_END + wanted + _END, _END + wanted, wanted):
            for row in self._matches(pattern):
                if len(found) >= limit:
                    return list(found)
                found[row] = None
        return list(found)

    def near(self, text: str, limit: int = 5) -> list[int]:
        """Rows of texts that have the longest possible beginning of ``text``."""
        folded = fold(text.strip()[:_LONGEST])
        low, high = 0, len(folded)  # some text begins with the first ``low`` characters
        while low < high:
            middle = (low + high + 1) // 2
            if _END + _encode(folded[:middle]) in self._data:
                low = middle
            else:
                high = middle - 1
        return self.rows(folded[:low], limit)

    def _matches(self, pattern: bytes) -> Iterator[int]:
        at = self._data.find(pattern)
        while at >= 0:
            row = int(np.searchsorted(self._ends, at + pattern.startswith(_END) - 1, side="right"))
            yield row
            at = self._data.find(pattern, int(self._ends[row]))  # the next text


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
