"""All conversions between Arrow tables of the lake and arrays of the kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.rating_kernels import Outcome, Rounds, count_events
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import IN_FIELD, OUTSIDE, RATED, ROUND_LIMITS, Conditions, Floats, Ints
from ranklake.storage import Dataset, LakeError, StandingsPart
from ranklake.storage.datasets.tables.games import GAMES_KIND, Games
from ranklake.storage.datasets.tables.teams import Teams
from ranklake.storage.lake.parquet import metadata_of
from ranklake.storage.lake.schemas import ROUNDS

FIRST = "first"  # the covariate that is 1 for the first player of a game
HALVES = (0.5, -0.5)  # advantages of both players of a game, in shares of the advantage of the first one


@dataclass(frozen=True, slots=True)
class ContestFacts:
    """Facts of each contest of a data set that its rounds need besides the standings; arrays, one entry a contest.

    A contest that is a period of games has as many rounds as games. Each game is an event of its own, or the period is
    one event of ``simultaneous`` games. ``covariates``: names of those of games that their rounds have.
    """

    time_seconds: npt.NDArray[np.int64]
    conditions: Conditions
    perf_ceiling: npt.NDArray[np.float64]
    event: npt.NDArray[np.int64]
    field_includes_unrated: npt.NDArray[np.bool_]
    simultaneous: bool = False
    covariates: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        contests: pa.Table,
        counts: npt.NDArray[np.bool_],
        simultaneous: bool = False,
        covariates: tuple[str, ...] = (),
    ) -> ContestFacts:
        """The facts of a table of contests; only contests in ``counts`` are events."""
        ceilings = pc.fill_null(contests.column("perf_ceiling"), np.inf)
        time_seconds = _writable(contests.column("time_seconds"))
        event = np.zeros(len(time_seconds), dtype=np.int64)
        if metadata_of(contests.schema).get("kind") == GAMES_KIND:
            games = np.where(counts, contests.column("n_players").to_numpy() // 2, 0)
            event = np.cumsum(games) - games
        else:
            event[counts] = count_events(time_seconds[counts])
        with_unrated = contests.column("field_includes_unrated").fill_null(False).to_numpy()
        return cls(
            time_seconds, conditions_of(contests), _writable(ceilings), event, with_unrated, simultaneous, covariates
        )

    def rounds(self, part: StandingsPart) -> Rounds:
        """Stored standings of consecutive contests as rounds, or their games; ingestion has checked them."""
        if part.games is not None:
            return self._games(part, part.games)
        at = slice(part.first_contest, part.first_contest + len(part))
        weight, precision = self.conditions.take(at)
        rounds = Rounds(
            _writable(part.offsets),
            _writable(part.player),
            _writable(part.lo),
            _writable(part.hi),
            self.time_seconds[at],
            weight,
            self.perf_ceiling[at],
            self.event[at],
            precision=precision,
            points=_points(part),
            teams=None if part.teams is None else to_ragged(part.teams, part.offsets),
        )
        if part.rated is None:
            return rounds
        in_field = np.repeat(self.field_includes_unrated[at], np.diff(part.offsets))
        unrated = np.where(in_field, np.uint8(IN_FIELD), np.uint8(OUTSIDE))
        return replace(rounds, roles=np.where(part.rated, np.uint8(RATED), unrated))

    def _games(self, part: StandingsPart, games: Games) -> Rounds:
        """The games of periods as rounds of two; one player has half of an advantage, the other one the negative."""
        n, first = len(games.time_seconds), part.first_contest
        event = np.repeat(self.event[first : first + len(part)], np.diff(part.offsets) // 2)
        if not self.simultaneous:
            event += np.arange(n) - np.repeat(part.offsets[:-1] // 2, np.diff(part.offsets) // 2)
        return Rounds(
            np.arange(0, 2 * n + 1, 2),
            _writable(part.player),
            _writable(part.lo),
            _writable(part.hi),
            _writable(games.time_seconds),
            _writable(games.weight),
            np.full(n, np.inf),
            event,
            advantage=np.outer(games.advantage, HALVES).ravel(),
            points=_points(part),
            score=_writable(games.score),
            precision=_writable(games.precision) if len(games.precision) else np.ones(n),
            covariates=covariates_of(games, self.covariates),
        )


def covariates_of(games: Games, names: Sequence[str]) -> Floats:
    """Covariates of games by name, turned to their first rows; ``FIRST`` is 1 for the first player.

    Returns float64[m, c]. The data set must have all.
    """
    found = np.empty((len(games.time_seconds), len(names)))
    for at, name in enumerate(names):
        if name == FIRST:
            found[:, at] = np.where(games.swapped, -1.0, 1.0) if len(games.swapped) else 1.0
        else:
            assert games.covariates is not None, "the data set has covariates"
            found[:, at] = games.covariates.values[:, games.covariates.names.index(name)]
    return found


def conditions_of(contests: pa.Table) -> Conditions:
    """Weight and precision of each contest of a table, where null is 1."""
    return Conditions(*(_writable(contests.column(name).fill_null(1.0)) for name in Conditions._fields))


def to_ragged(teams: Teams, offsets: npt.NDArray[np.int64]) -> Ragged | None:
    """The shares of each team's members, given the first row of each contest; None if no team has two members."""
    first = np.flatnonzero(teams.opens(offsets))
    lengths = np.diff(first, append=len(teams.share))
    return None if (lengths == 1).all() else Ragged.from_lengths(lengths, _writable(teams.share))


def concat_rounds(parts: Sequence[Rounds]) -> Rounds:
    """The rounds of all parts, one part after the other."""
    if any(len(part.roles) for part in parts):
        parts = [part if len(part.roles) else replace(part, roles=np.zeros(part.n_rows, np.uint8)) for part in parts]
    if any(len(part.advantage) for part in parts):
        parts = [part if len(part.advantage) else replace(part, advantage=np.zeros(part.n_rows)) for part in parts]
    if any(len(part.points) for part in parts):
        parts = [part if len(part.points) else replace(part, points=np.full(part.n_rows, np.nan)) for part in parts]
    if any(len(part.score) for part in parts):
        parts = [part if len(part.score) else replace(part, score=np.where(part.hi[::2], 0.5, 1.0)) for part in parts]
    if c := max((part.covariates.shape[1] for part in parts), default=0):
        some = [part.covariates if len(part.covariates) else np.zeros((len(part), c)) for part in parts]
        parts = [replace(part, covariates=x) for part, x in zip(parts, some, strict=True)]
    names = [name for name in Rounds.__slots__ if name not in ("offsets", "teams")]
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    teams = None
    if any(part.teams is not None for part in parts):
        teams = Ragged.concat(
            [part.teams or Ragged.from_lengths(np.ones(part.n_rows, np.int64), np.ones(part.n_rows)) for part in parts]
        )
    return Rounds(offsets=np.concatenate(([0], np.cumsum(sizes))), **columns, teams=teams)


def all_rounds(dataset: Dataset, parts: Iterable[StandingsPart] | None = None) -> Rounds:
    """All contests of a data set as rounds, or all games of its periods; ``parts``: its standings, if at hand."""
    facts = ContestFacts.of(dataset.contests, np.ones(dataset.contests.num_rows, dtype=np.bool_))
    return concat_rounds([facts.rounds(part) for part in (dataset.standings() if parts is None else parts)])


def check_contests(dataset: Dataset, counts: npt.NDArray[np.bool_], start: int, stop: int) -> None:
    """Check the numbers of the rated contests ``start`` to ``stop - 1``, as older releases accepted wider ranges;
    ``LakeError`` names the contest and the remedies.
    """
    part = dataset.contests.slice(start, stop - start)
    for name, limits in ROUND_LIMITS.items():
        column = part.column(name)
        values = column.fill_null(np.inf if name == "perf_ceiling" else 1.0).to_numpy()
        bad = np.flatnonzero(~limits.mask(values) & counts[start:stop])
        if len(bad):
            contest = part.column("contest_id")[int(bad[0])].as_py()
            raise LakeError(
                f"contest {contest} of data set {dataset.name}: {name} must be {limits.rule}, got {values[bad[0]]}; "
                f"correct the source and ingest it again, or skip the contest: `ranklake rate --exclude {contest}`"
            )


def refuse_games(dataset: Dataset, run: str, rule: str) -> None:
    """Raise ``LakeError`` with the rule if the rounds of a run are periods of games."""
    if dataset.kind == GAMES_KIND:
        raise LakeError(f"run {run} rates periods of games; {rule}")


def _points(part: StandingsPart) -> Floats:
    """The points of each row; empty if all are unknown."""
    return np.empty(0) if part.points is None else _writable(part.points)


def _writable(column: pa.ChunkedArray | npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A writable copy: kernels would be compiled again for the read-only arrays of Arrow."""
    return np.require(np.array(column), requirements=["C", "W"])


def to_table(
    rounds: Rounds,
    outcome: Outcome,
    round_index: npt.NDArray[np.int32],
    contest_ids: Sequence[str],
    sizes: npt.NDArray[np.int64],
) -> pa.Table:
    """The outcome of rounds as rows of the rounds table. ``round_index``, ``contest_ids`` and ``sizes`` have one entry
    a contest, which is one round, or a period of games.
    """
    lo, hi = places_among_rated(rounds)
    contest = pa.array(contest_ids, pa.string()).take(pa.array(np.repeat(np.arange(len(sizes)), sizes)))
    perf = pa.array(outcome.perf, from_pandas=True)  # NaN (no performance) becomes null
    columns = [np.repeat(round_index, sizes), contest, rounds.player, lo, hi, perf]
    columns += [outcome.mu_prior, outcome.sigma_prior, outcome.mu, outcome.sigma, outcome.n_before]
    table = pa.Table.from_arrays([pa.array(column) for column in columns], schema=ROUNDS)
    return table.append_column("rated", pa.array(rounds.are_rated)) if rounds.roles.any() else table


def places_among_rated(rounds: Rounds) -> tuple[Ints, Ints]:
    """``lo`` and ``hi`` of each row among the rated participants; an unrated one counts as the only one in their field.

    Its tie group ends with itself: the number of rated participants before it, plus those who tie.
    """
    if not rounds.roles.any():
        return rounds.lo, rounds.hi
    rated = rounds.are_rated
    start, tied = rounds.offsets[:-1].repeat(np.diff(rounds.offsets)), rounds.hi - rounds.lo + 1
    before = np.concatenate(([0], np.cumsum(rated)))
    first = start + rounds.lo
    lo = before[first] - before[start]
    hi = lo + before[first + tied] - before[first] - rated
    return lo.astype(np.int32), hi.astype(np.int32)
