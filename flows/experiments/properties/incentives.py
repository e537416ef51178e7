"""Incentive alignment: whether a better place in one round ever lowers a later rating."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Rounds

from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Picture, Report, Table
from .counterfactual import move, other_self

PLAYERS, ROUNDS, TRIALS = 24, 30, 40
TOLERANCE = 1e-7  # rating points, for rounding errors


def league(rng: np.random.Generator) -> Rounds:
    """A small league with ties and drifting skills."""
    skill = rng.normal(1500.0, 300.0, PLAYERS)
    players, lo, hi, sizes = [], [], [], []
    for _ in range(ROUNDS):
        skill += rng.normal(0.0, 35.0, PLAYERS)
        field = rng.permutation(PLAYERS)[: rng.integers(PLAYERS // 2, PLAYERS + 1)]
        shown = -np.rint((skill[field] + rng.normal(0.0, 200.0, len(field))) / 40.0)
        order = np.argsort(shown, kind="stable")
        ranked = shown[order]
        players.append(field[order])
        lo.append(np.searchsorted(ranked, ranked, side="left"))
        hi.append(np.searchsorted(ranked, ranked, side="right") - 1)
        sizes.append(len(field))
    offsets, times = np.concatenate(([0], np.cumsum(sizes))), 86_400 * np.arange(1, ROUNDS + 1)
    return Rounds.from_columns(offsets, np.concatenate(players), np.concatenate(lo), np.concatenate(hi), times)


def losses(name: str, params: Any, rounds: Rounds, at: int, player: int, place: int) -> Any:
    """The decrease of each later rating by a better place in round ``at``; negative for an increase."""
    before = int(np.count_nonzero(rounds.player[: rounds.offsets[at]] == player))

    def stand(n: int, round: Rounds, mu: float) -> Rounds:
        return move(round, player, place) if n == before else round

    n_players = int(rounds.player.max()) + 1
    honest, better = other_self(SYSTEMS[name], params, rounds, n_players, player, stand)
    return (honest - better)[before:]


def _run(context: ExperimentContext) -> Report:
    rng = np.random.default_rng(context.seed)
    rounds = league(rng)
    trials: list[tuple[int, int, int]] = []
    while len(trials) < TRIALS:
        at = int(rng.integers(0, ROUNDS // 2))
        one = rounds.part(at, at + 1)
        row = int(rng.integers(1, one.n_rows))
        if one.lo[row] > 0:
            trials.append((at, int(one.player[row]), int(rng.integers(0, one.lo[row]))))
    by_proof = {"elo-mmr": "never", "elo-mmx": "never", "elo-mms": "never", "topcoder": "may", "glicko2": "may"}
    rows: list[tuple[Any, ...]] = []
    for name, system in SYSTEMS.items():
        context.on_step(name)
        params = system.params()
        unit = float(params.sigma_init) / 350.0 or 1.0
        found = [losses(name, params, rounds, *trial) / unit for trial in trials]
        lowered = sum(bool((one > TOLERANCE).any()) for one in found)
        ratings = sum(int(np.count_nonzero(one > TOLERANCE)) for one in found)
        worst = max(0.0, *(float(one.max()) for one in found))
        rows.append((name, TRIALS, lowered, ratings, worst, by_proof.get(name)))
    headings = ("system", "better places", "with a later loss", "lower ratings", "largest loss, points", "proved")
    figure, axes = new_figure(7.5, 3.8)
    axes.barh([row[0] for row in rows][::-1], [row[4] for row in rows][::-1], color=SERIES[0])
    axes.set_xlabel("largest decrease of a later rating after a better place, rating points")
    axes.set_xlim(0.0, max(1.0, 1.1 * max(row[4] for row in rows)))
    return Report(
        [
            f"In a simulated league of {PLAYERS} players and {ROUNDS} rounds, one player gets a better place in one "
            "round. The order of the other players, all other results, and the beliefs about the others stay as "
            f"they were. The table counts the trials, out of {TRIALS}, in which any later rating is lower than "
            "without the better place. TrueSkill's points are scaled to those of the other systems.",
            Table.of_rows("trials", "Better places, and the ratings after them", headings, rows, 3),
            Picture.of("worst", "Largest decrease after a better place", figure),
        ]
    )


EXPERIMENT = Experiment(
    "incentives",
    "Whether a better place ever lowers a later rating",
    "Theorem 5.5 (incentive alignment) of Ebtekar and Liu, arXiv:2101.00400",
    _run,
)
