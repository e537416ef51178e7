"""Verification of all files of a run or a data set: digests, schemas, order, references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..datasets.corrections import among_rated
from ..datasets.dataset import Dataset
from ..datasets.rating_limits import RatingLimits
from ..datasets.results import StoredResults
from ..datasets.tables.games import GAMES_KIND
from ..datasets.tables.rows import Row, contents, rows_of
from ..datasets.tables.standings import Longs, concatenate_ranges, part_of
from ..datasets.tables.teams import Teams
from ..lake import layout, parquet
from ..lake.access.lake import digest_of
from ..lake.errors import LakeError
from ..lake.remedies import damaged, remedy_for
from ..runs.chances import read_chances
from ..runs.entry_ratings import entry_files, read_entry_file
from ..runs.reset_players import read_reset_file, reset_files
from ..runs.run import Run
from ..runs.segments import Segment

_UNKNOWN_PLAYERS = "its players are not those of the index"


def verify_run(run: Run, on_file: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Problems of a run, one line each with the file and its remedy; empty if there are none.

    Every segment's bytes are compared with the digest in its manifest, and its rows with the rounds in the manifest;
    every snapshot is compared with its own digests and with the run's chain, every file of ratings at entry with its
    digest. What the run has learnt of draws can be read. ``on_file`` is called before each segment and snapshot.
    """
    chain = run.segments()
    if chain.rest:
        yield chain.reason
    for segment in chain.segments:
        on_file()
        path = run.path_of(segment)
        try:
            table = run.read_segment(segment)
        except LakeError as error:
            yield str(error)
            continue
        yield from (str(damaged(path, problem)) for problem in _segment_problems(segment, table))
    for name in entry_files(run.lake, run.entry_folder):
        try:
            read_entry_file(run.lake, run.entry_folder, name)
        except LakeError as error:
            yield str(error)
    for name in reset_files(run.lake, run.entry_folder).values():
        try:
            read_reset_file(run.lake, run.entry_folder, name)
        except LakeError as error:
            yield str(error)
    try:
        read_chances(run)
    except LakeError as error:
        yield str(error)
    digests = chain.digests
    for last_round in run.snapshots():
        on_file()
        try:
            _, digest = run.read_snapshot(last_round)
        except LakeError as error:
            yield str(error)
            continue
        if last_round >= len(digests) or digest != digests[last_round]:
            yield str(damaged(run.path_of_snapshot(last_round), "belongs to other rounds than those of the run"))


def verify_rows(run: Run, dataset: Dataset, stop: int, on_file: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Segments before ``stop`` whose rated players or places differ from those in the data set, one line each.

    ``on_file`` is called before each segment.
    """
    limits = RatingLimits(run, dataset)
    for segment in run.segments().segments:
        on_file()
        last = min(segment.stop_round, stop)
        if segment.first_round >= last:
            return
        try:
            table = run.read_segment(segment).slice(0, sum(segment.rows[: last - segment.first_round]))
            parts = list(dataset.standings(segment.first_round, last))
            missing = [place for part in parts for place in limits.unrecorded(part) if place not in segment.skipped]
            if missing:
                contest = dataset.contests.column("contest_id")[missing[0]].as_py()
                more = f", and of {len(missing) - 1} more" if len(missing) > 1 else ""
                yield str(damaged(run.entry_folder, f"has not all ratings at entry of contest {contest}{more}"))
                continue
            parts = [limits.decide_recorded(part) for part in parts]
        except LakeError:
            continue  # verify_run and verify_dataset report it
        parts = [part if part.rated is None else among_rated(part) for part in parts]
        n_rows = np.concatenate([np.diff(part.offsets) for part in parts])
        rated = np.isin(np.arange(segment.first_round, last), segment.skipped, invert=True)
        counts = np.repeat(rated, n_rows)
        for name in ("player", "lo", "hi"):
            wanted = np.concatenate([getattr(part, name) for part in parts])[counts]
            if not np.array_equal(table.column(name).to_numpy(), wanted):
                yield str(damaged(run.path_of(segment), f"{name} differs from data set {dataset.name}"))
                break


def verify_dataset(dataset: Dataset, on_file: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Problems of a data set, one line each with the file and its remedy; empty if there are none.

    Each contest's digest is computed again from the stored standings, as given by its source and after corrections.
    Handles are compared with the index of players. ``on_file`` is called before each file of standings or games.
    """
    table = layout.contests_file(dataset.name)
    rows = list(rows_of(dataset.contests).values())
    if len(rows) != dataset.contests.num_rows:
        yield str(damaged(table, "has a contest twice"))
        return
    handles = log = None
    try:
        handles = dataset.handles()
        if len(handles.unique()) != len(handles):
            yield str(damaged(layout.dataset_folder(dataset.name, "players"), "has a player twice"))
        log = dataset.log()
        if log.entries and log.digest not in dataset.log_path:
            yield str(damaged(dataset.log_path, "does not match the digest in its name"))
        if dataset.events_path and dataset.events().digest not in dataset.events_path:
            yield str(damaged(dataset.events_path, "does not match the digest in its name"))
    except LakeError as error:
        yield str(error)
    try:
        dataset.attributes()
    except LakeError as error:
        yield str(error)
    try:
        yield from StoredResults.open(dataset.lake, dataset.name).problems_in()
    except LakeError as error:
        yield str(error)
    files: dict[str, list[Row]] = {}
    for row in rows:
        files.setdefault(row.file, []).append(row)
    sound = True
    for file, members in files.items():
        on_file()
        path = layout.dataset_file(dataset.name, "standings", file)
        try:
            data = dataset.lake.read_bytes(path)
            if not file.startswith(digest_of(data)):
                raise damaged(path, "does not match the digest in its name")
            standings = parquet.decode(data, dataset.kind or "standings", path)
        except LakeError as error:
            sound = False
            yield str(error)
            continue
        for problem in _file_problems(dataset.kind, standings, members, handles):
            sound = False
            yield str(damaged(path, problem))
    if sound and handles is not None and log is not None:
        yield from (f"{table}: {problem}; {remedy_for(table)}" for problem in _outdated_digests(dataset, rows))


def _segment_problems(segment: Segment, table: pa.Table) -> Iterator[str]:
    """Differences between a segment's rows and the rounds of its manifest."""
    rounds = np.repeat(np.arange(segment.first_round, segment.stop_round), segment.rows)
    if not np.array_equal(table.column("round_index").to_numpy(), rounds):
        yield "its rows are of other rounds than those in its manifest"
        return
    contests = pa.array(segment.contest_ids, pa.string()).take(pa.array(rounds - segment.first_round))
    if not _equal(table.column("contest_id"), contests):
        yield "its rows are of other contests than those in its manifest"
    lo, hi = (table.column(name).to_numpy() for name in ("lo", "hi"))
    sizes = np.array(segment.rows, np.int64)
    if not (_in_order(lo, hi, sizes, _new_places(lo, hi, sizes)) or _are_games(lo, hi, sizes)):
        yield "its rows are not in order of place"
    for name in ("mu_prior", "sigma_prior", "mu", "sigma"):
        if not np.isfinite(table.column(name).to_numpy()).all():
            yield f"{name} has values that are not finite"


def _are_games(lo: npt.NDArray[np.int32], hi: npt.NDArray[np.int32], sizes: Longs) -> bool:
    """Whether the rounds are periods of games: pairs of rows, each with the places of a game."""
    return not (sizes % 2).any() and _in_order(lo, hi, np.full(len(lo) // 2, 2))


def _new_places(lo: npt.NDArray[np.int32], hi: npt.NDArray[np.int32], sizes: Longs) -> npt.NDArray[np.bool_] | None:
    """The most rows of a run that can open a team; None if each row can. Rounds do not record teams.

    A tie group with more rows than places is one of teams: its last rows are counted as members of its last team.
    """
    at = np.repeat(np.cumsum(sizes) - sizes, sizes)
    begins = (np.diff(lo, prepend=-1) != 0) | (np.arange(len(lo)) == at)
    place = np.arange(len(lo)) - np.flatnonzero(begins)[np.cumsum(begins) - 1]
    opens: npt.NDArray[np.bool_] = place <= hi - lo
    return None if opens.all() else opens


def _file_problems(kind: str, table: pa.Table, members: list[Row], handles: pa.StringArray | None) -> Iterator[str]:
    """Differences between a file of standings or games and the contests that refer to it."""
    starts = np.array([row.row_start for row in members], np.int64)
    sizes = np.array([row.n_rows for row in members], np.int64)
    if np.any(starts + sizes > table.num_rows) or np.any(starts < 0) or np.any(sizes < 0):
        yield f"has {table.num_rows} rows, its contests need more"
        return
    used = concatenate_ranges(starts, sizes)
    rows = table if np.array_equal(used, np.arange(table.num_rows)) else table.take(pa.array(used))
    ids = pa.array([row.contest_id for row in members], pa.string()).take(
        pa.array(np.repeat(np.arange(len(members)), sizes))
    )
    if not _equal(rows.column("contest_id"), ids):
        yield "holds other contests than those in the table of contests"
        return
    if kind != GAMES_KIND:
        yield from _standings_problems(rows, sizes, handles)
    elif handles is None:
        return  # nothing can be checked without the names of the players
    else:
        problems = list(_games_problems(rows, handles))
        yield from problems
        if _UNKNOWN_PLAYERS in problems:
            return
    for row in changed_contests(kind, rows, members, handles):
        yield f"contest {row.contest_id} does not match its digest"


def changed_contests(
    kind: str, rows: pa.Table, members: Sequence[Row], handles: pa.StringArray | None
) -> Iterator[Row]:
    """The contests whose rows in a file, one contest after the other, do not have the digest of their source.

    ``handles``: of all players; standings have their own.
    """
    offsets = np.concatenate([[0], np.cumsum([row.n_rows for row in members])])
    names = handles if kind == GAMES_KIND else rows.column("handle").combine_chunks()
    for row, (_, _, digest) in contents(members, part_of(kind, 0, offsets, rows), names):
        if digest != row.source_digest:
            yield row


def _standings_problems(rows: pa.Table, sizes: Longs, handles: pa.StringArray | None) -> Iterator[str]:
    """Faults of the standings of some contests of these sizes, one after the other."""
    player, lo, hi = (rows.column(name).to_numpy() for name in ("player", "lo", "hi"))
    if handles is not None:
        known = (player >= 0) & (player < len(handles))
        if not known.all() or not _equal(handles.take(pa.array(player)), rows.column("handle")):
            yield _UNKNOWN_PLAYERS
    teams = Teams.of(rows)
    starts = np.cumsum(sizes) - sizes
    if not _in_order(lo, hi, sizes, None if teams is None else teams.opens(np.append(starts, len(lo)))):
        yield "its rows are not in order of place"


def _games_problems(rows: pa.Table, handles: pa.StringArray) -> Iterator[str]:
    """Faults of the games of some periods, one after the other."""
    player, opponent, score = (rows.column(name).to_numpy() for name in ("player", "opponent", "score"))
    known = (np.minimum(player, opponent) >= 0) & (np.maximum(player, opponent) < len(handles))
    if not known.all():
        yield _UNKNOWN_PLAYERS
        return
    if (player == opponent).any():
        yield "has a game of a player against the same player"
    if not ((score >= 0.0) & (score <= 1.0)).all():
        yield "has a score that is not from 0 to 1"


def _outdated_digests(dataset: Dataset, rows: list[Row]) -> Iterator[str]:
    """Contests whose size or digest is not that of their standings after corrections."""
    if not dataset.corrected:
        each = 2 if dataset.kind == GAMES_KIND else 1  # participations a row
        wrong = [row for row in rows if (row.n_players, row.content_digest) != (each * row.n_rows, row.source_digest)]
        yield from (f"contest {row.contest_id} has a digest with corrections, but none is in force" for row in wrong)
        return
    handles = dataset.handles()
    for part in dataset.standings():
        names = handles if part.games is not None else handles.take(pa.array(part.player))
        for row, found in contents(rows[part.first_contest :][: len(part)], part, names):
            if (row.n_players, row.n_teams, row.content_digest) != found:
                yield f"contest {row.contest_id} does not match its digest after corrections"


def _in_order(
    lo: npt.NDArray[np.int32], hi: npt.NDArray[np.int32], sizes: Longs, opens: npt.NDArray[np.bool_] | None = None
) -> bool:
    """Whether rows of rounds of these sizes are best first, each tie group with one ``lo`` and one ``hi``.

    ``opens`` is the mask of the first row of each team, if places count teams.
    """
    starts = np.cumsum(sizes) - sizes
    if opens is not None:
        first, team = np.flatnonzero(opens), np.cumsum(opens) - 1
        if not opens[starts[sizes > 0]].all():
            return False
        if not (np.array_equal(lo[first][team], lo) and np.array_equal(hi[first][team], hi)):
            return False
        teams = np.concatenate(([0], np.cumsum(opens)))
        return _in_order(lo[first], hi[first], teams[starts + sizes] - teams[starts])
    if np.any(lo[starts[sizes > 0]] != 0):
        return False
    place = np.arange(len(lo)) - np.repeat(starts, sizes)
    first = np.flatnonzero(lo == place)  # of each tie group
    length = np.diff(first, append=len(lo))
    return np.array_equal(np.repeat(lo[first], length), lo) and np.array_equal(
        np.repeat(lo[first] + length - 1, length), hi
    )


def _equal(left: pa.Array | pa.ChunkedArray, right: pa.Array | pa.ChunkedArray) -> bool:
    return len(left) == len(right) and pc.all(pc.equal(left, right)).as_py() is not False
