"""How far one contest could have moved a player's rating, from the player's own rounds before it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ranklake.rating_kernels import Rounds
from ranklake.storage import LakeError

from ...common.adapters import conditions_of
from ...compilation.compile import announce_compilation
from ...events.shown import apply_to_one, resets_of
from ...execution.given import rate_given
from ...rating.player_state import state_of_player, with_state
from ...results.display import Display
from ...results.rated_rounds import RatedRounds

SYSTEMS = ("elo-mmr", "elo-mmx", "elo-mms", "elo-r")  # the performance alone decides the update
_FAR = 1e7  # rating points; stands for an infinite performance
_UNBOUNDED = 1e5  # rating points: no bounded change is larger
_SAME = 1e-6  # rating points, for rounding


class Caps(NamedTuple):
    """The change of ``mu`` as the performance tends to infinity in either direction; infinite if it has no bound."""

    largest_rise: float
    largest_fall: float


def largest_changes(rounds: RatedRounds, display: Display, row: dict[str, Any]) -> Caps:
    """The caps of a participation, a row of the rounds table (Theorem 5.7 of arXiv:2101.00400 bounds them).

    Raises LakeError: the system has none, or the player's performances alone do not lead to the stored belief.
    """
    system, params = display.system, display.params
    if system.name not in SYSTEMS:
        raise LakeError(f"--caps is for the systems {', '.join(SYSTEMS)}; run {rounds.run.name} is of {system.name}")
    own = state_of_player(system.name, rounds.dataset, row["player"])
    found, resets = [], rounds.known_resets(display)
    with announce_compilation(system.name):
        for far in (_FAR, -_FAR):
            beliefs = system.newcomers(params, 1)
            beliefs.restore(with_state(beliefs.columns(), own))
            last_round, latest = -1, np.iinfo(np.int64).min
            for round, performance, index in _own_rounds(rounds, row):
                last, end = index == row["round_index"], int(round.time_seconds[0])
                due = resets_of(resets, row["player"], last_round, index, latest)
                apply_to_one(system, params, beliefs, due)
                last_round, latest = index, max(latest, end)
                outcome = rate_given(system, params, beliefs, round, far if last else performance)
            if not abs(outcome.mu_prior[0] - row["mu_prior"]) < _SAME:
                raise LakeError(
                    f"the belief before round {row['round_index']} of run {rounds.run.name} does not follow from the "
                    "player's own performances, as in rounds of teams and games with margins; --caps cannot be computed"
                )
            change = float(outcome.mu[0]) - row["mu_prior"]
            found.append(change if abs(change) < _UNBOUNDED else math.copysign(math.inf, far))
    return Caps(*found)


def _own_rounds(rounds: RatedRounds, row: dict[str, Any]) -> Iterator[tuple[Rounds, float, int]]:
    """The rounds of a player up to a participation, with nobody else; the performance, and the index of the round."""
    conditions = conditions_of(rounds.contests_table)
    for _, table in rounds.walk(0, row["round_index"] + 1, ["round_index", "player", "perf"]):
        index, player, perf = (table.column(name).to_numpy() for name in ("round_index", "player", "perf"))
        for at in np.flatnonzero(player == row["player"]).tolist():
            here = int(index[at])
            weight, precision = conditions.take([here])
            one = Rounds.from_columns([0, 1], [0], [0], [0], [rounds.ends[here]], weight, precision=precision)
            size = np.array([np.count_nonzero(index == here)])
            yield replace(one, participants=size), float(perf[at]), here
