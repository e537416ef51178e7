"""The leaderboard and players' histories of a run: from its index while that is up to date, else from all rounds.

Both ways give the same values to the bit. The index needs no kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pyarrow as pa

from ranklake.storage import Dataset, Lake, LakeError, Run
from ranklake.storage.datasets.round_teams import RoundTeams
from ranklake.storage.lake.layout import smoothing_folder
from ranklake.storage.lake.schemas import ROUNDS

from ..common.pools import Pools
from ..common.progress import ProgressCallback, not_shown
from ..common.times import count_until
from ..common.titles import Titles, TitlesChoice
from ..publication.index_manifest import IndexManifest, read_manifest, source_digest
from ..results.leaderboard import rated_contests
from ..results.player_names import PlayerHistory, alias_note, candidate_names
from ..results.rating_format import RatingFormat
from ..results.run_titles import titles_of
from .index_rows import IndexRows

__all__ = ["leaderboard", "player_history", "pool_note", "pool_sizes"]


def leaderboard(
    lake: Lake,
    run_name: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    at: int | None = None,
    on_progress: ProgressCallback = not_shown,
) -> tuple[pa.Table, RatingFormat]:
    """The leaderboard of a run and the format of its ratings; as ``results.leaderboard``.

    With ``at``, UTC seconds, the leaderboard of that time from the rounds; as ``results.as_of``.

    Raises
    ------
    LakeError
        There is no such run, or it has no rounds yet.
    ValueError
        ``at`` is out of range.
    """
    if at is not None:
        from ..results.as_of import leaderboard_at
        from ..results.display import rating_format

        return leaderboard_at(lake, run_name, at, deviations, titles, on_progress), rating_format(
            lake, run_name, titles
        )
    with suppress(LakeError):
        if (current := _Current.open(lake, run_name, deviations)) is not None:
            form = current.format(titles)
            return _with_titles(current.published.leaderboard_table, current.published.titles, form.titles), form
    from ..results.display import rating_format
    from ..results.leaderboard import leaderboard as of_rounds

    return of_rounds(lake, run_name, deviations, titles, on_progress), rating_format(lake, run_name, titles)


def player_history(
    lake: Lake,
    run_name: str,
    handle: str,
    deviations: float | None = None,
    titles: TitlesChoice = None,
    smoothed: bool = False,
) -> PlayerHistory:
    """One player's rated rounds; as :func:`ranklake.flows.results.players.player_history`.

    Raises
    ------
    LakeError
        The data set has no such handle (the message names similar ones), or the run has not rated the player.
    """
    wants_smoothing = smoothed and bool(lake.list(smoothing_folder(run_name)))  # which the index does not have
    current = None if wants_smoothing else _with_parts(lake, run_name, deviations)
    if current is None:
        from ..results.players import player_history as of_rounds

        return of_rounds(lake, run_name, handle, deviations, titles, smoothed)
    dataset, published = current.dataset, current.published
    for name, player in candidate_names(dataset, handle).items():
        rows = published.rows_of(player)
        if rows.num_rows:
            contests = published.contests_table.take(rows.column("round_index"))
            columns = {column: rows.column(column) for column in rows.column_names}
            for column in ("contest_id", "name", "time_seconds", "n_players"):
                columns[column] = contests.column(column)
            names = [*ROUNDS.names, "name", "time_seconds", "n_players", "rating", "team"]
            table = pa.table([columns[column] for column in names], names=names)
            if published.manifest.games:
                opponents = pa.chunked_array([published.opponents_of(player)])
                table = table.append_column("opponent", published.handles_of(opponents))
            return PlayerHistory(name, table, alias_note(dataset, handle, name), current.format(titles))
    raise LakeError(f"player {handle!r} has no rated rounds in run {run_name}")


def pool_sizes(lake: Lake, run_name: str, at: int | None = None, most_rows: int | None = None) -> tuple[int, ...]:
    """Number of players of each pool of a run, largest first: from its index, or else from its rounds.

    Parameters
    ----------
    at
        Only contests that had ended by this time, UTC seconds.
    most_rows
        The most participations to read; without an index a run with more has one pool.
    """
    if at is None and (known := _published_sizes(lake, run_name)) is not None:
        return known
    run = Run.open(lake, run_name)
    dataset, chain = Dataset.open(lake, run.config["dataset"]), run.segments()
    if most_rows is not None and sum(segment.n_rows for segment in chain.segments) > most_rows:
        return ()
    stop = None
    if at is not None:
        stop = count_until(rated_contests(chain, dataset).column("time_seconds").fill_null(0).to_numpy(), at)
    return Pools.of_run(run, dataset, chain, stop).sizes if stop != 0 else ()


def pool_note(lake: Lake, run_name: str, rows: Sequence[int], names: Sequence[str]) -> str:
    """A line if some players of a run, given by their indices and names, are of different pools; else empty."""
    known = _published_sizes(lake, run_name)
    if len(rows) < 2 or (known is not None and len(known) < 2):
        return ""
    run = Run.open(lake, run_name)
    return Pools.of_run(run, Dataset.open(lake, run.config["dataset"])).note(rows, names)


def _published_sizes(lake: Lake, run_name: str) -> tuple[int, ...] | None:
    """The pools that an index has which is up to date; None without one."""
    with suppress(LakeError):
        manifest = read_manifest(lake, run_name)
        if manifest is not None and manifest.pools is not None and _Current.of(lake, run_name, manifest):
            return manifest.pools
    return None


class _Current:
    """A run with an index that is up to date."""

    def __init__(self, run: Run, dataset: Dataset, published: IndexRows) -> None:
        self.run, self.dataset, self.published = run, dataset, published

    @classmethod
    def open(cls, lake: Lake, run_name: str, deviations: float | None) -> _Current | None:
        """None if there is no index, or it has another state of the run or another display rating."""
        manifest = read_manifest(lake, run_name)
        if manifest is None or (deviations is None) != manifest.default_deviations:
            return None
        if deviations is not None and deviations != manifest.deviations:
            return None
        return cls.of(lake, run_name, manifest)

    @classmethod
    def of(cls, lake: Lake, run_name: str, manifest: IndexManifest) -> _Current | None:
        """None if the index has another state of the run."""
        run = Run.open(lake, run_name)
        newest, dataset = run.newest_segment(), Dataset.open(lake, manifest.dataset)
        if newest is None or manifest.source != source_digest(run, dataset, newest):
            return None
        return cls(run, dataset, IndexRows(lake, run_name, manifest))

    def has_all_teams(self) -> bool:
        """Whether the index has the teams of all rounds; the index of an earlier release has none."""
        teams = RoundTeams(self.dataset, self.published.contests_table.column("contest_id").combine_chunks())
        return all(part.teams == teams.any(part.start, part.stop) for part in self.published.manifest.parts)

    def format(self, titles: TitlesChoice) -> RatingFormat:
        manifest = self.published.manifest
        return RatingFormat(titles_of(self.run, self.dataset, manifest.mu_init, titles), manifest.decimals)


def _with_parts(lake: Lake, run_name: str, deviations: float | None) -> _Current | None:
    """A run with an index that is up to date and whose parts are open; only on a disk, elsewhere all would be read."""
    if lake.local:
        with suppress(LakeError):
            current = _Current.open(lake, run_name, deviations)
            if current is not None and current.has_all_teams():
                current.published.load()
                return current
    return None


def _with_titles(table: pa.Table, published: Titles, titles: Titles) -> pa.Table:
    """The leaderboard with other titles than the published ones."""
    if titles == published:
        return table
    at = table.schema.get_field_index("title")
    return table.set_column(at, table.schema.field(at), titles.of(table.column("rating").to_numpy()))
