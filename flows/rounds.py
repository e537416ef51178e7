"""Rate rounds: any system, any engine, no lake."""

from __future__ import annotations

import numpy as np

from rating_kernels import Beliefs, Outcome, Rounds, System

from .engines.base import Engine

__all__ = ["rate_rounds"]


def rate_rounds(system: System, params: object, beliefs: Beliefs, rounds: Rounds, engine: Engine) -> Outcome:
    """Rate consecutive rounds in order; ``beliefs`` is written in place.

    Neighbouring small rounds share one kernel call; a large round goes through the four steps of :mod:`.system`, each
    spread over the engine's hands.

    Parameters
    ----------
    beliefs
        A store with a row for every player of ``rounds``.

    Returns
    -------
    Outcome
        One entry a row of ``rounds``.

    Raises
    ------
    ValueError
        A player of the rounds has no row in the store.
    """
    if rounds.n_rows and rounds.player.max() >= len(beliefs):
        raise ValueError(f"player {rounds.player.max()} has no row in a store of {len(beliefs)} players")
    outcome = Outcome.empty(rounds.n_rows)
    large = np.flatnonzero(np.diff(rounds.offsets) > system.small)
    done = 0
    for at in [*large, len(rounds)]:
        if at > done:
            rows = outcome.part(rounds.offsets[done], rounds.offsets[at])
            system.rate_small(params, beliefs, rounds.part(done, at), rows)
        if at < len(rounds):
            rows = outcome.part(rounds.offsets[at], rounds.offsets[at + 1])
            _rate_large(system, params, beliefs, rounds.part(at, at + 1), engine, rows)
        done = at + 1
    return outcome


def _rate_large(
    system: System, params: object, beliefs: Beliefs, round: Rounds, engine: Engine, outcome: Outcome
) -> None:
    n, prior = round.n_rows, outcome.prior
    engine.map(lambda start, stop: system.prior(params, beliefs, round, start, stop, prior), n)
    beliefs.make_room(round.player)
    summary = system.summarise(params, prior, round, engine.map)

    def finish(start: int, stop: int) -> None:  # the tie groups that begin between these rows
        first, last = np.searchsorted(summary.first, (start, stop))
        system.perform(params, summary, first, last, outcome.perf)
        system.absorb(params, beliefs, round, prior, summary, summary.first[first], summary.first[last], outcome)

    engine.map(finish, n)
