"""The leaderboard of a run, now or at a time, and its pages: in another order, of active players, of some players."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..common.times import count_until, spelled
from ..results.attributes import attribute_names, values_of
from ..results.groups import has_value
from ..results.states import NO_END
from .kept import Kept
from .source import Rows

__all__ = ["MOST_KEPT", "ORDERS", "Group", "Leaderboard", "Page", "first_end", "kept_boards", "leaderboard"]

MOST_KEPT = 256 << 20  # bytes of what is computed for requests: leaderboards of earlier times, rows of filters
_OVERHEAD = 4096  # bytes of a key and of the objects
ORDERS = ("rating", "mu", "max_rating")

Group = tuple[str, str]  # an attribute and its value


def leaderboard(rows: Rows, at: int | None = None) -> pa.Table:
    """All rated players, best first; no row if none was rated by then.

    The state at a time is that after the last round that ended then or before. In systems with a drift by day,
    ``sigma`` has grown since each player's last round, and ``rating`` follows; ``max_rating`` is that after a round.

    Parameters
    ----------
    at
        UTC seconds; by default after all rounds.

    Returns
    -------
    pa.Table
        Columns as in ``PUBLISHED["leaderboard"]``, full precision.

    Raises
    ------
    ValueError
        ``at`` is out of range.
    """
    if at is None:
        return rows.leaderboard_table
    from ranklake.rating_kernels.core.limits import TIME_SECONDS  # imports kernels
    from ranklake.rating_kernels.core.system import check_value

    from ..results.idle import idle_rating

    check_value("at", at, TIME_SECONDS)
    states = rows.states_before(count_until(rows.ends, at))
    if len(states.players):
        mu, sigma, n_rounds = (states.columns[name] for name in ("mu", "sigma", "n_rounds"))
        last = np.where(states.latest == NO_END, 0, states.latest)
        sigma, rating = idle_rating(rows.display, mu, sigma, n_rounds, last, at)
        states = replace(states, columns=states.columns | {"sigma": sigma, "rating": rating})
    return rows.board(states)


def first_end(rows: Rows, first: str, contests: str) -> str:
    """When the ``first`` contest ended, or that the ``contests`` have no times: why a leaderboard has no rows."""
    known = rows.ends[rows.ends != 0]
    return f"{first} ended at {spelled(int(known.min()))}" if len(known) else f"{contests} have no times"


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a result.

    Attributes
    ----------
    rows : pa.Table
        The rows.
    total : int
        Number of rows of the whole result.
    next : int or None
        Start of the next page; None on the last one.
    """

    rows: pa.Table
    total: int
    next: int | None

    @classmethod
    def of(cls, table: pa.Table, chosen: npt.NDArray[np.int64], start: int, limit: int) -> Page:
        """The rows ``chosen[start : start + limit]`` of a table."""
        stop = start + limit
        rows = table.take(pa.array(chosen[start:stop]))
        return cls(rows, len(chosen), stop if stop < len(chosen) else None)


def kept_boards() -> Kept[Any]:
    """What is computed for requests, of any number of runs; values have a size ``nbytes``."""
    return Kept(MOST_KEPT, lambda value: int(value.nbytes) + _OVERHEAD)


class Leaderboard:
    """The leaderboard of one state of a run, a ``table`` with the columns of ``PUBLISHED["leaderboard"]``.

    Parameters
    ----------
    attributes
        Those of the players; columns as in ``OF_ATTRIBUTES["attributes"]``.
    kept
        Where the rows of a page's filters are kept; by default of this leaderboard alone.
    """

    def __init__(self, table: pa.Table, attributes: pa.Table, kept: Kept[Any] | None = None) -> None:
        self.table, self._kept, self._token = table, kept or kept_boards(), object()
        self._values = {
            name: values_of(attributes, name, table.column("player")) for name in attribute_names(attributes)
        }

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return int(self.table.nbytes + sum(values.nbytes for values in self._values.values()))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes, sorted."""
        return tuple(self._values)

    @property
    def last_time_seconds(self) -> int:
        """The end of the last contest of all players, UTC seconds; 0 if unknown."""
        return int(self.table.column("last_time_seconds").to_numpy().max(initial=0))

    def attributes_of(self, row: int) -> dict[str, str]:
        """The attributes of the player in a row."""
        found: dict[str, Any] = {name: values[row].as_py() for name, values in self._values.items()}
        return {name: value for name, value in found.items() if value is not None}

    def page(
        self,
        start: int,
        limit: int,
        order: str = "rating",
        active_since: int | None = None,
        title: str | None = None,
        group: Group | None = None,
    ) -> Page:
        """Rows of the leaderboard; columns as in ``PUBLISHED["leaderboard"]``.

        Parameters
        ----------
        order
            One of :data:`ORDERS`. ``place`` is always that by rating among all players.
        active_since
            Only players whose last contest ended then or later, UTC seconds.
        title
            Only players with this title.
        group
            Only players with this value of an attribute; the attribute must exist.
        """
        key = (self._token, order, active_since, title, group)
        if (rows := self._kept.get(key)) is None:
            rows = self._choose(order, active_since, title, group)
            self._kept.put(key, rows)
        return Page.of(self.table, rows, start, limit)

    def values(self, attribute: str, rows: npt.NDArray[np.int32]) -> list[str | None]:
        """The values of an attribute in some rows."""
        found: list[str | None] = self._values[attribute].take(pa.array(rows)).to_pylist()
        return found

    def _choose(
        self, order: str, active_since: int | None, title: str | None, group: Group | None
    ) -> npt.NDArray[np.int64]:
        keep = np.ones(self.table.num_rows, bool)
        if active_since is not None:
            keep &= self.table.column("last_time_seconds").to_numpy() >= active_since
        if title is not None:
            keep &= self.table.column("title").to_numpy() == title
        if group is not None:
            keep &= has_value(self._values[group[0]], group[1])
        rows = np.flatnonzero(keep)
        if order != "rating":
            rows = rows[np.argsort(-self.table.column(order).to_numpy()[rows], kind="stable")]
        return rows
