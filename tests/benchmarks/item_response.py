"""The joint maximum of players and problems beside girth, which maximises the same likelihood."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from timing import Options, Result, SkippedRow, best_of

from ranklake.rating_kernels.problems.joint import Answers, estimate_jointly

SIZES = ((300, 30), (1_000, 60))  # players and problems
SEED, FLAT = 20261127, 1e5  # the standard deviation of a prior that hardly matters, rating points
POINTS = 400.0 / math.log(10.0)  # of a unit of girth
AGREEMENT = 0.1  # rating points
PEER_SWEEPS = 500  # at most; the peer stops at a change of 0.001 standard deviations of the levels


def joint_maximum(options: Options) -> Iterator[Result]:
    """Difficulties about their mean without priors and virtual pairs: the peer has neither."""
    try:
        from girth import onepl_jml
    except ImportError:
        raise SkippedRow("girth is not installed") from None
    for n_players, n_problems in SIZES:
        n = options.smaller(n_players)
        random = np.random.default_rng(SEED)
        skill, level = random.normal(1500.0, 300.0, n), random.normal(1500.0, 300.0, n_problems)
        solved = random.random((n, n_problems)) < 1.0 / (1.0 + 10.0 ** ((level - skill[:, None]) / 400.0))
        player, problem = np.indices(solved.shape).reshape(2, -1)
        given = np.full(n, 1500.0), np.full(n, FLAT), Answers(player, problem, solved.ravel().astype(float))
        ours, found = best_of(
            options.repeats(5, 2), lambda _, given=given: estimate_jointly(*given, pairs=0.0, uncertain=False)
        )
        table = np.ascontiguousarray(solved.T).astype(int)
        theirs, peer = best_of(1, lambda _, table=table: onepl_jml(table, {"max_iteration": PEER_SWEEPS}))
        levels = np.asarray(peer["Difficulty"]) * peer["Discrimination"] * POINTS
        difference = float(np.max(np.abs(_centred(levels) - _centred(found.difficulty))))
        targets = {f"within {AGREEMENT:g} points: {difference:.1e}": difference <= AGREEMENT}
        what = f"{n:,} players, {n_problems} problems: {found.sweeps} sweeps; beside girth's onepl_jml"
        yield Result("joint-maximum", what, ours, theirs, difference, targets, case=f"{n_players} {n_problems}")


def _centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean()
