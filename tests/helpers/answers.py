"""Answers about a run of a lake from its rounds, never from its index."""

from __future__ import annotations

import pyarrow as pa

from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.common.titles import TitlesChoice
from ranklake.flows.results.player_names import PlayerHistory
from ranklake.storage import Lake

__all__ = ["leaderboard", "leaderboard_at", "player_history"]


class OfRounds(RatedRun):
    """A run whose index is not used."""

    _manifest = None


def leaderboard(lake: Lake, run: str, deviations: float | None = None, titles: TitlesChoice = None) -> pa.Table:
    """The leaderboard after all rounds."""
    return OfRounds(lake, run, deviations, titles).leaderboard()


def leaderboard_at(lake: Lake, run: str, at: int) -> pa.Table:
    """The leaderboard of a time, UTC seconds."""
    return OfRounds(lake, run).leaderboard(at)


def player_history(
    lake: Lake,
    run: str,
    handle: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    smoothed: bool = False,
) -> PlayerHistory:
    """The rounds of a player."""
    return OfRounds(lake, run, deviations, titles).player(handle, smoothed)
