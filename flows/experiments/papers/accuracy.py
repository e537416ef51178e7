"""Table 2 of the Elo-MMR paper: the accuracy of each system's predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ranklake.rating_kernels.metrics.metrics import FILTERS

from ...common.configuration.settings import build_params, find_system
from ...common.text import slug as slug_of
from ...evaluation.entrants import laws_of
from ...evaluation.scores import RoundScores, score_rounds
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Picture, Report, Table
from ..data import History, rate_history
from ..published import LIKE, NAMES, PRINTED, PRINTED_CONTESTS, Contender, contenders

__all__ = ["EXPERIMENT"]

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
_PARTS = ("training", "test")


def _run(context: ExperimentContext) -> Report:
    parts: list[str | Table | Picture] = [
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


def _of_history(context: ExperimentContext, history: History, of_paper: str) -> list[str | Table | Picture]:
    printed = PRINTED.get(of_paper, {})
    rows: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    for_inversion, for_deviation = (list(context.systems) or contenders(of_paper, metric) for metric in (0, 1))
    for contender, for_rank in zip(for_inversion, for_deviation, strict=True):
        context.on_step(f"{history.name}: {contender.label}")
        tested = history.index >= history.n_contests // 10
        groups = _scores(history, contender)
        evidence += _evidence(contender.label, groups, tested)
        both = (groups if contender == for_rank else _scores(history, for_rank))["experienced"]
        scores = tuple(groups["experienced"].mean(metric, tested) for metric in _METRICS)
        rank = tuple(both.mean(metric, tested) for metric in _METRICS)
        in_paper = printed.get(contender.system, (None, None)) if contender.printed else (None, None)
        rows.append(
            {
                "system": contender.label,
                "in the paper": NAMES[contender.system] if contender.printed else None,
                "pair inversion, %": scores[0],
                "pair inversion, printed": in_paper[0],
                "pair inversion, difference": None if in_paper[0] is None else scores[0] - in_paper[0],
                "rank deviation, %": rank[1],
                "rank deviation, printed": in_paper[1],
                "rank deviation, difference": None if in_paper[1] is None else rank[1] - in_paper[1],
                "hyperparameters": _words(contender)
                if contender == for_rank
                else f"{_words(contender)}; {_words(for_rank)}",
            }
        )
    columns = {heading: [row[heading] for row in rows] for heading in rows[0]}
    slug = slug_of(history.name)
    caption = f"{history.name}: {history.n_contests:,} contests, on average {history.mean_participants:,.0f} players"
    digits = {heading: 2 for heading in columns if not heading.endswith("printed")}
    context.on_step(f"{history.name}: skew and practice")
    beside = {heading: [row[heading] for row in evidence] for heading in evidence[0]}
    return [
        Table(slug, caption, columns, digits),
        Picture.of(slug, caption, _figure(rows)),
        Table(
            f"{slug}-evidence",
            f"{history.name}: training part (the first tenth) and test part, with the hyperparameters for pair "
            "inversion; rank information of rounds with at least 30 players",
            beside,
            {heading: 5 if heading.startswith("rank information") else 3 for heading in beside},
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
    by_label: dict[str, dict[str, float]] = {}
    tested, rounds = history.index >= history.n_contests // 10, history.rounds
    for label, (system, settings) in rows.items():
        outcome = rate_history(history, system, **settings).outcome
        scores = score_rounds(
            rounds.offsets, rounds.lo, rounds.strengths(outcome.mu_prior), outcome.n_before,
            filters=[FILTERS[name] for name in ("experienced", "everyone")], probabilities=False,
        )  # fmt: skip
        by_label[label] = {
            f"{name}, {part}: {heading}": scored.mean(metric, mask)
            for name, scored in scores.items()
            for part, mask in (("first tenth", ~tested), ("rest", tested))
            for metric, heading in zip(_EQUAL_HALF, _HEADINGS, strict=True)
        }
    columns: dict[str, list[Any]] = {"system": list(by_label)}
    for heading in by_label["elo-mmr"]:
        columns[heading] = [values[heading] for values in by_label.values()]
    return Table(
        f"{slug_of(history.name)}-skew",
        f"{history.name}: what skew and practice add; equal ratings count half",
        columns,
        2,
    )


def _scores(history: History, contender: Contender) -> dict[str, RoundScores]:
    outcome = rate_history(history, contender.system, **contender.settings).outcome
    rounds, prior = history.rounds, outcome.prior
    system, sizes = find_system(contender.system), np.diff(history.rounds.offsets)
    params = build_params(system, contender.settings)
    strength = rounds.strengths(prior.mu)
    law = laws_of(system, params, sizes, rounds.weight, strength, prior.sigma, prior.n_before)
    filters = [FILTERS[name] for name in _GROUPS]
    return score_rounds(
        rounds.offsets, rounds.lo, strength, prior.n_before, filters=filters, probabilities=False, law=law
    )


def _evidence(label: str, groups: dict[str, RoundScores], tested: npt.NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    """A row for each part of the history and group of players."""
    for part, rounds in zip(_PARTS, (~tested, tested), strict=True):
        for group in _GROUPS:
            scores = groups[group]
            yield {
                "system": label,
                "part": part,
                "players": group,
                "participations": int(scores.weight[rounds].sum()),
                "pair inversion, %": scores.mean("pair_inversion", rounds),
                "rank deviation, %": scores.mean("rank_deviation", rounds),
                "rank information, nats": scores.mean("rank_information", rounds),
            }


def _words(contender: Contender) -> str:
    settings = (
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in contender.settings.items()
    )
    return ", ".join(settings) or "defaults"


def _figure(rows: list[dict[str, Any]]) -> Any:
    figure, axes = new_figure(9.0, 0.26 * len(rows) + 1.1, columns=2, sharey=True)
    y = np.arange(len(rows))[::-1]
    for panel, name, printed in zip(
        axes, _HEADINGS, ("pair inversion, printed", "rank deviation, printed"), strict=True
    ):
        ours = np.array([row[name] for row in rows])
        panel.plot(ours, y, "o", color=SERIES[0], label="here", markersize=5)
        in_paper = np.array([np.nan if row[printed] is None else row[printed] for row in rows])
        panel.plot(in_paper, y, "x", color=SERIES[1], label="printed", markersize=6, markeredgewidth=1.6)
        panel.set_title(name)
        panel.set_yticks(y, [row["system"] for row in rows])
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
