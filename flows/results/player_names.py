"""The names of a player, and the history found under one of them. Imports no kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from ranklake.storage import Dataset, LakeError
from ranklake.storage.datasets.tables.aliases import NEVER, turning_point
from ranklake.storage.names.hints import alike_lines, hint, near_names
from ranklake.storage.names.search import Search

from ..common.times import spelled
from .rating_format import RatingFormat


@dataclass(frozen=True, slots=True)
class PlayerHistory:
    """One player's rated rounds.

    ``handle``: the current name of the player.
    ``rows``: the columns of the rounds table, and ``name, time_seconds, n_players, rating, team``, null in a round of
    individuals; of a run with resets ``change``; on request also ``smooth_mu, smooth_sigma``, if there is a current
    smoothing.
    ``note``: how ``handle`` relates to the requested name; empty if they are the same.
    """

    handle: str
    rows: pa.Table
    note: str
    format: RatingFormat

    @property
    def changes(self) -> list[float | None]:
        """The change of the rating by each round; None in the first one. What a reset does is no change by a round."""
        if "change" in self.rows.column_names:
            found: list[float | None] = self.rows.column("change").to_pylist()
            return found
        ratings = self.rows.column("rating").to_pylist()
        return [None, *(later - earlier for earlier, later in pairwise(ratings))] if ratings else []


def candidate_names(dataset: Dataset, handle: str) -> dict[str, int]:
    """Names under which the player called ``handle`` may be rated, most likely first, with their indices.

    Raises ``LakeError``, which names near ones, if the data set has no such handle.
    """
    until, before, after = turning_point(dataset.log().aliases, handle)
    # rounds may be recorded under the handle itself: after its alias ends, or if the run is older than the alias
    names = dict.fromkeys([before, handle] if until == NEVER else [after, before, handle])
    players = {name: player for name in names if (player := dataset.find(name)) is not None}
    if not players:
        raise LakeError(
            f"no player {handle!r} in data set {dataset.name}{hint(handle, near_names(handle, _all(dataset)))}"
        )
    return players


def new_names(dataset: Dataset, handles: Iterable[str]) -> list[str]:
    """A line for each new handle that is nearly equal to one that the data set has."""
    known = _all(dataset)
    new = dict.fromkeys(handles).keys() - set(known)
    return alike_lines(sorted(new), Search(known), f"in data set {dataset.name}", "") if new else []


def _all(dataset: Dataset) -> list[str]:
    """All names that players have or had."""
    return [*dataset.handles().to_pylist(), *dataset.log().aliases]


def alias_note(dataset: Dataset, handle: str, shown: str) -> str:
    """A note for a handle with aliases; empty without."""
    aliases = dataset.log().aliases
    until, before, after = turning_point(aliases, handle)
    if handle not in aliases:
        return ""
    if until == NEVER:
        return f"{handle!r} is now {before!r}" + (
            "; the run has the old name until the next `ranklake rate`" if shown != before else ""
        )
    return f"{handle!r} is {before!r} before {spelled(until)}, {after!r} from then on; shown is {shown!r}"
