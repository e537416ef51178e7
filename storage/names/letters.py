"""Words as arrays of letters: which begin with a word, and which are some letters away from it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Words", "edits_allowed"]

Longs = npt.NDArray[np.int64]

FAR = 255
"""The distance of words that are too different."""
_ONE_EDIT, _TWO_EDITS = 3, 6  # least letters of a word for so many edits
_WORD_BITS = 63  # letters of a word with edits: one bit each
_END, _BLANK = ord("\n"), ord(" ")


def edits_allowed(n_letters: int) -> int:
    """The most edits by which a word of so many letters may differ from one that is found."""
    return (n_letters >= _ONE_EDIT) + (n_letters >= _TWO_EDITS) if n_letters <= _WORD_BITS else 0


class Words:
    """Words in one array of letters; an edit is a letter more, less or changed, or two neighbours exchanged.

    ``line`` (int32[n]): the line of each word.
    """

    def __init__(self, letters: npt.NDArray[Any], first: npt.NDArray[np.bool_], line: Longs, several: bool) -> None:
        """Words in all ``letters``, given the ``first`` ones and the line of each.

        ``several``: only those with others in their line.
        """
        start = np.flatnonzero(first)
        of = line[start]
        length = np.diff(start, append=len(letters))
        order = np.argsort(np.minimum(length, FAR).astype(np.uint8), kind="stable")  # words of one length are a slice
        if several:
            alone = np.diff(of, prepend=-1, append=-1) != 0
            order = order[~(alone[1:] & alone[:-1])[order]]
        self._letters = letters
        self._start, self._length = start[order].astype(np.int32), length[order].astype(np.int32)
        self.line, self._first = of[order].astype(np.int32), letters[start[order]]
        self._set = np.bitwise_or.reduceat(_bits(letters), start)[order] if len(start) else np.zeros(0, np.uint64)

    @classmethod
    def of_lines(cls, lines: bytes, several: bool) -> Self:
        """The words of the folded lines that have ``several``, or each line as one word without blanks."""
        points = np.frombuffer(lines.decode("utf-8", "surrogatepass").encode("utf-32-le", "surrogatepass"), np.uint32)
        points = points.astype(np.uint8 if not len(points) or points.max() < 256 else np.uint32)
        ends, blanks = points == _END, points == _BLANK
        is_letter = ~(ends | blanks)
        letters, line = points[is_letter], np.cumsum(ends)[is_letter]
        first = np.append(True, ~is_letter[:-1])[is_letter] if several else np.diff(line, prepend=-1) != 0
        return cls(letters, first, line, several)

    def begin_with(self, word: str) -> Longs:
        """The words that begin with a word."""
        found = np.flatnonzero((self._first == ord(word[0])) & (self._length >= len(word)))
        for i, letter in enumerate(map(ord, word[1:]), 1):
            found = found[self._letters[self._start[found] + i] == letter]
        return found

    def distances(self, word: str) -> tuple[Longs, Longs]:
        """The words within :func:`edits_allowed` of a word, and the number of edits of each."""
        n, most = len(word), edits_allowed(len(word))
        if not most:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        low, high = np.searchsorted(self._length, [n - most, n + most + 1])
        wanted = np.bitwise_or.reduce(_bits(np.array([*map(ord, word)], np.uint32)))
        of_each = self._set[low:high]
        # each edit adds at most one letter, and takes at most one
        fits = (np.bitwise_count(wanted & ~of_each) <= most) & (np.bitwise_count(of_each & ~wanted) <= most)
        found = low + np.flatnonzero(fits)
        edits = self._edits(word, found)
        near = edits <= most
        return found[near], edits[near]

    def _edits(self, word: str, rows: Longs) -> Longs:
        """The distance of some words from a word, all at once, a bit for each of its letters.

        Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances" (2003).
        """
        points = np.array([*map(ord, word)], np.uint32)
        alphabet = np.unique(points)
        masks = np.zeros(len(alphabet) + 1, np.uint64)
        for i, letter in enumerate(points):
            masks[np.searchsorted(alphabet, letter)] |= np.uint64(1 << i)
        one, last = np.uint64(1), np.uint64(1 << (len(word) - 1))
        start, length = self._start[rows], self._length[rows]
        plus, minus = np.full(len(rows), (1 << len(word)) - 1, np.uint64), np.zeros(len(rows), np.uint64)
        zero, before, edits = minus.copy(), minus.copy(), np.full(len(rows), len(word), np.int64)
        for i in range(int(length.max(initial=0))):
            inside = i < length
            letter = self._letters[np.where(inside, start + i, 0)]
            at = np.searchsorted(alphabet, letter)
            at[at == len(alphabet)] = 0
            match = np.where(alphabet[at] == letter, masks[at], masks[-1])
            exchanged = ((~zero & match) << one) & before
            zero = (((match & plus) + plus) ^ plus) | match | minus | exchanged
            more, less = minus | ~(zero | plus), zero & plus
            edits += np.where(inside, ((more & last) != 0).astype(np.int64) - ((less & last) != 0), 0)
            more = (more << one) | one
            plus, minus, before = (less << one) | ~(zero | more), zero & more, match
        return edits


def _bits(letters: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """A bit for each letter: one of its own for a letter or digit of ASCII, a common one for some others."""
    found: npt.NDArray[np.uint64] = _TABLE[letters if letters.dtype == np.uint8 else np.minimum(letters, 255)]
    if letters.dtype != np.uint8:
        further = letters > 255
        found[further] = np.uint64(1) << (36 + letters[further] % 28).astype(np.uint64)
    return found


def _table() -> npt.NDArray[np.uint64]:
    table = np.array([1 << (36 + i % 28) for i in range(256)], np.uint64)
    for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz0123456789"):
        table[ord(letter)] = 1 << i
    return table


_TABLE = _table()
