"""Ratings of players whose performances are given: no field decides them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.standings import Floats

from ..common.configuration.settings import build_params, find_system
from ..execution.given import rate_given
from ..execution.rater import BeliefColumns
from .published import Contender

PARTICIPANTS = 1_000  # of each round; it matters to Elo-MMS


def walk(
    one: Contender, performances: Sequence[float], start: BeliefColumns | None = None
) -> tuple[list[float], BeliefColumns]:
    """A player's rating before and after each of these performances, and the belief at the end.

    ``start``: the belief before; by default that of a newcomer.
    """
    ratings, columns = walks(one, np.reshape(performances, (-1, 1)), start)
    return ratings[:, 0].tolist(), columns


def walks(one: Contender, performances: Floats, start: BeliefColumns | None = None) -> tuple[Floats, BeliefColumns]:
    """As :func:`walk`, for several players: ``performances[round, player]``; ratings ``[round, player]``."""
    system, n = find_system(one.system), performances.shape[1]
    params = build_params(system, one.settings)
    beliefs = system.newcomers(params, n)
    if start is not None:
        beliefs.restore(start)
    ratings = [beliefs.mu.copy()]
    players = np.arange(n)
    round = replace(Rounds.from_columns([0, n], players, players, players), participants=np.array([PARTICIPANTS]))
    for performance in performances:
        rate_given(system, params, beliefs, round, performance)
        ratings.append(beliefs.mu.copy())
    return np.array(ratings), beliefs.columns()
