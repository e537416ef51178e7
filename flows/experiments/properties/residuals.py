"""What a model does not explain: surprises by rounds, days, contest class, level and last surprise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.text import slug as slug_of
from ...evaluation.residuals import CLASSES, EXPERIENCED, BinSummary, breakdowns, contest_classes, summarise, surprises
from ...plotting.figures import SERIES, legible, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History
from ..findings import listed
from ..published import parse_contender

_COMPARED = ("elo-mmr", "elo-mms")
_LEAST = 30  # participations of a point in a picture
_AXES = {
    "rounds": "rounds played before",
    "days": "days since the last round",
    "class": "contest class",
    "level": "prior rating, tenths of participations",
    "last": "last surprise, in predicted deviations",
}


def _residuals(context: ExperimentContext, history: History) -> list[Part]:
    classes = contest_classes(history.titles, context.classes or CLASSES)
    rounds = history.rounds
    tested = np.repeat(history.tested, np.diff(rounds.offsets))
    overall: list[tuple[str, BinSummary]] = []
    by_breakdown: dict[str, dict[str, list[BinSummary]]] = {}
    for contender, rated in context.rated(history, context.systems or map(parse_contender, _COMPARED)):
        measured = surprises(rated.system, rated.params, rounds, rated.outcome)
        overall.append((contender.label, summarise(measured, tested, "everyone")))
        experienced = tested & (measured.rounds_before >= EXPERIENCED)
        overall.append((contender.label, summarise(measured, experienced, "experienced")))
        for name, groups in breakdowns(measured, classes, tested):
            by_breakdown.setdefault(name, {})[contender.label] = groups
    slug = slug_of(history.name)
    parts: list[Part] = [_table(slug, f"{history.name}: all participations", "players", overall)]
    for name, by_system in by_breakdown.items():
        caption = f"{history.name}: surprises by {_AXES[name]}"
        rows = [(label, group) for label, groups in by_system.items() for group in groups]
        parts.append(Picture.of(f"{slug}-{name}", caption, _figure(name, by_system)))
        parts.append(_table(f"{slug}-{name}", caption, _AXES[name], rows))
    found = (
        f"{one.spread / one.predicted:.2f} of the predicted spread with {label}, and a correlation of "
        f"{one.correlation:+.2f} with the last one"
        for label, one in overall[1::2]
        if one.participations
    )
    parts.append(
        f"Found: in {history.name} the surprises of experienced players have "
        f"{listed(found, 'no spread, as there are none')}."
    )
    return parts


def _table(name: str, caption: str, heading: str, rows: list[tuple[str, BinSummary]]) -> Table:
    columns: dict[str, list[Any]] = {
        "system": [label for label, _ in rows],
        heading: [summary.group for _, summary in rows],
        "participations": [summary.participations for _, summary in rows],
        "mean surprise": [summary.mean for _, summary in rows],
        "standard error": [summary.error for _, summary in rows],
        "spread": [summary.spread for _, summary in rows],
        "predicted spread": [summary.predicted for _, summary in rows],
        "spread over predicted": [summary.spread / summary.predicted for _, summary in rows],
        "correlation with the last surprise": [summary.correlation for _, summary in rows],
    }
    return Table(name, caption, columns, {"spread over predicted": 3, "correlation with the last surprise": 3})


def _figure(name: str, by_system: dict[str, list[BinSummary]]) -> Any:
    """Mean, spread over predicted spread and correlation, a panel each; bars are two standard errors.

    Newcomers are in the table only: their surprises, from one common rating, would set the scale of the first panel.
    """
    hidden = "0" if name == "rounds" else None
    figure, panels = new_figure(12.0, 3.6, columns=3)
    groups: list[str] = []  # of all systems: levels are named by each system's own ratings
    for summaries in by_system.values():
        own = [summary.group.partition(",")[0] for summary in summaries]
        groups += [group for group in own if group not in groups and group != hidden]
    width = 0.16 * (len(by_system) - 1)
    for (label, summaries), shift, colour in zip(
        by_system.items(), np.linspace(-width, width, len(by_system)), SERIES, strict=False
    ):
        shown = [summary for summary in summaries if summary.participations >= _LEAST and summary.group != hidden]
        x = np.array([groups.index(summary.group.partition(",")[0]) for summary in shown]) + shift
        n = np.array([summary.participations for summary in shown], dtype=np.float64)
        ratio = np.array([summary.spread / summary.predicted for summary in shown])
        values = (
            (np.array([summary.mean for summary in shown]), np.array([2.0 * summary.error for summary in shown])),
            (ratio, ratio * np.sqrt(2.0 / n)),
            (np.array([summary.correlation for summary in shown]), 2.0 / np.sqrt(n)),
        )
        for panel, (value, error) in zip(panels, values, strict=True):
            panel.errorbar(
                x, value, error, fmt="o", markersize=4, linewidth=1.0, color=colour, label=legible(label), zorder=3
            )
    titles = ("mean surprise, rating points", "spread over predicted spread", "correlation with the last surprise")
    for panel, title, neutral in zip(panels, titles, (0.0, 1.0, 0.0), strict=True):
        panel.axhline(neutral, color="#999999", linewidth=0.8, linestyle=":")
        panel.set_title(title)
        panel.set_xticks(range(len(groups)), groups, rotation=40.0, ha="right")
        panel.set_xlim(-0.6, len(groups) - 0.4)
        panel.set_xlabel(_AXES[name])
    panels[0].legend(loc="best")
    return figure


EXPERIMENTS = (
    Experiment(
        "residuals",
        "What a model does not explain",
        "Surprises as in residual analysis of any forecast; performances as in Ebtekar and Liu (arXiv:2101.00400)",
        of_each(_residuals),
        [
            "A surprise is a performance minus the performance that the system expected. Where a system uses all "
            "information, surprises have mean 0, the predicted spread, and no correlation with the player's last "
            "surprise; a better model could explain the rest. Performances are the system's own; for systems without "
            "performances (Elo, Glicko, TrueSkill, BAR) it is the quantile of the place in the field of prior laws. "
            "The first tenth of the contests is left out; except by rounds played, only players with at least "
            f"{EXPERIENCED} rounds count. A player's performance is measured against the field of the round, so the "
            "mean over all participations has little meaning; compare groups with each other.",
            "The contest class is the first text in the contest's name that matches a regular expression (--class): "
            "for Codeforces Div 1, Div 2, Educational, Global and so on; contests without a match are the class "
            "“other”.",
        ],
        data="instead",
        least=20,
        takes=("systems", "classes"),
    ),
)
