"""The accuracy of predicted places: of each system, by Elo-MMR's transfer rate, and from all other contests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels import ConvergenceError
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.warm import SCORES, SMOOTHING

from ...common.text import slug as slug_of
from ...compilation.compile import compile_parts
from ...engines.threads import Threads
from ...entrants.scores import RoundScores
from ...execution.smoothing import smooth_rounds
from ...plotting.figures import SERIES, legible, new_figure
from ...smoothing.params import params_of
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import GROUPS, History, RatedHistory
from ..findings import extreme, listed
from ..published import LIKE, NAMES, PRINTED, PRINTED_CONTESTS, REDDIT_CLAIM, TRUESKILL_CLAIM, Contender, contenders

_METRICS = ("pair_inversion", "rank_deviation")
_EQUAL_HALF = ("pair_inversion_equal_half", "rank_deviation")
_PLAIN: dict[str, Any] = {"skew": 1.0, "lower": "normal"}
_ABLATIONS: dict[str, dict[str, Any]] = {
    "elo-mms": {},
    "elo-mms without skew": _PLAIN,
    "elo-mms without practice": {"practice": 0.0},
    "elo-mms without either": _PLAIN | {"practice": 0.0},
    "elo-mms with learnt drift": {"learnt_drift": True},
}
_HEADINGS = ("pair inversion, %", "rank deviation, %")
_RHOS = (0.0, 0.04, 0.2, 1.0, 5.0, math.inf)
_COLUMNS = (
    "system", "in the paper",
    "pair inversion, %", "pair inversion, printed", "pair inversion, difference",
    "rank deviation, %", "rank deviation, printed", "rank deviation, difference", "hyperparameters",
)  # fmt: skip
_AGREES = 0.2  # points within which a printed value counts as reproduced
_EVIDENCE = ("system", "part", "players", "participations", *_HEADINGS, "rank information, nats")


def _accuracy(context: ExperimentContext, history: History) -> list[Part]:
    """The parts of a history, and of its first contests if it has grown since the paper."""
    of_paper, scored = LIKE.get(history.name, history.name), _Scored(history)
    parts, n = _of_history(context, scored, history, of_paper), PRINTED_CONTESTS.get(of_paper)
    if n is not None and history.n_contests > n:
        first = history.first(n, f"{history.name}, first {n:,} contests")
        parts += _of_history(context, scored, first, of_paper)
    return parts


class _Scored:
    """The scores of a history by each system: rated once, also for its first contests, whose ratings are the same."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._found: dict[str, dict[str, RoundScores]] = {}

    def scores(self, one: Contender) -> dict[str, RoundScores]:
        """The scores of each group of players."""
        key = f"{one.system} {sorted(one.settings.items())}"
        if key not in self._found:
            rated = self._history.rate(one.system, **one.settings)
            self._found[key] = rated.scores(law=rated.law())
        return self._found[key]

    def parts(self, first: History) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The rounds of the training part and of the test part of the first contests."""
        index, n = self._history.index, first.n_contests
        return index < n // 10, (index >= n // 10) & (index < n)


def _of_history(context: ExperimentContext, scored: _Scored, history: History, of_paper: str) -> list[Part]:
    printed = PRINTED.get(of_paper, {})
    training, tested = scored.parts(history)
    rows, evidence = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for_inversion, for_deviation = (list(context.systems) or contenders(of_paper, metric) for metric in (0, 1))
    for one, for_rank in zip(for_inversion, for_deviation, strict=True):
        context.on_step(f"{history.name}: {one.label}")
        groups = scored.scores(one)
        for part, rounds in (("training", training), ("test", tested)):
            for group, scores in groups.items():
                means = (scores.mean(metric, rounds) for metric in (*_METRICS, "rank_information"))
                evidence.append((one.label, part, group, int(scores.weight[rounds].sum()), *means))
        both = scored.scores(for_rank)
        inversion, deviation = (
            found["experienced"].mean(metric, tested) for found, metric in zip((groups, both), _METRICS, strict=True)
        )
        name, in_paper = NAMES[one.system] if one.printed else None, printed.get(one.system) if one.printed else None
        first, second = in_paper or (None, None)
        words = _words(one) if one == for_rank else f"{_words(one)}; {_words(for_rank)}"
        rows.append(
            (
                *(one.label, name),
                *(inversion, first, None if first is None else inversion - first),
                *(deviation, second, None if second is None else deviation - second, words),
            )
        )
    slug = slug_of(history.name)
    caption = f"{history.name}: {history.n_contests:,} contests, on average {history.mean_participants:,.0f} players"
    digits = {heading: 2 for heading in _COLUMNS if not heading.endswith("printed")}
    context.on_step(f"{history.name}: skew and practice")
    return [
        Table.of_rows(slug, caption, _COLUMNS, rows, digits),
        Picture.of(slug, caption, _figure(rows)),
        Table.of_rows(
            f"{slug}-evidence",
            f"{history.name}: training part (the first tenth) and test part, with the hyperparameters for pair "
            "inversion; rank information of rounds with at least 30 players",
            _EVIDENCE,
            evidence,
            dict.fromkeys(_EVIDENCE, 3) | {_EVIDENCE[-1]: 5},
        ),
        _skew_and_practice(scored, history, of_paper),
        _found(history, rows),
    ]


def _found(history: History, rows: list[tuple[Any, ...]]) -> str:
    inversion, deviation = ({row[0]: row[at] for row in rows} for at in (2, 5))
    text = (
        f"Found: in {history.name} {extreme(inversion, unit=' %')} orders most pairs correctly, and "
        f"{extreme(deviation, min, unit=' %')} has the smallest rank deviation."
    )
    if differences := [row[at] for at in (4, 7) for row in rows if row[at] is not None]:
        near = sum(abs(one) <= _AGREES for one in differences)
        text += f" Of {len(differences)} printed values, {near} are within {_AGREES} points of those here."
    return text


def _skew_and_practice(scored: _Scored, history: History, of_paper: str) -> Table:
    """Elo-MMS with and without its parts, and Elo-MMR: by default and with published hyperparameters."""
    (published,) = [contender for contender in contenders(of_paper, 0) if contender.system == "elo-mmr"]
    rows: dict[str, tuple[str, Mapping[str, Any]]] = {"elo-mmr": ("elo-mmr", {})}
    if published.settings:
        rows["elo-mmr, tuned"] = ("elo-mmr", published.settings)
    rows |= {label: ("elo-mms", settings) for label, settings in _ABLATIONS.items()}
    both_parts, found = scored.parts(history), []
    for label, (system, settings) in rows.items():
        scores = scored.scores(Contender(label, system, settings))
        means = (scores[group].mean(metric, part) for group in GROUPS for part in both_parts for metric in _EQUAL_HALF)
        found.append((label, *means))
    parts = [
        f"{group}, {part}: {heading}" for group in GROUPS for part in ("first tenth", "rest") for heading in _HEADINGS
    ]
    caption = f"{history.name}: what skew, practice and learnt drift add; equal ratings count half"
    return Table.of_rows(f"{slug_of(history.name)}-skew", caption, ("system", *parts), found, 2)


def _words(contender: Contender) -> str:
    settings = (
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in contender.settings.items()
    )
    return ", ".join(settings) or "defaults"


def _figure(rows: list[tuple[Any, ...]]) -> Any:
    figure, axes = new_figure(9.0, 0.26 * len(rows) + 1.1, columns=2, sharey=True)
    y = np.arange(len(rows))[::-1]
    for panel, name, at in zip(axes, _HEADINGS, (2, 5), strict=True):
        panel.plot([row[at] for row in rows], y, "o", color=SERIES[0], label="here", markersize=5)
        in_paper = np.array([np.nan if row[at + 1] is None else row[at + 1] for row in rows])
        panel.plot(in_paper, y, "x", color=SERIES[1], label="printed", markersize=6, markeredgewidth=1.6)
        panel.set_title(name)
        panel.set_yticks(y, [row[0] for row in rows])
    axes[1].legend(loc="best")
    return figure


def _transfer(context: ExperimentContext) -> Iterator[Part]:
    rows: list[tuple[Any, ...]] = []
    findings: list[str] = []
    figure, (left, right) = new_figure(10.0, 4.0, columns=2)
    systems = {f"{rho:g}": Contender(f"rho = {rho:g}", "elo-mmr", {"rho": rho}) for rho in _RHOS}
    for history, colour in zip(context.histories, SERIES, strict=False):
        found = []
        for one, rated in context.rated(history, systems.values()):
            scores = rated.scores(["experienced"])["experienced"]
            found.append(tuple(scores.mean(metric, history.tested) for metric in _METRICS))
            rows.append((history.name, one.settings["rho"], *found[-1], rated.seconds))
        inversions, deviations = zip(*found, strict=True)
        best = (
            extreme(dict(zip(systems, inversions, strict=True)), max, 2, " %"),
            extreme(dict(zip(systems, deviations, strict=True)), min, 2, " %"),
        )
        findings.append(f"in {history.name} pair inversion is best with rho {best[0]}, rank deviation with {best[1]}")
        left.plot(list(systems), inversions, color=colour, label=legible(history.name), marker="o", linewidth=1.4)
        right.plot(list(systems), deviations, color=colour, marker="o", linewidth=1.4)
    left.set_title("pair inversion, % (higher is better)")
    right.set_title("rank deviation, % (lower is better)")
    for axes in (left, right):
        axes.set_xlabel("rho")
    left.legend(loc="best")
    yield Picture.of("transfer", "Accuracy of Elo-MMR by rho", figure)
    digits = {"rho": 2, "pair inversion, %": 3, "rank deviation, %": 3, "seconds": 2}
    yield Table.of_rows("transfer", "By transfer rate", ("data set", "rho", *_HEADINGS, "seconds"), rows, digits)
    yield f"Found: {'; '.join(findings)}."


def _hindsight(context: ExperimentContext) -> list[Part]:
    compile_parts([SMOOTHING, SCORES])
    rows: list[tuple[Any, ...]] = []
    headings = tuple(f"{heading}, {group}" for group in GROUPS for heading in _HEADINGS)
    systems = context.systems or (Contender("elo-mmr", "elo-mmr", {}), Contender("elo-mms", "elo-mms", {}))
    for history in context.histories:
        for one, rated in context.rated(history, systems):
            rows.append((history.name, one.label, "before", *_means(rated), None))
            context.on_step(f"{history.name}: {one.label}, smoothing")
            cavity, sweeps = _cavities(rated)
            scores = (None,) * len(headings) if cavity is None else _means(rated, cavity)
            rows.append((history.name, one.label, "all others", *scores, sweeps))
    columns = ("data set", "system", "given contests", *headings, "sweeps")
    digits = dict.fromkeys(headings, 3) | {"sweeps": 0}
    gains = (
        f"by {others[3] - past[3]:+.2f} points in {past[0]} ({past[1]})"
        for past, others in zip(rows[::2], rows[1::2], strict=True)
        if others[3] is not None
    )
    return [
        Table.of_rows("hindsight", "The past alone, and all other contests", columns, rows, digits),
        "Found: given all other contests, the pair inversion of experienced players changes "
        f"{listed(gains, 'in no history, as no smoothing converged')}.",
    ]


def _cavities(rated: RatedHistory) -> tuple[Floats | None, int | None]:
    """The mean skill at each participation given all other contests, and the sweeps that it took."""
    history = rated.history
    with Threads() as engine:
        try:
            smoother = smooth_rounds(params_of(rated.params, {}), history.rounds, len(history.handles), engine)
        except ConvergenceError:
            return None, None
    return np.ascontiguousarray(smoother.result().cavity_mu), smoother.sweeps


def _means(rated: RatedHistory, mu: Floats | None = None) -> tuple[float, ...]:
    """Scores of an ordering after the first tenth of the contests: for each group, each metric."""
    scores = rated.scores(mu=mu)
    return tuple(scores[group].mean(metric, rated.history.tested) for group in GROUPS for metric in _METRICS)


EXPERIMENTS = (
    Experiment(
        "accuracy",
        "Accuracy of predicted places",
        "Table 2 of Ebtekar and Liu, “An Elo-like System for Massive Multiplayer Competitions” (arXiv:2101.00400)",
        of_each(_accuracy),
        [
            "Every contest is predicted from the ratings before it, and then rated. The hyperparameters were tuned on "
            "the first tenth of the contests; these are rated, not scored. Only players with at least five rounds are "
            "scored. Pair inversion is the share of pairs predicted correctly (higher is better). Rank deviation is "
            "the distance between predicted and actual places, as a share of the number of places (lower is better). "
            "Each metric is measured with the hyperparameters tuned for it."
        ],
        [
            "The hyperparameters are those published with the authors' engine, where it has any; the paper's synthetic "
            "history uses those of its successor synth-la. For TopCoder, the engine has one number only, for an older "
            "form of the weights, which the caps also used. The engine's TrueSkill underestimates the variance of "
            "truncated normal distributions, and its moments lose precision in upsets. The first error is reproduced "
            "in a row of its own beside the exact distribution; the second is not. The first 1,087 published contests "
            "of Codeforces have the number of contests and the mean number of participants that the paper prints: "
            "compare the paper with that table.",
            TRUESKILL_CLAIM,
            REDDIT_CLAIM,
        ],
        data="beside",
        least=20,
        takes=("systems",),
    ),
    Experiment(
        "transfer",
        "Elo-MMR's transfer rate",
        "Sections 4 and 6 of Ebtekar and Liu, arXiv:2101.00400; the grid of its search",
        _transfer,
        [
            "All other hyperparameters have their defaults (weight_limit 0.2, sig_limit 80). The paper searched the "
            "same grid of rho (0, 0.04, 0.2, 1, 5, inf); its published configurations have 0 or 0.04 for large "
            "contests, and 5 or inf for small ones. Only experienced players are scored, and the first tenth of the "
            "contests is left out."
        ],
        data="instead",
        least=20,
    ),
    Experiment(
        "hindsight",
        "The ceiling of ratings: predictions from all other contests",
        "Leave-one-out predictions of whole-history smoothing; the model is ours",
        _hindsight,
        [
            "Each contest is predicted twice: by the ratings before it, and by the mean skills given all contests "
            "before and after it, without the contest itself (the cavities of the smoothing). Both order the same "
            "players; the first tenth of the contests is left out. The smoothing has the noise and the drift of the "
            "system, as in `ranklake smooth`. The second row of a system is approximately the limit for ratings of its "
            "kind: the difference is what the later contests add."
        ],
        ["Empty cells: the smoothing did not converge."],
        data="instead",
        least=20,
        takes=("systems",),
    ),
)
