"""Games of a period at the same time: all against the ratings at its beginning, as in Glicko's rating periods."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ..core.beliefs import Beliefs
from ..core.jit import exact
from ..core.standings import Rounds
from ..core.system import Outcome
from .pairwise import Period, PeriodGames, number_players

SEQUENTIAL, SIMULTANEOUS = "sequential", "simultaneous"

RatePeriod = Callable[[Period, PeriodGames, int, Outcome], None]
"""Rates one period, given its players with zero sums, its games, and the time; writes the beliefs before and after, and
perhaps performances, one entry a player."""


def are_simultaneous(games: str, rounds: Rounds) -> bool:
    """Whether rounds are periods of games: ``games`` is :data:`SIMULTANEOUS`, and each round has two participants."""
    return games == SIMULTANEOUS and bool((np.diff(rounds.offsets) == 2).all())


def rate_periods(rate: RatePeriod, beliefs: Beliefs, rounds: Rounds, outcome: Outcome) -> None:
    """Rate games of two, of which consecutive ones of one event are one period; its time is that of the last one.

    Each game has the beliefs about its players before and after the whole period, and their performances in it, if the
    system has them. Every game counts as a round of its players.
    """
    place = np.zeros(len(beliefs), dtype=np.int32)
    first, other = rounds.player[::2].copy(), rounds.player[1::2].copy()
    score = rounds.score
    if not len(score):
        score = np.where(rounds.lo[::2] == rounds.lo[1::2], 0.5, 1.0)  # the winner is the first
    lead, difference = (column[::2] - column[1::2] for column in (rounds.advantage, rounds.points))
    cuts = np.flatnonzero(np.diff(rounds.event)) + 1
    for start, stop in pairwise([0, *cuts.tolist(), len(rounds)]):
        player, a, b = number_players(first[start:stop], other[start:stop], place)
        place[player] = 0
        m, rows = len(player), outcome.part(2 * start, 2 * stop)
        period, found = Period(player, np.zeros(m), np.zeros(m)), Outcome.empty(m)
        games = PeriodGames(a, b, score[start:stop], lead[start:stop], difference[start:stop])
        rate(period, games, int(rounds.time_seconds[stop - 1]), found)
        _write_rows(
            a, b, found.mu_prior, found.sigma_prior, found.mu, found.sigma, found.perf, found.n_before,
            rows.mu_prior, rows.sigma_prior, rows.mu, rows.sigma, rows.perf, rows.n_before,
        )  # fmt: skip
        beliefs.n_rounds[player] = found.n_before


@exact
def _write_rows(
    a, b, mu_before, sigma_before, mu_after, sigma_after, shown, count, mu_prior, sigma_prior, mu, sigma, perf, n_before
):  # fmt: skip
    """Write two rows a game; ``count`` is the number of games of each player before, and is increased by each game."""
    for game in range(len(a)):
        for side, k in enumerate((a[game], b[game])):
            i = 2 * game + side
            mu_prior[i], sigma_prior[i], mu[i], sigma[i] = mu_before[k], sigma_before[k], mu_after[k], sigma_after[k]
            perf[i], n_before[i] = shown[k], count[k]
            count[k] += 1
