"""The table of contests in shards: most contests of a large data set are in files that an ingest does not rewrite.

The last contests are in ``contests.parquet``, whose replacement is the commit of an ingest. Its metadata list the
shards of the contests before them. A data set below the size of one shard has none.

The contests determine where a shard ends: after a contest whose digest is below a bound. So a late contest changes its
shard only, at most a few, and the later shards begin and end at the same contests as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...lake import layout, parquet
from ...lake.access.lake import Lake, digest_of
from ...lake.errors import MissingError
from ...lake.limits import Limits
from ...lake.parquet import SHARDS, metadata_of
from ...lake.remedies import damaged, with_remedies
from ...leases.roots import read_root
from .games import GAMES_KIND


def read_contests(lake: Lake, dataset: str, columns: list[str] | None = None) -> tuple[pa.Table | None, str]:
    """All contests in rated order, or some columns of them, and the version of the root.

    The table has the metadata of the root; it is None if there is no data set.

    Raises DamagedError: the root has no valid metadata; a shard is missing, or is not the one that the root names.
    """
    path = layout.contests_file(dataset)
    data, version = read_root(lake, path)
    while data is not None:
        with with_remedies(lake):
            root = parquet.decode(data, "contests", path, columns)
            _check(metadata_of(root.schema), path)
        shards = shards_of(metadata_of(root.schema))
        if not shards:
            return root, version
        read = data
        try:
            tables = list(_read(lake, dataset, shards, columns))
        except MissingError as error:
            data, version = read_root(lake, path)
            if data != read:
                continue  # two commits since the root was read deleted its shards
            with with_remedies(lake):  # the data set is not missing
                raise damaged(error.path, f"is missing, while {path} names it") from error
        whole = pa.concat_tables([*tables, root.replace_schema_metadata()]).combine_chunks()
        return whole.replace_schema_metadata(root.schema.metadata), version
    return None, version


def _check(metadata: Mapping[str, str], path: str) -> None:
    """Raise ``DamagedError`` if the metadata of a root cannot be those of an ingest."""
    for key, needed in (("n_players", True), ("epoch", False)):
        value = metadata.get(key, "" if needed else "0")
        if not (value.isascii() and value.isdecimal()):
            raise damaged(path, f"its {key} is {value!r}, no number")
    if "player_parts" not in metadata:
        raise damaged(path, "does not name its tables of players")
    if (kind := metadata.get("kind", "")) not in ("", GAMES_KIND):
        raise damaged(path, f"its kind is {kind!r}, which is none")


def shards_of(metadata: Mapping[str, str]) -> list[str]:
    """File names of the shards, in rated order, from the metadata of the root."""
    return metadata.get(SHARDS, "").split()


def write_shards(
    dataset: str,
    contests: pa.Table,
    before: pa.Table | None,
    epoch: int,
    limits: Limits,
    write: Callable[[str, pa.Buffer], None],
) -> tuple[pa.Table, dict[str, str]]:
    """Cut a table of contests, and write the shards that do not exist yet.

    ``before``: the table as read by :func:`read_contests`; its shards are used again where they hold the same contests.
    ``epoch``: that of the data set, see ``ranklake.storage.leases.roots``.
    ``write``: writes a file, given its path and bytes.
    Returns pa.Table: the contests of the root.
    Returns dict of str to str: metadata of the root that name the shards; empty if there are none.
    """
    ends = list(_ends(contests, limits))
    existing = {} if before is None else dict(_existing(before))
    names = []
    for start, end in pairwise([0, *ends]):
        shard = contests.slice(start, end - start)
        name, same = existing.get(_first(shard), ("", None))
        if same is None or not same.equals(shard):
            data = parquet.encode(shard, "contests")
            name = f"{layout.numbered(len(shard))}-{digest_of(data)}{layout.epoch_suffix(epoch)}.parquet"
            write(layout.dataset_file(dataset, "contests", name), data)
        names.append(name)
    root = contests.slice(ends[-1]) if ends else contests
    return root, {SHARDS: " ".join(names)} if names else {}


def _read(lake: Lake, dataset: str, shards: Iterable[str], columns: list[str] | None) -> Iterator[pa.Table]:
    paths = [layout.dataset_file(dataset, "contests", name) for name in shards]
    with with_remedies(lake):
        for path, data in zip(paths, lake.read_many(paths), strict=True):
            if digest_of(data) not in path:
                raise damaged(path, "does not match the digest in its name")
            yield parquet.decode(data, "contests", path, columns).replace_schema_metadata()


def _ends(contests: pa.Table, limits: Limits) -> Iterator[int]:
    """The row after each shard, a function of the contests alone."""
    marks = np.flatnonzero(pc.less(contests.column("source_digest"), limits.shard_end).to_numpy()) + 1
    start, n = 0, contests.num_rows
    least, most = limits.shard_contests
    while True:
        at = int(np.searchsorted(marks, start + least))
        start = min(int(marks[at]) if at < len(marks) else n + 1, start + most)
        if start > n:
            return
        yield start


def _existing(before: pa.Table) -> Iterator[tuple[str, tuple[str, pa.Table]]]:
    """The shards behind a table: name and contests, by the first contest."""
    names = shards_of(metadata_of(before.schema))
    sizes = [int(name.partition("-")[0]) for name in names]
    plain = before.replace_schema_metadata()
    for name, (start, end) in zip(names, pairwise(accumulate(sizes, initial=0)), strict=True):
        shard = plain.slice(start, end - start)
        yield _first(shard), (name, shard)


def _first(shard: pa.Table) -> str:
    contest_id: str = shard.column("contest_id")[0].as_py()
    return contest_id
