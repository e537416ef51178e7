"""Answers to the golden vectors of margins (system ``margins``): games rated by Elo, with points and advantages.

A game is ``[a, b, points of a, points of b, advantage of a]``.
"""

from __future__ import annotations

from typing import Any

from golden.runner import Answers, Vector, check_names
from helpers.margins import rounds_of_games
from twins.margins import EloTwin, Rule

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS
from ranklake.rating_kernels.core.margins import factor_of_game, margin_rule
from ranklake.rating_kernels.systems.elo import Elo

_RULE = ("margin", "margin_unit", "margin_cap", "margin_slope")


def twin(vector: Vector) -> Answers:
    """What the twin in decimals answers."""
    params = _params_of(vector)
    one = EloTwin(Rule(**{name: value for name, value in params.items() if name in _RULE}), params["k"])
    return [
        {at: {"a": a, "b": b, **_floats(one.play(a, b, *game))} for at, (a, b, *game) in enumerate(contest["games"])}
        for contest in vector["contests"]
    ]


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers, all games of a contest in one call; with ``step_by_step`` in one call each."""
    system, params = SYSTEMS["elo"], Elo(**_params_of(vector))
    names = sorted({name for contest in vector["contests"] for a, b, *_ in contest["games"] for name in (a, b)})
    beliefs, answers = system.newcomers(params, len(names)), []
    for contest in vector["contests"]:
        games = [(names.index(a), names.index(b), *game) for a, b, *game in contest["games"]]
        parts = [[game] for game in games] if step_by_step else [games]
        outcomes = [rate_rounds(system, params, beliefs, rounds_of_games(part), Serial()) for part in parts]
        rated = [(one.mu_prior[i : i + 2], one.mu[i : i + 2]) for one in outcomes for i in range(0, len(one.mu), 2)]
        answers.append(
            {
                at: {"a": a, "b": b, **_answer(system, params, game, *rows)}
                for at, ((a, b, *game), rows) in enumerate(zip(contest["games"], rated, strict=True))
            }
        )
    return answers


def _answer(system: Any, params: Elo, game: Any, before: Any, after: Any) -> dict[str, float]:
    """The numbers of one rated game, whose rows are those of the winner first."""
    points, other, advantage = game
    order = slice(None, None, -1 if points < other else 1)
    (one, two), (mu_a, mu_b) = before[order].tolist(), after[order].tolist()
    lead, score = one - two + advantage, 0.5 + 0.5 * ((points > other) - (points < other))
    expected = 1.0 / (1.0 + 10.0 ** (-lead / params.n))
    factor = factor_of_game(margin_rule(params), float(points - other), score, lead)
    return {"margin_factor": factor, "expected_a": expected, "mu_a": mu_a, "mu_b": mu_b}


def _params_of(vector: Vector) -> dict[str, Any]:
    check_names(vector, {*_RULE, "k"}, {"games"})
    return dict(vector["params"])


def _floats(numbers: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in numbers.items()}
