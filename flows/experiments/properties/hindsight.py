"""Hindsight: how well all other contests, before and after, predict the results of a contest; a ceiling for ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels import ConvergenceError
from ranklake.rating_kernels.core.standings import Floats, Ints
from ranklake.rating_kernels.warm import SCORES, SMOOTHING

from ...common.configuration.settings import build_params, find_system
from ...compilation.compile import compile_parts
from ...engines.threads import Threads
from ...execution.smoothing import smooth_rounds
from ...smoothing.params import params_of
from ..base import Experiment, ExperimentContext, Report, Table
from ..data import History, rate_history, score_history
from ..published import Contender

_SYSTEMS = (Contender("elo-mmr", "elo-mmr", {}), Contender("elo-mms", "elo-mms", {}))
_GROUPS = ("experienced", "everyone")
_METRICS = {"pair inversion, %": "pair_inversion", "rank deviation, %": "rank_deviation"}
_HEADINGS = tuple(f"{heading}, {group}" for group in _GROUPS for heading in _METRICS)


def _run(context: ExperimentContext) -> Report:
    compile_parts([SMOOTHING, SCORES])
    rows: list[tuple[Any, ...]] = []
    for history in context.histories:
        for contender in context.systems or _SYSTEMS:
            context.on_step(f"{history.name}: {contender.label}")
            outcome = rate_history(history, contender.system, **contender.settings).outcome
            first = history.name, contender.label
            rows.append((*first, "before", *_scores(history, outcome.mu_prior, outcome.n_before), None))
            context.on_step(f"{history.name}: {contender.label}, smoothing")
            cavity, sweeps = _cavities(history, contender)
            scores = (None,) * len(_HEADINGS) if cavity is None else _scores(history, cavity, outcome.n_before)
            rows.append((*first, "all others", *scores, sweeps))
    headings = ("data set", "system", "given contests", *_HEADINGS, "sweeps")
    digits = dict.fromkeys(_HEADINGS, 3) | {"sweeps": 0}
    return Report(
        [
            "Each contest is predicted twice: by the ratings before it, and by the mean skills given all contests "
            "before and after it, without the contest itself (the cavities of the smoothing). Both order the same "
            "players; the first tenth of the contests is left out. The smoothing has the noise and the drift of the "
            "system, as in `ranklake smooth`. The second row of a system is approximately the limit for ratings of its "
            "kind: the difference is what the later contests add.",
            Table.of_rows("hindsight", "The past alone, and all other contests", headings, rows, digits),
            "Empty cells: the smoothing did not converge.",
        ]
    )


def _cavities(history: History, contender: Contender) -> tuple[Floats | None, int | None]:
    """The mean skill at each participation given all other contests, and the sweeps that it took."""
    params = params_of(build_params(find_system(contender.system), contender.settings), {})
    with Threads() as engine:
        try:
            smoother = smooth_rounds(params, history.rounds, len(history.handles), engine)
        except ConvergenceError:
            return None, None
    return smoother.result().cavity_mu, smoother.sweeps


def _scores(history: History, mu: Floats, n_before: Ints) -> tuple[float, ...]:
    """Scores of an ordering after the first tenth of the contests: for each group, each metric."""
    scores = score_history(history, np.ascontiguousarray(mu), n_before, _GROUPS)
    return tuple(scores[group].mean(metric, history.tested) for group in _GROUPS for metric in _METRICS.values())


EXPERIMENT = Experiment(
    "hindsight",
    "The ceiling of ratings: predictions from all other contests",
    "Leave-one-out predictions of whole-history smoothing; the model is ours",
    _run,
    data="instead",
    least=20,
    takes=("systems",),
)
