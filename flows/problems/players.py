"""Ratings of the players of a contest from the problems that they solved, a report beside their ratings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.problems.players import problem_ratings
from ranklake.storage import LakeError

from ..common.configuration.settings import check_uncertainty
from .difficulties import RunProblems

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
    """The players of a contest by problem rating, best first; columns as of :data:`COLUMNS`.

    The difficulties are those of all contests of the run. A problem for which a player does not count is left out.

    Raises ValueError: the system has no uncertainty of skills.
    Raises LakeError: the contest has no results, or is one of teams.
    """
    check_uncertainty(of.system, "the rating of players from problems")
    round_index = of.check_contest(contest)
    field, found = of.contest(round_index)
    if field.teams:
        raise LakeError(f"contest {contest} is one of teams: what a member solved alone is unknown")
    table = of.table()
    level = {row["problem"]: (row["difficulty"], row["deviation"]) for row in table.rows.to_pylist()}
    n, ids = len(field.rating), of.results.problems.ids
    rows, problems = [], []
    for chosen, own in of.counted_in(round_index, field, found):
        who = np.arange(n) if chosen is None else chosen
        rows.append(np.tile(who, len(own)))
        problems.append(np.repeat(own, len(who)))
    row, problem = np.concatenate(rows), np.concatenate(problems)
    order = np.lexsort((problem, row))
    row, problem = row[order], problem[order]
    size = len(ids)
    keys, given = row * size + problem, found.row * size + found.problem
    share = np.zeros(len(keys))
    at = np.searchsorted(keys, given)
    inside = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] == given)
    share[at[inside]] = found.share[inside]
    difficulty, deviation = (
        np.array([level[ids[number]][place] for number in problem.tolist()], np.float64) for place in range(2)
    )
    lengths = np.bincount(row, minlength=n)
    sigma = field.sigma * of.system.uncertainty
    rating, spread = problem_ratings(
        field.rating, sigma, Ragged.from_lengths(lengths, share), difficulty, deviation, table.scale
    )
    columns = {
        "handle": of.rounds.handles_of(field.player),
        "mu_prior": field.rating,
        "sigma_prior": field.sigma,
        "problems": lengths.astype(np.int32),
        "solved": np.bincount(row, share, minlength=n),
        "problem_rating": rating,
        "problem_deviation": spread,
    }
    found_rows = pa.table(columns, schema=COLUMNS)
    return found_rows.take(pa.array(np.argsort(-rating, kind="stable")))
