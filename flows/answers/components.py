"""The components of who met whom in a run, and the contests that alone join two groups of players."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..results.components import Components
from ..results.meetings import participations
from ..results.rated_rounds import rated_contests
from .rated_run import RatedRun

COMPONENTS = pa.schema(
    [
        ("run", pa.string()),
        ("component", pa.int32()),
        ("players", pa.int64()),
        ("large", pa.bool_()),
        ("player", pa.string()),
    ]
)

BRIDGES = pa.schema(
    [
        ("run", pa.string()),
        ("contest_id", pa.string()),
        ("name", pa.string()),
        ("time_seconds", pa.int64()),
        ("players", pa.int64()),
        ("player", pa.string()),
        ("other", pa.string()),
    ]
)
_LEAST = 2  # players of a group: one alone is a player of one contest


def component_rows(rated: RatedRun) -> pa.Table:
    """A row for each component, largest first: ``players``, whether it is ``large``, and one ``player``."""
    found = rated.components() or Components(np.empty(0, np.int32), np.empty(0, np.int32))
    numbers = np.arange(len(found.sizes), dtype=np.int32)
    columns = [
        pa.array([rated.name] * len(numbers), pa.string()), numbers, found.sizes, np.isin(numbers, found.large),
        rated.dataset.handles().take(pa.array(found.earliest, pa.int32())),
    ]  # fmt: skip
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, COMPONENTS, strict=True)], COMPONENTS
    )


def bridge_rows(rated: RatedRun) -> pa.Table:
    """A row for each contest, of games each game, that alone joins two groups of players, the largest first.

    Without it, a group of ``players`` and a larger one never met: ``player`` of the contest is in that group, ``other``
    in the larger one.
    """
    from ranklake.rating_kernels.metrics.bridges import bridges  # imports kernels

    dataset, chain = rated.dataset, rated.run.segments()
    met, counts = participations(rated.run, dataset, chain)
    found = bridges(met.first, met.player, counts)
    at = np.flatnonzero(found.players >= _LEAST)
    at = at[np.argsort(-found.players[at], kind="stable")]
    contests, handles = rated_contests(chain, dataset).take(pa.array(met.round_index[at])), dataset.handles()
    columns = [pa.array([rated.name] * len(at), pa.string())]
    columns += [contests.column(name).combine_chunks() for name in BRIDGES.names[1:4]]
    columns += [pa.array(found.players[at]), *(handles.take(pa.array(of[at])) for of in (found.player, found.other))]
    return pa.table(columns, BRIDGES)
