"""One trial of a search: rate the beginning of a history with some hyperparameters, and score the predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ranklake.rating_kernels import Outcome, System
from ranklake.rating_kernels.core.standings import Longs

from ...common.configuration.settings import build_params, find_system
from ...engines.protocols import Engine
from ...engines.serial import Serial
from ...entrants.scores import is_better
from ...events.apply import reset_of_event
from ...execution.rater import Rater
from ...execution.raters import open_rater
from .history import TrialRounds
from .scoring import TrialScorer, TrialScores

DEFAULT_FILTER = "experienced"
RUNGS = 4  # parts of the training rounds after which a trial may be pruned


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
    try:
        found = find_system(system)
        params = build_params(found, settings)
        rater = _rater(history, found, params, Serial())
        scorer = TrialScorer(found, params, history, filter, metric)
        for first, stop, outcome in _rated(rater, history, params, {0, *ends, *cuts}):
            parts.append(scorer.score(first, stop, outcome))
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


def _rater(history: TrialRounds, system: System, params: Any, engine: Engine) -> Rater:
    """A rater of the players of a history before their first round."""
    rater = open_rater(system, params, history.n_players, engine)
    if history.state:
        rater.restore(history.newcomers(system, params).columns())
    return rater


def _rated(rater: Rater, history: TrialRounds, params: Any, bounds: set[int]) -> Iterator[tuple[int, int, Outcome]]:
    """Rate a history in parts, cut at some units and before each reset: yields the units and the outcome of each."""
    first_unit, stop_unit = min(bounds), max(bounds)
    inner = {one.unit for one in history.resets if first_unit < one.unit < stop_unit}
    for first, stop in pairwise(sorted(bounds | inner)):
        for one in history.resets:
            if one.unit == first:
                rater.reset(reset_of_event(one.event, params, one.players))
        [outcome] = rater.rate_batches([history.part(first, stop).rounds])
        yield first, stop, outcome


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
    rater = _rater(history, found, params, engine)
    scorer = TrialScorer(found, params, history, filter, metric)
    parts = _rated(rater, history, params, {0, history.n_units})
    scores = TrialScores.joined([scorer.score(first, stop, outcome) for first, stop, outcome in parts])
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
