"""Ratings after resets, from those that the rounds of a run recorded: the resets are not in its rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Beliefs, System
from ranklake.storage import Chain, Dataset
from ranklake.storage.runs.stored_run import StoredRun

from ..execution.rater import BeliefReset, mean_of_rated
from .apply import belief_reset
from .resets import due_resets, players_of

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


class ShownReset(NamedTuple):
    """A reset of a run: the round after it, or the number of rounds; its time, UTC seconds; its name; what it does."""

    round_index: int
    time_seconds: int
    name: str
    reset: BeliefReset


def shown_resets(run: StoredRun, dataset: Dataset, chain: Chain, ends: Longs, params: Any) -> list[ShownReset]:
    """The resets of a run in order: those that it has applied, then those of its data set after its last round.

    ``ends``: end of each of its rounds, UTC seconds; 0 if unknown.
    """
    applied, found = chain.resets, []
    recorded = run.reset_players() if any(one.listed for one in applied) else {}
    for one in applied:
        players = players_of(dataset, recorded.get(one.event_id, []), one.time_seconds) if one.listed else None
        facts = one.centre, one.keep, one.widen, one.forget, False, one.active_since, players
        found.append(ShownReset(one.round_index, one.time_seconds, one.name, BeliefReset(*facts)))
    for due in due_resets(dataset, run, ends):
        if due.round_index >= chain.stop_round:
            event = due.event
            found.append(
                ShownReset(due.round_index, event.time_seconds, event.name, belief_reset(due, params, dataset))
            )
    return found


def of_published(resets: Iterable[Any], n_players: int) -> list[ShownReset]:
    """The resets of a published run, see :class:`ranklake.flows.publication.root.PublishedReset`."""
    found = []
    for one in resets:
        players = None
        if one.players is not None:
            players = np.zeros(n_players, np.bool_)
            players[list(one.players)] = True
        facts = one.centre, one.keep, one.widen, one.forget, False, one.active_since, players
        found.append(ShownReset(one.round_index, one.time_seconds, one.name, BeliefReset(*facts)))
    return found


def reset_ratings(system: System, params: Any, reset: BeliefReset, mu: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """Ratings and uncertainties after a reset with a known centre, as :meth:`.System.reset` makes them.

    The simple noise of Elo-R is an exception: it moves the mode a little, which only the belief itself shows.
    """
    assert reset.centre is not None
    one = reset.around(reset.centre)
    if system.history and system.widens:
        return one.move(mu), one.spread(sigma, params.sigma_init)
    store = system.newcomers(params, len(mu))
    store.mu[:], store.sigma[:], store.n_rounds[:] = mu, sigma, 1
    system.reset(params, store, np.arange(len(mu)), one)
    return store.mu.copy(), store.sigma.copy()


def resets_of(resets: Iterable[ShownReset], player: int, last_round: int, until: int, latest: int) -> list[ShownReset]:
    """The resets of one player after a round and before round ``until``, or just before it, in order.

    ``latest``: the latest end of the player's rounds until ``last_round``, UTC seconds.
    """
    return [one for one in resets if last_round < one.round_index <= until and _acts_on(one.reset, player, latest)]


def _acts_on(reset: BeliefReset, player: int, latest: int) -> bool:
    if reset.active_since is not None and latest < reset.active_since:
        return False
    return reset.players is None or (player < len(reset.players) and bool(reset.players[player]))


def apply_to_one(system: System, params: Any, store: Beliefs, resets: Iterable[ShownReset]) -> None:
    """Apply resets with known centres to the belief in the first row of a store."""
    for _, _, _, reset in resets:
        assert reset.centre is not None
        system.reset(params, store, np.zeros(1, np.int64), reset.around(reset.centre))


def with_centre(reset: BeliefReset, mu: Floats, n_rounds: npt.NDArray[np.int32]) -> BeliefReset:
    """A reset with a known centre, given the ratings of all players and their numbers of rounds."""
    if reset.centre is not None:
        return reset
    return replace(reset, centre=mean_of_rated(mu, n_rounds))
