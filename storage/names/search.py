"""Search for names: words in any order and with wrong letters, without case, accents and signs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .folding import END, are_alike, encode, fold, fold_lines, words_of
from .letters import Words

__all__ = ["Search"]

_LONGEST = 100  # characters of a query
_MOST_WORDS = 8
_FEW = 16  # names that are searched one by one: each search takes a millisecond
_SURE = 5  # least letters of a word for which one wrong letter is as good as a beginning
_CLOSE = 8  # least letters of a name of which two may be wrong in a close one
# How good a match is, the best first. A beginning, and in a longer word one wrong letter, are equally good: `turist`
# finds the best player before somebody who is called turist22.
_LITERAL, _FOLDED, _EQUAL, _BEGIN, _WORDS, _PART, _ONE, _ONE_IN_WORDS, _TWO, _TWO_IN_WORDS, _NONE = range(11)
_EDITS, _EDITS_IN_WORDS = np.array([_EQUAL, _ONE, _TWO]), np.array([_WORDS, _ONE_IN_WORDS, _TWO_IN_WORDS])


class Search:
    """Search in names; a match is the row of a name, and of equally good matches earlier rows come first.

    The names are compared as :func:`.words_of` gives them. 350,000 names take 20 MB and a search some milliseconds.

    ``texts``: the names of the rows.
    ``others``: another name of each row, None or empty for none; both are searched.
    """

    def __init__(self, texts: Sequence[str], others: Sequence[str | None] | None = None) -> None:
        self.texts: Sequence[str] = texts
        self._rows = np.arange(len(texts))
        if others is not None:
            more = [row for row, other in enumerate(others) if other and other != texts[row]]
            self._rows = np.append(self._rows, more)
            order = np.argsort(self._rows, kind="stable")
            both = [*texts, *(others[row] for row in more)]
            self._rows, texts = self._rows[order], [both[i] or "" for i in order.tolist()]
        self._lines: Sequence[str] = texts
        self._folded = fold_lines(texts)
        self._data = END + self._folded.replace(b" ", b"") + END
        self._ends = np.flatnonzero(np.frombuffer(self._data, np.uint8) == END[0])[1:]

    def rows(self, q: str, limit: int) -> list[int]:
        """Rows of the best matches of a query, at most ``limit``; none for an empty query."""
        q = q.strip()[:_LONGEST]
        words = words_of(q)[:_MOST_WORDS]
        if not words or not len(self._rows):
            return []
        found = self._by_bytes(q, "".join(words), limit)
        for row, kind in self._by_letters(words, limit):
            found[row] = min(found.get(row, _NONE), kind)
        return sorted(found, key=lambda row: (found[row], row))[:limit]

    def near(self, name: str, limit: int = 5) -> list[int]:
        """Rows of names near one that is not there: nearly equal ones, then the best matches."""
        return list(dict.fromkeys([*self.alike([name]).get(name, []), *self.rows(name, limit)]))[:limit]

    def close(self, name: str, limit: int = 3) -> list[int]:
        """Rows of names that are probably meant by one that is not there: equal but for few letters and the signs."""
        word = "".join(words_of(name[:_LONGEST])[:_MOST_WORDS])
        found, edits = self._whole.distances(word)
        near = edits < (3 if len(word) >= _CLOSE else 2)
        rows = self._rows[self._whole.line[found[near]]]
        equal = [int(self._rows[line]) for line in self._matches(END + encode(word) + END)] if word else []
        ordered = rows[np.lexsort((rows, edits[near]))].tolist()
        return list(dict.fromkeys([*equal, *ordered]))[:limit]

    def alike(self, names: Iterable[str]) -> dict[str, list[int]]:
        """Rows of the names that are nearly equal to a name, see :func:`.are_alike`, or are their other name."""
        wanted: dict[bytes, list[str]] = {}
        for name in names:
            wanted.setdefault(encode("".join(words_of(name))), []).append(name)
        found: dict[str, list[int]] = {}
        for line, folded in self._equal(wanted) if len(self._rows) else ():
            for name in wanted[folded]:
                row, text = int(self._rows[line]), self._lines[line]
                if are_alike(name, text) or (name == text != self.texts[row]):
                    found.setdefault(name, []).append(row)
        return found

    def repeated(self) -> npt.NDArray[np.bool_]:
        """Whether another name is the same when folded; only such names can be nearly equal to one."""
        ends = np.concatenate([[1], self._ends + 1]).astype(np.int64)  # each name with the end of its line
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(self._data)]
        folded = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(self._ends), buffers)
        codes = folded.dictionary_encode().indices.to_numpy()
        return np.asarray(np.bincount(codes)[codes] > 1)

    def _equal(self, wanted: Collection[bytes]) -> Iterator[tuple[int, bytes]]:
        """The lines of some folded names."""
        if len(wanted) <= _FEW:
            return ((line, folded) for folded in wanted for line in self._matches(END + folded + END))
        return ((line, folded) for line, folded in enumerate(self._data[1:-1].split(END)) if folded in wanted)

    def _by_bytes(self, q: str, wanted: str, limit: int) -> dict[int, int]:
        """The kind of match of each row whose name is the query, begins with it or has it; of each kind enough."""
        found: dict[int, int] = {}
        key = encode(wanted)
        for line in self._matches(END + key + END):
            row, text = int(self._rows[line]), self._lines[line]
            kind = _LITERAL if text == q else _FOLDED if fold(text) == fold(q) else _EQUAL
            found[row] = min(found.get(row, _NONE), kind)
        for pattern, kind in ((END + key, _BEGIN), (key, _PART)):
            n_before = len(found)
            for line in self._matches(pattern):
                if len(found) >= n_before + limit:
                    break
                found.setdefault(int(self._rows[line]), kind)
        return found

    def _by_letters(self, words: list[str], limit: int) -> Iterator[tuple[int, int]]:
        """The best rows with all words, or with few wrong letters, and the kind of match of each."""
        whole = "".join(words)
        found, edits = self._whole.distances(whole)
        kinds = np.where((edits == 1) & (len(words) == 1) & (len(whole) >= _SURE), _BEGIN, _EDITS[edits])
        lines, cost = self._in_words(words)
        rows = self._rows[np.append(self._whole.line[found], lines)]
        kinds = np.append(kinds, _EDITS_IN_WORDS[cost])
        order = np.lexsort((rows, kinds))
        rows, kinds = rows[order], kinds[order]
        _, first = np.unique(rows, return_index=True)
        best = np.sort(first)[:limit]
        return zip(rows[best].tolist(), kinds[best].tolist(), strict=True)

    def _in_words(self, words: list[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The lines in which each word is the begin of one or a few edits from one, and the edits of all words."""
        lines, cost = np.zeros(0, np.int64), np.zeros(0, np.int64)
        for i, word in enumerate(words):
            begin = self._words.begin_with(word)
            found, edits = self._words.distances(word)
            of_word = self._words.line[np.append(begin, found)].astype(np.int64)  # of a line twice, the begin counts
            edits = np.append(np.zeros(len(begin), np.int64), edits)
            order = np.lexsort((edits, of_word))
            of_word, at = np.unique(of_word[order], return_index=True)
            edits = edits[order][at]
            if i:
                lines, here, there = np.intersect1d(lines, of_word, assume_unique=True, return_indices=True)
                cost = cost[here] + edits[there]
                lines, cost = lines[cost < len(_EDITS)], cost[cost < len(_EDITS)]
            else:
                lines, cost = of_word, edits
        return lines, cost

    @cached_property
    def _words(self) -> Words:
        return Words.of_lines(self._folded, several=True)

    @cached_property
    def _whole(self) -> Words:
        return Words.of_lines(self._folded, several=False)

    def _matches(self, pattern: bytes) -> Iterator[int]:
        """The lines that match, first to last."""
        at = self._data.find(pattern)
        while at >= 0:
            line = int(np.searchsorted(self._ends, at + pattern.startswith(END) - 1, side="right"))
            yield line
            at = self._data.find(pattern, int(self._ends[line]))  # the next name
