"""EloSRM's tables: the error of each refinement, errors by experience, rounds that one rule predicts better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ranklake.rating_kernels.metrics.metrics import FILTERS, keep, score
from ranklake.rating_kernels.metrics.rank_errors import rank_errors
from ranklake.rating_kernels.systems.elo_srm import PRESETS

from ...common.text import count
from ...common.text import slug as slug_of
from ...entrants.scores import score_rounds
from ...evaluation.evaluate import DIVISION, Evaluation, division_of
from ...evaluation.evaluations import win_rates
from ...plotting.figures import SERIES, legible, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table, of_each
from ..data import History, RatedHistory
from ..published import Contender

_PRINTED = {  # Table 5: error, mean gain, its sd, largest gain; rating of a newcomer, median and highest at the end
    "SRM": (0.8301, -20.8, 130.0, 900.0, 1200.0, 1043.0, 3923.0),
    "initial": (0.7908, 22.2, 142.0, 1202.0, 1200.0, 1301.0, 4663.0),
    "K": (0.7784, 14.7, 75.0, 642.0, 1200.0, 1258.0, 3955.0),
    "W": (0.7562, 18.5, 102.0, 1762.0, 1200.0, 1327.0, 3734.0),
    "C": (0.7536, 19.6, 103.0, 2417.0, 1200.0, 1341.0, 3684.0),
    "Elo": (0.7513, 19.5, 102.0, 1548.0, 1200.0, 1369.0, 3709.0),
    "B": (0.7511, 21.5, 104.0, 1581.0, 1200.0, 1384.0, 3801.0),
    "Elo2": (0.7497, 25.7, 105.0, 1591.0, 1970.0, 2095.0, 4468.0),
}
_GROUPS = {  # Tables 1 and 3: ratings; errors of SRM, Elo and Elo2
    "all": (790_127, 0.8301, 0.7513, 0.7497), "first": (77_818, 1.0766, 0.8019, 0.7997),
    "2-7": (202_858, 0.7105, 0.6649, 0.6649), "8-24": (217_893, 0.8204, 0.7454, 0.7442),
    "25-74": (195_019, 0.8263, 0.7671, 0.7650), "75-199": (84_825, 0.9093, 0.8701, 0.8662),
    "200+": (11_714, 0.9347, 0.8965, 0.8924), "existing": (712_309, 0.8032, 0.7458, 0.7443),
    "existing, division 1": (388_024, 0.7230, 0.6930, 0.6915),
    "existing, division 2": (324_285, 0.8992, 0.8090, 0.8074),
    "division 1, half 1": (194_004, 1.0406, 0.9705, 0.9668), "division 1, half 2": (194_020, 0.4054, 0.4155, 0.4163),
    "division 2, half 1": (162_141, 1.3831, 1.1311, 1.1199), "division 2, half 2": (162_144, 0.4153, 0.4869, 0.4949),
}  # fmt: skip
_METRICS = ("kendall_tau_b", "spearman_rho", "log2_rank_error")
_ROUNDS = (
    "all", "division 1", "division 2", "2-16 players", "17-99 players", "100-199 players", "200-399 players",
    "400-599 players", "600-799 players", "800+ players",
)  # fmt: skip
_COMPARED = {  # Tables 2 and 4: rounds, and percent of them better by tau, rho and error, in the order of _ROUNDS
    ("Elo", "SRM"): (
        (1950, 87.4, 87.1, 89.2), (1196, 79.8, 79.6, 83.1), (754, 99.4, 98.9, 98.9), (151, 48.3, 48.7, 54.0),
        (204, 65.9, 65.4, 69.1), (337, 86.5, 85.9, 91.5), (437, 92.7, 92.7, 94.7), (310, 95.5, 95.5, 96.1),
        (268, 98.1, 98.1, 96.3), (242, 99.2, 97.9, 98.3),
    ),
    ("Elo2", "Elo"): (
        (1950, 58.4, 57.3, 64.6), (1196, 59.5, 58.3, 63.8), (754, 56.6, 55.7, 65.8), (151, 52.6, 54.0, 59.3),
        (204, 56.6, 54.4, 60.3), (337, 57.7, 56.8, 58.9), (437, 62.2, 61.1, 65.7), (310, 61.1, 61.0, 66.1),
        (268, 59.0, 57.8, 69.8), (242, 53.3, 50.4, 69.8),
    ),
}  # fmt: skip


def score_history(rated: RatedHistory, label: str) -> Evaluation:
    """The scores of a rated history, as `evaluate` computes them for a run; rank errors include newcomers."""
    history, outcome = rated.history, rated.outcome
    rounds = history.rounds
    division = np.array([division_of(title) for title in history.titles], dtype=np.int64)
    everyone = keep(rounds.offsets, rounds.lo, np.ones(rounds.n_rows, dtype=bool))
    performance = score(everyone, outcome.mu_prior[everyone.rows], places=False).log2_performance
    gain = (outcome.mu - outcome.mu_prior)[everyone.rows]
    errors = rank_errors(everyone, outcome.n_before[everyone.rows], division, performance, gain)
    scores = score_rounds(rounds.offsets, rounds.lo, outcome.mu_prior, outcome.n_before, [FILTERS["everyone"]])
    year = rounds.time_seconds.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + 1970
    sizes = np.diff(rounds.offsets)
    return Evaluation(label, rated.system.name, 0, history.titles, sizes, year, division, scores, errors)


def split_events(history: History) -> int:
    """The number of pairs of divisions of one event, by their names, that are not rated as one: their times differ."""
    names = [DIVISION.sub("", title) for title in history.titles]
    event = history.rounds.event
    pairs = zip(range(1, len(names)), names[1:], names, history.titles[1:], history.titles, strict=False)
    return sum(
        one == other != "" and here != there and event[i] != event[i - 1] for i, one, other, here, there in pairs
    )


def _srm(context: ExperimentContext, history: History) -> Iterator[Part]:
    rounds = history.rounds
    events = int(rounds.event[-1]) + 1
    topcoder = {"vol_after_cap": True, "two_phase": True, "published_constants": True}
    systems = [Contender("SRM", "topcoder", topcoder)]
    systems += [Contender(name, "elo-srm", {"preset": name}) for name in PRESETS]
    rows: dict[str, tuple[Any, ...]] = {}
    found: dict[str, Evaluation] = {}
    for (label, *_), rated in context.rated(history, systems):
        evaluation = score_history(rated, label)
        gain = rated.outcome.mu - rated.outcome.mu_prior
        final = rated.beliefs.mu[rated.beliefs.n_rounds > 0]
        newcomer = 1200.0 + PRESETS.get(label, {}).get("n_inflation", 0.0) / 100.0 * events
        rows[label] = (evaluation.rank_errors()[0].error, float(gain.mean()), float(gain.std()), float(gain.max()),
                       newcomer, float(np.median(final)), float(final.max()))  # fmt: skip
        if label in ("SRM", "Elo", "Elo2"):
            found[label] = evaluation
    slug, caption = slug_of(history.name), f"{history.name}: {events:,} events, {rounds.n_rows:,} ratings"
    figure, axes = new_figure(8.0, 3.8)
    ours, printed = ([table[label][0] for label in rows] for table in (rows, _PRINTED))
    axes.plot(list(rows), ours, "o-", color=SERIES[0], label=f"here, {legible(history.name)}")
    axes.plot(list(rows), printed, "x--", color=SERIES[1], label="printed, TopCoder")
    axes.set_ylabel("mean |log2 of expected over actual place|")
    axes.legend(loc="best")
    yield Picture.of(slug, f"{caption}: each refinement's error", figure)
    yield _refinements(slug, caption, rows)
    yield _experience(slug, caption, found)
    for (one, other), table in _COMPARED.items():
        yield _won(
            slug, f"{caption}: rounds that {one} predicts better than {other}, %", found[one], found[other], table
        )
    if split := split_events(history):
        yield (
            f"Warning: {count(split, 'event')} of {history.name} have two times. Divisions are rated as one event only "
            "if their times are equal: the initial rating grows once for each time, and the divisions follow each "
            "other."
        )
    falls = [label for before, label in zip(rows, list(rows)[1:], strict=False) if rows[label][0] < rows[before][0]]
    better = (rows["SRM"][0] - rows["Elo2"][0]) / rows["SRM"][0]
    yield (
        f"Found: in {history.name} the error falls with {', '.join(falls) or 'no refinement'}; as printed, with each. "
        f"Elo2's error is {100 * abs(better):.1f} % {'below' if better > 0 else 'above'} that of TopCoder's own "
        "system, as printed 9.7 % below."
    )


def _refinements(slug: str, caption: str, rows: dict[str, tuple[Any, ...]]) -> Table:
    names = ("error", "mean gain", "sd of gains", "largest gain", "newcomer at the end", "median at the end", "highest")
    headings = ["row", *(heading for name in names for heading in (name, f"printed, {name}"))]
    digits = {heading: 4 for heading in headings if heading.endswith("error")}
    lines = [
        (label, *(value for pair in zip(ours, _PRINTED[label], strict=True) for value in pair))
        for label, ours in rows.items()
    ]
    return Table.of_rows(slug, f"{caption}: the rows of Table 5", headings, lines, digits)


def _experience(slug: str, caption: str, found: dict[str, Evaluation]) -> Table:
    columns: dict[str, list[Any]] = {}
    for at, (label, evaluation) in enumerate(found.items(), 1):
        table = evaluation.rank_errors()
        columns["group"] = [row.name for row in table]
        columns["ratings"] = [row.participations for row in table]
        columns["printed, ratings"] = [_GROUPS[row.name][0] for row in table]
        columns |= {
            f"{label}: mean gain": [row.gain for row in table],
            f"{label}: mean P": [row.performance for row in table],
            f"{label}: error": [row.error for row in table],
            f"printed, {label}: error": [_GROUPS[row.name][at] for row in table],
        }
    digits = {heading: 4 for heading in columns if heading.endswith(("error", "mean P"))}
    caption = f"{caption}: the rows of Tables 1 and 3, by rounds played, including the current round"
    return Table(f"{slug}-experience", caption, columns, digits)


def _won(slug: str, caption: str, one: Evaluation, other: Evaluation, printed: Any) -> Table:
    """The rounds that one of two rules predicts better; equal rounds count half (Tables 2 and 4)."""
    rates = {(rate.rounds, rate.metric): rate for rate in win_rates(one, other)}
    names = ("tau", "rho", "error")
    headings = ("rounds", "number", "printed, number", *(x for name in names for x in (name, f"printed, {name}")))
    rows = [
        (name, rates[name, "kendall_tau_b"].n_rounds, counted,
         *(x for metric, value in zip(_METRICS, values, strict=True) for x in (rates[name, metric].percent, value)))
        for name, (counted, *values) in zip(_ROUNDS, printed, strict=True) if (name, "kendall_tau_b") in rates
    ]  # fmt: skip
    return Table.of_rows(f"{slug}-{one.run}-{other.run}".lower(), caption, headings, rows)


EXPERIMENTS = (
    Experiment(
        "srm",
        "EloSRM's tables",
        "Tables 1 to 5 of “An Elo-based rating system for TopCoder SRM”",
        of_each(_srm),
        [
            "P is the binary logarithm of the expected place divided by the actual place, by the ratings before the "
            "round. All participants count, newcomers included. The error is the mean of |P|. The printed values are "
            "for the 1,222 TopCoder single round matches since 2001. For another history, compare the order of the "
            "rows, not their values. SRM is TopCoder's own system, as published. The last two tables have the share of "
            "rounds in which one rule predicts the players that were rated before better, by tau, rho and P, as "
            "`evaluate --pairs` counts them. Divisions are rated as one event if their times are equal."
        ],
        data="given",
        least=20,
    ),
)
