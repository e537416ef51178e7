"""Rate rounds: any system, any engine, no lake."""

from __future__ import annotations

import numpy as np

from ranklake.rating_kernels import Beliefs, Outcome, Rounds, System

from ..engines.protocols import LocalEngine
from .outcomes import check_outcome

__all__ = ["rate_rounds", "split_batches"]


def rate_rounds(system: System, params: object, beliefs: Beliefs, rounds: Rounds, engine: LocalEngine) -> Outcome:
    """Rate consecutive rounds in order; ``beliefs`` is written in place.

    Neighbouring small rounds share one kernel call; a large round goes through the four steps of :mod:`.system`, each
    spread over the engine's workers.

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
    RoundError
        A round cannot be rated, or a rating is no number; what was rated before it stays in ``beliefs``.
    """
    if rounds.n_rows and rounds.player.max() >= len(beliefs):
        raise ValueError(f"player {rounds.player.max()} has no row in a store of {len(beliefs)} players")
    outcome = Outcome.empty(rounds.n_rows)
    for start, stop, large in split_batches(system, rounds):
        part, rows = rounds.part(start, stop), outcome.part(rounds.offsets[start], rounds.offsets[stop])
        with check_outcome(system, params, part, rows, start):
            if large:
                _rate_large(system, params, beliefs, part, engine, rows)
            else:
                system.rate_small(params, beliefs, part, rows)
    return outcome


def split_batches(system: System, rounds: Rounds) -> list[tuple[int, int, bool]]:
    """Cut rounds into ``start, stop, large``: each large round alone, consecutive small ones together."""
    cuts, done = [], 0
    for at in [*np.flatnonzero(np.diff(rounds.offsets) > system.small).tolist(), len(rounds)]:
        if at > done:
            cuts.append((done, at, False))
        if at < len(rounds):
            cuts.append((at, at + 1, True))
        done = at + 1
    return cuts


def _rate_large(
    system: System, params: object, beliefs: Beliefs, round: Rounds, engine: LocalEngine, outcome: Outcome
) -> None:
    n, prior = round.n_rows, outcome.prior
    engine.map(lambda start, stop: system.prior(params, beliefs, round, start, stop, prior), n)
    beliefs.reserve(round.player)
    summary = system.summarise(params, prior, round, engine.map)

    def finish(start: int, stop: int) -> None:  # the tie groups that begin between these rows
        first, last = np.searchsorted(summary.first, (start, stop))
        system.perform(params, summary, first, last, outcome.perf)
        system.absorb(params, beliefs, round, prior, summary, summary.first[first], summary.first[last], outcome)

    engine.map(finish, n)
