"""The problems of a published run: a list with filters, one problem, those of a contest, and those for a player."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage.names.folding import fold
from ranklake.storage.names.hints import near_names

from ...problems.columns import ABOUT, BAND, COLUMNS
from ...publication.root import ProblemsFile
from .chances import Floats, chance_curve, solve_chances

if TYPE_CHECKING:  # imports kernels
    from ...problems.published import RunProblemTables

ProblemOrder: TypeAlias = Literal["difficulty", "deviation", "solved"]
PROBLEM_ORDERS: tuple[ProblemOrder, ...] = get_args(ProblemOrder)
"""Orders of problems, each descending."""
PROBLEM_COLUMNS = (*COLUMNS.names, *ABOUT.names)
"""Columns of a problem in a list."""

Rows = npt.NDArray[np.int64]


class Chosen(NamedTuple):
    """Rows of a table, in order."""

    table: pa.Table
    rows: Rows


class NoProblemError(LookupError):
    """A run has no such problem; ``near`` are ids that are similar."""

    def __init__(self, problem: str, near: list[str]) -> None:
        super().__init__(problem)
        self.near = near


class PublishedProblems:
    """The problems of one state of a published run; rows as of ``PROBLEM_ROWS``, hardest first.

    ``facts``: how the difficulties were computed. ``contest_ids``: of all rounds.
    """

    def __init__(
        self, facts: ProblemsFile | RunProblemTables, table: pa.Table, solves: pa.Table, contest_ids: pa.ChunkedArray
    ) -> None:
        self.scale, self.uncertainty, self.n_left_out = facts.scale, facts.uncertainty, facts.left_out
        self.table, self._solves, self._contest_ids = table, solves, contest_ids
        self._difficulty, self._deviation = (
            table.column(name).to_numpy() for name in ("difficulty", "deviation")
        )  # NaN where null

    def chosen(
        self,
        order: str = "difficulty",
        contest: str | None = None,
        low: float | None = None,
        high: float | None = None,
        tag: str | None = None,
        q: str = "",
    ) -> Chosen:
        """Some problems; columns :data:`PROBLEM_COLUMNS`.

        ``order``: one of :data:`PROBLEM_ORDERS`, descending; after a ``-`` ascending. Null is last.
        ``contest``: only problems of this contest, an id.
        ``low``, ``high``: only problems of at least this difficulty, of less than that one.
        ``tag``: only problems with this tag.
        ``q``: only problems with this in the name or id, without case and accents.
        """
        keep = np.ones(self.table.num_rows, np.bool_)
        if contest is not None:
            keep[:] = False
            keep[self._of_contest.get(contest, [])] = True
        with np.errstate(invalid="ignore"):
            keep &= np.True_ if low is None else self._difficulty >= low
            keep &= np.True_ if high is None else self._difficulty < high
        if tag is not None:
            keep &= np.array([tag in (tags or ()) for tags in self.table.column("tags").to_pylist()], np.bool_)
        if wanted := fold(q):
            keep &= np.array([wanted in text for text in self._texts], np.bool_)
        rows = np.flatnonzero(keep)
        return Chosen(self.table.select(PROBLEM_COLUMNS), rows[self._order(order, rows)])

    def problem(self, problem: str) -> dict[str, Any]:
        """One problem: its row, its ``contest_ids``, the ``curve`` of chances by skill, and what is seen in ``bands``.

        ``curve``: ``rating`` and ``chance``, evenly spaced; empty if the difficulty is null.
        ``bands``: of the ratings at entry from ``low`` to below ``high`` the participations ``counted``, the sum of
        their shares ``solved``, and its quotient ``share``, null if nobody counted.
        Raises NoProblemError.
        """
        row = self.row(problem)
        (found,) = self.table.slice(row, 1).to_pylist()
        low, curve, bands = found["band_low"], [], []
        if found["difficulty"] is not None:
            ratings, chances = chance_curve(found["difficulty"], self.scale)
            pairs = zip(ratings.tolist(), chances.tolist(), strict=True)
            curve = [{"rating": rating, "chance": chance} for rating, chance in pairs]
        for number, (counted, solved) in enumerate(zip(found["band_counted"], found["band_solved"], strict=True)):
            place = {"low": low + BAND * number, "high": low + BAND * (number + 1)}
            share = solved / counted if counted else None
            bands.append(place | {"counted": counted, "solved": solved, "share": share})
        return {
            **{name: found[name] for name in PROBLEM_COLUMNS},
            "contest_ids": self._contest_ids.take(pa.array(found["rounds"], pa.int32())).to_pylist(),
            "scale": self.scale,
            "curve": curve,
            "bands": bands,
        }

    def row(self, problem: str) -> int:
        """The row of a problem; raises NoProblemError."""
        if problem not in self._row_of:
            raise NoProblemError(problem, near_names(problem, list(self._row_of)))
        return self._row_of[problem]

    def of_contest(self, contest: str) -> pa.Table:
        """The problems of a contest in its order, if that is known, else by their ids; there may be none."""
        found = self.table.take(pa.array(self._of_contest.get(contest, []), pa.int64()))
        keys = [("position", "ascending"), ("problem", "ascending")]
        return found.take(pc.sort_indices(found, sort_keys=keys)).select(PROBLEM_COLUMNS)

    def for_player(
        self, player: int, mu: float, sigma: float, chance: float = 0.8, width: float = 0.05, unsolved: bool = False
    ) -> Chosen:
        """The problems that a player solves with a chance of about ``chance``, hardest first.

        ``mu``, ``sigma``: the skill of the player; sigma counts as it did for the difficulties.
        ``width``: the greatest difference from ``chance``. ``unsolved``: only problems that the player has not solved
        in full.
        Columns :data:`PROBLEM_COLUMNS`, ``chance`` and ``unsolved``.
        """
        chances = self.chances(mu, sigma)
        left = np.ones(self.table.num_rows, np.bool_)
        left[self.solved_by(player)] = False
        with np.errstate(invalid="ignore"):
            keep = np.abs(chances - chance) <= width
        table = self.table.select(PROBLEM_COLUMNS).append_column("chance", pa.array(chances))
        table = table.append_column("unsolved", pa.array(left))
        return Chosen(table, np.flatnonzero(keep & left if unsolved else keep))

    def chances(self, mu: float, sigma: float) -> Floats:
        """The chance of a player for each problem; NaN where the difficulty is null."""
        flattens = self.uncertainty > 0.0
        variance = (self.uncertainty * sigma) ** 2 + self._deviation**2 if flattens else 0.0
        return solve_chances(mu, self._difficulty, self.scale, variance)

    def solved_by(self, player: int) -> npt.NDArray[np.int32]:
        """The rows of the problems that a player solved in full."""
        players = self._solves.column("player").to_numpy()
        start, stop = (np.searchsorted(players, np.int32(player), side=side) for side in ("left", "right"))
        rows: npt.NDArray[np.int32] = self._solves.column("problem").to_numpy()[start:stop]
        return rows

    @cached_property
    def tags(self) -> list[str]:
        """All tags, sorted."""
        return sorted({tag for tags in self.table.column("tags").to_pylist() for tag in tags or ()})

    def has_contest(self, contest: str) -> bool:
        """Whether a contest has problems."""
        return contest in self._of_contest

    def near_contests(self, contest: str) -> list[str]:
        """Ids of contests with problems that are similar to one."""
        return near_names(contest, list(self._of_contest))

    def _order(self, order: str, rows: Rows) -> Rows:
        """How to sort some rows, which are in order of difficulty."""
        values = self.table.column(order.removeprefix("-")).to_numpy()[rows]
        last = np.where(np.isnan(values), math.inf, values if order.startswith("-") else -values)
        return np.argsort(last, kind="stable")

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.table.column("problem").to_pylist())}

    @cached_property
    def _of_contest(self) -> dict[str, list[int]]:
        """The rows of the problems of each contest, by its id."""
        found: dict[str, list[int]] = {}
        rounds = self.table.column("rounds").combine_chunks()
        rows = pc.list_parent_indices(rounds).to_pylist()
        for row, contest in zip(rows, self._contest_ids.take(rounds.flatten()).to_pylist(), strict=True):
            found.setdefault(contest, []).append(row)
        return found

    @cached_property
    def _texts(self) -> list[str]:
        """Name and id of each problem, folded for search."""
        names, ids = (self.table.column(name).to_pylist() for name in ("name", "problem"))
        return [fold(f"{name or ''} {problem}") for name, problem in zip(names, ids, strict=True)]
