"""The quality of a proposed match: the chance of each side, the three chances of two sides, and how even it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklake.rating_kernels import Prior
from ranklake.rating_kernels.chances.games import Pairings
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Floats

from ..chances.to_come import GamesToCome, ThreeChances
from .first_place import first_place_chances
from .lobby import Lobby, part_of


@dataclass(frozen=True, slots=True)
class MatchQuality:
    """How even a proposed match is.

    ``chances``: of each side to finish first; they sum to 1. Of two sides, the expected score by the system, in which a
    draw counts half. Of more, by the laws of performances (:mod:`.first_place`), without draws.
    ``win, draw, loss``: of the first of two sides; None if no model of draws is known, or there are more sides.
    ``quality``: from 0 to 1, the density of equal performances of all sides, relative to that of sides with equal and
    certain skills: for TrueSkill its chance of a draw with a small margin (Herbrich, Minka and Graepel, "TrueSkill: a
    Bayesian skill rating system", NIPS 2006, section 4), also for several teams. Performances are taken as normal.
    None if the system has no model of performances.
    """

    chances: tuple[float, ...]
    win: float | None
    draw: float | None
    loss: float | None
    quality: float | None

    def to_json(self) -> dict[str, Any]:
        """The numbers for JSON; None where one is not known."""
        return {
            "chances": list(self.chances),
            **{name: getattr(self, name) for name in ("win", "draw", "loss", "quality")},
        }


def quality_of(lobby: Lobby, teams: Ragged, games: GamesToCome | None = None, neutral: bool = False) -> MatchQuality:
    """The quality of a match of the players of a lobby.

    ``teams``: the shares of the members of each side, the players one after the other; two sides or more.
    ``games``: what is known of draws, and the advantage of the first of two sides, which counts unless ``neutral``.
    Raises ValueError: three or more sides, and the system has no model of performances.
    """
    sides = lobby.sides(teams)
    if len(sides.mu) == 2:
        first, second, three = _of_two(lobby, sides, games, neutral)
        win, draw, loss = (None,) * 3 if three is None else (float(of_pair[0]) for of_pair in three[:3])
        return MatchQuality((first, second), win, draw, loss, _evenness(lobby, teams, sides))
    return MatchQuality(tuple(_of_several(lobby, sides).tolist()), None, None, None, _evenness(lobby, teams, sides))


def _of_two(
    lobby: Lobby, sides: Prior, games: GamesToCome | None, neutral: bool
) -> tuple[float, float, ThreeChances | None]:
    pair = (part_of(sides, slice(0, 1)), part_of(sides, slice(1, 2)))
    match = Pairings(lobby.system, lobby.params, lobby.conditions, 2, *pair)
    if games is not None:
        three, other = games.chances(match, neutral)
        return float(three.expected[0]), float(other.expected[0]), three
    scores = match.expected()
    own = ThreeChances(*match.three_way(0.0), scores[0]) if match.has_own_draws else None
    return float(scores[0][0]), float(scores[1][0]), own


def _of_several(lobby: Lobby, sides: Prior) -> Floats:
    law = lobby.performances(sides)
    if law is None:
        raise ValueError(f"{lobby.system.name} has no model of performances: it has chances of two sides only")
    return first_place_chances(law)


def _evenness(lobby: Lobby, teams: Ragged, sides: Prior) -> float | None:
    law = lobby.performances(sides)
    if law is None:
        return None
    variance = np.square(law.deviation)
    skill = np.square(lobby.system.uncertainty * lobby.skills(teams).sigma)
    noise = np.maximum(variance - skill, 0.0)
    apart = np.diff(np.eye(len(variance)), axis=0)
    spread, known = (apart @ np.diag(one) @ apart.T for one in (variance, noise))
    gap = apart @ law.mean
    (_, of_noise), (_, of_spread) = np.linalg.slogdet(known), np.linalg.slogdet(spread)
    return float(np.exp(0.5 * (of_noise - of_spread - gap @ np.linalg.solve(spread, gap))))
