"""Beliefs spread over a crew: every player is held by one worker, rounds by nobody.

A large round is one trip to each worker and back: they end it and begin the next. A very large one takes two more, for
its summary (:data:`WIDE`). A stretch of small rounds is rated here: its players' beliefs are fetched, all its rounds
are rated in one kernel call, and what is believed after them goes back with the next orders.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rating_kernels import Outcome, Rounds, System
from rating_kernels.beliefs import Column, Ragged
from rating_kernels.standings import Ints, Longs

from .engines.base import Crew, Order, Remote
from .keepers import Held
from .rounds import stretches
from .shares import Lot, Share, pack, unpack

__all__ = ["WIDE", "Spread"]

WIDE = 50_000  # participants from which the summary is worth two trips more; fewer, and each worker makes all of it
SHARDS = 16  # a worker: players who came together are spread over all


@dataclass(slots=True)
class _Stretch:
    """One large round, or small ones together, and which worker holds whom of its participants."""

    rounds: Rounds
    large: bool
    players: npt.NDArray[np.integer]  # whose beliefs are needed: row by row of a large round, otherwise each once
    numbered: Rounds  # of a small one: players by their place in ``players``
    places: list[Ints]  # in ``players``, of those that each worker holds
    rows: list[Ints]  # in its store
    begun: list[Any] | None = None  # each worker's beliefs of its players, once they have been asked for


class Spread:
    """A keeper whose beliefs are held by the workers of an engine."""

    def __init__(
        self,
        system: System,
        params: Any,
        n_players: int,
        engine: Remote,
        shards: int | None = None,
        wide: int | None = None,
    ) -> None:
        self._system, self._params, self._n_players = system, params, n_players
        self._wide = WIDE if wide is None else wide

        def terms(place: int, size: int) -> tuple[Any, ...]:
            return system.name, params, len(_lot(place, size, shards).players(n_players)), place, size

        self._crew: Crew = engine.hire(Share, terms)
        size = self._crew.size
        self._lots = [_lot(place, size, shards) for place in range(size)]
        self._holder = np.empty(self._lots[0].n_shards, dtype=np.int16)
        for place, lot in enumerate(self._lots):
            self._holder[lot.shards] = place
        self._waiting: list[list[Order]] = [[] for _ in self._lots]  # orders that go with the next ones
        self._ahead: tuple[Rounds, _Stretch] | None = None
        self.phases: dict[str, tuple[float, int]] = {}

    def rate(self, rounds: Rounds, ahead: Rounds | None = None) -> Outcome:
        if rounds.n_rows and rounds.player.max() >= self._n_players:
            raise ValueError(f"player {rounds.player.max()} has no row in a store of {self._n_players} players")
        outcome = Outcome.empty(rounds.n_rows)
        begun, self._ahead = self._ahead, None
        assert begun is None or begun[0] is rounds
        first = None if begun is None else begun[1]
        parts = ((rounds.part(a, b), large) for a, b, large in stretches(self._system, rounds))
        follows = None if ahead is None else next(iter(stretches(self._system, ahead)), None)
        after = None if ahead is None or follows is None else self._stretch(ahead.part(*follows[:2]), follows[2])
        done = 0
        for now, then in _with_next(self._stretches(parts, first), after):
            rows = outcome.part(done, done + now.rounds.n_rows)
            done += now.rounds.n_rows
            (self._rate_large if now.large else self._rate_small)(now, then, rows)
        if after is not None and ahead is not None and after.begun is not None:
            self._ahead = ahead, after
        return outcome

    def columns(self) -> Held:
        assert self._ahead is None
        orders = [[("columns", (len(lot.players(self._n_players)),))] for lot in self._lots]
        parts = [reply[0] for reply in self._ask(orders, self._n_players)]
        players = [lot.players(self._n_players) for lot in self._lots]
        return {name: _merge([part[name] for part in parts], players, self._n_players) for name in parts[0]}

    def restore(self, columns: Held) -> None:
        known = len(columns["mu"])
        orders: list[list[Order]] = []
        for lot in self._lots:
            players = lot.players(known)
            orders.append([("restore", ({name: _some(column, players) for name, column in columns.items()},))])
        self._ask(orders, self._n_players)

    def dismiss(self) -> None:
        self._crew.dismiss()

    def _ask(self, orders: Sequence[list[Order]], rows: int = 0, to_all: Sequence[Order] = ()) -> list[list[Any]]:
        """Replies to orders."""
        waiting, self._waiting = self._waiting, [[] for _ in self._lots]
        replies = self._crew.ask([[*one, *two] for one, two in zip(waiting, orders, strict=True)], rows, to_all)
        return [reply[len(to_all) + len(one) :] for reply, one in zip(replies, waiting, strict=True)]

    def _spent(self, phase: str, since: float) -> float:
        """Count the time since then; returns the time now."""
        now = time.perf_counter()
        seconds, times = self.phases.get(phase, (0.0, 0))
        self.phases[phase] = seconds + now - since, times + 1
        return now

    def _stretches(self, parts: Iterator[tuple[Rounds, bool]], first: _Stretch | None) -> Iterator[_Stretch]:
        for rounds, large in parts:
            yield self._stretch(rounds, large) if first is None else first
            first = None

    def _stretch(self, rounds: Rounds, large: bool) -> _Stretch:
        since = time.perf_counter()
        numbered = rounds
        players: npt.NDArray[np.integer] = rounds.player
        if not large:
            players, numbers = np.unique(rounds.player, return_inverse=True)
            numbered = Rounds(rounds.offsets, numbers.astype(np.int32), *_rest(rounds))
        holder = self._holder[players % len(self._holder)]
        order = np.argsort(holder, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(holder, minlength=len(self._lots)))
        places = np.split(order, ends[:-1])
        rows = [lot.rows(players[own]) for lot, own in zip(self._lots, places, strict=True)]
        self._spent("share out", since)
        return _Stretch(rounds, large, players, numbered, places, rows)

    def _begin(self, stretch: _Stretch | None) -> list[list[Order]]:
        """What to ask each worker first."""
        if stretch is None:
            return [[] for _ in self._lots]
        if stretch.large:
            return [[("prior", (_facts(stretch.rounds), rows))] for rows in stretch.rows]
        return [[("take", (rows,))] for rows in stretch.rows]

    def _begun(self, stretch: _Stretch) -> list[Any]:
        if stretch.begun is None:
            since = time.perf_counter()
            stretch.begun = [reply[0] for reply in self._ask(self._begin(stretch), len(stretch.players))]
            self._spent("prior", since)
        return stretch.begun

    def _end(
        self, orders: Sequence[Order], then: _Stretch | None, rows: int, to_all: Sequence[Order] = ()
    ) -> list[Any]:
        """The last orders of a round and the first of the next; replies to the former."""
        begin = self._begin(then)
        replies = self._ask([[order, *more] for order, more in zip(orders, begin, strict=True)], rows, to_all)
        if then is not None:
            then.begun = [reply[1] for reply in replies]
        return [reply[0] for reply in replies]

    def _rate_small(self, now: _Stretch, then: _Stretch | None, outcome: Outcome) -> None:
        columns = self._begun(now)
        since = time.perf_counter()
        n = len(now.players)
        beliefs = self._system.newcomers(self._params, n)
        for rows, own in zip(now.places, columns, strict=True):
            beliefs.put(rows, own)
        self._system.rate_small(self._params, beliefs, now.numbered, outcome)
        for waiting, places, rows in zip(self._waiting, now.places, now.rows, strict=True):
            waiting.append(("put", (rows, beliefs.take(places))))
        self._spent("small rounds", since)

    def _rate_large(self, now: _Stretch, then: _Stretch | None, outcome: Outcome) -> None:
        n = now.rounds.n_rows
        begun = self._begun(now)
        since = time.perf_counter()
        prior = outcome.prior
        columns: list[npt.NDArray[Any]] = [prior.mu, prior.sigma, prior.beta, prior.n_before]
        for places, own in zip(now.places, begun, strict=True):
            for column, values in zip(columns, own, strict=True):
                column[places] = unpack(values, len(places))
        wide = n >= self._wide and self._crew.size > 1
        field: list[Order] = [("hear", (_facts(now.rounds), now.rounds.lo, [pack(column) for column in columns]))]
        orders: list[Order] = [("meet", (places, wide)) for places in now.places]
        since = self._spent("lay out", since)
        if wide:
            outcome.perf[:] = self._together(field, orders, n)
            field, orders = [], [("absorb", (pack(outcome.perf[places]),)) for places in now.places]
        replies = self._end(orders, then, n, field)
        since = self._spent("meet and absorb, next prior", since)
        for places, (*perf, mu, sigma) in zip(now.places, replies, strict=True):
            if perf:
                outcome.perf[places] = unpack(perf[0], len(places))
            outcome.mu[places], outcome.sigma[places] = mu, sigma
        self._spent("lay out", since)

    def _together(self, to_all: Sequence[Order], orders: Sequence[Order], n: int) -> npt.NDArray[np.float64]:
        """Performances of a round whose summary the workers share: they exchange what each fills until all have it."""
        while True:
            since = time.perf_counter()
            replies = [reply[0] for reply in self._ask([[order] for order in orders], n, to_all)]
            self._spent("summary", since)
            kinds = {kind for kind, _ in replies}
            assert len(kinds) == 1, "workers disagree where a summary stands"
            parts = [part for _, part in replies]
            if kinds == {"perf"}:
                perf: npt.NDArray[np.float64] = np.concatenate(parts)
                return perf
            filled = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
            to_all, orders = [("know", (filled,))], [("join", ())] * len(orders)


def _lot(place: int, size: int, shards: int | None) -> Lot:
    n_shards = shards or SHARDS * size
    return Lot(np.arange(place, n_shards, size), n_shards)


def _with_next(items: Iterator[_Stretch], last: _Stretch | None) -> Iterator[tuple[_Stretch, _Stretch | None]]:
    now = next(items, None)
    while now is not None:
        then = next(items, None)
        yield now, last if then is None else then
        now = then


def _facts(rounds: Rounds) -> tuple[npt.NDArray[Any], ...]:
    return rounds.time_seconds, rounds.weight, rounds.perf_ceiling, rounds.event


def _rest(rounds: Rounds) -> tuple[Any, ...]:
    return rounds.lo, rounds.hi, *_facts(rounds)


def _some(column: Column | Ragged, rows: Longs) -> Column | Ragged:
    """A column's entries, or lists, of some rows."""
    if not isinstance(column, tuple):
        return column[rows]
    offsets, values = column
    lengths = np.diff(offsets)[rows]
    ends = np.cumsum(lengths)
    at = np.repeat(offsets[:-1][rows] - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
    return np.concatenate(([0], ends)), values[at]


def _merge(parts: Sequence[Column | Ragged], rows: Sequence[Longs], n: int) -> Column | Ragged:
    """One column of ``n`` entries, or lists, of parts that hold some rows each."""
    if not isinstance(parts[0], tuple):
        merged = np.empty(n, dtype=parts[0].dtype)
        for own, part in zip(rows, parts, strict=True):
            merged[own] = part
        return merged
    lengths = np.empty(n, dtype=np.int64)
    for own, (offsets, _) in zip(rows, parts, strict=True):
        lengths[own] = np.diff(offsets)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    values = np.empty(offsets[-1])
    for own, (begins, part) in zip(rows, parts, strict=True):
        values[np.repeat(offsets[own] - begins[:-1], np.diff(begins)) + np.arange(len(part))] = part
    return offsets, values
