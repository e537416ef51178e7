"""Ratings of the players of a contest from the problems that they solved, a report beside their ratings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.problems.players import problem_ratings

from ..common.configuration.settings import check_uncertainty
from ..results.rated_rounds import RatedRounds
from .answers import Answers, answers_of
from .difficulties import RunProblems
from .entrants import Field, Floats

COLUMNS = pa.schema(
    [
        ("handle", pa.string()),
        ("mu_prior", pa.float64()),
        ("sigma_prior", pa.float64()),
        ("problems", pa.int32()),
        ("solved", pa.float64()),
        ("problem_rating", pa.float64()),
        ("problem_deviation", pa.float64()),
    ]
)


def problem_players(of: RunProblems, contest: str) -> pa.Table:
    """The players or teams of a contest by problem rating, best first; columns as of :data:`COLUMNS`.

    The difficulties are those of all contests of the run. A problem for which a player does not count is left out.

    Raises ValueError: the system has no uncertainty of skills.
    Raises LakeError: the contest has no results.
    """
    check_uncertainty(of.system, "the rating of players from problems")
    shown = next(of.only(contest).contests())
    field, answers = shown.field, answers_of(shown)
    table = of.table()
    places = {row["problem"]: (row["difficulty"], row["deviation"]) for row in table.rows.to_pylist()}
    ids = of.results.problems.ids
    difficulty, deviation = (
        np.array([places[ids[number]][column] for number in answers.problem.tolist()], np.float64)
        for column in range(2)
    )
    share = Ragged.from_lengths(np.bincount(answers.row, minlength=len(field.rating)), answers.share)
    sigma = field.sigma * of.system.uncertainty
    rating, deviation = problem_ratings(field.rating, sigma, share, difficulty, deviation, table.scale)
    return players_table(names_of(of.rounds, field), field.rating, field.sigma, answers, rating, deviation)


def names_of(rounds: RatedRounds, field: Field) -> list[str]:
    """The handle of each participation of a field; those of the members of a team with ``+`` between them."""
    names: list[list[str]] = [[] for _ in field.rating]
    for row, handle in zip(field.row.tolist(), rounds.handles_of(field.player).to_pylist(), strict=True):
        names[row].append(handle)
    return ["+".join(members) for members in names]


def players_table(
    names: list[str], rating: Floats, sigma: Floats, answers: Answers, level: Floats, deviation: Floats
) -> pa.Table:
    """The table of players, best first. ``rating``, ``sigma``: at entry; ``level``, ``deviation``: from problems."""
    columns = {
        "handle": names,
        "mu_prior": rating,
        "sigma_prior": sigma,
        "problems": np.bincount(answers.row, minlength=len(names)).astype(np.int32),
        "solved": np.bincount(answers.row, answers.share, minlength=len(names)),
        "problem_rating": level,
        "problem_deviation": deviation,
    }
    return pa.table(columns, schema=COLUMNS).take(pa.array(np.argsort(-level, kind="stable")))
