"""Table 1 of the Elo-MMR paper: sizes of the histories."""

from __future__ import annotations

import numpy as np

from ...plotting.figures import SERIES, legible, log_scale, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table
from ..findings import listed
from ..published import LIKE, PRINTED_CONTESTS, REDDIT_CLAIM, SHAPES, TRUESKILL_CLAIM


def _datasets(context: ExperimentContext) -> list[Part]:
    histories = list(context.histories)
    for history in context.histories:
        n = PRINTED_CONTESTS.get(history.name)
        if n is not None and history.n_contests > n:
            histories.append(history.first(n, f"{history.name}, first {n:,} contests"))
    names = [history.name.partition(",")[0] for history in histories]
    printed = [SHAPES.get(LIKE.get(name, name), (None, None)) for name in names]
    sizes = [np.diff(history.rounds.offsets) for history in histories]
    seen = [np.bincount(history.rounds.player, minlength=len(history.handles)) for history in histories]
    tied = [np.mean(history.rounds.lo != history.rounds.hi) for history in histories]
    table = Table(
        "shapes",
        "Histories",
        {
            "data set": [history.name for history in histories],
            "contests": [history.n_contests for history in histories],
            "contests, printed": [shape[0] for shape in printed],
            "mean participants": [history.mean_participants for history in histories],
            "mean participants, printed": [shape[1] for shape in printed],
            "participations": [history.rounds.n_rows for history in histories],
            "players": [int(np.count_nonzero(one)) for one in seen],
            "rounds a player, median": [float(np.median(one[one > 0])) for one in seen],
            "largest round": [int(one.max(initial=0)) for one in sizes],
            "tied, %": [100.0 * float(share) for share in tied],
            "skipped": [history.n_contests - len(history.rounds) for history in histories],
        },
    )
    figure, (left, right) = new_figure(9.5, 3.8, columns=2)
    for history, size, rounds, colour in zip(histories, sizes, seen, SERIES, strict=False):
        left.plot(
            np.arange(1, len(size) + 1), np.sort(size)[::-1], color=colour, label=legible(history.name), linewidth=1.4
        )
        counts = np.sort(rounds[rounds > 0])
        right.plot(counts, np.linspace(100.0, 0.0, len(counts), endpoint=False), color=colour, linewidth=1.4)
    for axes in (left, right):
        log_scale(axes, "x", "y")
    left.set_title("participants of the n-th largest contest")
    left.set_xlabel("n")
    left.legend(loc="best")
    right.set_title("players with at least this number of rounds, %")
    right.set_xlabel("rounds")
    found = (
        f"{history.name} has {history.n_contests:,} contests with {history.mean_participants:,.1f} participants on "
        f"average ({'not printed' if contests is None else f'printed {contests:,} and {mean:,}'})"
        for history, (contests, mean) in zip(histories, printed, strict=True)
    )
    picture = Picture.of("shapes", "Participants of contests, and rounds of players", figure)
    return [table, picture, f"Found: {listed(found, 'no history')}."]


EXPERIMENTS = (
    Experiment(
        "datasets",
        "Sizes of the histories",
        "Table 1 of Ebtekar and Liu, “An Elo-like System for Massive Multiplayer Competitions” (arXiv:2101.00400)",
        _datasets,
        [
            "The data sets published with the paper have grown since. Where the first contests have the printed number "
            "of contests, they have a row of their own; those of Codeforces also have the printed mean."
        ],
        [TRUESKILL_CLAIM, REDDIT_CLAIM],
        data="beside",
    ),
)
