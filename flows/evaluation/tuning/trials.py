"""One trial of a search: rate the beginning of a history with some hyperparameters, and score the predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ranklake.rating_kernels import Beliefs, Rounds
from ranklake.rating_kernels.core.standings import Ints, Longs
from ranklake.rating_kernels.core.system import System
from ranklake.storage import Dataset
from ranklake.storage.datasets.tables.games import GAMES_KIND

from ...common.adapters import all_rounds, check_contests
from ...common.configuration.settings import build_params, find_system
from ...common.skipping import ANY_SYSTEM, Skipping
from ...engines.protocols import Engine
from ...engines.serial import Serial
from ...entrants.scores import is_better
from ...execution.local import open_rater
from ...execution.rounds import rate_rounds
from ...rating.player_state import PlayerState, with_state
from .scoring import RatedPart, TrialScores

DEFAULT_FILTER = "experienced"
RUNGS = 4  # parts of the training rounds after which a trial may be pruned


@dataclass(frozen=True, slots=True, eq=False)
class TrialRounds:
    """The rated contests of a data set, with players renumbered.

    ``units`` (int64[u + 1]): what `evaluate` sums over: contest or period ``i`` has the rounds
    ``units[i]:units[i + 1]``, none if it was skipped. By default each round is one.
    ``of_games``: the rounds are games, the units periods.
    ``state``: what the system takes from attributes of the players; see :func:`.player_state.player_state`.
    """

    rounds: Rounds
    n_players: int
    units: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    of_games: bool = False
    state: PlayerState = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.units):
            object.__setattr__(self, "units", np.arange(len(self.rounds) + 1))

    @classmethod
    def of(cls, rounds: Rounds, skipping: Skipping = ANY_SYSTEM, state: PlayerState | None = None) -> TrialRounds:
        """Renumber the rated players of ``rounds`` and drop skipped rounds."""
        counts = skipping.keep(rounds)
        kept = rounds.keep(counts).rated_only()
        present, player = np.unique(kept.player, return_inverse=True)
        columns = {name: getattr(kept, name) for name in Rounds.__slots__} | {"player": player.astype(np.int32)}
        of_players = {name: values[present] for name, values in (state or {}).items()}
        units = np.concatenate(([0], np.cumsum(counts)))
        return cls(Rounds(**columns), len(present), units, state=of_players)

    @property
    def n_units(self) -> int:
        """The number of contests, or of periods."""
        return len(self.units) - 1

    def first(self, n_units: int) -> TrialRounds:
        """A history of the first contests or periods."""
        part = self.rounds.part(0, int(self.units[n_units]))
        first = TrialRounds.of(part, Skipping(False, False, False), self.state)
        return replace(first, units=self.units[: n_units + 1], of_games=self.of_games)

    def part(self, first: int, stop: int) -> tuple[Rounds, Longs | None]:
        """The rounds of some units, and where each unit begins among them; None if each round is one."""
        start, end = int(self.units[first]), int(self.units[stop])
        units = self.units[first : stop + 1] - start
        alone = not self.of_games and bool((np.diff(units) == 1).all())
        return self.rounds.part(start, end), None if alone else units

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


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial: hyperparameters and their scores.

    ``settings``: texts for ``--set``.
    ``scores``: the paper's two metrics and the optimised one over the training rounds; for a pruned trial, over the
    rounds up to its end.
    ``rungs``: the optimised metric over the training rounds up to the end of each rung.
    ``before``, ``within``: for each fold that the trial reached, the optimised metric over all rounds before its block;
    for each one that it finished, that over its block.
    ``error``: reason why there are no scores; empty for a trial with scores.
    """

    settings: dict[str, str]
    scores: dict[str, float]
    rungs: tuple[float, ...]
    stopped: bool = False
    error: str = ""
    before: tuple[float, ...] = ()
    within: tuple[float, ...] = ()


def settings_key(settings: Mapping[str, str]) -> str:
    """The name of a trial in the record."""
    return " ".join(f"{name}={value}" for name, value in settings.items())


def load_history(dataset: Dataset, skipping: Skipping = ANY_SYSTEM, state: PlayerState | None = None) -> TrialRounds:
    """A history in memory, of rated participants alone; its units are all contests or periods of the data set."""
    everything = np.ones(dataset.contests.num_rows, dtype=bool)
    check_contests(dataset, everything, 0, len(everything))
    rounds = all_rounds(dataset)
    kept = skipping.keep(rounds)
    if rounds.roles.any():
        rounds = rounds.keep(kept).rated_only()
        kept[kept] = skipping.keep(rounds)
    of_games = dataset.kind == GAMES_KIND
    ends = np.cumsum(dataset.contests.column("n_players").to_numpy()) // 2 if of_games else np.arange(1, len(kept) + 1)
    units = np.concatenate(([0], np.cumsum(kept)))[np.concatenate(([0], ends))]
    return replace(TrialRounds.of(rounds, skipping, state), units=units, of_games=of_games)


def run_trial(
    history: TrialRounds,
    system: str,
    settings: Mapping[str, str],
    metric: str,
    filter: str = DEFAULT_FILTER,
    limits: Sequence[float] | None = None,
    cuts: Sequence[int] = (),
) -> Trial:
    """Rate a history from its beginning, and score every round before it is rated.

    ``limits``: for each rung, the worst value at which a trial continues; None disables pruning.
    ``cuts``: the first unit of the block of each fold, and the end of the last one.
    """
    parts: list[TrialScores] = []
    rungs: list[float] = []
    before: list[float] = []
    within: list[float] = []
    ends = _rung_ends(history.units)
    bounds = sorted({0, *ends, *cuts})
    try:
        found = find_system(system)
        params = build_params(found, settings)
        beliefs = history.newcomers(found, params)
        for first, stop in pairwise(bounds):
            rounds, units = history.part(first, stop)
            outcome = rate_rounds(found, params, beliefs, rounds, Serial())
            rated = RatedPart(found, params, rounds, outcome, units, history.of_games)
            parts.append(TrialScores.of(rated, filter, metric))
            together = TrialScores.joined(parts)
            if stop in cuts:
                fold = cuts.index(stop)
                before += [together.mean(metric)] if fold < len(cuts) - 1 else []
                within += [together.mean(metric, cuts[fold - 1])] if fold else []
            while len(rungs) < RUNGS and ends[len(rungs)] <= stop:
                rungs.append(together.mean(metric))
            if limits is not None and rungs and is_better(metric, limits[len(rungs) - 1], rungs[-1]):
                break  # never for a limit of NaN
    except (ArithmeticError, ValueError) as error:  # the ratings diverge with these hyperparameters
        text = str(error).partition("\n")[0]
        return Trial(dict(settings), {}, (), error=text, before=tuple(before), within=tuple(within))
    together = TrialScores.joined(parts)
    scores = {name: together.mean(name) for name in dict.fromkeys(("pair_inversion", "rank_deviation", metric))}
    stopped = len(rungs) < RUNGS
    return Trial(dict(settings), scores, tuple(rungs), stopped, before=tuple(before), within=tuple(within))


def _rung_ends(units: Longs) -> list[int]:
    """The unit at the end of each rung: about equal numbers of rounds."""
    n_rounds = int(units[-1])
    bounds = np.linspace(0, n_rounds, RUNGS + 1).round().astype(np.int64)[1:]
    ends: list[int] = (np.searchsorted(units, bounds, "right") - 1).tolist()
    return ends


def held_out_scores(
    history: TrialRounds,
    first_unit: int,
    system: str,
    settings: Mapping[str, Any],
    engine: Engine,
    filter: str = DEFAULT_FILTER,
    metric: str = "pair_inversion",
) -> dict[str, float]:
    """The paper's test: rate the whole history, score the contests from ``first_unit`` on, also by ``metric``."""
    found = find_system(system)
    params = build_params(found, settings)
    rater = open_rater(found, params, history.n_players, engine)
    if history.state:
        rater.restore(history.newcomers(found, params).columns())
    [outcome] = rater.rate_batches([history.rounds])
    rounds, units = history.part(0, history.n_units)
    scores = TrialScores.of(RatedPart(found, params, rounds, outcome, units, history.of_games), filter, metric)
    names = dict.fromkeys(("pair_inversion", "pair_inversion_equal_half", "rank_deviation", metric))
    return {name: scores.mean(name, first_unit) for name in names}


def tested(
    history: TrialRounds, first_unit: int, system: str, trial: Trial, engine: Engine, filter: str, metric: str
) -> dict[str, float]:
    """The test of a trial; no scores if the ratings diverge after the training rounds."""
    try:
        return held_out_scores(history, first_unit, system, trial.settings, engine, filter, metric)
    except (ArithmeticError, ValueError):
        return {}


def best_first(trials: Iterable[Trial], metric: str) -> list[Trial]:
    """Trials that have a score, best first; equal ones keep their order."""
    sign = -1.0 if is_better(metric, 1.0, 0.0) else 1.0
    return sorted(trials, key=lambda trial: sign * trial.scores[metric])
