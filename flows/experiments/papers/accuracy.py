"""Table 2 of the Elo-MMR paper: the accuracy of each system's predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...common.configuration.settings import build_params, find_system
from ...common.text import slug as slug_of
from ...evaluation.entrants import laws_of
from ...evaluation.scores import Mask, RoundScores
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Report, Table
from ..data import History, rate_history, score_history
from ..published import LIKE, NAMES, PRINTED, PRINTED_CONTESTS, Contender, contenders

_METRICS = ("pair_inversion", "rank_deviation")
_EQUAL_HALF = ("pair_inversion_equal_half", "rank_deviation")
_PLAIN: dict[str, Any] = {"skew": 1.0, "lower": "normal"}
_ABLATIONS: dict[str, dict[str, Any]] = {
    "elo-mms": {},
    "elo-mms without skew": _PLAIN,
    "elo-mms without practice": {"practice": 0.0},
    "elo-mms without either": _PLAIN | {"practice": 0.0},
}
_HEADINGS = ("pair inversion, %", "rank deviation, %")
_GROUPS = ("experienced", "everyone")
_COLUMNS = (
    "system", "in the paper",
    "pair inversion, %", "pair inversion, printed", "pair inversion, difference",
    "rank deviation, %", "rank deviation, printed", "rank deviation, difference", "hyperparameters",
)  # fmt: skip
_EVIDENCE = ("system", "part", "players", "participations", *_HEADINGS, "rank information, nats")


def _run(context: ExperimentContext) -> Report:
    parts: list[Part] = [
        "Every contest is predicted from the ratings before it, and then rated. The hyperparameters were tuned on "
        "the first tenth of the contests; these are rated, not scored. Only players with at least five rounds are "
        "scored. Pair inversion is the share of pairs predicted correctly (higher is better). Rank deviation is the "
        "distance between predicted and actual places, as a share of the number of places (lower is better). Each "
        "metric is measured with the hyperparameters tuned for it."
    ]
    for history in context.histories:
        of_paper = LIKE.get(history.name, history.name)
        parts += _of_history(context, history, of_paper)
        n = PRINTED_CONTESTS.get(of_paper)
        if n is not None and history.n_contests > n:
            parts += _of_history(context, history.first(n, f"{history.name}, first {n:,} contests"), of_paper)
    parts.append(
        "The hyperparameters are those published with the authors' engine, where it has any; the paper's synthetic "
        "history uses those of its successor synth-la. For TopCoder, the engine has one number only, for an older "
        "form of the weights, which the caps also used. The engine's TrueSkill underestimates the variance of "
        "truncated normal distributions, and its moments lose precision in upsets. The first error is reproduced in "
        "a row of its own beside the exact distribution; the second is not. The first 1,087 published contests of "
        "Codeforces have the number of contests and the mean number of participants that the paper prints: compare "
        "the paper with that table."
    )
    return Report(parts)


def _of_history(context: ExperimentContext, history: History, of_paper: str) -> list[Part]:
    printed = PRINTED.get(of_paper, {})
    rows, evidence = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for_inversion, for_deviation = (list(context.systems) or contenders(of_paper, metric) for metric in (0, 1))
    for one, for_rank in zip(for_inversion, for_deviation, strict=True):
        context.on_step(f"{history.name}: {one.label}")
        groups = _scores(history, one)
        evidence += _evidence(one.label, groups, history.tested)
        both = groups if one == for_rank else _scores(history, for_rank)
        inversion, deviation = (
            found["experienced"].mean(metric, history.tested)
            for found, metric in zip((groups, both), _METRICS, strict=True)
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
        _skew_and_practice(history, of_paper),
    ]


def _skew_and_practice(history: History, of_paper: str) -> Table:
    """Elo-MMS with and without its parts, and Elo-MMR: by default and with published hyperparameters."""
    (published,) = [contender for contender in contenders(of_paper, 0) if contender.system == "elo-mmr"]
    rows: dict[str, tuple[str, Mapping[str, Any]]] = {"elo-mmr": ("elo-mmr", {})}
    if published.settings:
        rows["elo-mmr, tuned"] = ("elo-mmr", published.settings)
    rows |= {label: ("elo-mms", settings) for label, settings in _ABLATIONS.items()}
    tested, found = history.tested, []
    for label, (system, settings) in rows.items():
        outcome = rate_history(history, system, **settings).outcome
        scores = score_history(history, outcome.mu_prior, outcome.n_before, _GROUPS)
        means = (
            scores[group].mean(metric, part)
            for group in _GROUPS
            for part in (~tested, tested)
            for metric in _EQUAL_HALF
        )
        found.append((label, *means))
    parts = [
        f"{group}, {part}: {heading}" for group in _GROUPS for part in ("first tenth", "rest") for heading in _HEADINGS
    ]
    caption = f"{history.name}: what skew and practice add; equal ratings count half"
    return Table.of_rows(f"{slug_of(history.name)}-skew", caption, ("system", *parts), found, 2)


def _scores(history: History, contender: Contender) -> dict[str, RoundScores]:
    outcome = rate_history(history, contender.system, **contender.settings).outcome
    prior, system = outcome.prior, find_system(contender.system)
    params, rounds = build_params(system, contender.settings), history.rounds
    sizes, strength = np.diff(rounds.offsets), rounds.strengths(prior.mu)
    law = laws_of(system, params, sizes, rounds.weight, strength, prior.sigma, prior.n_before)
    return score_history(history, prior.mu, prior.n_before, _GROUPS, law)


def _evidence(label: str, groups: dict[str, RoundScores], tested: Mask) -> Iterator[tuple[Any, ...]]:
    """A row for each part of the history and group of players."""
    for part, rounds in zip(("training", "test"), (~tested, tested), strict=True):
        for group, scores in groups.items():
            means = (scores.mean(metric, rounds) for metric in (*_METRICS, "rank_information"))
            yield label, part, group, int(scores.weight[rounds].sum()), *means


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


EXPERIMENT = Experiment(
    "accuracy",
    "Accuracy of predicted places",
    "Table 2 of Ebtekar and Liu, “An Elo-like System for Massive Multiplayer Competitions” (arXiv:2101.00400)",
    _run,
    data="beside",
    least=20,
    takes=("systems",),
)
