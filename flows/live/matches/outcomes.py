"""The results of matches that no round of the lake has yet: columns of numbers, in blocks that are never copied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Outcome
from ranklake.rating_kernels.core.standings import Ints

from .beliefs import Rated

_BLOCK = 65_536  # rows
_ROW = np.dtype([("player", np.int32), ("n_before", np.int32), *((name, np.float64) for name in Outcome._fields[:-1])])


class Outcomes:
    """Results of matches in order: 48 bytes a participation, and where the rows of each match begin."""

    def __init__(self) -> None:
        self._blocks: list[npt.NDArray[np.void]] = []
        self._n_rows = 0
        self._starts: list[npt.NDArray[np.int64]] = []  # of blocks of matches
        self._n_matches = 0

    def __len__(self) -> int:
        return self._n_matches

    def add(self, rated: Rated) -> None:
        """Add a group of matches; one that is skipped has no rows."""
        sizes = np.zeros(len(rated.informative), np.int64)
        sizes[rated.informative] = np.diff(rated.rounds.offsets)
        self._add_starts(self._n_rows + np.cumsum(sizes) - sizes)
        columns = {"player": rated.rounds.player, **rated.outcome._asdict()}
        done, n = 0, rated.rounds.n_rows
        while done < n:
            at = self._n_rows % _BLOCK
            if at == 0:
                self._blocks.append(np.empty(_BLOCK, _ROW))
            stop = min(n, done + _BLOCK - at)
            block = self._blocks[-1][at : at + stop - done]
            for name, values in columns.items():
                block[name] = values[done:stop]
            self._n_rows += stop - done
            done = stop

    def of_match(self, number: int) -> tuple[Ints, Outcome]:
        """The players and the results of one match."""
        start = self._start(number)
        stop = self._start(number + 1) if number + 1 < self._n_matches else self._n_rows
        return self.rows(start, stop)

    def rows(self, start: int, stop: int) -> tuple[Ints, Outcome]:
        """The players and the results of some rows, as copies."""
        parts = list(self._parts(start, stop))
        rows = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, _ROW), *parts])
        return rows["player"].copy(), Outcome(*(rows[name].copy() for name in Outcome._fields))

    @property
    def n_rows(self) -> int:
        """Participations in all matches."""
        return self._n_rows

    def _parts(self, start: int, stop: int) -> Iterator[npt.NDArray[np.void]]:
        while start < stop:
            at = start % _BLOCK
            end = min(stop - start + at, _BLOCK)
            yield self._blocks[start // _BLOCK][at:end]
            start += end - at

    def _add_starts(self, starts: npt.NDArray[np.int64]) -> None:
        done = 0
        while done < len(starts):
            at = self._n_matches % _BLOCK
            if at == 0:
                self._starts.append(np.empty(_BLOCK, np.int64))
            stop = min(len(starts), done + _BLOCK - at)
            self._starts[-1][at : at + stop - done] = starts[done:stop]
            self._n_matches += stop - done
            done = stop

    def _start(self, number: int) -> int:
        return int(self._starts[number // _BLOCK][number % _BLOCK])
