"""How a run presents itself on pages: its title, its description, its logo, and the words for players and contests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Brand:
    """What an operator has chosen for a run; by default nothing.

    ``title``: shown instead of the name of the run.
    ``player``, ``players``, ``contest``, ``contests``: the words for these, singular and plural, lower case.
    """

    title: str = ""
    description: str = ""
    player: str = "player"
    players: str = "players"
    contest: str = "contest"
    contests: str = "contests"


UNBRANDED = Brand()
"""Of a run without choices."""
