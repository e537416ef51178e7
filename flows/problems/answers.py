"""Who had which problem, and what share of it they solved: the answers of a contest, solved or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .difficulties import ContestProblems
from .entrants import Floats, Longs


class Answers(NamedTuple):
    """One row a participation and problem for which it counts, sorted by both.

    ``row``: the participation. ``problem``: its number. ``share``: solved, in [0, 1]; 0 without a result.
    """

    row: Longs
    problem: Longs
    share: Floats


def answers_of(contest: ContestProblems) -> Answers:
    """The answers of a contest."""
    found = contest.found
    rows, problems = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for chosen, own in contest.counted:
        who = np.arange(len(contest.field.rating)) if chosen is None else chosen
        rows.append(np.tile(who, len(own)))
        problems.append(np.repeat(own, len(who)))
    row, problem = np.concatenate(rows), np.concatenate(problems)
    order = np.lexsort((problem, row))
    row, problem = row[order], problem[order]
    size = int(contest.own.max(initial=0)) + 1
    keys, given = row * size + problem, found.row * size + found.problem
    share = np.zeros(len(keys))
    if len(keys):
        at = np.minimum(np.searchsorted(keys, given), len(keys) - 1)
        inside = keys[at] == given
        share[at[inside]] = found.share[inside]
    return Answers(row, problem, share)
