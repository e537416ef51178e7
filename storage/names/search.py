"""Search for names: by a part, by near equality and by similarity, without case and accents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_END = b"\n"
_LONGEST = 100  # characters of a query
_CANDIDATES = 100  # names with the most common pairs of characters, which are compared in full
_FEW = 16  # names that are searched one by one: each search takes a millisecond
_CLOSE = 0.15  # ratio by which a name may be less similar than the most similar one
_LEAST_RATIO = 0.65  # of difflib, from 0 to 1; "turist" and "tourist" have 0.92
# Marks and letters without a glyph; further ones are of the category Cf, as zero-width spaces.
_NO_GLYPH = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def fold(text: str) -> str:
    """A text without case, accents, invisible characters and repeated blanks, for comparison; one line."""
    if text.isascii() and " " not in text and text.isprintable():
        return text.lower()
    drawn = (c for c in unicodedata.normalize("NFKD", _drawn(text)) if not unicodedata.combining(c))
    return " ".join("".join(drawn).casefold().split())


def are_alike(one: str, other: str) -> bool:
    """Whether different names differ only by case, Unicode form, blanks and invisible characters."""
    return one != other and _plain(one) == _plain(other)


class Search:
    """Search in texts; a match is the row of a text, and earlier rows come first.

    The folded texts are one string of bytes in their order, so that a search is a search of bytes: 350,000 handles take
    4 MB and at most some milliseconds; what is similar to a text is found in 0.1 s.

    ``texts``: as given.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._data = _END + _fold_lines(texts) + _END
        self._ends = np.flatnonzero(np.frombuffer(self._data, np.uint8) == _END[0])[1:]

    def rows(self, q: str, limit: int) -> list[int]:
        """Rows of the best matches for a part of a text, at most ``limit``; none for an empty query."""
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

    def alike(self, names: Iterable[str]) -> dict[str, list[int]]:
        """Rows of the texts that are nearly equal to a name, see :func:`are_alike`, by name."""
        wanted: dict[bytes, list[str]] = {}
        for name in names:
            wanted.setdefault(_encode(fold(name)), []).append(name)
        found: dict[str, list[int]] = {}
        for row, folded in self._equal(wanted):
            for name in wanted[folded]:
                if are_alike(name, self.texts[row]):
                    found.setdefault(name, []).append(row)
        return found

    def repeated(self) -> npt.NDArray[np.bool_]:
        """Whether another text is the same when folded; only such texts can be nearly equal to one."""
        ends = np.concatenate([[1], self._ends + 1]).astype(np.int64)  # each text with the end of its line
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(self._data)]
        folded = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(self._ends), buffers)
        codes = folded.dictionary_encode().indices.to_numpy()
        return np.asarray(np.bincount(codes)[codes] > 1)

    def _equal(self, wanted: Collection[bytes]) -> Iterator[tuple[int, bytes]]:
        """The rows of some folded texts."""
        if len(wanted) <= _FEW:
            return ((row, folded) for folded in wanted for row in self._matches(_END + folded + _END))
        return ((row, folded) for row, folded in enumerate(self._data[1:-1].split(_END)) if folded in wanted)

    def similar(self, text: str, limit: int = 5) -> list[int]:
        """Rows of the texts that are most similar to ``text``, the most similar first; none that is far from it."""
        folded = fold(text[:_LONGEST])
        if not folded or not len(self._ends):
            return []
        wanted = np.unique(_pairs(_END + _encode(folded) + _END))
        is_wanted = np.zeros(1 << 16, np.bool_)
        is_wanted[wanted] = True
        sizes = np.diff(self._ends, prepend=0)
        common = np.add.reduceat(is_wanted[_pairs(self._data)], self._ends - sizes, dtype=np.int64)
        closeness = np.minimum(common, len(wanted)) / (sizes + len(wanted))
        k = max(0, len(closeness) - _CANDIDATES)
        least = max(float(np.partition(closeness, k)[k]), 1e-9)
        closest = np.concatenate([np.flatnonzero(closeness > least), np.flatnonzero(closeness == least)])[:_CANDIDATES]
        matcher = SequenceMatcher(None, b=folded, autojunk=False)
        ratios: list[tuple[float, int]] = []
        for row in closest.tolist():
            matcher.set_seq1(fold(self.texts[row])[: 2 * _LONGEST])
            if matcher.quick_ratio() >= _LEAST_RATIO and (ratio := matcher.ratio()) >= _LEAST_RATIO:
                ratios.append((-ratio, row))
        ratios.sort()
        return [row for ratio, row in ratios[:limit] if ratio <= ratios[0][0] + _CLOSE]

    def near(self, name: str, limit: int = 5) -> list[int]:
        """Rows of texts near a name that is not there: nearly equal ones, then similar ones."""
        return list(dict.fromkeys([*self.alike([name]).get(name, []), *self.similar(name, limit)]))[:limit]

    def _matches(self, pattern: bytes) -> Iterator[int]:
        at = self._data.find(pattern)
        while at >= 0:
            row = int(np.searchsorted(self._ends, at + pattern.startswith(_END) - 1, side="right"))
            yield row
            at = self._data.find(pattern, int(self._ends[row]))  # the next text


def _fold_lines(texts: Sequence[str]) -> bytes:
    """All texts folded, one a line; as ``fold`` of each, which most names of a large set do not need."""
    raw = _encode("\n".join(texts))
    data = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(data == _END[0])
    if len(ends) != len(texts) - 1:
        return _encode("\n".join(map(fold, texts)))
    lines = raw.lower()  # of ASCII letters
    further = np.flatnonzero(((data <= ord(" ")) & (data != _END[0])) | (data > ord("~")))
    if len(further):
        folded = lines.split(_END)
        for row in np.unique(np.searchsorted(ends, further)).tolist():
            folded[row] = _encode(fold(texts[row]))
        lines = _END.join(folded)
    return lines


def _drawn(text: str) -> str:
    return _NO_GLYPH.sub("", "".join(c for c in text if unicodedata.category(c) != "Cf"))


def _plain(text: str) -> str:
    composed = unicodedata.normalize("NFKC", _drawn(text)).casefold()
    return " ".join(unicodedata.normalize("NFKC", composed).split())


def _pairs(data: bytes) -> npt.NDArray[np.uint16]:
    """Every two adjacent bytes as one number."""
    codes = np.frombuffer(data, np.uint8).astype(np.uint16)
    return np.asarray(codes[:-1] << 8 | codes[1:], np.uint16)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
