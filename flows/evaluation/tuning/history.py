"""The history of a search: rated rounds in memory, and what `evaluate` sums over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import Beliefs, Rounds
from ranklake.rating_kernels.core.standings import Ints, Longs
from ranklake.rating_kernels.core.system import System
from ranklake.storage import Dataset, Event, StandingsPart
from ranklake.storage.datasets.tables.games import GAMES_KIND

from ...common.adapters import all_rounds, check_contests
from ...common.skipping import ANY_SYSTEM, Skipping
from ...events.resets import due_resets
from ...rating.player_state import PlayerState, with_state


class TrialReset(NamedTuple):
    """A reset of the beliefs before a unit.

    ``event``: what it does.
    ``players`` (bool[n]): mask of the players with its attribute; None if it acts on others, too.
    """

    unit: int
    event: Event
    players: npt.NDArray[np.bool_] | None


class HistoryPart(NamedTuple):
    """Consecutive units: their rounds, where each unit begins among them, and :attr:`TrialRounds.swapped`."""

    rounds: Rounds
    units: Longs
    swapped: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TrialRounds:
    """The rated contests of a data set, with players renumbered.

    ``units`` (int64[u + 1]): what `evaluate` sums over: contest or period ``i`` has the rounds
    ``units[i]:units[i + 1]``, none if it was skipped. By default each round is one.
    ``of_games``: the rounds are games, the units periods.
    ``swapped`` (bool[r] or bool[0]): games whose winner is the second player; empty if none is.
    ``state``: what the system takes from attributes of the players; see :func:`.player_state.player_state`.
    ``resets``: in order.
    """

    rounds: Rounds
    n_players: int
    units: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    of_games: bool = False
    swapped: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    state: PlayerState = field(default_factory=dict)
    resets: tuple[TrialReset, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.units):
            object.__setattr__(self, "units", np.arange(len(self.rounds) + 1))

    @classmethod
    def of(
        cls, rounds: Rounds, skipping: Skipping = ANY_SYSTEM, state: PlayerState | None = None,
        resets: Iterable[TrialReset] = (),
    ) -> TrialRounds:  # fmt: skip
        """Renumber the rated players of ``rounds``, and of ``state`` and ``resets``, and drop skipped rounds."""
        counts = skipping.keep(rounds)
        kept = rounds.keep(counts).rated_only()
        present, player = np.unique(kept.player, return_inverse=True)
        columns = {name: getattr(kept, name) for name in Rounds.__slots__} | {"player": player.astype(np.int32)}
        of_players = {name: values[present] for name, values in (state or {}).items()}
        units = np.concatenate(([0], np.cumsum(counts)))
        masks = ((one, one.players) for one in resets)
        chosen = (one._replace(players=None if mask is None else mask[present]) for one, mask in masks)
        return cls(Rounds(**columns), len(present), units, state=of_players, resets=tuple(chosen))

    @property
    def n_units(self) -> int:
        """The number of contests, or of periods."""
        return len(self.units) - 1

    def first(self, n_units: int) -> TrialRounds:
        """A history of the first contests or periods."""
        part = self.rounds.part(0, int(self.units[n_units]))
        resets = (one for one in self.resets if one.unit < n_units)
        first = TrialRounds.of(part, Skipping(False, False, False), self.state, resets)
        swapped = self.swapped[: len(part)]
        return replace(first, units=self.units[: n_units + 1], of_games=self.of_games, swapped=swapped)

    def part(self, first: int, stop: int) -> HistoryPart:
        """Some units."""
        start, end = int(self.units[first]), int(self.units[stop])
        return HistoryPart(self.rounds.part(start, end), self.units[first : stop + 1] - start, self.swapped[start:end])

    def larger(self) -> int | None:
        """The first contest of three participants or more; None if all are between two."""
        rounds = np.flatnonzero(self.rounds.participants > 2)
        return int(np.searchsorted(self.units, rounds[0], "right")) - 1 if len(rounds) else None

    def newcomers(self, system: System, params: Any) -> Beliefs:
        """A store of the players before their first round; ``ValueError`` if hyperparameters exclude a player's own."""
        beliefs = system.newcomers(params, self.n_players)
        for name, limits in system.permitted(params).items():
            own = self.state.get(name, np.empty(0))
            if len(wrong := own[~np.isnan(own) & ~limits.mask(own)]):
                raise ValueError(f"{name} of a player must be {limits.rule}, got {wrong[0]:g}")
        if self.state:
            beliefs.restore(with_state(beliefs.columns(), self.state))
        return beliefs

    @property
    def n_before(self) -> Ints:
        """For each row, the number of earlier rounds of its player."""
        player = self.rounds.player
        order = np.argsort(player, kind="stable")
        count = np.bincount(player, minlength=self.n_players)
        first = np.repeat(np.cumsum(count) - count, count)
        n_before = np.empty(len(player), np.int32)
        n_before[order] = np.arange(len(player)) - first
        return n_before


def load_history(
    dataset: Dataset, skipping: Skipping = ANY_SYSTEM, state: PlayerState | None = None, whole_periods: bool = False
) -> TrialRounds:
    """A history in memory, of rated participants alone; its units are all contests or periods of the data set.

    ``whole_periods``: the games of a period are one event.
    """
    everything = np.ones(dataset.contests.num_rows, dtype=bool)
    check_contests(dataset, everything, 0, len(everything))
    swapped: list[npt.NDArray[np.bool_]] = []
    rounds = all_rounds(dataset, _noting_winners(dataset.standings(), swapped))
    kept = skipping.keep(rounds)
    if rounds.roles.any():
        rounds = rounds.keep(kept).rated_only()
        kept[kept] = skipping.keep(rounds)
    of_games = dataset.kind == GAMES_KIND
    ends = np.cumsum(dataset.contests.column("n_players").to_numpy()) // 2 if of_games else np.arange(1, len(kept) + 1)
    units = np.concatenate(([0], np.cumsum(kept)))[np.concatenate(([0], ends))]
    if of_games and whole_periods:
        rounds = replace(rounds, event=np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)))
    resets = (TrialReset(due.round_index, due.event, due.mask(dataset)) for due in due_resets(dataset))
    found = TrialRounds.of(rounds, skipping, state, resets)
    return replace(found, units=units, of_games=of_games, swapped=np.concatenate([np.empty(0, bool), *swapped]))


def _noting_winners(parts: Iterable[StandingsPart], swapped: list[npt.NDArray[np.bool_]]) -> Iterator[StandingsPart]:
    """The parts; of those of games, whether each winner is the second player is appended to ``swapped``."""
    for part in parts:
        if part.games is not None:
            given = part.games.swapped
            swapped.append(given if len(given) else np.zeros(len(part.games.time_seconds), bool))
        yield part
