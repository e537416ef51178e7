"""Incentive alignment: whether a better place in one round ever lowers a later rating.

Counterfactual histories of one player, or of the members of a team, have other places in some rounds. The beliefs about
all other players stay as in the original history. A reset between two rounds is one of all players.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Reset, Rounds, System
from ranklake.rating_kernels.core.standings import Floats, Longs
from ranklake.rating_kernels.registry import of_contests

from ...engines.serial import Serial
from ...execution.rounds import rate_rounds
from ...plotting.figures import SERIES, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table
from ..findings import listed

PLAYERS, ROUNDS, TRIALS = 24, 30, 40
DUELS = 240
TOLERANCE = 1e-7  # rating points, for rounding errors
_SHARING: dict[str, dict[str, Any]] = {  # a result also reaches ratings by the table that all share
    "elo-mms, learnt drift": {"learnt_drift": True},
    "elo-mms, learnt drift, beta 30, gamma 100": {"learnt_drift": True, "beta": 30.0, "gamma": 100.0},
}

SEASONS = {10: Reset(1500.0, 0.6, 80.0), 20: Reset(1450.0, 0.3)}  # in a league: the resets before these rounds

Stand = Callable[[int, Rounds, float], Rounds]
"""``(n, round, mu)``: the ``n``-th round with counterfactual places; ``mu`` is the first player's rating before it."""


def other_self(
    system: System, params: Any, rounds: Rounds, n_players: int, players: int | Longs, stand: Stand, start: int = 0,
    resets: Mapping[int, Reset] = MappingProxyType({}),
) -> tuple[Floats, Floats]:  # fmt: skip
    """The ratings of one player or of some after their rounds from ``start`` on: original and counterfactual.

    ``resets``: those before rounds from ``start`` on, by number of the round.
    A state that all players share stays as it is, but for the lasting effect of the counterfactual results on it.
    """
    group = np.sort(np.atleast_1d(players))
    beliefs, other = system.newcomers(params, n_players), system.newcomers(params, len(group))
    if start:
        rate_rounds(system, params, beliefs, rounds.part(0, start), Serial())
        other.put(np.arange(len(group)), beliefs.take(group))
    rows = np.flatnonzero(np.isin(rounds.player, group))
    own = np.unique(np.searchsorted(rounds.offsets, rows, side="right") - 1)
    honest, another, done = [], [], start
    effect = {name: np.zeros_like(values) for name, values in beliefs.shared.items()}
    for n, at in enumerate(own[own >= start].tolist()):
        for before in sorted(resets.keys() & range(done, at + 1)):
            if before > done:
                rate_rounds(system, params, beliefs, rounds.part(done, before), Serial())
            for people in (beliefs, other):
                system.reset(params, people, np.arange(len(people)), resets[before])
            done = before
        if at > done:
            rate_rounds(system, params, beliefs, rounds.part(done, at), Serial())
        round = rounds.part(at, at + 1)
        played = stand(n, round, float(other.mu[0]))
        field = np.sort(round.player)
        here = np.flatnonzero(np.isin(group, field))
        me = np.searchsorted(field, group[here])
        store = system.newcomers(params, len(field))
        store.put(np.arange(len(field)), beliefs.take(field))
        store.put(me, other.take(here))
        store.shared = {name: values + effect[name] for name, values in beliefs.shared.items()}
        player_of_field = np.searchsorted(field, played.player).astype(np.int32)
        rate_rounds(system, params, store, replace(played, player=player_of_field), Serial())
        rate_rounds(system, params, beliefs, round, Serial())
        other.put(here, store.take(me))
        effect = {name: store.shared[name] - values for name, values in beliefs.shared.items()}
        honest.append(beliefs.mu[group[here]])
        another.append(store.mu[me])
        done = at + 1
    return np.concatenate(honest), np.concatenate(another)


def move(round: Rounds, player: int, place: int) -> Rounds:
    """Move a player of one round to ``place`` (from 0) without a tie; the order and the ties of the others stay.

    ``place``: number of other players before this one; a place inside a tie group becomes the place before the group.
    """
    at = int(np.flatnonzero(round.player == player)[0])
    others, group = np.delete(round.player, at), np.delete(round.lo, at)  # equal within a tie group
    starts = np.searchsorted(group, group, side="left")
    place = int(starts[place]) if place < len(others) else len(others)
    key = np.insert(2 * starts, place, 2 * place - 1)  # in the order of the places
    lo = np.searchsorted(key, key, side="left").astype(np.int32)
    hi = (np.searchsorted(key, key, side="right") - 1).astype(np.int32)
    return replace(round, player=np.insert(others, place, player), lo=lo, hi=hi)


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


def duels(rng: np.random.Generator) -> Rounds:
    """A league of games of two, with points by skill and chance."""
    n, skill = DUELS, rng.normal(0.0, 0.4, PLAYERS)
    player = np.stack([rng.choice(PLAYERS, 2, replace=False) for _ in range(n)])
    lead = skill[player[:, :1]] - skill[player[:, 1:]]
    points = rng.poisson(1.5 * np.exp(np.hstack([lead, -lead]))).astype(np.float64)
    order = np.argsort(-points, axis=1, kind="stable")
    player, points = np.take_along_axis(player, order, axis=1), np.take_along_axis(points, order, axis=1)
    won = (points[:, 0] > points[:, 1]).astype(np.int32)
    lo, hi = np.stack([np.zeros(n), won], axis=1), np.stack([1 - won, np.ones(n)], axis=1)
    times = 86_400 * np.arange(1, n + 1)
    return Rounds.from_columns(
        2 * np.arange(n + 1), player.ravel(), lo.ravel(), hi.ravel(), times, points=points.ravel()
    )


def better_places(rng: np.random.Generator, rounds: Rounds) -> list[tuple[int, int, int]]:
    """Trials: a round of the first half, one of its players, and a better place, from 0."""
    trials: list[tuple[int, int, int]] = []
    while len(trials) < TRIALS:
        at = int(rng.integers(0, len(rounds) // 2))
        one = rounds.part(at, at + 1)
        row = int(rng.integers(1, one.n_rows))
        if one.lo[row] > 0:
            trials.append((at, int(one.player[row]), int(rng.integers(0, one.lo[row]))))
    return trials


def losses(
    name: str, params: Any, rounds: Rounds, at: int, player: int, place: int,
    resets: Mapping[int, Reset] = MappingProxyType({}),
) -> Any:  # fmt: skip
    """The decrease of each later rating by a better place in round ``at``; negative for an increase."""
    before = int(np.count_nonzero(rounds.player[: rounds.offsets[at]] == player))

    def stand(n: int, round: Rounds, mu: float) -> Rounds:
        return move(round, player, place) if n == before else round

    n_players = int(rounds.player.max()) + 1
    honest, better = other_self(SYSTEMS[name], params, rounds, n_players, player, stand, resets=resets)
    return (honest - better)[before:]


def _incentives(context: ExperimentContext) -> Iterator[Part]:
    rng = np.random.default_rng(context.seed)
    rounds = league(rng)
    in_league, in_duels = (rounds, better_places(rng, rounds)), (games := duels(rng), better_places(rng, games))
    by_proof = {"elo-mmr": "never", "elo-mmx": "never", "elo-mms": "never", "topcoder": "may", "glicko2": "may"}
    by_proof |= dict.fromkeys(_SHARING, "may")
    seasons = {f"{name}, resets": name for name, proved in by_proof.items() if proved == "never"}
    by_proof |= dict.fromkeys(seasons, "never")
    rows: list[tuple[Any, ...]] = []
    cases = [(name, name, SYSTEMS[name].params(), *in_league) for name in of_contests()]
    cases += [
        (label, "elo-mms", SYSTEMS["elo-mms"].params(**settings), *in_league) for label, settings in _SHARING.items()
    ]
    cases += [
        (f"{name}, games, {kind}", name, system.params(margin=kind), *in_duels)
        for name, system in SYSTEMS.items()
        for kind in (("log", "log_lead") if system.margins else ())
    ]
    cases += [(label, name, SYSTEMS[name].params(), *in_league) for label, name in seasons.items()]
    for label, name, params, rounds, trials in cases:
        context.on_step(label)
        unit, resets = float(params.sigma_init) / 350.0 or 1.0, SEASONS if label in seasons else {}
        found = [losses(name, params, rounds, *trial, resets) / unit for trial in trials]
        lowered = sum(bool((one > TOLERANCE).any()) for one in found)
        ratings = sum(int(np.count_nonzero(one > TOLERANCE)) for one in found)
        worst = max(0.0, *(float(one.max()) for one in found))
        rows.append((label, TRIALS, lowered, ratings, worst, by_proof.get(label)))
    headings = ("system", "better places", "with a later loss", "lower ratings", "largest loss, points", "proved")
    figure, axes = new_figure(7.5, 3.8)
    bars = [row for row in rows if row[2] or row[0] in SYSTEMS][::-1]  # not all games without a loss
    axes.barh([row[0] for row in bars], [row[4] for row in bars], color=SERIES[0])
    axes.set_xlabel("largest decrease of a later rating after a better place, rating points")
    axes.set_xlim(0.0, max(1.0, 1.1 * max(row[4] for row in rows)))
    yield Table.of_rows("trials", "Better places, and the ratings after them", headings, rows, 3)
    yield Picture.of("worst", "Largest decrease after a better place", figure)
    lowering = (f"{row[2]} of {TRIALS} times with {row[0]} ({row[4]:,.3g} points at most)" for row in rows if row[2])
    proved = [row for row in rows if row[5] == "never"]
    yield (
        f"Found: a better place lowers a later rating {listed(lowering, 'with no system')}. Where it is proved that it "
        f"never does, it does {sum(row[2] for row in proved)} times in {TRIALS * len(proved)}."
    )


EXPERIMENTS = (
    Experiment(
        "incentives",
        "Whether a better place ever lowers a later rating",
        "Theorem 5.5 (incentive alignment) of Ebtekar and Liu, arXiv:2101.00400",
        _incentives,
        [
            f"In a simulated league of {PLAYERS} players and {ROUNDS} rounds, one player gets a better place in one "
            "round. The order of the other players, all other results, and the beliefs about the others stay as "
            f"they were. The table counts the trials, out of {TRIALS}, in which any later rating is lower than "
            "without the better place. TrueSkill's points are scaled to those of the other systems. The "
            f"rows of games are of {DUELS} games of two with points, where a loser wins by the same margin. In the "
            f"last rows ratings are reset before rounds {listed(map(str, SEASONS), 'none')} of the league."
        ],
    ),
)
