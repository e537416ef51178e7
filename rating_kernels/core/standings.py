"""Rounds as arrays: participants, places, and the validation of places.

A round is an ordered list of ``(player, lo, hi)``; ``lo`` and ``hi`` are the zero-based first and last position of the
player's tie group, both inclusive. Consecutive rounds are stored one after the other in one :class:`Rounds`, so that a
million one-to-one games are a few arrays instead of a million objects.

In a round of teams the rows of a team's members are adjacent, and places count teams: the members of a team have the
``lo`` and ``hi`` of the team. A participant without a team is a team of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .limits import ADVANTAGE, PERF_CEILING, PRECISION, SCORE, SCORED, SHARE, TIME_SECONDS, WEIGHT, Limits
from .ragged import Ragged

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


ROUND_LIMITS: Mapping[str, Limits] = MappingProxyType(
    {"weight": WEIGHT, "precision": PRECISION, "perf_ceiling": PERF_CEILING, "time_seconds": TIME_SECONDS}
)
"""Permitted values of the numbers of a round, by column name."""


class StandingsError(ValueError):
    """Standings that are not a valid result.

    Attributes
    ----------
    rule : str
        Description of the violated rule.
    round : int
        Index of the invalid round among those checked, from 0.
    first_row, last_row : int
        The invalid rows of that round, from 0, both inclusive.
    """

    def __init__(self, rule: str, round: int, first_row: int, last_row: int | None = None) -> None:
        # pickle passes the arguments of the base class to the constructor in another process
        super().__init__(rule, round, first_row, last_row)
        self.rule, self.round, self.first_row = rule, round, first_row
        self.last_row = first_row if last_row is None else last_row

    def __str__(self) -> str:
        where = f"row {self.first_row}" if self.last_row == self.first_row else f"rows {self.first_row}-{self.last_row}"
        return f"round {self.round}, {where}: {self.rule}"


def check_places(
    lo: npt.NDArray[np.integer], hi: npt.NDArray[np.integer], offsets: npt.NDArray[np.integer] | None = None
) -> None:
    """Raise :class:`StandingsError` unless every round's rows are whole tie groups, best first, without gaps.

    ``lo``, ``hi``: integer arrays of equal length ``n``: first and last position of each row's tie group in its round.
    ``offsets``: first row of each round, then ``n``; by default all rows are one round.
    """
    n = len(lo)
    offsets = np.array([0, n]) if offsets is None else offsets
    sizes = np.diff(offsets)
    if np.any(sizes == 0):
        raise StandingsError("no participants", int(np.flatnonzero(sizes == 0)[0]), 0)
    if n == 0:
        return
    opens = np.zeros(n + 1, dtype=bool)  # first rows of tie groups
    opens[1:n] = lo[1:] != lo[:-1]
    opens[offsets] = True
    starts = np.flatnonzero(opens)
    group = np.cumsum(opens[:n]) - 1
    round_start = np.repeat(offsets[:-1], sizes)
    first = starts[group] - round_start
    last = starts[group + 1] - 1 - round_start
    wrong = np.flatnonzero((lo != first) | (hi != last))
    if len(wrong):
        at = int(np.searchsorted(offsets, wrong[0], side="right")) - 1
        start, stop = int(offsets[at]), int(offsets[at + 1])
        raise _wrong_places(
            at, lo[start:stop], hi[start:stop], int(wrong[0]) - start, first[start:stop], last[start:stop]
        )


def _wrong_places(
    at: int,
    lo: npt.NDArray[np.integer],
    hi: npt.NDArray[np.integer],
    bad: int,
    first: npt.NDArray[np.integer],
    last: npt.NDArray[np.integer],
) -> StandingsError:
    """The error that describes the first wrong row of a round."""
    if hi[bad] < lo[bad]:
        return StandingsError(f"lo = {lo[bad]} is behind hi = {hi[bad]}", at, bad)
    falls = np.flatnonzero(lo[1:] < lo[:-1])
    if len(falls):
        row = int(falls[0]) + 1
        return StandingsError(f"not sorted by place: lo = {lo[row]} follows lo = {lo[row - 1]}", at, row - 1, row)
    a, b = int(first[bad]), int(last[bad])
    if lo[a] != a:
        return StandingsError(f"the tie group at position {a} has lo = {lo[a]}; places leave no gaps", at, a, b)
    shown = ", ".join(str(v) for v in hi[a : min(b, a + 4) + 1]) + (", ..." if b > a + 4 else "")
    return StandingsError(
        f"{b - a + 1} tied rows have lo = {a}, hi = {shown}; a tie group shares one lo and one hi = {b}", at, a, b
    )


def check_distinct(player: npt.NDArray[np.integer], offsets: npt.NDArray[np.integer] | None = None) -> None:
    """Raise :class:`StandingsError` if a player occurs twice in one round; names round and both rows."""
    offsets = np.array([0, len(player)]) if offsets is None else offsets
    at = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((player, at))
    same = np.flatnonzero((player[order[1:]] == player[order[:-1]]) & (at[order[1:]] == at[order[:-1]]))
    if len(same):
        one, other = order[same[0]], order[same[0] + 1]
        start = offsets[at[one]]
        raise StandingsError(
            f"player {player[one]} is listed twice", int(at[one]), int(one - start), int(other - start)
        )


def close_up(lo: Ints, round_of: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """First and last row of the tie group of each row, in all rounds; rows of a round with one ``lo`` are a group."""
    starts = np.flatnonzero((np.diff(lo, prepend=-1) != 0) | (np.diff(round_of, prepend=-1) != 0))
    sizes = np.diff(starts, append=len(lo))
    return np.repeat(starts, sizes).astype(np.int32), np.repeat(starts + sizes - 1, sizes).astype(np.int32)


def places_from_ranks(rank: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], Ints, Ints]:
    """Order of the rows, best first, and ``lo`` and ``hi`` of each ordered row, from ranks; equal ranks tie.

    Ranks are any finite numbers, lower is better: competition ranks (1, 2, 2, 4), dense ranks or negated scores.
    Rows of equal rank keep their order.
    """
    values = np.asarray(rank, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    lo = np.searchsorted(ordered, ordered, side="left").astype(np.int32)
    hi = (np.searchsorted(ordered, ordered, side="right") - 1).astype(np.int32)
    return order, lo, hi


def count_events(time_seconds: Longs) -> Longs:
    """Number of events before each round of a history.

    Consecutive rounds of one time are divisions of one event. Time 0 means unknown: such a round is a separate event.
    """
    begins = (np.diff(time_seconds, prepend=0) != 0) | (time_seconds == 0)
    return np.cumsum(begins, dtype=np.int64) - 1


_THESE_ROWS: Longs = np.empty(0, dtype=np.int64)  # stands for the number of rows of each round
_NO_ROLES: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
_NONE: Floats = np.empty(0)
_NO_COVARIATES: Floats = np.empty((0, 0))
_ONES: Floats = np.empty(0)  # stands for a 1 for each round

RATED, OUTSIDE, IN_FIELD = 0, 1, 2
"""Roles of a participant: rated; unrated, and rated participants do not compete with it; unrated, and they do."""


class Conditions(NamedTuple):
    """The factors of a round, or arrays of one number for each round or row: see :class:`Rounds`."""

    weight: Any = 1.0
    precision: Any = 1.0

    @property
    def noise(self) -> Any:
        """The divisor of a variance of noise that the weight divides, too."""
        return self.weight * self.precision

    def take(self, rounds: Any) -> Conditions:
        """The factors of some rounds, or of one."""
        return Conditions(self.weight[rounds], self.precision[rounds])


class RoundColumns(NamedTuple):
    """Columns of rounds as kernels take them; see :class:`Rounds`."""

    offsets: Longs
    player: Ints
    lo: Ints
    hi: Ints
    time_seconds: Longs
    weight: Floats
    perf_ceiling: Floats
    participants: Longs
    advantage: Floats
    precision: Floats
    points: Floats
    score: Floats


OF_ROUNDS = ("time_seconds", "weight", "perf_ceiling", "event", "participants", "precision")
"""Columns of :class:`Rounds` with one entry a round."""

_OF_ROWS = ("player", "lo", "hi")
_MAY_BE_EMPTY = ("roles", "advantage", "points")  # of the rows
_OF_GAMES = ("score", "covariates")  # of rounds of two, may be empty, too


@dataclass(frozen=True, slots=True)
class Rounds:
    """Consecutive rounds in rating order.

    Attributes
    ----------
    offsets : int64[r + 1]
        Round ``i`` has the rows ``offsets[i]:offsets[i + 1]``.
    player, lo, hi : int32[n]
        One row a participation, best place first inside a round.
    time_seconds : int64[r]
        End of the round, UTC since the epoch.
    weight : float64[r]
        Weight of the round; see :data:`.limits.WEIGHT`.
    perf_ceiling : float64[r]
        Upper limit of performances, rating points; +inf for none.
    event : int64[r]
        Number of events before the round. Consecutive rounds of one known time are divisions of one event and share it.
    participants : int64[r]
        Participants of the whole round, also where only some of its rows are here; by default the number of rows, or
        of teams.
    roles : uint8[n] or uint8[0]
        :data:`RATED`, :data:`OUTSIDE` or :data:`IN_FIELD` for each row; empty: all are rated. Kernels rate all rows;
        see ``ranklake.flows.execution.rounds``.
    advantage : float64[n] or float64[0]
        Rating points by which the strength of each row's participant in this round exceeds its rating; see
        :data:`.limits.ADVANTAGE`. Where the first player of a game has the advantage h, its row has h/2 and the other
        one -h/2. Empty: none.
    precision : float64[r]
        Factor on the precision of performances: the variance of their noise is divided by it, that of the drift is not;
        see :data:`.limits.PRECISION`. By default 1.
    points : float64[n] or float64[0]
        Points that each row's participant scored, more is better; NaN where unknown. Empty: unknown for all. Places do
        not depend on them.
    score : float64[r] or float64[0]
        For rounds of two: the score of the first row, from 0.5, which is a tie, to 1; the other row has the rest.
        Empty: scores follow from the places.
    covariates : float64[r, c] or float64[0, 0]
        For rounds of two: facts of the game besides its players, turned to the first row: for the other row they have
        the opposite sign. Empty: none.
    teams : Ragged or None
        For each team of all rounds the shares of its members, > 0, one for each row. None: all participants are alone.
    """

    offsets: Longs
    player: Ints
    lo: Ints
    hi: Ints
    time_seconds: Longs
    weight: Floats
    perf_ceiling: Floats
    event: Longs
    participants: Longs = field(default_factory=lambda: _THESE_ROWS)
    roles: npt.NDArray[np.uint8] = field(default_factory=lambda: _NO_ROLES)
    advantage: Floats = field(default_factory=lambda: _NONE)
    precision: Floats = field(default_factory=lambda: _ONES)
    points: Floats = field(default_factory=lambda: _NONE)
    score: Floats = field(default_factory=lambda: _NONE)
    covariates: Floats = field(default_factory=lambda: _NO_COVARIATES)
    teams: Ragged | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.participants is _THESE_ROWS:
            bounds = self.offsets if self.teams is None else np.searchsorted(self.teams.offsets, self.offsets)
            object.__setattr__(self, "participants", np.diff(bounds))
        if self.precision is _ONES:
            object.__setattr__(self, "precision", np.ones(len(self)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_rows(self) -> int:
        """Participations in all rounds."""
        return int(self.offsets[-1] - self.offsets[0])

    @classmethod
    def from_columns(
        cls,
        offsets: npt.ArrayLike,
        player: npt.ArrayLike,
        lo: npt.ArrayLike,
        hi: npt.ArrayLike,
        time_seconds: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        perf_ceiling: npt.ArrayLike | None = None,
        event: npt.ArrayLike | None = None,
        teams: Ragged | None = None,
        advantage: npt.ArrayLike | None = None,
        precision: npt.ArrayLike | None = None,
        points: npt.ArrayLike | None = None,
        score: npt.ArrayLike | None = None,
    ) -> Rounds:
        """Validate all columns once; kernels do not check them again.

        Raises
        ------
        ValueError
            Columns of unequal length, a number of a round or of a row out of range, scores of rounds that are not of
            two or that do not agree with the places, or teams that do not divide the rows of each round.
        StandingsError
            Places that are not a valid result, members of a team with different places, or a player that occurs twice
            in one round; names round and row.
        """
        off = np.require(offsets, np.int64, ["C_CONTIGUOUS", "WRITEABLE"])
        r, n = len(off) - 1, int(off[-1])
        if r < 0 or off[0] != 0 or np.any(np.diff(off) < 0):
            raise ValueError("offsets must start at 0 and not decrease")
        times = _column("time_seconds", np.zeros(r) if time_seconds is None else time_seconds, np.int64, r)
        columns = cls(
            off,
            _column("player", player, np.int32, n),
            _column("lo", lo, np.int32, n),
            _column("hi", hi, np.int32, n),
            times,
            _column("weight", np.ones(r) if weight is None else weight, np.float64, r),
            _column("perf_ceiling", np.full(r, np.inf) if perf_ceiling is None else perf_ceiling, np.float64, r),
            _column("event", count_events(times) if event is None else event, np.int64, r),
            advantage=_NONE if advantage is None else _column("advantage", advantage, np.float64, n),
            precision=_column("precision", np.ones(r) if precision is None else precision, np.float64, r),
            points=_NONE if points is None else _column("points", points, np.float64, n),
            score=_NONE if score is None else _column("score", score, np.float64, r),
            teams=None if teams is None else _check_teams(teams, off),
        )
        for name, limits in {**ROUND_LIMITS, "score": SCORE}.items():
            _check_column("round", name, getattr(columns, name), limits)
        _check_column("row", "advantage", columns.advantage, ADVANTAGE)
        known = np.where(np.isnan(columns.points), 0.0, columns.points)
        _check_column("row", "points", known, SCORED)
        if len(columns.score):
            if (np.diff(off) != 2).any():
                raise ValueError("scores are for rounds of two")
            least = np.where(columns.hi[::2] > 0, 0.5, np.nextafter(0.5, 1.0))  # of a tie, and of a better first row
            wrong = (columns.score < least) | ((columns.hi[::2] > 0) & (columns.score > 0.5))
            if wrong.any():
                at = int(np.argmax(wrong))
                rule = "the score of its first row must be 0.5 in a tie, else more"
                raise ValueError(f"round {at}: {rule}, got {columns.score[at]}")
        if n and columns.player.min() < 0:
            raise ValueError(f"player must be a number >= 0, got {columns.player.min()}")
        if columns.teams is None:
            check_places(columns.lo, columns.hi, off)
        else:
            _check_places_of_teams(columns, columns.teams)
        check_distinct(columns.player, off)
        return columns

    def part(self, start: int, stop: int) -> Rounds:
        """Rounds ``start`` to ``stop - 1``; the rows are views."""
        a, b = self.offsets[start], self.offsets[stop]
        columns: dict[str, Any] = {name: getattr(self, name)[a:b] for name in (*_OF_ROWS, *_MAY_BE_EMPTY)}
        columns |= {name: getattr(self, name)[start:stop] for name in (*OF_ROUNDS, *_OF_GAMES)}
        teams = None if self.teams is None else _part_of_teams(self.teams, int(a), int(b))
        return Rounds(self.offsets[start : stop + 1] - a, **columns, teams=teams)

    @property
    def conditions(self) -> Conditions:
        """Weights and precisions."""
        return Conditions(self.weight, self.precision)

    @property
    def columns(self) -> RoundColumns:
        """The columns for kernels: writable although never written, or kernels would be compiled again."""
        return RoundColumns(*(_writable(getattr(self, name)) for name in RoundColumns._fields))

    @property
    def arrays(self) -> list[Any]:
        """All columns, in the order of the fields; those of teams at the end, if there are teams."""
        *columns, teams = (getattr(self, name) for name in self.__slots__)
        return [*columns, *(teams or ())]

    @classmethod
    def from_arrays(cls, arrays: Sequence[Any]) -> Rounds:
        """The inverse of :attr:`arrays`."""
        n = len(cls.__slots__) - 1
        return cls(*arrays[:n], teams=Ragged(*arrays[n:]) if len(arrays) > n else None)

    @property
    def of_teams(self) -> npt.NDArray[np.bool_]:
        """Mask of rounds with at least one team of two or more."""
        if self.teams is None:
            return np.zeros(len(self), dtype=np.bool_)
        mask: npt.NDArray[np.bool_] = np.diff(np.searchsorted(self.teams.offsets, self.offsets)) < np.diff(self.offsets)
        return mask

    @property
    def informative(self) -> npt.NDArray[np.bool_]:
        """Mask of rounds with at least two different places: neither a single participant nor one tie of all."""
        return self.hi[self.offsets[:-1]] < self.participants - 1

    def keep(self, rounds: npt.NDArray[np.bool_]) -> Rounds:
        """The rounds of a mask, as copies; the same object if the mask has all rounds."""
        if rounds.all():
            return self
        sizes = np.diff(self.offsets)
        rows = np.repeat(rounds, sizes)
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in _OF_ROWS}
        columns |= {name: getattr(self, name)[rounds] for name in OF_ROUNDS}
        of_games = ((name, rounds) for name in _OF_GAMES)
        for name, mask in (*((name, rows) for name in _MAY_BE_EMPTY), *of_games):
            columns[name] = getattr(self, name)[mask] if len(getattr(self, name)) else getattr(self, name)
        teams = None if self.teams is None else _keep_teams(self.teams, rows)
        return Rounds(np.concatenate(([0], np.cumsum(sizes[rounds]))), **columns, teams=teams)

    @property
    def are_rated(self) -> npt.NDArray[np.bool_]:
        """Mask of the rows of rated participants."""
        return self.roles == RATED if len(self.roles) else np.ones(self.n_rows, dtype=np.bool_)

    @property
    def with_unrated(self) -> npt.NDArray[np.bool_]:
        """Mask of rounds with at least one unrated participant."""
        return self._with_any(self.roles)

    def strengths(self, mu: Floats) -> Floats:
        """Ratings of the rows plus advantages; the same array if there are none."""
        return mu + self.advantage if len(self.advantage) else mu

    @property
    def with_advantages(self) -> npt.NDArray[np.bool_]:
        """Mask of rounds with at least one advantage other than 0."""
        return self._with_any(self.advantage)

    @property
    def with_fractions(self) -> npt.NDArray[np.bool_]:
        """Mask of rounds with a score that is no win, draw or loss."""
        return (self.score > 0.5) & (self.score < 1.0) if len(self.score) else np.zeros(len(self), dtype=np.bool_)

    def _with_any(self, column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Mask of rounds with at least one entry other than 0 in a column of the rows, which may be empty."""
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[np.searchsorted(self.offsets, np.flatnonzero(column), "right") - 1] = True
        return mask

    def select(self, rows: npt.NDArray[np.bool_]) -> Rounds:
        """The same rounds with some of their participants only, in the places among these; without roles and teams.

        A round may have no participant left.
        """
        round_of = np.repeat(np.arange(len(self)), np.diff(self.offsets))[rows]
        offsets = np.searchsorted(round_of, np.arange(len(self) + 1))
        lo, hi = close_up(self.lo[rows], round_of)
        start = offsets[round_of].astype(np.int32)
        facts = self.time_seconds, self.weight, self.perf_ceiling, self.event
        of_rows = {name: getattr(self, name) for name in ("advantage", "points")}
        columns: dict[str, Any] = {name: column[rows] if len(column) else column for name, column in of_rows.items()}
        columns |= {name: getattr(self, name) for name in ("precision", *_OF_GAMES)}
        return Rounds(offsets, self.player[rows], lo - start, hi - start, *facts, **columns)

    def rated_only(self) -> Rounds:
        """The same rounds without their unrated participants, as :meth:`select`; the same object if all are rated."""
        return self.select(self.are_rated) if self.roles.any() else self


def _writable(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return column if column.flags.carray else column.copy()


def _part_of_teams(teams: Ragged, a: int, b: int) -> Ragged | None:
    """The teams of rows ``a`` to ``b - 1``, which are whole teams; None if each has one member."""
    first, last = np.searchsorted(teams.offsets, (a, b))
    return None if last - first == b - a else Ragged(teams.offsets[first : last + 1] - a, teams.values[a:b])


def _keep_teams(teams: Ragged, rows: npt.NDArray[np.bool_]) -> Ragged | None:
    """The teams of a mask of rows, which are whole teams; None if each has one member."""
    lengths = teams.lengths[rows[teams.offsets[:-1]]]
    return None if (lengths == 1).all() else Ragged.from_lengths(lengths, teams.values[rows])


def _check_teams(teams: Ragged, offsets: Longs) -> Ragged | None:
    """The teams with arrays of the right types; None if each has one member.

    Raises ValueError: a team without members or in two rounds, or a share out of range.
    """
    n = int(offsets[-1])
    bounds = np.require(teams.offsets, np.int64, ["C_CONTIGUOUS", "WRITEABLE"])
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != n:
        raise ValueError(f"the offsets of teams must go from 0 to {n}, the number of rows")
    empty = np.flatnonzero(np.diff(bounds) <= 0)
    if len(empty):
        raise ValueError(f"team {empty[0]} has no members")
    cut = np.flatnonzero(~np.isin(offsets, bounds))
    if len(cut):
        raise ValueError(f"a team is in the rounds {cut[0] - 1} and {cut[0]}")
    share = _column("share", teams.values, np.float64, n)
    bad = np.flatnonzero(~SHARE.mask(share))
    if len(bad):
        raise ValueError(f"row {bad[0]}: a share must be {SHARE.rule}, got {share[bad[0]]}")
    return None if len(bounds) == n + 1 else Ragged(bounds, share)


def _check_places_of_teams(rounds: Rounds, teams: Ragged) -> None:
    """As :func:`check_places`, with one place a team; the rows of an error are those of members."""
    first, at = teams.offsets[:-1], np.searchsorted(teams.offsets, rounds.offsets)
    of_row = np.repeat(first, teams.lengths)
    differs = np.flatnonzero((rounds.lo != rounds.lo[of_row]) | (rounds.hi != rounds.hi[of_row]))
    if len(differs):
        row = int(differs[0])
        i = int(np.searchsorted(rounds.offsets, row, side="right")) - 1
        start = int(rounds.offsets[i])
        raise StandingsError("the members of a team have different places", i, int(of_row[row]) - start, row - start)
    try:
        check_places(rounds.lo[first], rounds.hi[first], at)
    except StandingsError as error:
        team, start = at[error.round], int(rounds.offsets[error.round])
        rows = teams.offsets[team + error.first_row], teams.offsets[team + error.last_row + 1] - 1
        raise StandingsError(error.rule, error.round, int(rows[0]) - start, int(rows[1]) - start) from None


def _check_column(what: str, name: str, values: Floats, limits: Limits) -> None:
    """Raise ``ValueError`` at the first number of a column of rounds or rows that is out of range."""
    bad = np.flatnonzero(~limits.mask(values))
    if len(bad):
        raise ValueError(f"{what} {bad[0]}: {name} must be {limits.rule}, got {values[bad[0]]}")


def _column(name: str, values: npt.ArrayLike, dtype: type[np.generic], length: int) -> npt.NDArray[Any]:
    # writable although never written: kernels would be compiled again for read-only arrays
    column: npt.NDArray[Any] = np.require(values, dtype, ["C_CONTIGUOUS", "WRITEABLE"])
    if np.issubdtype(dtype, np.integer) and not np.array_equal(column, values):
        raise ValueError(f"{name} must hold whole numbers that fit {np.dtype(dtype)}")
    if column.shape != (length,):
        raise ValueError(f"{name} must have {length} entries, got shape {column.shape}")
    return column
