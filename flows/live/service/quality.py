"""The quality of a proposed match, of the beliefs as they are now; nothing is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ranklake.rating_kernels import Rounds

from ...execution.rounds import check_teams
from ...matchmaking.lobby import Lobby, equal_shares
from ...matchmaking.quality import quality_of
from ..engine import LiveRuns
from ..matches.match import MatchError


def proposed_match(runs: LiveRuns, run: str, teams: Sequence[Sequence[str]], now: int) -> dict[str, Any]:
    """The chances of the sides of a match at a time, UTC seconds, with the sequence number of the state.

    Raises MatchError: there are too few sides or too many, a player is there twice, or the system has no rule for them.
    """
    limits = runs.rules.limits
    if not 2 <= len(teams) <= limits.sides:
        raise MatchError("/teams", f"a match has 2 to {limits.sides} sides, got {len(teams)}")
    seen: set[str] = set()
    for at, side in enumerate(teams):
        if not side:
            raise MatchError(f"/teams/{at}", "a side has at least one player")
        for number, handle in enumerate(side):
            if handle in seen or not handle:
                rule = "a player is in a match once" if handle else "a name has at least one character"
                raise MatchError(f"/teams/{at}/{number}", rule)
            seen.add(handle)
    if len(seen) > limits.players:
        raise MatchError("/teams", f"a match has at most {limits.players} players, got {len(seen)}")
    store, sequence = runs.beliefs_of(run, [handle for side in teams for handle in side])
    display, sizes = runs.display(run), np.array([len(side) for side in teams])
    shares, place = equal_shares(sizes), np.repeat(np.arange(len(teams), dtype=np.int32), sizes)
    n = len(place)
    match = Rounds.from_columns([0, n], np.arange(n), place, place, [now], [1.0], [math.inf], [0], shares)
    try:
        check_teams(display.system, match)
        found = quality_of(Lobby.of(display.system, display.params, store, match), shares)
    except ValueError as error:
        raise MatchError("/teams", str(error)) from None
    return {"run": run, "sequence": sequence, **found.to_json()}
