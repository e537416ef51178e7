"""Rate games of two in waves: the games of a wave share no player, and threads divide them.

Each player's games keep their order, and a kernel rates a game from the beliefs about its two players alone. The bits
are therefore those of one game after the other, for any division.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ranklake.rating_kernels import Beliefs, Outcome, Rounds, System
from ranklake.rating_kernels.core.beliefs import Map
from ranklake.rating_kernels.core.standings import OF_ROUNDS, Ints, Longs
from ranklake.rating_kernels.core.waves import Waves

from .outcomes import RoundError, check_outcome

WIDE_SHARE = 0.5  # of the games in wide waves, at least; below it one call is faster than sorting the games
LEAST_GAMES = 4_000  # games in a wave that threads divide; narrower waves that follow each other are one call


def are_games(rounds: Rounds) -> bool:
    """Whether all rounds are games of two rated players."""
    return rounds.teams is None and not rounds.roles.any() and bool((np.diff(rounds.offsets) == 2).all())


def rate_waves(
    system: System,
    params: object,
    beliefs: Beliefs,
    rounds: Rounds,
    map: Map,
    outcome: Outcome,
    first: int = 0,
    least: int = LEAST_GAMES,
) -> None:
    """Rate games of two, of which the first one has the number ``first``, wave by wave; the result is that of one call.

    ``least``: waves of at least this many games are divided by the map; too few games in such waves are rated in one
    call.
    Raises ConvergenceError: as ``system.rate_small``.
    Raises RoundError: a game cannot be rated. Games after it may have been rated; ``beliefs`` cannot be used further.
    """
    waves = Waves.of(rounds.player, len(beliefs))
    sizes = np.diff(waves.bounds)
    if sizes[sizes >= least].sum() < WIDE_SHARE * len(rounds):
        system.rate_small(params, beliefs, rounds, outcome)
        return
    ordered, rated = _take(rounds, waves.order), Outcome.empty(rounds.n_rows)

    def rate(start: int, stop: int, store: Beliefs) -> None:
        part, rows = ordered.part(start, stop), rated.part(2 * start, 2 * stop)
        try:
            with check_outcome(system, params, part, rows):
                system.rate_small(params, store, part, rows)
        except RoundError as error:
            at = first + int(waves.order[start + error.round])
            raise RoundError(error.rule, error.row, at, error.player) from error

    def rate_wave(first: int, a: int, b: int) -> None:
        games = ordered.player[2 * (first + a) : 2 * (first + b)]
        rate(first + a, first + b, _with_own_places(beliefs, games))

    for start, stop, wide in _calls(waves.bounds, least):
        if wide:
            beliefs.reserve(ordered.player[2 * start : 2 * stop])
            map(partial(rate_wave, start), stop - start)
        else:
            rate(start, stop, beliefs)
    at = np.repeat(2 * waves.order, 2)
    at[1::2] += 1
    for name in Outcome._fields:
        getattr(outcome, name)[at] = getattr(rated, name)


def _calls(bounds: Longs, least: int) -> Iterator[tuple[int, int, bool]]:
    """Cut waves into ``start, stop, wide``: each wide wave alone, consecutive narrow ones together."""
    wide = np.flatnonzero(np.diff(bounds) >= least)
    done = 0
    for wave in wide.tolist():
        start, stop = int(bounds[wave]), int(bounds[wave + 1])
        if start > done:
            yield done, start, False
        yield start, stop, True
        done = stop
    if done < bounds[-1]:
        yield done, int(bounds[-1]), False


def _take(rounds: Rounds, order: Longs) -> Rounds:
    """Games in another order."""
    n = len(rounds)
    player, lo, hi = (column.reshape(n, 2)[order].ravel() for column in (rounds.player, rounds.lo, rounds.hi))
    columns: dict[str, Any] = {name: getattr(rounds, name)[order] for name in OF_ROUNDS}
    for name in ("advantage", "points"):
        column = getattr(rounds, name)
        columns[name] = column.reshape(n, 2)[order].ravel() if len(column) else column
    score = rounds.score[order] if len(rounds.score) else rounds.score
    return Rounds(rounds.offsets, player, lo, hi, **columns, score=score)


def _with_own_places(beliefs: Beliefs, player: Ints) -> Beliefs:
    """The same store; new places of the histories of these players are allocated from a range of their own.

    Each of the players has one game, so the range is exactly as long as the kernel requires.
    """
    history = beliefs.history
    if history is None:
        return beliefs
    first = history.allocate(history.places_needed(0, len(player), player))
    own = copy.copy(beliefs)
    own.history = copy.copy(history)
    own.history.used = np.array([first])
    return own
