"""Merging into fewer, larger files: segments of a run, standings of a data set. Readers see the same data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from ..datasets.dataset import Dataset
from ..datasets.garbage import METADATA_KEYS, collect_garbage, commit, discard, referenced, replaced
from ..datasets.tables.rows import Row, rows_of, table_of
from ..datasets.tables.shards import write_shards
from ..datasets.tables.standings import concatenate_ranges, standings_name
from ..lake import layout, parquet
from ..lake.access.lake import Lake
from ..lake.access.space import no_space_to_merge
from ..lake.errors import DamagedError, MissingError, NoSpaceError
from ..lake.parquet import metadata_of
from ..lake.remedies import damaged, with_remedies
from ..leases.lease import Lease
from ..leases.reserve import affordable
from ..leases.roots import begin_epoch, epoch_of
from ..runs.run import Run
from .verify import changed_contests

T = TypeVar("T")

ROWS = 200_000  # participations a file: a few megabytes, and a tenth of a second to rate again if its end is cut off


def compact_run(
    run: Run, rows: int = ROWS, on_merge: Callable[[int, int], None] = lambda done, total: None
) -> tuple[int, int]:
    """Merge neighbouring segments until each has about ``rows`` rows.

    The replaced files stay for running readers until the next ``rate`` or ``compact``. ``on_merge`` is called with the
    number of new files, of all.

    Returns int, int: segments before and after.
    Raises ValueError: ``rows`` is not positive.
    Raises DamagedError: a file does not match its manifest; earlier merges stay.
    Raises NoSpaceError: the disk has no space for all merged files; the smallest, as far as they fit, were written.
    """
    _check(rows)
    chain = run.segments()
    chain = run.truncate(chain.stop_round, chain)  # delete the files that an earlier merge replaced
    groups = list(_groups(chain.segments, [segment.n_rows for segment in chain.segments], rows))
    several = [group for group in groups if len(group) > 1]
    needs = run.sizes_of(several)
    chosen = affordable(run.lake, needs)
    for done, number in enumerate(chosen):
        on_merge(done, len(chosen))
        run.merge(several[number])
    run.merge_entry_ratings()
    _check_all(run.lake, layout.run_folder(run.name), needs, chosen)
    return len(chain.segments), len(groups)


def remove_unusable_snapshots(run: Run) -> list[str]:
    """Delete snapshots that are damaged or belong to other rounds than those of the run; returns their paths."""
    digests = [digest for segment in run.segments().segments for digest in segment.digests]
    removed = []
    for last_round in run.snapshots():
        try:
            _, digest = run.read_snapshot(last_round)
            sound = last_round < len(digests) and digest == digests[last_round]
        except (DamagedError, MissingError):
            sound = False
        if not sound:
            run.remove_snapshot(last_round)
            removed.append(run.path_of_snapshot(last_round))
    return removed


def compact_dataset(
    lake: Lake,
    name: str,
    lease: Lease,
    rows: int = ROWS,
    on_merge: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[int, int]:
    """Merge the standings of each year's contests into files of about ``rows`` rows, in rated order.

    The commit is the replacement of the table of contests. The replaced files stay for running readers until the next
    commit. ``on_merge`` is called with the number of new files, of all.

    Returns int, int: files of standings before and after.
    Raises ValueError: ``rows`` is not positive.
    Raises MissingError, DamagedError: there is no such data set, a file is missing, or does not hold its contests;
    nothing has changed.
    Raises NoSpaceError: the disk has no space for all merged files; the smallest, as far as they fit, were written.
    """
    _check(rows)
    lake = lease.lake
    dataset = Dataset.open(lake, name)
    contests, metadata = dataset.contests, metadata_of(dataset.contests.schema)
    epoch = begin_epoch(lease, epoch_of(metadata))
    members = rows_of(contests).values()
    before = {row.file for row in members}
    stays = referenced(name, before, metadata)
    collect_garbage(lake, name, stays)  # first, because the disk may be full
    groups = [group for group in _by_year(members, rows) if not _is_one_file(group)]
    needs = _needs(lake, name, members, groups)
    chosen = affordable(lake, needs, also=sum(lake.sizes(layout.dataset_folder(name, "contests")).values()))
    written: list[str] = []

    def write(path: str, data: pa.Buffer) -> None:
        written.append(path)
        lake.write_bytes(path, data)

    try:
        for done, group in enumerate(map(groups.__getitem__, chosen)):
            on_merge(done, len(chosen))
            with with_remedies(lake):
                data = parquet.encode(_gather(dataset, group), dataset.kind or "standings")
            file = standings_name(data, epoch)
            write(layout.dataset_file(name, "standings", file), data)
            ends = np.cumsum([row.n_rows for row in group]).tolist()
            for row, end in zip(group, ends, strict=True):
                row.file, row.row_start = file, end - row.n_rows
        after = {row.file for row in members}
        if after != before:
            metadata = {key: metadata[key] for key in METADATA_KEYS if key in metadata}
            metadata |= {"epoch": str(epoch)} if epoch else {}
            root, shards = write_shards(name, table_of(members), contests, epoch, lake.limits, write)
            metadata |= shards
            metadata |= replaced(stays, referenced(name, after, metadata))
            commit(lake, name, root, metadata, dataset.version)
    except BaseException:
        discard(lake, name, written)
        raise
    collect_garbage(lake, name, stays | referenced(name, after, metadata))
    _check_all(lake, layout.dataset_folder(name), needs, chosen)
    return len(before), len(after)


def _by_year(members: Iterable[Row], rows: int) -> Iterator[list[Row]]:
    members = list(members)
    times = np.array([row.time_seconds for row in members], "datetime64[s]")
    by_year: dict[int, list[Row]] = {}
    for row, year in zip(members, times.astype("datetime64[Y]").astype(int).tolist(), strict=True):
        by_year.setdefault(year, []).append(row)
    for of_year in by_year.values():
        yield from _groups(of_year, [row.n_rows for row in of_year], rows)


def _needs(lake: Lake, name: str, members: Iterable[Row], groups: Iterable[Sequence[Row]]) -> list[int]:
    """Estimated bytes of the merged file of each group: the group's share of its present files."""
    sizes, rows_of_file = lake.sizes(layout.dataset_folder(name, "standings")), Counter[str]()
    for row in members:
        rows_of_file[row.file] += row.n_rows
    return [
        math.ceil(sum(sizes.get(row.file, 0) * row.n_rows / max(rows_of_file[row.file], 1) for row in group))
        for group in groups
    ]


def _check_all(lake: Lake, folder: str, needs: Sequence[int], chosen: Sequence[int]) -> None:
    """Raise if the disk had no space for some of the merged files."""
    if len(chosen) < len(needs):
        needed = sum(needs) - sum(map(needs.__getitem__, chosen))
        raise NoSpaceError(no_space_to_merge(folder, needed, lake.uri("")), path=folder)


def _is_one_file(group: Sequence[Row]) -> bool:
    """Whether contests already follow each other from the beginning of one file."""
    starts = np.cumsum([0, *(row.n_rows for row in group[:-1])]).tolist()
    return len({row.file for row in group}) == 1 and [row.row_start for row in group] == starts


def _gather(dataset: Dataset, group: Sequence[Row]) -> pa.Table:
    """Standings or games of contests, from all their files, each compared with its digest."""
    lake, name, kind = dataset.lake, dataset.name, dataset.kind or "standings"
    paths = {row.file: layout.dataset_file(name, "standings", row.file) for row in group}
    tables = [table.replace_schema_metadata() for table in lake.read_tables(list(paths.values()), kind)]
    base = dict(zip(paths, np.cumsum([0, *(table.num_rows for table in tables)]).tolist(), strict=False))
    length = dict(zip(paths, (table.num_rows for table in tables), strict=True))
    for row in group:
        if row.row_start + row.n_rows > length[row.file]:
            raise damaged(paths[row.file], f"has {length[row.file]} rows, contest {row.contest_id} needs more")
    starts = np.array([base[row.file] + row.row_start for row in group], np.int64)
    sizes = np.array([row.n_rows for row in group], np.int64)
    gathered = pa.concat_tables(tables).take(pa.array(concatenate_ranges(starts, sizes))).combine_chunks()
    for row in changed_contests(kind, gathered, group, dataset.handles()):
        raise damaged(paths[row.file], f"contest {row.contest_id} does not match its digest")
    return gathered


def _groups(items: Sequence[T], sizes: Sequence[int], rows: int) -> Iterator[list[T]]:
    """Groups of neighbours with at most ``rows`` rows together; an item with more rows is alone."""
    group: list[T] = []
    total = 0
    for item, size in zip(items, sizes, strict=True):
        if group and total + size > rows:
            yield group
            group, total = [], 0
        group.append(item)
        total += size
    if group:
        yield group


def _check(rows: int) -> None:
    if rows < 1:
        raise ValueError(f"rows must be >= 1, got {rows}")
