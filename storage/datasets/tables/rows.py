"""Rows of the table of contests while a data set is being changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import pyarrow as pa

from ...lake.schemas import CONTESTS
from .contests import Contest
from .games import digest_of_games
from .points import are_known
from .standings import StandingsPart


class Row(msgspec.Struct, gc=False):  # a million rows would slow down every full garbage collection
    """One row, columns in the order of ``schemas.CONTESTS``."""

    contest_id: str
    name: str
    url: str | None
    time_seconds: int
    weight: float
    perf_ceiling: float | None
    n_players: int
    content_digest: str
    file: str
    row_start: int
    n_rows: int
    source_digest: str
    n_teams: int | None = None
    field_includes_unrated: bool | None = None
    rated_above: float | None = None
    rated_below: float | None = None
    fractional: bool | None = None
    precision: float | None = None
    scored: bool | None = None
    covariates: str | None = None

    @classmethod
    def of(cls, contest: Contest, digest: str) -> Row:
        """A contest as its source gives it, not in a file yet."""
        n = len(contest)
        ceiling = None if contest.perf_ceiling == math.inf else contest.perf_ceiling
        values = (contest.contest_id, contest.name, contest.url or None, contest.time_seconds, contest.weight, ceiling)
        above = None if contest.rated_above == -math.inf else contest.rated_above
        below = None if contest.rated_below == math.inf else contest.rated_below
        precision = None if contest.precision == 1.0 else contest.precision
        later = contest.n_teams, contest.field_includes_unrated or None, above, below
        scored = are_known(contest.points) or None
        return cls(*values, n, digest, "", 0, n, digest, *later, precision=precision, scored=scored)

    def content(self, part: StandingsPart, names: pa.StringArray) -> tuple[int, int | None, str]:
        """Participations, teams and digest of the contest with the standings of ``part``.

        ``names``: the handle of each row; of a period of games, the handle of each player of the data set.
        """
        if part.games is not None:
            digest = digest_of_games(self.contest_id, names, part.player, part.lo, part.games)
            return len(part.player), None, digest
        ceiling = math.inf if self.perf_ceiling is None else self.perf_ceiling
        values = (self.contest_id, "", "", self.time_seconds, names, part.lo, part.hi, self.weight, ceiling)
        above = -math.inf if self.rated_above is None else self.rated_above
        below = math.inf if self.rated_below is None else self.rated_below
        facts = part.teams, part.rated, bool(self.field_includes_unrated), above, below, part.points
        given = Contest(*values, *facts, 1.0 if self.precision is None else self.precision)
        return len(given), given.n_teams, given.content_digest


assert list(Row.__struct_fields__) == CONTESTS.names


def rows_of(contests: pa.Table) -> dict[str, Row]:
    """The rows of a table of contests by contest, in rated order."""
    columns = [column.to_pylist() for column in contests.select(CONTESTS.names).columns]
    return {row.contest_id: row for row in map(Row, *columns)}


def contents(
    rows: Sequence[Row], part: StandingsPart, names: pa.StringArray
) -> Iterator[tuple[Row, tuple[int, int | None, str]]]:
    """The rows of the contests of a part, each with its content in that part; ``names`` as for :meth:`Row.content`."""
    for at, row in enumerate(rows, part.first_contest):
        contest, start = part.contest(at), int(part.offsets[at - part.first_contest])
        own = names if part.games is not None else names.slice(start, len(contest.player))
        yield row, row.content(contest, own)


def table_of(rows: Iterable[Row]) -> pa.Table:
    """The table of contests."""
    values = zip(*map(msgspec.structs.astuple, rows), strict=True)
    columns = [pa.array(column, field.type) for column, field in zip(values, CONTESTS, strict=False)]
    return pa.Table.from_arrays(columns, schema=CONTESTS) if columns else CONTESTS.empty_table()
