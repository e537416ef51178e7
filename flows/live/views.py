"""What readers see of a run between two groups of matches."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import numpy as np

from ranklake.rating_kernels import Beliefs
from ranklake.rating_kernels.core.beliefs import NEVER
from ranklake.rating_kernels.core.standings import Longs

from ..results.places import PlaceOptions
from .matches.beliefs import LiveBeliefs
from .matches.players import Players

_AGE = 1.0  # seconds for which a leaderboard is shown without sorting again


class PlayerView(msgspec.Struct, frozen=True):
    """One player of a run; rating points.

    ``last_match``: its time, UTC seconds; None before the first one.
    ``provisional``: whether the run gives the player no place yet.
    """

    player: str
    mu: float
    sigma: float
    rating: float
    n_rounds: int
    last_match: int | None
    provisional: bool


class PlacedPlayer(msgspec.Struct, frozen=True):
    """A row of a leaderboard; equal ratings share a place."""

    place: int
    player: str
    rating: float
    mu: float
    sigma: float
    n_rounds: int


class Board(msgspec.Struct, frozen=True):
    """A part of a leaderboard.

    ``sequence``: of the last record that is in it. ``n_players``: of the whole leaderboard.
    """

    sequence: int
    n_players: int
    players: tuple[PlacedPlayer, ...]


def views_of(
    beliefs: LiveBeliefs, options: PlaceOptions, players: Players, handles: Sequence[str]
) -> list[PlayerView | None]:
    """The players by their handles; None for each unknown one, and for one without a rated match."""
    rows = [players.find(handle) for handle in handles]
    store, found = beliefs.store, list[PlayerView | None]()
    for row in rows:
        if row is None or row >= beliefs.n_players or store.n_rounds[row] == 0:
            found.append(None)
            continue
        mu, sigma, n_rounds, last = (getattr(store, name)[row] for name in ("mu", "sigma", "n_rounds", "last_time"))
        rating = float(beliefs.display.rating(mu, sigma, n_rounds))
        spread = sigma if beliefs.display.system.uncertainty else 0.0  # a volatility makes nobody provisional
        provisional = bool(options.provisional(np.array([n_rounds]), np.array([spread]))[0])
        time_seconds = None if last in (NEVER, 0) else int(last)
        numbers = float(mu), float(sigma), rating, int(n_rounds), time_seconds, provisional
        found.append(PlayerView(players.handles[row], *numbers))
    return found


def beliefs_of(beliefs: LiveBeliefs, players: Players, handles: Sequence[str]) -> Beliefs:
    """A store of the beliefs about some players, in their order, as copies; unknown ones are newcomers."""
    display, store = beliefs.display, beliefs.store
    found: Beliefs = display.system.newcomers(display.params, len(handles))
    rows = [players.find(handle) for handle in handles]
    known = [at for at, row in enumerate(rows) if row is not None and row < beliefs.n_players]
    if known:
        found.put(np.array(known), store.take(np.array([rows[at] for at in known])))
    found.share(store.shared_columns)
    return found


class Leaderboard:
    """The rated players of a run by their rating, sorted at most once a second."""

    def __init__(self) -> None:
        self._made, self._sequence = 0.0, -1
        self._order: Longs = np.empty(0, np.int64)
        self._columns: tuple[np.ndarray, ...] = ()

    def is_old(self, sequence: int) -> bool:
        """Whether it must be made again for a state after a record."""
        return self._sequence != sequence and time.monotonic() - self._made >= _AGE

    def make(self, beliefs: LiveBeliefs, sequence: int) -> tuple[np.ndarray, ...]:
        """Copies of the columns, between two groups of matches."""
        n, store = beliefs.n_players, beliefs.store
        self._made, self._sequence = time.monotonic(), sequence
        return store.mu[:n].copy(), store.sigma[:n].copy(), store.n_rounds[:n].copy()

    def sort(self, beliefs: LiveBeliefs, columns: tuple[np.ndarray, ...]) -> None:
        """Sort the copies; equal ratings by the number of the player."""
        mu, sigma, n_rounds = columns
        rating = np.asarray(beliefs.display.rating(mu, sigma, n_rounds))
        rated = np.flatnonzero(n_rounds)
        self._order = rated[np.argsort(-rating[rated], kind="stable")]
        self._columns = (rating, *columns)

    def part(self, players: Players, start: int, limit: int) -> Board:
        """The rows from ``start`` on, from 0, at most ``limit``."""
        order = self._order
        chosen = order[start : start + limit]
        if not len(chosen):
            return Board(max(self._sequence, 0), len(order), ())
        rating, mu, sigma, n_rounds = self._columns
        places = 1 + np.searchsorted(-rating[order], -rating[chosen])
        columns = (column[chosen].tolist() for column in (rating, mu, sigma, n_rounds))
        names = [players.handles[row] for row in chosen.tolist()]
        rows = zip(places.tolist(), names, *columns, strict=True)
        return Board(max(self._sequence, 0), len(order), tuple(PlacedPlayer(*row) for row in rows))
