"""Rounds of teams: how well the skills of members are found, and whether a better place lowers a later rating."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Rounds, System
from ranklake.rating_kernels.core.ragged import Ragged
from ranklake.rating_kernels.core.standings import Floats

from ...common.configuration.settings import build_params
from ...compilation.compile import compile_kernels
from ...engines.serial import Serial
from ...execution.rounds import rate_rounds
from ...execution.smoothing import smooth_rounds
from ...smoothing.params import params_of
from ..base import Experiment, ExperimentContext, Part, Table
from ..published import Contender
from .incentives import TOLERANCE, other_self

PLAYERS, TRIALS, FEW = 300, 20, 48  # players of the two tables
ALONE, TOGETHER, SIZE = 12, 40, 3  # rounds of individuals, rounds of teams, members of a team
SKILL, NOISE = 300.0, 200.0  # standard deviations
MIXING = (0.0, 0.1, 1.0)
_MEANS = [
    Contender(" ".join([name, *(f"{key}={value}" for key, value in settings.items())]), name, settings)
    for name in ("elo-mmr", "elo-mmx", "elo-mms")
    for settings in ({}, {"credit": "own"})
]
_ALL = [
    *_MEANS,
    Contender("elo-mmr team=best", "elo-mmr", {"team": "best"}),
    Contender("trueskill", "trueskill", {}),
    Contender("bar variant=btfull", "bar", {"variant": "btfull"}),
]
_SECOND = (
    "A team exchanges places with the team before it in one round. The results of all other rounds and the beliefs "
    "about all players outside of the team stay as they were. The table counts the later ratings of the team's members "
    "that are lower than without the better place. The points of TrueSkill and BAR are scaled to those of the other "
    "systems."
)


def league(rng: np.random.Generator, n_players: int, mixing: float) -> tuple[Rounds, Floats]:
    """Rounds of every second player alone, then rounds of teams of all players; and the players' constant skills.

    ``n_players``: a multiple of ``SIZE``.
    ``mixing``: share of the players that exchange their teams before each round.
    """
    skill = rng.normal(1500.0, SKILL, n_players)
    player, lo, lengths, sizes = [], [], [], []
    for _ in range(ALONE):
        veterans = np.arange(0, n_players, 2)
        player.append(veterans[np.argsort(-(skill[veterans] + rng.normal(0.0, NOISE, len(veterans))))])
        lo.append(np.arange(len(veterans)))
        lengths.append(np.ones(len(veterans), dtype=np.int64))
        sizes.append(len(veterans))
    seats = rng.permutation(n_players)
    for _ in range(TOGETHER):
        moving = np.flatnonzero(rng.random(n_players) < mixing)
        seats[moving] = seats[rng.permutation(moving)]
        teams = seats.reshape(-1, SIZE)
        order = np.argsort(-(skill[teams].mean(axis=1) + rng.normal(0.0, NOISE, len(teams))))
        player.append(teams[order].ravel())
        lo.append(np.repeat(np.arange(len(teams)), SIZE))
        lengths.append(np.full(len(teams), SIZE))
        sizes.append(n_players)
    places, times = np.concatenate(lo), 86_400 * np.arange(1, len(sizes) + 1)
    shares = Ragged.from_lengths(np.concatenate(lengths), np.ones(len(places)))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    return Rounds.from_columns(offsets, np.concatenate(player), places, places, times, teams=shares), skill


def later_losses(system: System, params: Any, rounds: Rounds, n_players: int, at: int, team: int) -> Floats:
    """The decrease of each rating of a team's members, from round ``at`` on, by one better place in that round.

    The team exchanges places with the team before it. All its members' beliefs change; those about all other players
    are as they were, as in the theorem about individuals. One entry a participation, negative for an increase.
    """
    members = rounds.part(at, at + 1).player.reshape(-1, SIZE)[team]

    def stand(n: int, round: Rounds, mu: float) -> Rounds:
        if n:
            return round
        teams = round.player.reshape(-1, SIZE).copy()
        teams[[team - 1, team]] = teams[[team, team - 1]]
        return replace(round, player=teams.ravel())

    honest, better = other_self(system, params, rounds, n_players, members, stand, start=at)
    return honest - better


def _teams(context: ExperimentContext) -> list[Part]:
    for name in dict.fromkeys(one.system for one in _ALL):
        compile_kernels(name, np.array([PLAYERS]))
    skills, later = _skills(context), _later(context)
    return [skills, _SECOND, later, _found(skills, later)]


def _found(skills: Table, later: Table) -> str:
    exchanged, system, error = (skills.columns[name] for name in ("exchanged, %", "system", "error of members"))
    errors = {(mixed, label): one for mixed, label, one in zip(exchanged, system, error, strict=True)}
    counts: dict[bool, list[int]] = {True: [], False: []}
    for label, count in zip(later.columns["system"], later.columns["with a later loss"], strict=True):
        counts[label.endswith("credit=own")].append(count)
    joint, own = (f"{sum(of)} of {TRIALS * len(of):,}" for of in (counts[False], counts[True]))
    few, all_of = (errors[100.0 * mixed, "elo-mmr"] for mixed in (MIXING[0], MIXING[-1]))
    return (
        f"Found: if rosters never change, elo-mmr's ratings of members are off by {few:.0f} points, if all players "
        f"exchange, by {all_of:.0f}. A better place lowers a later rating {joint} times with joint credit, {own} times "
        "with own credit."
    )


def _skills(context: ExperimentContext) -> Table:
    rows: list[tuple[Any, ...]] = []
    for mixing in MIXING:
        rounds, skill = league(np.random.default_rng(context.seed), PLAYERS, mixing)
        teams = rounds.part(len(rounds) - 1, len(rounds)).player.reshape(-1, SIZE)
        for label, name, settings, _ in _MEANS:
            context.on_step(f"{100 * mixing:g} % exchanged: {label}")
            system = SYSTEMS[name]
            params = build_params(system, settings)
            beliefs = system.newcomers(params, PLAYERS)
            rate_rounds(system, params, beliefs, rounds, Serial())
            error = beliefs.mu - skill
            error -= error.mean()  # the level of all ratings is not determined
            of_teams = error[teams].mean(axis=1)
            sigma = float(np.sqrt(np.square(beliefs.sigma).mean()))
            mu, of_mu = _smoothed(params, rounds)
            smoothed = float(np.std(mu - skill)), float(np.sqrt(np.square(of_mu).mean()))
            rows.append((100 * mixing, label, float(error.std()), sigma, *smoothed, float(of_teams.std())))
    headings = (
        "exchanged, %", "system", "error of members", "their sigma", "smoothed error", "smoothed sigma",
        "error of teams",
    )  # fmt: skip
    caption = f"Ratings of {PLAYERS} players against their skills, points"
    return Table.of_rows("skills", caption, headings, rows, 1)


def _smoothed(system_params: Any, rounds: Rounds) -> tuple[Floats, Floats]:
    """The smoothed skill of each player at its last round, and its deviation."""
    result = smooth_rounds(params_of(system_params, {}), rounds, PLAYERS, Serial()).result()
    last = rounds.n_rows - 1 - np.unique(rounds.player[::-1], return_index=True)[1]
    return result.smooth_mu[last], result.smooth_sigma[last]


def _later(context: ExperimentContext) -> Table:
    rows: list[tuple[Any, ...]] = []
    for mixing in MIXING:
        rng = np.random.default_rng(context.seed)
        rounds, _ = league(rng, FEW, mixing)
        at, team = ALONE + rng.integers(0, TOGETHER // 2, TRIALS), rng.integers(1, FEW // SIZE, TRIALS)
        trials = list(zip(at.tolist(), team.tolist(), strict=True))
        for label, name, settings, _ in _ALL:
            context.on_step(f"{100 * mixing:g} % exchanged, later ratings: {label}")
            system = SYSTEMS[name]
            params = build_params(system, settings)
            unit = params.sigma_init / 350.0
            found = [later_losses(system, params, rounds, FEW, *trial) / unit for trial in trials]
            losses = np.concatenate(found)
            lower = losses > TOLERANCE
            count = sum(bool((one > TOLERANCE).any()) for one in found)
            worst = max(0.0, float(losses.max()))
            rows.append((100 * mixing, label, TRIALS, count, 100.0 * float(lower.mean()), worst))
    headings = ("exchanged, %", "system", "better places", "with a later loss", "lower, %", "largest loss, points")
    caption = "Better places, and the ratings of the members after them"
    return Table.of_rows("later", caption, headings, rows, {"lower, %": 2})


EXPERIMENTS = (
    Experiment(
        "teams",
        "Teams: skills of members, and whether a better place lowers a later rating",
        "The challenge of teams in Ebtekar and Liu, arXiv:2101.00400, section 7; the model is ours",
        _teams,
        [
            f"Every second player has {ALONE} rounds alone, then all players have {TOGETHER} rounds in teams of "
            f"{SIZE}. Skills are constant with a standard deviation of {SKILL:.0f}; a team performs around the mean "
            f"skill of its members with {NOISE:.0f}. Before each round a share of the players exchange their teams. "
            "If rosters never change, results say nothing about the differences between partners. The beliefs have "
            "no correlations between partners, so sigma falls at the same rate for all rosters. Smoothed skills are "
            "those at the last round, given all rounds."
        ],
    ),
)
