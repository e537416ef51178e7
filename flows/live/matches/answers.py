"""The answer to a match: what every player has after it, and what was expected before it.

All numbers follow from the rows of the match in the run, so the answer to a match that is in the lake is made again,
word for word, from its rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ranklake.rating_kernels import Outcome, Prior, Rounds
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Conditions, Floats

from ...execution.team_laws import team_prior
from ...results.display import Display
from .beliefs import Rated
from .match import Match
from .rounds import best_first


class PlayerResult(msgspec.Struct, frozen=True, gc=False):
    """What a match did to one player; rating points.

    ``mu``, ``sigma``, ``rating``: the belief after it, and the rating shown.
    ``change``: that rating minus the one that the player brought to the match, the days since the last one counted.
    ``mu_before``: the belief before it. ``n_rounds``: rated matches with this one.
    """

    player: str
    mu: float
    sigma: float
    rating: float
    change: float
    mu_before: float
    n_rounds: int


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a match did in one run.

    ``players``: in the order of the match. ``expected``: of each side the expected score, ties counting half, as a mean
    over the other sides. ``skipped``: why the run passes over the match; then nobody is listed.
    """

    players: tuple[PlayerResult, ...]
    expected: tuple[float, ...]
    skipped: str = ""


_ALL_TIED = Result((), (), "all sides tied: this run skips such matches")


def results_of(display: Display, matches: Sequence[Match], rated: Rated, of_games: bool) -> list[Result]:
    """The results of a group of matches in one run."""
    rounds, outcome = rated.rounds, rated.outcome
    after = display.rating(outcome.mu, outcome.sigma, outcome.n_before + 1)
    change = (after - display.rating(outcome.mu_prior, outcome.sigma_prior, outcome.n_before)).tolist()
    columns = (outcome.mu.tolist(), outcome.sigma.tolist(), after.tolist(), change, outcome.mu_prior.tolist())
    facts = list(zip(*columns, (outcome.n_before + 1).tolist(), strict=True))
    offsets = rounds.offsets.tolist()
    found: list[Result] = []
    expected = _of_games(display, rounds, outcome) if of_games else None
    at = 0
    for match, informative in zip(matches, rated.informative.tolist(), strict=True):
        if not informative:
            found.append(_ALL_TIED)
            continue
        start = offsets[at]
        if expected is not None:
            swapped = match.first_score < 0.5
            first, second = (start + 1, start) if swapped else (start, start + 1)
            one, other = match.sides
            players = (PlayerResult(one.players[0], *facts[first]), PlayerResult(other.players[0], *facts[second]))
            chance = expected[at]
            found.append(Result(players, (1.0 - chance, chance) if swapped else (chance, 1.0 - chance)))
        else:
            stop = offsets[at + 1]
            found.append(
                _of_contest(display, match, rounds.part(at, at + 1), outcome.part(start, stop), facts[start:stop])
            )
        at += 1
    return found


def _of_games(display: Display, rounds: Rounds, outcome: Outcome) -> list[float]:
    """The chance of the first row of each game."""
    mu = outcome.mu_prior
    if len(rounds.advantage):
        mu = mu + rounds.advantage
    sides = (Prior(mu[at::2], outcome.sigma_prior[at::2], mu[at::2], outcome.n_before[at::2]) for at in (0, 1))
    chance: Floats = display.system.beats(display.params, rounds.conditions, 2, *sides)
    found: list[float] = np.broadcast_to(chance, len(rounds)).tolist()
    return found


def _of_contest(
    display: Display, match: Match, round: Rounds, outcome: Outcome, facts: Sequence[tuple[float, ...]]
) -> Result:
    order, begins = best_first(match), [0]
    for at in order:
        begins.append(begins[-1] + len(match.sides[at].players))
    of_side = expected_scores(display, round, outcome.prior)
    players: dict[int, list[PlayerResult]] = {}
    expected = [0.0] * len(order)
    for place, at in enumerate(order):
        rows = facts[begins[place] : begins[place + 1]]
        names = match.sides[at].players
        players[at] = [PlayerResult(name, *row) for name, row in zip(names, rows, strict=True)]  # type: ignore[arg-type]
        expected[at] = of_side[place]
    return Result(tuple(one for at in range(len(order)) for one in players[at]), tuple(expected))


def expected_scores(display: Display, round: Rounds, prior: Prior) -> list[float]:
    """The expected score of each side of one round, row by row, as a mean over the other sides."""
    system, params = display.system, display.params
    conditions = Conditions(float(round.weight[0]), float(round.precision[0]))
    if round.teams is not None:
        prior = team_prior(system, params, Ragged(round.teams.offsets, round.teams.values), conditions, prior)
    n = len(prior.mu)
    one, other = (
        Prior(prior.mu[at], prior.sigma[at], prior.beta[at], prior.n_before[at]) for at in ((..., None), (None, ...))
    )
    chances = np.array(np.broadcast_to(system.beats(params, conditions, n, one, other), (n, n)))
    np.fill_diagonal(chances, 0.0)
    found: list[float] = (chances.sum(axis=1) / (n - 1)).tolist()
    return found
