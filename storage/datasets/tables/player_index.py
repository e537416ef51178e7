"""From handles to players: a hash table of arrays, because a dict of millions of strings takes gigabytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_NONE = -1
_LEAST_SLOTS = 1 << 10
_BLOCK = 1 << 16
_SHIFT = np.uint64(32)


class PlayerIndex:
    """Handle to index; a new handle gets the next index. Handles are not trimmed or folded.

    Open addressing with linear probing: a slot has a player or none, and at most half of the slots have one. A handle
    is compared with the bytes of the players that have its hash. All operations are on many handles at once.
    """

    def __init__(self, handles: pa.StringArray) -> None:
        # Unknown numbers: handles with equal hashes cannot be chosen on purpose. No index depends on them.
        self._random = np.random.default_rng()
        self._coefficients: Words = np.empty(0, np.uint64)
        self._chunks: list[pa.StringArray] = []
        self._hashes: Words = np.empty(0, np.uint64)  # of each player; may be longer than there are players
        self._slots: Ints = np.full(_LEAST_SLOTS, _NONE, np.int32)
        self._n_players = 0
        self._append(handles, self._hash(handles))

    def __len__(self) -> int:
        return self._n_players

    def rows(self, handles: pa.StringArray) -> Ints:
        """Index of each handle; new handles are numbered in order of first appearance."""
        encoded = handles.dictionary_encode()
        distinct = encoded.dictionary
        hashes = self._hash(distinct)
        players = self._find(distinct, hashes)
        new = np.flatnonzero(players == _NONE)
        if len(new):
            players[new] = np.arange(len(self), len(self) + len(new), dtype=np.int32)
            self._append(distinct.take(pa.array(new)), hashes[new])
        rows: Ints = players[encoded.indices.to_numpy()]
        return rows

    def known(self, handles: Sequence[str]) -> list[int]:
        """Indices of the given handles that have an index."""
        names = pa.array(handles, pa.string())
        players = self._find(names, self._hash(names))
        known: list[int] = players[players != _NONE].tolist()
        return known

    def since(self, player: int) -> pa.StringArray:
        """Handles from index ``player`` on."""
        return pa.concat_arrays(self._chunks).slice(player)

    def _hash(self, handles: pa.StringArray) -> Words:
        """Hash of each handle; in blocks, as a letter takes 24 bytes meanwhile."""
        blocks = (handles.slice(start, _BLOCK) for start in range(0, len(handles), _BLOCK))
        return np.concatenate([np.empty(0, np.uint64), *map(self._hash_block, blocks)])

    def _hash_block(self, handles: pa.StringArray) -> Words:
        """A random linear function of the bytes of each handle."""
        n = len(handles)
        _, ends, text = handles.buffers()
        if text is None:
            return np.zeros(n, np.uint64)
        bounds = np.frombuffer(ends, np.int32, n + 1, offset=4 * handles.offset)
        lengths = np.diff(bounds)
        if (longest := int(lengths.max())) > len(self._coefficients):
            more = self._random.integers(2**64, size=longest - len(self._coefficients), dtype=np.uint64)
            self._coefficients = np.append(self._coefficients, more)
        letters = np.frombuffer(text, np.uint8)[bounds[0] : bounds[-1]]
        place = np.arange(len(letters)) - np.repeat(bounds[:-1] - bounds[0], lengths)
        sums = np.zeros(len(letters) + 1, np.uint64)
        np.cumsum((letters.astype(np.uint64) + np.uint64(1)) * self._coefficients[place], out=sums[1:])
        hashes: Words = np.diff(sums[bounds - bounds[0]])
        return hashes ^ (hashes >> _SHIFT)  # the lower bits of products are the worst

    def _find(self, handles: pa.StringArray, hashes: Words) -> Ints:
        """Player of each handle; ``_NONE`` for an unknown one."""
        found = np.full(len(handles), _NONE, np.int32)
        left, slot = np.arange(len(handles)), self._slot(hashes)
        while len(left):
            player = self._slots[slot]
            some = player != _NONE  # an empty slot ends the search
            left, slot, player = left[some], slot[some], player[some]
            same = self._hashes[player] == hashes[left]
            same[same] = self._are(player[same], handles.take(pa.array(left[same])))
            found[left[same]] = player[same]
            left, slot = left[~same], (slot[~same] + 1) % len(self._slots)
        return found

    def _are(self, players: Ints, handles: pa.StringArray) -> npt.NDArray[np.bool_]:
        """Whether each player has the handle beside it."""
        ends = np.cumsum([len(chunk) for chunk in self._chunks])
        chunk_of = np.searchsorted(ends, players, side="right")
        same = np.zeros(len(players), np.bool_)
        for number in np.unique(chunk_of).tolist():  # a chunked array would be joined for each call
            rows, chunk = np.flatnonzero(chunk_of == number), self._chunks[number]
            own = chunk.take(pa.array(players[rows] - (ends[number] - len(chunk))))
            same[rows] = pc.equal(own, handles.take(pa.array(rows))).to_numpy(zero_copy_only=False)
        return same

    def _append(self, handles: pa.StringArray, hashes: Words) -> None:
        """Add new players, each handle once."""
        start, stop = self._n_players, self._n_players + len(handles)
        self._chunks.append(handles)
        while len(self._chunks) > 1 and len(self._chunks[-2]) < 2 * len(self._chunks[-1]):
            self._chunks[-2:] = [pa.concat_arrays(self._chunks[-2:])]
        if stop > len(self._hashes):
            self._hashes = np.concatenate([self._hashes[:start], np.empty(max(start, len(hashes)), np.uint64)])
        self._hashes[start:stop] = hashes
        self._n_players = stop
        if 2 * stop > len(self._slots):
            self._slots = np.full(1 << (4 * stop - 1).bit_length(), _NONE, np.int32)
            start = 0
        self._insert(np.arange(start, stop, dtype=np.int32))

    def _insert(self, players: Ints) -> None:
        slot = self._slot(self._hashes[players])
        while len(players):
            free = np.flatnonzero(self._slots[slot] == _NONE)
            self._slots[slot[free]] = players[free]  # of several players for one slot, one gets it
            left = self._slots[slot] != players
            players, slot = players[left], (slot[left] + 1) % len(self._slots)

    def _slot(self, hashes: Words) -> npt.NDArray[np.int64]:
        return (hashes & np.uint64(len(self._slots) - 1)).astype(np.int64)
