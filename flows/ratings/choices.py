"""Which system, with which hyperparameters: what there is to choose, tuned on a frame, and compared by its ratings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.metrics.metrics import FILTERS, SCALE

from ..common.arguments import checked
from ..common.configuration.hyperparameters import describe
from ..common.configuration.settings import PRESETS, PresetName, SystemName, build_params, check_times, find_system
from ..common.skipping import IN_PYTHON, Skipping, count_ignored, ignored_lines
from ..common.text import count, described
from ..compilation.compile import compile_parts, parts_for
from ..engines.serial import Serial
from ..evaluation.tuning.criteria import check_choices, why_no_games, why_not_scored
from ..evaluation.tuning.folds import Fold, check_blocks, check_folds, cuts_of, mean_score, scored_folds
from ..evaluation.tuning.history import TrialRounds
from ..evaluation.tuning.proposals import open_proposals
from ..evaluation.tuning.scoring import LOG_LOSS3, kernels_of
from ..evaluation.tuning.spaces import chosen_in
from ..evaluation.tuning.trials import RUNGS, Trial, best_first, run_trial, tested
from ..frames.kinds import to_pandas
from ..frames.notebook import warn_user
from ..frames.results import NO_TIMES, Reading, named_columns
from ..sources.absences import Absent
from ..sources.base import OnError
from ..sources.options import Duplicates
from .ratings import Ratings


@checked
def systems(name: SystemName | PresetName | None = None) -> pd.DataFrame:
    """All rating systems, or the hyperparameters of one, or those of a preset.

    Returns
    -------
    pd.DataFrame
        Indexed by system: ``description, source`` and ``ignores``, the columns of results that no rating depends on;
        or by hyperparameter: ``default, range, description``. The defaults of a preset are its values.

    Raises
    ------
    ValueError
        There is no such system or preset; the message lists all systems.
    """
    if name is None:
        texts = [describe(system) for system in SYSTEMS.values()]
        rows = {"description": [text.text for text in texts], "source": [text.source for text in texts]}
        rows["ignores"] = [", ".join(text.ignores) for text in texts]
        return pd.DataFrame(rows, index=pd.Index(list(SYSTEMS), name="system"))
    preset = PRESETS.get(name)
    system = find_system(name if preset is None else preset.system)
    parameters = describe(system).parameters
    values = [one.default for one in parameters]
    if preset is not None:
        params = build_params(system, preset.settings)
        values = [getattr(params, one.name) for one in parameters]
    columns = {
        "default": pd.Series(values, dtype=object),
        "range": [one.limits.text for one in parameters],
        "description": [one.text for one in parameters],
    }
    return pd.DataFrame(columns).set_axis(pd.Index([one.name for one in parameters], name="hyperparameter"))


@checked
def compare(
    ratings: Sequence[Ratings[Any]] | Mapping[str, Ratings[Any]],
    *,
    filter: str = "everyone",
    first_round: int = 0,
    scale: float = SCALE,
) -> pd.DataFrame:
    """Score ratings of the same contests on the rounds that all of them rated.

    Parameters
    ----------
    ratings
        Ratings, by name if a mapping; by default the name is that of the system with the hyperparameters that are not
        its defaults.
    filter
        ``everyone``, ``experienced`` or ``top100``.
    first_round
        Rounds with a smaller ``round_index`` are not scored.
    scale
        As for :func:`ranklake.evaluate_history`.

    Returns
    -------
    pd.DataFrame
        One row for each of the ratings, in their order, columns as from :meth:`ranklake.Ratings.evaluate`.

    Raises
    ------
    ValueError
        No ratings, two of one name, an unknown filter, or ratings of different contests.
    """
    if isinstance(ratings, Ratings) or not all(
        isinstance(one, Ratings) for one in (ratings.values() if isinstance(ratings, Mapping) else ratings)
    ):
        raise TypeError("ratings must be a list of Ratings, or a mapping from names to Ratings")
    named = ratings if isinstance(ratings, Mapping) else {one.label: one for one in ratings}
    if not named or len(named) < len(ratings):
        raise ValueError("compare needs ratings with different names; pass a mapping from names to ratings")
    if filter not in FILTERS:
        raise ValueError(f"filter must be one of {', '.join(FILTERS)}, got {filter!r}")
    histories = {name: to_pandas(one.history) for name, one in named.items()}
    contests = {name: history.groupby("round_index")["contest"].first() for name, history in histories.items()}
    first, *others = contests
    common = contests[first]
    for name in others:
        shared = common.index.intersection(contests[name].index)
        differs = common[shared].astype(str).ne(contests[name][shared].astype(str))
        if differs.any() or shared.empty:
            where = f": round {shared[differs][0]} is another contest" if differs.any() else ""
            raise ValueError(f"{first} and {name} are not ratings of the same contests{where}")
        common = common[shared]
    rows = {
        name: one.evaluate(first_round, rounds=common.index, scale=scale).loc[filter] for name, one in named.items()
    }
    return pd.DataFrame(rows).T.rename_axis("ratings")


@checked
def tune(
    results: Any,
    system: SystemName = "elo-mmr",
    space: Mapping[str, Sequence[Any] | str] | None = None,
    *,
    method: str = "random",
    trials: int | None = 20,
    metric: str = "pair_inversion",
    filter: str = "experienced",
    train_share: float = 0.5,
    folds: int = 1,
    best: int = 3,
    seed: int = 0,
    workers: int | None = None,
    columns: Mapping[str, str] | None = None,
    contest: str | None = None,
    player: str | None = None,
    rank: str | None = None,
    score: str | None = None,
    time: str | None = None,
    on_error: OnError = "stop",
    duplicates: Duplicates = "error",
    absent: Absent = "error",
) -> pd.DataFrame:
    """Try hyperparameters on the first contests, and test the best ones on the others.

    Parameters
    ----------
    results, columns, contest, player, rank, score, time, on_error, duplicates, absent
        As for :func:`ranklake.rate_history`, teams included, except with ``em``.
    space
        For each hyperparameter the values to try, or a range as ``--space`` takes it, such as ``"0.1:2:log"``; by
        default the space of ``ranklake tune``.
    method
        ``grid``, ``random``, ``bayes`` (with Optuna, from the extra ``search``) or ``em`` (expectation-maximisation).
    trials
        Number of trials; None for all points of a grid, and for four steps of ``em``.
    metric, filter
        What is to be best: ``pair_inversion``, ``rank_deviation``, ``rank_information``, ``rank_likelihood``,
        ``own_cross_entropy``, ``brier``, ``calibration_error``, ``cross_entropy``, ``log2_rank_error`` or, for contests
        of two, ``log_loss3``, among ``everyone``, ``experienced`` or ``top100``, which metrics of the system's own
        chances do not have.
    train_share
        Share of the contests to tune on.
    folds
        Number of blocks of the other contests. With several, hyperparameters are chosen on all contests before each
        block and scored on it, and the best ones on all contests are the result.
    best
        Number of trials to test on the other contests, with one fold.
    seed
        Of the proposals. The same seed gives the same frame for any number of workers.

    Returns
    -------
    pd.DataFrame
        One row a trial, best first: a column for each hyperparameter, ``train_`` and ``test_`` columns of the metrics
        (NaN without a test), ``error`` (empty, or why the trial has no score). ``attrs["best"]`` has the
        hyperparameters of the best one, for ``Ratings.rate(results, system, **best)``; with several folds
        ``attrs["folds"]`` has those chosen in each, their scores ``before`` the block and on it (``score``), and
        ``attrs["mean"]`` the mean of the latter.

    Raises
    ------
    ValueError
        Invalid results, an impossible space, or no contest to score.
    """
    check_choices(metric, filter, train_share, trials=trials, folds=folds, best=best, workers=workers)
    check_folds(method, folds)
    rating_system = find_system(system)
    proposals = open_proposals(method, rating_system, _spelled(space or {}), metric, seed, trials)
    names = named_columns(columns, contest=contest, player=player, rank=rank, score=score, time=time)
    read = Reading(names, on_error, duplicates, absent=absent).read(results)
    if not read.timed:
        check_times(rating_system.params, chosen_in(rating_system, _spelled(space or {})), NO_TIMES)
    rounds = read.rounds
    skipping = Skipping.of(rating_system, None)
    history, n_train = TrialRounds.of(rounds, skipping), int(len(rounds) * train_share)
    n_rated = int(history.units[n_train])
    if not RUNGS <= n_rated < len(history.rounds):
        rated = count(len(history.rounds), "rated contest")
        rule = f"a search needs at least {RUNGS} contests to tune on, and one to test on"
        raise ValueError(f"{rule}; train_share={train_share:g} of {rated} is {n_rated}")
    if metric == LOG_LOSS3 and (larger := history.larger()) is not None:
        raise ValueError(why_no_games(history, filter, f"contest number {larger + 1}").format(metric="metric"))
    train, cuts = history.first(n_train), tuple[int, ...]()
    if why := why_not_scored(train, filter, metric):
        raise ValueError(f"the first {train_share:g} of the contests "
                         f"has {why.format(share='train_share', filter='filter', metric='metric')}")  # fmt: skip
    if folds > 1:
        cuts, train = cuts_of(history, n_train, folds), history
        check_blocks(history, cuts, filter, metric)
    compile_parts([*parts_for(system, np.diff(history.rounds.offsets)), *kernels_of(metric)])
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        run = partial(run_trial, train, system, metric=metric, filter=filter, cuts=cuts)
        done = proposals.try_all(train, lambda asked: list(pool.map(run, asked)))
    scored = [trial for trial in done if not np.isnan(trial.scores.get(metric, np.nan))]
    if not scored:
        raise ValueError(f"no trial has a score: {done[0].error or 'no player of the filter is in a training contest'}")
    ranked = best_first(scored, metric)
    shown = [] if cuts else ranked[:best]
    tests = {id(trial): tested(history, n_train, system, trial, Serial(), filter, metric) for trial in shown}
    rest = [trial for trial in done if trial not in scored]
    frame = pd.DataFrame([_row(rating_system, trial, tests.get(id(trial), {}), metric) for trial in [*ranked, *rest]])
    frame.attrs["best"] = _values(rating_system, ranked[0])
    if cuts:
        found = scored_folds(done, cuts, metric)
        frame.attrs["folds"] = [asdict(fold) | {"settings": _values(rating_system, fold)} for fold in found]
        frame.attrs["mean"] = mean_score(found)
    for line in ignored_lines(rating_system, count_ignored(rating_system, history.rounds), IN_PYTHON):
        warn_user(line)
    return frame


def _spelled(space: Mapping[str, Sequence[Any] | str]) -> list[str]:
    """The space as ``--space`` takes it."""
    for name, values in space.items():
        if isinstance(values, Mapping) or not isinstance(values, Iterable):
            rule = 'a list of values, or a text with a range such as "0.1:2:log"'
            raise TypeError(f"space: {name} needs {rule}, got {described(values)}")
    return [
        f"{name}={values if isinstance(values, str) else ','.join(str(value) for value in values)}"
        for name, values in space.items()
    ]


def _values(system: Any, trial: Trial | Fold) -> dict[str, Any]:
    """The hyperparameters of a trial or of a fold as Python values."""
    params = build_params(system, trial.settings)
    return {name: getattr(params, name) for name in trial.settings}


def _row(system: Any, trial: Trial, test: Mapping[str, float], metric: str) -> dict[str, Any]:
    values = _values(system, trial) if not trial.error else dict(trial.settings)
    names = dict.fromkeys(("pair_inversion", "rank_deviation", metric))
    scores = {f"train_{name}": trial.scores.get(name, np.nan) for name in names}
    return values | scores | {f"test_{name}": test.get(name, np.nan) for name in names} | {"error": trial.error}
