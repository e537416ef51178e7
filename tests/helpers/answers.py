"""Answers about a run of a lake from its rounds, and the sources of answers."""

from __future__ import annotations

import pyarrow as pa

from ranklake import Ratings
from ranklake.flows.answers.frame_rows import FrameRows
from ranklake.flows.answers.index_rows import IndexRows
from ranklake.flows.answers.lake_rows import LakeRows
from ranklake.flows.answers.leaderboard import Rows
from ranklake.flows.answers.rated_run import RatedRun
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import read_manifest
from ranklake.flows.results.player_names import PlayerHistory
from ranklake.flows.results.titles import TitlesChoice
from ranklake.storage import Lake

SOURCES = ("lake", "index", "frame")


class OfRounds(RatedRun):
    """A run whose index is not used."""

    _manifest = None


def leaderboard(lake: Lake, run: str, deviations: float | None = None, titles: TitlesChoice = None) -> pa.Table:
    """The leaderboard after all rounds, as it is shown."""
    return OfRounds(lake, run, deviations, titles).leaderboard()


def stored_board(lake: Lake, run: str = "run", deviations: float | None = None) -> pa.Table:
    """The leaderboard after all rounds, as it is published: with the components of players."""
    return LakeRows(lake, run, deviations).leaderboard_table


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


def rows_of(source: str, lake: Lake, run: str = "run") -> Rows:
    """The rounds of a run from one of :data:`SOURCES`."""
    if source == "lake":
        return LakeRows(lake, run)
    if source == "frame":
        ratings = Ratings.open(lake, run)
        beliefs = ratings.__ranklake_beliefs__()
        return FrameRows(
            beliefs.players, beliefs.columns, ratings._display(), lambda: ratings.history, ratings._components_before
        )
    publish(lake, run)
    manifest = read_manifest(lake, run)
    assert manifest is not None
    return IndexRows(lake, run, manifest)
