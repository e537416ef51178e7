"""One trial of a search: rate the beginning of a history with some hyperparameters, and score the predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ranklake.rating_kernels import Beliefs, Outcome, Rounds
from ranklake.rating_kernels.core.standings import Ints, Longs
from ranklake.rating_kernels.core.system import System
from ranklake.rating_kernels.metrics.calibration import CHANCE_METRICS
from ranklake.rating_kernels.metrics.metrics import FILTERS, LAW_METRICS
from ranklake.storage import Dataset
from ranklake.storage.datasets.tables.games import GAMES_KIND

from ...common.adapters import all_rounds, check_contests
from ...common.configuration.settings import build_params, find_system
from ...common.skipping import ANY_SYSTEM, Skipping
from ...engines.protocols import Engine
from ...engines.serial import Serial
from ...entrants.entrants import Entrants
from ...entrants.scores import RoundScores, is_better
from ...execution.local import open_rater
from ...execution.rounds import rate_rounds
from ...rating.player_state import PlayerState, with_state

RUNGS = 4  # parts of the training rounds after which a trial may be pruned


@dataclass(frozen=True, slots=True, eq=False)
class TrialRounds:
    """The rated contests of a data set, with players renumbered.

    ``periods`` (int64[p + 1]): the rounds are games, of which period ``i`` has ``periods[i]:periods[i + 1]``.
    ``state``: what the system takes from attributes of the players; see :func:`.player_state.player_state`.
    """

    rounds: Rounds
    n_players: int
    periods: Longs | None = None
    state: PlayerState = field(default_factory=dict)

    @classmethod
    def of(cls, rounds: Rounds, skipping: Skipping = ANY_SYSTEM, state: PlayerState | None = None) -> TrialRounds:
        """Renumber the rated players of ``rounds`` and drop skipped rounds."""
        kept = rounds.keep(skipping.keep(rounds)).rated_only()
        present, player = np.unique(kept.player, return_inverse=True)
        columns = {name: getattr(kept, name) for name in Rounds.__slots__} | {"player": player.astype(np.int32)}
        of_players = {name: values[present] for name, values in (state or {}).items()}
        return cls(Rounds(**columns), len(present), state=of_players)

    def first(self, n_rounds: int) -> TrialRounds:
        """A history of the first rounds."""
        first = TrialRounds.of(self.rounds.part(0, n_rounds), Skipping(False, False, False), self.state)
        return first if self.periods is None else replace(first, periods=self.periods[self.periods <= n_rounds])

    def mean(self, scores: RoundScores, metric: str, first_round: int = 0) -> float:
        """A metric of the rounds from ``first_round`` on; chances of games are summed by period, as by `evaluate`."""
        if metric in CHANCE_METRICS and self.periods is not None and scores.pairs is not None:
            ends = np.unique(np.append(self.periods[self.periods <= len(scores)], len(scores)))
            return scores.pairs.grouped(ends).means(slice(np.searchsorted(ends, first_round), None))[metric]
        return scores.mean(metric, slice(first_round, None))

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
    ``error``: reason why there are no scores; empty for a trial with scores.
    """

    settings: dict[str, str]
    scores: dict[str, float]
    rungs: tuple[float, ...]
    stopped: bool = False
    error: str = ""


def load_history(
    dataset: Dataset, stop: int | None = None, skipping: Skipping = ANY_SYSTEM, state: PlayerState | None = None
) -> tuple[TrialRounds, int]:
    """A history in memory, of rated participants alone, and the number of rated contests among the first ``stop``."""
    everything = np.ones(dataset.contests.num_rows, dtype=bool)
    if dataset.kind == GAMES_KIND and stop is not None:  # each game is a round
        stop = int(dataset.contests.column("n_players").to_numpy()[:stop].sum()) // 2
    check_contests(dataset, everything, 0, len(everything))
    rounds = all_rounds(dataset)
    kept = skipping.keep(rounds)
    if rounds.roles.any():
        rounds = rounds.keep(kept).rated_only()
        kept[kept] = skipping.keep(rounds)
    history = TrialRounds.of(rounds, skipping, state)
    if dataset.kind == GAMES_KIND:
        games = np.concatenate(([0], np.cumsum(kept)))
        ends = np.cumsum(dataset.contests.column("n_players").to_numpy()) // 2
        history = replace(history, periods=games[np.concatenate(([0], ends))])
    return history, int(np.count_nonzero(kept[:stop]))


def run_trial(
    history: TrialRounds,
    system: str,
    settings: Mapping[str, str],
    metric: str,
    filter: str = "experienced",
    limits: Sequence[float] | None = None,
) -> Trial:
    """Rate a history from its beginning, and score every round before it is rated.

    ``limits``: for each rung, the worst value at which a trial continues; None disables pruning.
    """
    parts: list[RoundScores] = []
    rungs: list[float] = []
    bounds = np.linspace(0, len(history.rounds), RUNGS + 1).round().astype(int).tolist()
    try:
        found = find_system(system)
        params = build_params(found, settings)
        beliefs = history.newcomers(found, params)
        for rung, (start, stop) in enumerate(pairwise(bounds)):
            rounds = history.rounds.part(start, stop)
            outcome = rate_rounds(found, params, beliefs, rounds, Serial())
            parts.append(_scores(found, params, rounds, outcome, filter, metric))
            rungs.append(RoundScores.joined(parts).mean(metric))
            if limits is not None and is_better(metric, limits[rung], rungs[rung]):  # never for a limit of NaN
                break
    except (ArithmeticError, ValueError) as error:  # the ratings diverge with these hyperparameters
        return Trial(dict(settings), {}, (), error=str(error).partition("\n")[0])
    together = RoundScores.joined(parts)
    scores = {
        name: history.mean(together, name) for name in dict.fromkeys(("pair_inversion", "rank_deviation", metric))
    }
    return Trial(dict(settings), scores, tuple(rungs), stopped=len(rungs) < RUNGS)


def held_out_scores(
    history: TrialRounds,
    first_round: int,
    system: str,
    settings: Mapping[str, Any],
    engine: Engine,
    filter: str = "experienced",
    metric: str = "pair_inversion",
) -> dict[str, float]:
    """The paper's test: rate the whole history, score rounds from ``first_round`` on, also by ``metric``."""
    found = find_system(system)
    params = build_params(found, settings)
    rater = open_rater(found, params, history.n_players, engine)
    if history.state:
        rater.restore(history.newcomers(found, params).columns())
    [outcome] = rater.rate_batches([history.rounds])
    scores = _scores(found, params, history.rounds, outcome, filter, metric)
    names = dict.fromkeys(("pair_inversion", "pair_inversion_equal_half", "rank_deviation", metric))
    return {name: history.mean(scores, name, first_round) for name in names}


def tested(
    history: TrialRounds, first_round: int, system: str, trial: Trial, engine: Engine, filter: str, metric: str
) -> dict[str, float]:
    """The test of a trial; no scores if the ratings diverge after the training rounds."""
    try:
        return held_out_scores(history, first_round, system, trial.settings, engine, filter, metric)
    except (ArithmeticError, ValueError):
        return {}


def best_first(trials: Iterable[Trial], metric: str) -> list[Trial]:
    """Trials that have a score, best first; equal ones keep their order."""
    sign = -1.0 if is_better(metric, 1.0, 0.0) else 1.0
    return sorted(trials, key=lambda trial: sign * trial.scores[metric])


def _scores(system: System, params: Any, rounds: Rounds, outcome: Outcome, filter: str, metric: str) -> RoundScores:
    of_chances = metric in CHANCE_METRICS
    with_laws = system if of_chances or metric in LAW_METRICS else None
    entrants = Entrants.of_outcome(with_laws, params, rounds, outcome)
    laws = [metric] if metric in LAW_METRICS else []
    return entrants.scores([FILTERS[filter]], laws=laws, pairs=of_chances, probabilities=False)[filter]
