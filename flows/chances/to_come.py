"""Games that have not been played: their three chances, by what a run has learnt from those that were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from ranklake.rating_kernels.chances.fit import Learnt
from ranklake.rating_kernels.chances.games import Pairings
from ranklake.storage.names.hints import hint, near_names

from .published import PublishedChances, learnt_facts
from .record import RunChances, to_fit, to_stored
from .settings import BESIDE_KEY, ChanceSettings


class ThreeChances(NamedTuple):
    """Chances of a player in a game: to win, to draw, to lose; and the expected score, a draw counting half.

    The score is that of the rating system. In the model of draws that a run has by default it is win + draw / 2.
    """

    win: Any
    draw: Any
    loss: Any
    expected: Any


@dataclass(frozen=True, slots=True)
class GamesToCome:
    """What is known of the games of a run that have not been played.

    ``draws``: the model of draws.
    ``learnt``: how common draws are, and the advantage of the first player.
    ``note``: what to know about it, in words; perhaps empty.
    """

    draws: str
    learnt: Learnt
    note: str = ""

    @classmethod
    def of(cls, chances: RunChances, value: str | None = None, run: str = "RUN") -> Self:
        """What a run has learnt, of all games or of those with a ``value`` of its column.

        Raises ValueError: the run does not learn by a column.
        """
        settings, last = chances.settings, chances.last
        notes = [chances.note] if chances.note else []
        if value is not None and not settings.by:
            remedy = f"`ranklake rate --run {run} --chances-by COLUMN` learns of each value of a column"
            raise ValueError(f"run {run} has learnt of all games together, not of {value!r} alone; {remedy}")
        if value is not None and value not in last.values:
            near = hint(value, near_names(value, list(last.values)))
            notes.append(f"no draws and no advantage are learnt of {settings.by} {value!r}: those of all games{near}")
        return cls(settings.draws, last.of(value), "; ".join(notes))

    def chances(self, games: Pairings, neutral: bool = False) -> tuple[ThreeChances, ThreeChances]:
        """The chances of the first player of each game, and of the other one; ``neutral``: without an advantage."""
        played = games.ahead(0.0 if neutral else self.learnt.advantage)
        three, scores = played.three_way(self.learnt.nu, model=self.draws), played.expected()
        return ThreeChances(*three, scores[0]), ThreeChances(*three.swapped(), scores[1])

    def facts(self) -> dict[str, Any]:
        """The numbers, for JSON: ``nu`` is 0 where the model has none."""
        return {"draws": self.draws, **learnt_facts(self.learnt)}


def to_published(chances: RunChances) -> PublishedChances:
    """What a run has learnt, as it is published."""
    return PublishedChances(chances.settings.facts(), to_stored(chances.last))


def from_published(published: PublishedChances) -> RunChances:
    """What a published run has learnt."""
    return RunChances(ChanceSettings.of({BESIDE_KEY: published.settings}), (to_fit(published.fit),))
