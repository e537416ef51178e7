"""The resets of a data set as a run applies them: between which rounds, and to which players. Imports no kernel."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranklake.storage import Dataset, Event
from ranklake.storage.datasets.player_attributes import player_attributes
from ranklake.storage.datasets.tables.aliases import canonical
from ranklake.storage.datasets.tables.events import positions
from ranklake.storage.runs.segments import AppliedReset
from ranklake.storage.runs.stored_run import StoredRun

from .seasons import ends_of

Mask = npt.NDArray[np.bool_]


class DueReset(NamedTuple):
    """A reset of a data set, as a run applies it.

    ``round_index``: the round that comes after it, or the number of rounds.
    ``handles``: the players with its attribute, sorted; None if it acts on others, too.
    ``recorded``: whether the run has them on record.
    """

    round_index: int
    event: Event
    handles: list[str] | None
    recorded: bool

    @property
    def digest(self) -> bytes:
        """Digest of all that ratings depend on."""
        names = b"" if self.handles is None else json.dumps(self.handles, allow_nan=False).encode()
        return blake2b(self.event.content + names, digest_size=16).digest()

    def applied(self, centre: float | None) -> AppliedReset:
        """The same, as the manifests of a run record it; ``centre`` in rating points, None for an unknown mean."""
        event, forget = self.event, self.event.history == "forget"
        facts = centre, event.keep, event.widen, forget, event.active_since, self.handles is not None
        return AppliedReset(self.round_index, event.event_id, event.name, event.time_seconds, *facts)

    def mask(self, dataset: Dataset) -> Mask | None:
        """Mask of its players, by their index in the data set; None if it acts on others, too."""
        return None if self.handles is None else players_of(dataset, self.handles, self.event.time_seconds)


def players_of(dataset: Dataset, handles: Sequence[str], time_seconds: int) -> Mask:
    """Mask of the players of a data set who had some names at a time, by their index."""
    aliases = dataset.log().aliases
    names = {canonical(aliases, name, time_seconds) for name in handles} if aliases else handles
    found: Mask = pc.is_in(dataset.handles(), pa.array(sorted(names), pa.string())).to_numpy(zero_copy_only=False)
    return found


def due_resets(
    dataset: Dataset, run: StoredRun | None = None, ends: npt.NDArray[np.int64] | None = None
) -> list[DueReset]:
    """The resets of a data set in order, with the players that ``run`` has on record; others have those of now.

    ``ends``: end of each round, UTC seconds; by default those of all contests.
    """
    events = dataset.events().resets
    if not events:
        return []
    of_attributes = any(event.attribute is not None for event in events)
    recorded = run.reset_players() if run is not None and of_attributes else {}
    due = []
    for event, at in zip(events, positions(events, ends_of(dataset) if ends is None else ends), strict=True):
        handles = recorded.get(event.event_id)
        if event.attribute is not None and handles is None:
            handles = _with_attribute(dataset, *event.attribute)
        due.append(DueReset(at, event, None if event.attribute is None else handles, event.event_id in recorded))
    return due


def _with_attribute(dataset: Dataset, name: str, value: str) -> list[str]:
    """The handles of the players with a value of an attribute, sorted."""
    rows = player_attributes(dataset)
    chosen = pc.and_(pc.equal(rows.column("attribute"), name), pc.equal(rows.column("value"), value))
    return sorted(rows.filter(chosen).column("handle").to_pylist())


def by_round(resets: Iterable[DueReset]) -> Mapping[int, list[DueReset]]:
    """The resets before each round, in order."""
    found: defaultdict[int, list[DueReset]] = defaultdict(list)
    for reset in resets:
        found[reset.round_index].append(reset)
    return found


def add_resets(contents: list[bytes], resets: Iterable[DueReset]) -> None:
    """Add to the content of each round, in place, the digests of the resets before it; later ones are pending."""
    for at, found in by_round(resets).items():
        if at < len(contents):
            contents[at] = b"".join(reset.digest for reset in found) + contents[at]


def cuts(resets: Iterable[DueReset], start: int, stop: int) -> list[tuple[int, int]]:
    """The rounds from ``start`` to ``stop``, cut before each round that a reset precedes; none if there are none."""
    inner = sorted({reset.round_index for reset in resets if start < reset.round_index < stop})
    ends = [start, *inner, stop]
    return [(first, last) for first, last in pairwise(ends) if first < last]


def pending(resets: Sequence[DueReset], n_rounds: int, time_seconds: int) -> list[DueReset]:
    """The resets after the last of ``n_rounds`` rounds that took place before a time or at it, UTC seconds."""
    return [one for one in resets if one.round_index >= n_rounds and one.event.time_seconds <= time_seconds]
