"""Covariates of games: numbers by which a game differed for its two players, such as the length of an answer.

Static Bradley-Terry explains results by them. A covariate is oriented: it is a difference, first player less second, or
a sign, +1 if the first player was on the left. The same game told from the other side has the negative number. So a
reader must know whose side a number tells; :class:`Covariates` says it nowhere, its owners do.

A file of games has a column ``x_NAME`` of doubles for each covariate, without nulls. All periods of a data set have the
same covariates, whose names its table of contests repeats.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...lake.schemas import COVARIATE

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """The covariates of games.

    ``names``: sorted, at least one.
    ``values`` (float64[m, c]): of each game, by name; finite, no -0.0. C-contiguous.
    """

    names: tuple[str, ...]
    values: Floats

    @classmethod
    def of(cls, rows: pa.Table) -> Covariates | None:
        """Those of rows of a file of games, as the file tells them; None if it has none."""
        columns = sorted(name for name in rows.column_names if name.startswith(COVARIATE))
        if not columns:
            return None
        values = np.empty((rows.num_rows, len(columns)))
        for at, name in enumerate(columns):
            values[:, at] = rows.column(name).to_numpy()
        return cls(tuple(name.removeprefix(COVARIATE) for name in columns), values)

    def columns(self) -> dict[str, Floats]:
        """The columns of a file."""
        return {column_of(name): np.ascontiguousarray(self.values[:, at]) for at, name in enumerate(self.names)}

    def take(self, games: Any) -> Covariates:
        """Some of the games: a slice, a mask or numbers."""
        return Covariates(self.names, self.values[games])

    def turned(self, games: npt.NDArray[np.bool_]) -> Covariates:
        """The same, with the games of a mask told from the other side."""
        return Covariates(self.names, np.where(games[:, None], -self.values, self.values) + 0.0)  # no -0.0

    def content(self) -> bytes:
        """Bytes that differ for other names or values, for digests."""
        return b"covariates" + json.dumps(self.names, allow_nan=False).encode() + self.values.tobytes()


def column_of(name: str) -> str:
    """The name of a covariate's column."""
    return COVARIATE + name


def join_covariates(parts: Sequence[Covariates | None]) -> Covariates | None:
    """The covariates of all parts, one part after the other; ``ValueError`` if their names differ."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    if len(known) < len(parts) or any(part.names != known[0].names for part in known):
        raise ValueError("periods of one ingest must have the same covariates")
    return Covariates(known[0].names, np.concatenate([part.values for part in known]))
