"""How fast ratings approach the known skills of simulated players."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ranklake.rating_kernels import SYSTEMS, Rounds
from ranklake.rating_kernels.core.standings import Floats
from ranklake.rating_kernels.metrics.metrics import keep, score
from ranklake.rating_kernels.registry import of_contests

from ...compilation.compile import compile_kernels
from ...engines.threads import Threads
from ...execution.rounds import rate_rounds
from ...plotting.figures import SERIES, log_scale, new_figure
from ..base import Experiment, ExperimentContext, Part, Picture, Table
from ..findings import span

PLAYERS, ROUNDS = 2_500, 50
SKILL, NOISE, DRIFT = 300.0, 200.0, 35.0  # standard deviations of the paper's synthetic history
_ROUNDS_SHOWN = (1, 2, 5, 10, 20, 50)
_SHOWN = ("elo-mmr", "elo-mmx", "elo-mms", "elo-r", "codeforces", "topcoder", "trueskill", "elo-srm", "elo", "bar")


def league(seed: int, n_players: int, n_rounds: int, drift: float) -> tuple[Rounds, Floats]:
    """A history in which all players take part in all rounds, and their skills, ``[round, player]``."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(1500.0, SKILL, n_players)
    skills, orders = np.empty((n_rounds, n_players)), np.empty((n_rounds, n_players), dtype=np.int32)
    for i in range(n_rounds):
        skill = skill + rng.normal(0.0, drift, n_players) if i else skill
        skills[i] = skill
        orders[i] = np.argsort(-(skill + rng.normal(0.0, NOISE, n_players)))
    places = np.tile(np.arange(n_players), n_rounds)
    offsets = n_players * np.arange(n_rounds + 1)
    return Rounds.from_columns(offsets, orders.ravel(), places, places, 86_400 * np.arange(1, n_rounds + 1)), skills


def _convergence(context: ExperimentContext) -> Iterator[Part]:
    for drift, scenario in ((DRIFT, "skills drift by 35 points a round"), (0.0, "skills are constant")):
        rounds, skills = league(context.seed, PLAYERS, ROUNDS, drift)
        order, error, sigma = {}, {}, {}
        for name in of_contests():
            context.on_step(f"{scenario}: {name}")
            order[name], error[name], sigma[name] = _course(name, rounds, skills)
        slug = "drifting" if drift else "constant"
        yield Picture.of(slug, scenario[0].upper() + scenario[1:], _figure(order, error))
        for values, what, digits in ((order, "pairs ordered correctly, %", 2), (error, "error, points", 1)):
            columns: dict[str, Any] = {"system": list(values)}
            columns |= {f"after {n}": [float(course[n - 1]) for course in values.values()] for n in _ROUNDS_SHOWN}
            yield Table(f"{slug}-{what.partition(',')[0].replace(' ', '-')}", f"{scenario}: {what}", columns, digits)
        limits = [SYSTEMS[name].sigma_limit(SYSTEMS[name].params()) for name in sigma]
        uncertainty: dict[str, list[Any]] = {
            "system": list(sigma),
            "sigma at the end, mean": [float(value) for value in sigma.values()],
            "its limit": [limit or None for limit in limits],
        }
        yield Table(f"{slug}-sigma", f"{scenario}: uncertainty", uncertainty, 2)
        first, last = ({name: float(course[n - 1]) for name, course in order.items()} for n in (5, ROUNDS))
        yield (
            f"Found: where {scenario}, the pairs ordered correctly after {ROUNDS} rounds are {span(last, 1, ' %')}; "
            f"after 5 rounds, {span(first, 1, ' %')}."
        )


def _course(name: str, rounds: Rounds, skills: Floats) -> tuple[Floats, Floats, float]:
    """After each round, percent of correctly ordered pairs and error of a linear fit; and the mean sigma at the end."""
    system = SYSTEMS[name]
    params = system.params()
    n_players = skills.shape[1]
    beliefs = system.newcomers(params, n_players)
    order, error = np.empty(len(rounds)), np.empty(len(rounds))
    compile_kernels(name, np.diff(rounds.offsets))
    with Threads() as engine:
        for i in range(len(rounds)):
            rate_rounds(system, params, beliefs, rounds.part(i, i + 1), engine)
            order[i] = _ordered(beliefs.mu, skills[i])
            error[i] = _error(beliefs.mu, skills[i])
    return order, error, float(beliefs.sigma.mean())


def _ordered(mu: Floats, skill: Floats) -> float:
    """Percent of pairs whose ratings are in the order of their skills; equal ratings count half."""
    rows = np.argsort(-skill)
    n = len(mu)
    places = np.arange(n, dtype=np.int32)
    kept = keep(np.array([0, n]), places, np.ones(n, dtype=bool))
    return float(score(kept, mu[rows].copy(), probabilities=False).pair_inversion_equal_half.mean())


def _error(mu: Floats, skill: Floats) -> float:
    if np.ptp(mu) == 0.0:
        return float(skill.std())
    correlation = float(np.corrcoef(mu, skill)[0, 1])
    return float(skill.std()) * float(np.sqrt(max(1.0 - correlation**2, 0.0)))


def _figure(order: dict[str, Floats], error: dict[str, Floats]) -> Any:
    figure, (left, right) = new_figure(10.5, 4.4, columns=2)
    x = np.arange(1, ROUNDS + 1)
    for name, colour in zip(_SHOWN, SERIES, strict=False):
        left.plot(x, order[name], color=colour, label=name, linewidth=1.2)
        right.plot(x, error[name], color=colour, linewidth=1.2)
    left.set_title("pairs ordered correctly, %")
    right.set_title("error of ratings, points of skill")
    for axes in (left, right):
        axes.set_xlabel("rounds")
        log_scale(axes, "x")
    left.legend(loc="lower right", ncols=2, fontsize="small")
    return figure


EXPERIMENTS = (
    Experiment(
        "convergence",
        "Convergence of ratings to known skills",
        "The synthetic history of Ebtekar and Liu, arXiv:2101.00400, section 6.2, with its true skills",
        _convergence,
        [
            f"{PLAYERS:,} players with normal skills (sd {SKILL:.0f}) play {ROUNDS} rounds with normal performances "
            f"(sd {NOISE:.0f}): the paper's synthetic history, with known skills. The share of correctly ordered pairs "
            "does not depend on a system's scale. The error is the residual of a linear fit of the skills to the "
            "ratings."
        ],
    ),
)
