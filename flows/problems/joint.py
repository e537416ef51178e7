"""Levels of players and difficulties of problems together, from the results of one contest or of all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ranklake.rating_kernels import ConvergenceError
from ranklake.rating_kernels.problems.difficulty import SCALE
from ranklake.rating_kernels.problems.joint import Answers as Numbered
from ranklake.rating_kernels.problems.joint import estimate_jointly
from ranklake.rating_kernels.warm import PROBLEMS
from ranklake.storage import LakeError

from ..common.configuration.settings import check_uncertainty
from ..compilation.compile import announce, compile_parts
from .answers import Answers, answers_of
from .difficulties import ProblemTable, RunProblems
from .entrants import Floats
from .players import names_of, players_table

TOGETHER = 2_000  # problems of one estimate: its covariance has a number for each pair of them


class JointTables(NamedTuple):
    """The problems, hardest first, and the players or teams, best first."""

    problems: ProblemTable
    players: pa.Table


def joint_tables(of: RunProblems, contest: str | None = None) -> JointTables:
    """The joint estimate of a contest, None for all contests together, in which a player has one level.

    The prior of a level is the rating at entry to the first contest. A team has a level of its own in all contests of
    the same members.

    Raises ValueError: the system has no uncertainty of skills.
    Raises LakeError: the contest has no results; there are too many problems; the estimate does not converge.
    """
    check_uncertainty(of.system, "a joint estimate")
    part = of if contest is None else of.only(contest)
    where = f"contest {contest}" if contest is not None else f"run {of.rounds.run.name}"
    remedy = "" if contest is not None else "; estimate one contest alone"
    names, mu, sigma, answers = _gathered(part)
    if not names:
        raise LakeError(f"{where} has no participants who count for a problem")
    met, problem = np.unique(answers.problem, return_inverse=True)
    if len(met) > TOGETHER:
        raise LakeError(f"{where} has {len(met):,} problems, a joint estimate at most {TOGETHER:,}{remedy}")
    compile_parts([PROBLEMS], announce)
    scale = SCALE if part.options.scale is None else part.options.scale
    numbered = Numbered(answers.row, problem.astype(np.int64), answers.share)
    try:
        made = estimate_jointly(mu, sigma * of.system.uncertainty, numbered, scale, uncertain=part.uncertain)
    except ConvergenceError as error:
        raise LakeError(f"{where} has no joint estimate of players and problems: {error.rule}{remedy}") from error
    places = np.full((2, len(of.results.problems.ids)), np.nan)
    places[:, met] = made.difficulty, made.deviation
    return JointTables(part.table(found=places), players_table(names, mu, sigma, answers, made.level, made.spread))


def _gathered(of: RunProblems) -> tuple[list[str], Floats, Floats, Answers]:
    """The players and teams with an answer in any contest: name, rating and sigma at first entry; and the answers."""
    numbers: dict[tuple[int, ...], int] = {}  # by members
    names: list[str] = []
    priors: list[tuple[float, float]] = []
    parts = [Answers(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for contest in of.contests():
        field, answers = contest.field, answers_of(contest)
        members: list[list[int]] = [[] for _ in field.rating]
        for row, player in zip(field.row.tolist(), field.player.tolist(), strict=True):
            members[row].append(player)
        own, handles = np.empty(len(members), np.int64), names_of(of.rounds, field)
        for row in np.unique(answers.row).tolist():
            own[row] = numbers.setdefault(tuple(sorted(members[row])), len(numbers))
            if own[row] == len(names):
                names.append(handles[row])
                priors.append((float(field.rating[row]), float(field.sigma[row])))
        parts.append(answers._replace(row=own[answers.row]))
    row, problem, share = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((problem, row))
    mu, sigma = np.reshape(priors, (-1, 2)).T
    return names, mu, sigma, Answers(row[order], problem[order], share[order])
