"""Folds of a search with a rolling origin: settings chosen on the past, scored on what comes next.

The rounds after the training share are cut into F blocks of about equal numbers of rows. The setting of fold f is the
best one on all rounds before block f, and its score is that on block f. With one fold this is the paper's protocol:
chosen on the training share, tested on the rest. With several, one pass of each setting over the whole history serves
all folds, as scores are sums over rounds, and the final setting is the best one on everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER

from ...common.text import count
from .criteria import scored_rounds
from .history import TrialRounds
from .trials import Trial, settings_key


@dataclass(frozen=True, slots=True)
class Fold:
    """The result of one fold.

    ``first``, ``stop``: the contests, or periods of games, of its block.
    ``settings``: the setting chosen on everything before the block.
    ``before``, ``score``: its metric on everything before the block, and on the block; NaN where its ratings diverge.
    """

    first: int
    stop: int
    settings: dict[str, str]
    before: float
    score: float


def check_folds(method: str, folds: int) -> None:
    """Raise ``ValueError`` if a method cannot choose by folds."""
    if method == "em" and folds > 1:
        raise ValueError("an em search estimates from the whole history, the blocks of the folds included; use 1 fold")


def cuts_of(history: TrialRounds, first: int, folds: int) -> tuple[int, ...]:
    """The first unit of the block of each fold, and the number of units.

    ``first``: the first unit after the training share.
    Raises ValueError: there are fewer units than folds.
    """
    rows, n_units = history.rounds.offsets[history.units], history.n_units
    what = "period" if history.of_games else "contest"
    if (left := n_units - first) < folds:
        raise ValueError(
            f"{count(folds, 'fold')} {'needs' if folds == 1 else 'need'} as many {what}s after the training share, and "
            f"there {'is' if left == 1 else 'are'} {left:,}; use fewer folds or a smaller share"
        )
    cuts = [first]
    for fold in range(1, folds):
        wanted = rows[first] + (rows[-1] - rows[first]) * fold / folds
        at = int(np.searchsorted(rows, wanted))
        at -= bool(wanted - rows[at - 1] < rows[at] - wanted)  # the nearer one; of equals the later
        cuts.append(min(max(at, cuts[-1] + 1), n_units - (folds - fold)))
    return (*cuts, n_units)


def check_blocks(history: TrialRounds, cuts: Sequence[int], filter: str, metric: str) -> None:
    """Raise ``ValueError`` if a block has nothing to score."""
    scored, starts = scored_rounds(history, filter, metric), history.units[list(cuts)]
    for fold, (start, stop) in enumerate(pairwise(starts.tolist()), start=1):
        if not scored[start:stop].any():
            raise ValueError(f"the block of fold {fold} has nothing to score by {metric} under filter {filter}; "
                             "use fewer folds")  # fmt: skip


def chosen(trials: Iterable[Trial], fold: int, metric: str) -> Trial | None:
    """The best trial on everything before the block of a fold, the first of equals; None without one."""
    known = [trial for trial in trials if len(trial.before) > fold and not math.isnan(trial.before[fold])]
    sign = -1.0 if metric in HIGHER_IS_BETTER else 1.0
    return min(known, key=lambda trial: sign * trial.before[fold], default=None)


def scored_folds(
    trials: Sequence[Trial], cuts: Sequence[int], metric: str, completed: Mapping[str, Sequence[float]] | None = None
) -> list[Fold]:
    """The result of each fold.

    ``completed``: the scores of the blocks of pruned trials, by :func:`.settings_key`.
    """
    folds = []
    for fold, (first, stop) in enumerate(pairwise(cuts)):
        trial = chosen(trials, fold, metric)
        if trial is None:
            folds.append(Fold(first, stop, {}, math.nan, math.nan))
            continue
        within = (completed or {}).get(settings_key(trial.settings), trial.within)
        folds.append(Fold(first, stop, trial.settings, trial.before[fold], [*within, math.nan][fold]))
    return folds


def unfinished(trials: Sequence[Trial], folds: int, metric: str) -> list[Trial]:
    """Pruned trials that a fold chose and that did not reach the end of its block."""
    found = {}
    for fold in range(folds):
        trial = chosen(trials, fold, metric)
        if trial is not None and not trial.error and len(trial.within) <= fold:
            found[id(trial)] = trial
    return list(found.values())


def mean_score(folds: Sequence[Fold]) -> float:
    """The mean of the scores of the folds; NaN if one has none."""
    return sum(fold.score for fold in folds) / len(folds) if folds else math.nan
