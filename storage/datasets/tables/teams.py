"""Teams of standings: the members of a team have adjacent rows and one place, and places count teams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Teams:
    """The team of each participation; None instead of an object if there are no teams.

    ``name``: null for a participant without a team. In a contest, the rows with one name are adjacent.
    ``share`` (float64[n]): share of the member in its team, > 0; 1 for all members if none is given. Only ratios in a
    team matter.
    """

    name: pa.StringArray
    share: npt.NDArray[np.float64]

    @classmethod
    def of(cls, rows: pa.Table) -> Teams | None:
        """The teams of rows of a standings file."""
        name = rows.column("team")
        if name.null_count == len(name):
            return None
        return cls(_flat(name), _flat(pc.fill_null(rows.column("share"), 1.0)).to_numpy(zero_copy_only=False))

    @classmethod
    def concat(cls, parts: Sequence[Teams | None], sizes: Sequence[int]) -> Teams | None:
        """The teams of all parts, one part after the other; ``sizes`` are the numbers of their rows."""
        if all(part is None for part in parts):
            return None
        given = [cls.none(n) if part is None else part for part, n in zip(parts, sizes, strict=True)]
        return cls(pa.concat_arrays([part.name for part in given]), np.concatenate([part.share for part in given]))

    @classmethod
    def none(cls, n: int) -> Teams:
        """``n`` participations without a team."""
        return cls(pa.nulls(n, pa.string()), np.ones(n))

    @property
    def columns(self) -> dict[str, pa.Array]:
        """The columns ``team`` and ``share`` of a standings file; a share of 1 is null."""
        return {"team": self.name, "share": pa.array(self.share, mask=self.share == 1.0)}

    def part(self, start: int, stop: int) -> Teams | None:
        """Rows ``start`` to ``stop - 1``, as views; None without teams."""
        name = self.name.slice(start, stop - start)
        return None if name.null_count == len(name) else Teams(name, self.share[start:stop])

    def keep(self, rows: Mask) -> Teams | None:
        """The rows of a mask; None without teams."""
        name = self.name.filter(pa.array(rows))
        return None if name.null_count == len(name) else Teams(name, self.share[rows])

    def opens(self, offsets: npt.NDArray[np.int64]) -> Mask:
        """Mask of the first row of each team; a participant without a team is a team of one.

        ``offsets``: first row of each contest, then the number of rows.
        """
        codes = pc.fill_null(self.name.dictionary_encode().indices, -1).to_numpy(zero_copy_only=False)
        opens = np.ones(len(codes), np.bool_)
        opens[1:] = (codes[1:] != codes[:-1]) | (codes[1:] < 0)
        opens[offsets[:-1][np.diff(offsets) > 0]] = True
        return opens

    def content(self) -> bytes:
        """Bytes that differ for other teams, names of teams, or shares."""
        n = len(self.name)
        _, ends, text = self.name.buffers()
        bounds = np.frombuffer(ends, np.int32, n + 1, offset=4 * self.name.offset)
        missing = self.name.is_null().to_numpy(zero_copy_only=False)
        lengths = np.where(missing, -1, bounds[1:] - bounds[:-1]).astype(np.int32)
        letters = b"" if text is None else bytes(memoryview(text)[bounds[0] : bounds[-1]])
        return b"teams" + lengths.tobytes() + self.share.astype(np.float64).tobytes() + letters


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
