"""One player's rated rounds, found under any of the player's names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.datasets.tables.aliases import NEVER, turning_point
from ranklake.storage.lake.schemas import ROUNDS

from ..common.times import utc
from ..common.titles import TitlesChoice
from .display import Display, RatingFormat
from .leaderboard import rated_contests
from .run_titles import titles_of
from .smoothed import RunSmoothing

__all__ = ["PlayerHistory", "candidate_names", "player_history"]


@dataclass(frozen=True, slots=True)
class PlayerHistory:
    """One player's rated rounds.

    Attributes
    ----------
    handle : str
        The current name of the player.
    rows : pa.Table
        The columns of the rounds table, and ``name, time_seconds, n_players, rating``; on request also ``smooth_mu,
        smooth_sigma``, if there is a current smoothing.
    note : str
        How ``handle`` relates to the requested name; empty if they are the same.
    format : RatingFormat
        The format of the ratings.
    """

    handle: str
    rows: pa.Table
    note: str
    format: RatingFormat


def player_history(
    lake: Lake,
    run_name: str,
    handle: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    smoothed: bool = False,
) -> PlayerHistory:
    """All rated rounds of one player in order, with the contests; old names lead to the current one.

    Parameters
    ----------
    deviations, titles
        See :func:`ranklake.flows.results.leaderboard.leaderboard`.
    smoothed
        Also the skills of the smoothing, if the run has a current one.

    Raises
    ------
    LakeError
        The data set has no such handle (the message names similar ones), or the run has not rated the player.
    """
    run = Run.open(lake, run_name)
    dataset = Dataset.open(lake, run.config["dataset"])
    players = candidate_names(dataset, handle)
    wanted = pa.array(players.values(), pa.int32())
    chain = run.segments()
    parts = [table.filter(pc.is_in(table.column("player"), wanted)) for _, table in run.iter_segments(chain=chain)]
    rows = pa.concat_tables([ROUNDS.empty_table(), *(part.replace_schema_metadata() for part in parts)])
    rated = set(rows.column("player").unique().to_pylist())
    shown = next((name for name, player in players.items() if player in rated), None)
    if shown is None:
        raise LakeError(f"player {handle!r} has no rated rounds in run {run_name}")
    rows = rows.filter(pc.equal(rows.column("player"), players[shown]))
    contests = rated_contests(chain, dataset).select(["name", "time_seconds", "n_players"])
    contests = contests.take(rows.column("round_index"))
    for name in contests.column_names:
        rows = rows.append_column(name, contests.column(name))
    mu, sigma, n_before = (rows.column(name).to_numpy() for name in ("mu", "sigma", "n_before"))
    display = Display.of(run, deviations)
    rows = rows.append_column("rating", pa.array(display.rating(mu, sigma, n_before + np.int32(1))))
    smoothing = RunSmoothing(run, chain) if smoothed else None
    if smoothing is not None and smoothing.digest is not None:
        skills = smoothing.read()
        skills = skills.filter(pc.equal(skills.column("player"), players[shown]))
        for name in ("smooth_mu", "smooth_sigma"):
            rows = rows.append_column(name, skills.column(name))
    form = RatingFormat(titles_of(run, dataset, display.params.mu_init, titles), display.decimals)
    return PlayerHistory(shown, rows, _alias_note(dataset, handle, shown), form)


def candidate_names(dataset: Dataset, handle: str) -> dict[str, int]:
    """Names under which the player called ``handle`` may be rated, most likely first, with their indices.

    Raises
    ------
    LakeError
        The data set has no such handle; the message names handles that differ by case or space.
    """
    names = _names_of(dataset, handle)
    players = {name: player for name in names if (player := dataset.find(name)) is not None}
    if not players:
        folded = handle.strip().casefold()
        alike = [repr(name) for name in dataset.handles().to_pylist() if name.strip().casefold() == folded]
        hint = f"; there is {', '.join(alike[:5])}" if alike else ""
        raise LakeError(f"no player {handle!r} in data set {dataset.name}{hint}")
    return players


def _names_of(dataset: Dataset, handle: str) -> list[str]:
    """Names under which the player called ``handle`` may be rated, most likely first."""
    until, before, after = turning_point(dataset.log().aliases, handle)
    # rounds may be recorded under the handle itself: after its alias ends, or if the run is older than the alias
    return list(dict.fromkeys([before, handle] if until == NEVER else [after, before, handle]))


def _alias_note(dataset: Dataset, handle: str, shown: str) -> str:
    """A note for a handle with aliases; empty without."""
    aliases = dataset.log().aliases
    until, before, after = turning_point(aliases, handle)
    if handle not in aliases:
        return ""
    if until == NEVER:
        return f"{handle!r} is now {before!r}" + (
            "; the run has the old name until the next `ranklake rate`" if shown != before else ""
        )
    try:
        time = f"{utc(until).replace(tzinfo=None)} UTC"
    except OverflowError:  # not in the calendar
        time = f"{until} s"
    return f"{handle!r} is {before!r} before {time}, {after!r} from then on; shown is {shown!r}"
