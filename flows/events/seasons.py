"""The seasons of a data set: the time from one season event to the next. Imports no kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ranklake.storage import Dataset, Event, MissingError
from ranklake.storage.datasets.tables.events import ALL, positions
from ranklake.storage.lake.schemas import OF_SEASONS
from ranklake.storage.names.hints import hint, near_names

from ..common.text import listed
from ..common.times import spelled

CURRENT = "current"  # the season of the last contest, or a later one that has begun


@dataclass(frozen=True, slots=True)
class Season:
    """A season of a data set.

    ``event``: the event that began it.
    ``end_seconds``: the beginning of the next season, UTC seconds; None for the last one.
    ``first_round``, ``stop_round``: its contests in rated order: the first one, and the one after its last.
    """

    event: Event
    end_seconds: int | None
    first_round: int
    stop_round: int

    @property
    def name(self) -> str:
        """Its name, unique in the data set."""
        return self.event.name

    @property
    def start_seconds(self) -> int:
        """When it began, UTC seconds."""
        return self.event.time_seconds

    @property
    def n_rounds(self) -> int:
        """Number of its contests or periods."""
        return self.stop_round - self.first_round

    @property
    def resets(self) -> bool:
        """Whether it began with a reset of beliefs."""
        return self.event.kind == "reset"

    def to_json(self) -> dict[str, Any]:
        """All facts by name; those of a reset are null without one."""
        event, resets = self.event, self.resets
        return {
            "name": event.name,
            "start_seconds": event.time_seconds,
            "end_seconds": self.end_seconds,
            "first_round": self.first_round,
            "n_rounds": self.n_rounds,
            "reset": resets,
            **{key: getattr(event, key) if resets else None for key in _OF_RESETS},
            "event_id": event.event_id,
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Season:
        """The opposite of :meth:`to_json`."""
        of_reset = {key: facts[key] for key in _OF_RESETS} if facts["reset"] else {}
        kind: Any = "reset" if facts["reset"] else "season"
        event = Event(facts["event_id"], facts["start_seconds"], kind, facts["name"], **of_reset)
        return cls(event, facts["end_seconds"], facts["first_round"], facts["first_round"] + facts["n_rounds"])


_OF_RESETS = ("centre", "keep", "widen", "history", "restart_counts", "who")


def reset_line(event: Event) -> str:
    """What an event does to ratings, in words."""
    if event.kind == "season":
        return "without a reset"
    parts = [f"keep {event.keep:g}", f"centre {event.centre}"]
    parts += [f"widen {event.widen:g}"] if event.widen else []
    parts += ["histories forgotten"] if event.history == "forget" else []
    parts += ["counts of games restarted"] if event.restart_counts else []
    parts += [] if event.who == ALL else [f"of players with {_players_of(event)}"]
    return f"reset: {', '.join(parts)}"


def _players_of(event: Event) -> str:
    since = event.active_since
    return event.who if since is None else f"a contest since {spelled(since)}"


def ends_of(dataset: Dataset) -> npt.NDArray[np.int64]:
    """The end of each contest in rated order, UTC seconds; 0 if unknown. Of a period, that of its last game."""
    found: npt.NDArray[np.int64] = dataset.contests.column("time_seconds").to_numpy()
    return found


def seasons(dataset: Dataset) -> list[Season]:
    """All seasons in order; contests before the first one are of none."""
    return seasons_of(dataset.events(), ends_of(dataset))


def seasons_of(events: Iterable[Event], ends: npt.NDArray[np.int64]) -> list[Season]:
    """The seasons that events in order begin, of rounds that ended at ``ends`` (int64[n]), UTC seconds; 0 if unknown.

    A run that is behind its data set has rounds of its own, and so has each season of them.
    """
    events = list(events)
    times: list[int | None] = [*(event.time_seconds for event in events[1:]), None]
    first = [*positions(events, ends), len(ends)]
    return [
        Season(event, end, start, stop)
        for event, end, start, stop in zip(events, times, first, first[1:], strict=False)
    ]


def reset_rounds(found: Iterable[Season]) -> npt.NDArray[np.int64]:
    """The first round after each reset, ascending."""
    return np.array([one.first_round for one in found if one.resets], np.int64)


def seasons_table(
    found: Sequence[Season], rows: Iterable[tuple[npt.NDArray[Any], npt.NDArray[Any]]], n_players: int
) -> pa.Table:
    """Seasons as the published table ``OF_SEASONS["seasons"]``.

    ``rows``: the round and the player, below ``n_players``, of each rated row, in order of rounds and in parts.
    """
    first = np.array([one.first_round for one in found], np.int64)
    last_seen, counts = np.full(n_players, -1), np.zeros(len(found), np.int64)
    for round_index, player in rows:
        number = np.searchsorted(first, round_index, side="right") - 1
        pairs = np.unique(number[number >= 0] * n_players + player[number >= 0])
        of, who = np.divmod(pairs, n_players)
        counts += np.bincount(of[last_seen[who] != of], minlength=len(found))
        np.maximum.at(last_seen, who, of)
    facts = [one.to_json() | {"n_players": count} for one, count in zip(found, counts.tolist(), strict=True)]
    return pa.Table.from_pylist(facts, schema=OF_SEASONS["seasons"])


def season_at(found: Sequence[Season], time_seconds: int) -> Season | None:
    """The season at a time, UTC seconds; None before the first one."""
    return next((one for one in reversed(found) if one.start_seconds <= time_seconds), None)


def season_named(found: Sequence[Season], name: str, ends: npt.NDArray[np.int64], dataset: str) -> Season:
    """One of some seasons by name; ``current`` is that of the last round, or the first one if there are no rounds.

    ``ends``: as of :func:`seasons_of`.
    Raises MissingError: there is none; names those that exist.
    """
    if name == CURRENT and found:
        return season_at(found, int(ends.max(initial=0))) or found[0]
    for one in found:
        if one.name == name:
            return one
    names = [one.name for one in found]
    there = f"; there are: {listed(names)}" if names else "; `ranklake season start` begins one"
    raise MissingError(f"data set {dataset} has no season {name!r}{hint(name, near_names(name, names))}{there}")
