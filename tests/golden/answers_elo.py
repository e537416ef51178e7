"""Answers to the golden vectors of Elo (system ``elo``): lists of games, each rated from what the one before left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from golden.runner import ABOUT, Answers, Vector, known
from helpers.histories import four_steps, set_ratings
from twins.elo import Twin

from ranklake.flows.engines.serial import Serial
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds
from ranklake.rating_kernels.systems.elo import Elo
from ranklake.rating_kernels.systems.elo_games import rate_games
from ranklake.rating_kernels.systems.federations.world_football import IMPORTANCE

SYSTEM = SYSTEMS["elo"]
_ELO = {"initial": "mu_init"} | {name: name for name in ("n", "k", "k_rule", "cdf", "round_digits", "round_what")}


def params_of(vector: Vector) -> dict[str, Any]:
    """The vector's hyperparameters in our spelling, without ``initial_ratings``; unknown names raise."""
    known("key", vector, ABOUT | {"printed_expected_a"})
    known("parameter", vector["params"], {*_ELO, "initial_ratings"})
    for contest in vector["contests"]:
        known("contest key", contest, {"games", "time"})
    return {_ELO[name]: value for name, value in vector["params"].items() if name in _ELO}


def twin(vector: Vector) -> Answers:
    """What the plain-Python twin answers."""
    params_of(vector)
    one = Twin(**vector["params"])
    return [
        {
            at: {"a": a, "b": b, **{name: getattr(game, name) for name in ("expected_a", "expected_b", "mu_a", "mu_b")}}
            for at, (a, b, game) in enumerate((a, b, one.play(a, b, score, k=k)) for a, b, score, k in _games(contest))
        }
        for contest in vector["contests"]
    ]


def package(vector: Vector, step_by_step: bool = False) -> Answers:
    """What the package answers to lists of games; with ``step_by_step`` each game is a round of two in four steps."""
    params = SYSTEM.params(**params_of(vector))
    ratings = vector["params"].get("initial_ratings", {})
    names = sorted({name for contest in vector["contests"] for a, b, *_ in contest["games"] for name in (a, b)})
    names += [name for name in ratings if name not in names]
    rows = {name: row for row, name in enumerate(names)}
    beliefs = SYSTEM.newcomers(params, len(names))
    for name, mu in ratings.items():
        set_ratings(SYSTEM, params, beliefs, [rows[name]], mu, 0.0, 0)
    play = _play_round if step_by_step else _play
    return [
        {
            at: {"a": a, "b": b, **play(params, beliefs, rows[a], rows[b], score, k)}
            for at, (a, b, score, k) in enumerate(_games(contest))
        }
        for contest in vector["contests"]
    ]


def _games(contest: Vector) -> Iterator[tuple[str, str, float, float | None]]:
    """Players, score and K of each game; the fourth entry, where there is one, is K's name in the table."""
    for a, b, score, *importance in contest["games"]:
        known("importance", map(str, importance), IMPORTANCE)
        yield a, b, score, IMPORTANCE[importance[0]] if importance else None


def _play(params: Elo, beliefs: Beliefs, a: int, b: int, score: float, k: float | None) -> dict[str, float]:
    games = rate_games(params, beliefs, [a], [b], [score], k)
    return {name: float(getattr(games, name)[0]) for name in ("expected_a", "expected_b", "mu_a", "mu_b")}


def _play_round(params: Elo, beliefs: Beliefs, a: int, b: int, score: float, k: float | None) -> dict[str, float]:
    if k is not None or score not in (0, 0.5, 1):
        raise ValueError(f"a round of two has no K of its own and is won, tied or lost; got K {k}, score {score}")
    players = [a, b] if score else [b, a]
    lo, hi = ([0, 0], [1, 1]) if score == 0.5 else ([0, 1], [0, 1])
    round = Rounds.from_columns([0, 2], players, lo, hi)
    before = Outcome.empty(2).prior
    SYSTEM.prior(params, beliefs, round, 0, 2, before)
    below = SYSTEM.summarise(params, before, round, Serial().map).below
    four_steps(SYSTEM, params, beliefs, round)
    expected = dict(zip(players, below.tolist(), strict=True))
    return {
        "expected_a": expected[a],
        "expected_b": expected[b],
        "mu_a": float(beliefs.mu[a]),
        "mu_b": float(beliefs.mu[b]),
    }
