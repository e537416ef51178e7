"""Proposed matches: how even they are, and two even teams, of the beliefs as they are now; nothing is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.core.ragged import Ragged

from ...execution.rounds import check_teams
from ...matchmaking.balance import balance, first_teams
from ...matchmaking.lobby import Lobby, equal_shares
from ...matchmaking.quality import quality_of
from ..engine import LiveRuns
from ..matches.match import MatchError

MOST_BALANCED = 64  # players; the local search takes half a second for them

_Names = Sequence[Sequence[str]]


def proposed_match(runs: LiveRuns, run: str, teams: _Names, now: int) -> dict[str, Any]:
    """The chances of the sides of a match at a time, UTC seconds, with the sequence number of the state.

    Raises MatchError: there are too few sides or too many, a player is there twice, or the system has no rule for them.
    """
    limits = runs.rules.limits
    if not 2 <= len(teams) <= limits.sides:
        raise MatchError("/teams", f"a match has 2 to {limits.sides} sides, got {len(teams)}")
    _check(teams, "/teams", "a side", limits.players)
    try:
        lobby, shares, sequence = _lobby(runs, run, teams, now)
        found = quality_of(lobby, shares)
    except ValueError as error:
        raise MatchError("/teams", str(error)) from None
    return {"run": run, "sequence": sequence, **found.to_json()}


def balanced_teams(runs: LiveRuns, run: str, parties: _Names, sizes: Sequence[int] | None, now: int) -> dict[str, Any]:
    """Two even teams of players at a time, UTC seconds; parties stay together.

    Raises MatchError: there are too many players, one is there twice, no teams of these sizes keep the parties
    together, or the system has no rule for teams.
    """
    _check(parties, "/parties", "a party", MOST_BALANCED)
    try:
        teams = first_teams(parties, sizes)
        lobby, _, sequence = _lobby(runs, run, teams, now)
        order = {name: row for row, name in enumerate(chain.from_iterable(teams))}
        rows = np.array([order[name] for name in chain.from_iterable(parties)])
        found = balance(lobby.take(rows), parties, sizes)
    except ValueError as error:
        raise MatchError("/parties" if sizes is None else "", str(error)) from None
    return {"run": run, "sequence": sequence, **found.to_json()}


def _check(names: _Names, pointer: str, what: str, most: int) -> None:
    seen: set[str] = set()
    for at, group in enumerate(names):
        if not group:
            raise MatchError(f"{pointer}/{at}", f"{what} has at least one player")
        for number, handle in enumerate(group):
            if handle in seen or not handle:
                rule = "a player is in a match once" if handle else "a name has at least one character"
                raise MatchError(f"{pointer}/{at}/{number}", rule)
            seen.add(handle)
    if len(seen) > most:
        raise MatchError(pointer, f"at most {most} players, got {len(seen)}")


def _lobby(runs: LiveRuns, run: str, teams: _Names, now: int) -> tuple[Lobby, Ragged, int]:
    """The players of a match to come, the shares of its sides, and the sequence number of the state."""
    store, sequence = runs.beliefs_of(run, list(chain.from_iterable(teams)))
    display, sizes = runs.display(run), np.array([len(side) for side in teams])
    shares, place = equal_shares(sizes), np.repeat(np.arange(len(teams), dtype=np.int32), sizes)
    n = len(place)
    match = Rounds.from_columns([0, n], np.arange(n), place, place, [now], [1.0], [math.inf], [0], shares)
    check_teams(display.system, match)
    return Lobby.of(display.system, display.params, store, match), shares, sequence
