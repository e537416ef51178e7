"""Changing a data set of kind ``games``: periods of games instead of contests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..lake import parquet
from ..lake.errors import LakeError
from .ingest import Ingest
from .tables.contests import Contest
from .tables.covariates import join_covariates
from .tables.games import GAMES_KIND, Period, are_fractional
from .tables.kept import join_kept
from .tables.points import are_known, column_of, join_points
from .tables.rows import Row


class GamesIngest(Ingest):
    """An :class:`Ingest` of periods. A period that is added replaces the whole period of the same name."""

    kind = GAMES_KIND

    def add(self, contest: Contest | Period) -> Literal["new", "corrected", "unchanged"]:
        """Add a period, in the source's order; as :meth:`Ingest.add`.

        Raises ValueError: the period was already added in this ingest.
        Raises LakeError: it is a contest. At the end of the ingest: other periods have other covariates.
        """
        if not isinstance(contest, Period):
            raise LakeError(
                f"data set {self._name} holds periods of games, and contest {contest.contest_id} is not a period; "
                "ingest it into another data set"
            )
        return super().add(contest)

    @property
    def _file_rows(self) -> int:
        return self._lake.limits.file_games

    def _row(self, contest: Any, digest: str) -> Row:
        n = len(contest)
        values = (contest.contest_id, contest.name, None, contest.time_seconds, 1.0, None)
        marks = are_fractional(contest.score) or None, are_known(contest.games.points) or None
        covariates = contest.games.covariates and " ".join(contest.games.covariates.names)
        places = 2 * n, digest, "", 0, n, digest
        return Row(*values, *places, fractional=marks[0], scored=marks[1], covariates=covariates)

    def _arrange(self) -> None:
        super()._arrange()
        added = next((self._rows[contest_id] for contest_id in self._added if contest_id in self._rows), None)
        others = [row for row in self._rows.values() if added is not None and row.covariates != added.covariates]
        if added is not None and others:
            raise LakeError(
                f"the games of this ingest have {_in_words(added.covariates)}, and those of the other periods of data "
                f"set {self._name}, as {others[0].contest_id}, have {_in_words(others[0].covariates)}; give the same "
                "covariates, or all games of the data set in one ingest"
            )

    def _encode(self, contests: Sequence[Any], rows: Sequence[Row]) -> pa.Buffer:
        handles = pa.concat_arrays([period.handles for period in contests])
        numbers = self._players.rows(handles)
        first = np.cumsum([0, *(len(period.handles) for period in contests)]).tolist()
        ids = pa.array([row.contest_id for row in rows], pa.string())
        of_row = np.repeat(np.arange(len(rows)), [row.n_rows for row in rows])
        columns = {
            "contest_id": ids.take(pa.array(of_row)),
            **{
                name: np.concatenate(
                    [numbers[at:][getattr(period, name)] for at, period in zip(first, contests, strict=False)]
                )
                for name in ("player", "opponent")
            },
            "score": np.concatenate([period.score for period in contests]),
            "time_seconds": np.concatenate([period.games.time_seconds for period in contests]),
        }
        weight = np.concatenate([period.games.weight for period in contests])
        if (weight != 1.0).any():
            columns["weight"] = weight
        advantages = [period.games.advantage for period in contests]
        if any(advantage.any() for advantage in advantages):
            zeros = (np.zeros(row.n_rows) for row in rows)
            columns["advantage"] = np.concatenate(
                [given if len(given) else none for given, none in zip(advantages, zeros, strict=True)]
            )
        precisions = [period.games.precision for period in contests]
        if any((precision != 1.0).any() for precision in precisions):
            ones = (np.ones(row.n_rows) for row in rows)
            columns["precision"] = np.concatenate(
                [given if len(given) else usual for given, usual in zip(precisions, ones, strict=True)]
            )
        points = join_points([period.games.points for period in contests], [2 * row.n_rows for row in rows])
        if points is not None:
            columns["points"], columns["opponent_points"] = column_of(points[::2]), column_of(points[1::2])
        if (kept := join_kept([period.games.kept for period in contests], [row.n_rows for row in rows])) is not None:
            columns["kept"] = kept.column()
        if (covariates := join_covariates([period.games.covariates for period in contests])) is not None:
            columns |= covariates.columns()
        return parquet.encode(pa.table(columns), GAMES_KIND)

    def _aliased(self, contests: Sequence[Any], aliases: pa.StringArray) -> list[int]:
        return [at for at, period in enumerate(contests) if pc.any(pc.is_in(period.handles, value_set=aliases)).as_py()]


def _in_words(covariates: str | None) -> str:
    return "no covariates" if covariates is None else f"the covariates {covariates.replace(' ', ', ')}"
