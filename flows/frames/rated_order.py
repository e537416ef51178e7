"""Rate the contests of a frame in order; those with limits of the rating are decided from the ratings before them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import ConvergenceError, Outcome, Rounds
from ranklake.rating_kernels.core.standings import OUTSIDE, RATED
from ranklake.storage.datasets.rating_limits import in_range

from ..common.adapters import concat_rounds
from ..common.skipping import Skipping
from ..execution.outcomes import RoundError
from ..execution.rater import Rater
from ..rating.current_ratings import CurrentRatings

__all__ = ["RatedRounds", "rate_in_order"]

Floats = npt.NDArray[np.float64]


class RatedRounds(NamedTuple):
    """The rated contests, and for every contest the reason why it was skipped, 0 for none."""

    reasons: npt.NDArray[np.uint8]
    rounds: Rounds
    outcome: Outcome


def rate_in_order(
    rater: Rater,
    rounds: Rounds,
    limits: Floats,
    skipping: Skipping,
    start: Callable[[], CurrentRatings],
    named: Callable[[RoundError, Rounds, int], ConvergenceError],
) -> RatedRounds:
    """Rate rounds from the beliefs of a rater on; all rounds without limits are one batch.

    Parameters
    ----------
    limits : float64[r, 2]
        The range of ratings at entry that each round rates; infinite for no limit.
    start
        The ratings before the first round; called only if a round has limits.
    named
        The error for the participant in a round, given the rated rounds of the batch and the number of the round.
    """
    limited = (limits[:, 0] > -np.inf) | (limits[:, 1] < np.inf)
    ratings = start() if limited.any() else None
    at, found = np.flatnonzero(limited), list[RatedRounds]()
    for first, end in pairwise(np.unique(np.concatenate(([0, len(rounds)], at, at + 1))).tolist()):
        batch = rounds.part(first, end)
        if ratings is not None and limited[first]:
            batch = _decided(batch, in_range(ratings.of(batch.player), *limits[first]))
        reasons = skipping.reasons(batch)
        kept = batch.keep(reasons == 0)
        outcome = Outcome.empty(0)
        if len(kept):
            try:
                [outcome] = rater.rate_batches([kept])
            except RoundError as error:
                raise named(error, kept, first + int(np.flatnonzero(reasons == 0)[error.round])) from error
            if ratings is not None:
                ratings.follow(kept, outcome)
        found.append(RatedRounds(reasons, kept, outcome))
    return found[0] if len(found) == 1 else _concat(found)


def _decided(round: Rounds, eligible: npt.NDArray[np.bool_]) -> Rounds:
    """The round in which those who are not eligible are unrated, too."""
    if eligible.all():
        return round
    return replace(round, roles=np.where(eligible & round.are_rated, np.uint8(RATED), np.uint8(OUTSIDE)))


def _concat(parts: list[RatedRounds]) -> RatedRounds:
    outcomes = [part.outcome for part in parts]
    columns = (np.concatenate([getattr(one, name.name) for one in outcomes]) for name in fields(Outcome))
    reasons = np.concatenate([part.reasons for part in parts])
    return RatedRounds(reasons, concat_rounds([part.rounds for part in parts]), Outcome(*columns))
