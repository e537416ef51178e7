"""Conversion between the histories of :mod:`strategies` and the kernels' arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from helpers.strategies import POOL, Belief, Contest

from ranklake.flows.engines.protocols import Engine
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Rounds, System
from ranklake.rating_kernels.core.learning import Tally
from ranklake.rating_kernels.core.ragged import Ragged

SYSTEM = SYSTEMS["elo-mmr"]
C3 = math.pi / math.sqrt(3.0)


def to_rounds(contests: Iterable[Contest], rows: Mapping[Any, int] | None = None) -> Rounds:
    """Rounds of the contests' standings; ``rows`` numbers the players, by default :data:`strategies.POOL` in order."""
    rows = {name: row for row, name in enumerate(POOL)} if rows is None else rows
    contests = list(contests)
    player, lo, hi = zip(*(row for c in contests for row in c.standings), strict=True)
    return Rounds.from_columns(
        np.cumsum([0, *(len(c.standings) for c in contests)]),
        [rows[name] for name in player],
        lo,
        hi,
        [c.time for c in contests],
        [c.weight for c in contests],
        [c.perf_ceiling for c in contests],
    )


def ladder(*sizes: int, weight: float = 1.0, perf_ceiling: float = math.inf) -> Rounds:
    """One round of players 0, 1, 2, ... in tie groups of these sizes, best first."""
    ends = np.cumsum(sizes)
    lo, hi = np.repeat(ends - sizes, sizes), np.repeat(ends - 1, sizes)
    return Rounds.from_columns([0, ends[-1]], np.arange(ends[-1]), lo, hi, [0], [weight], [perf_ceiling])


def four_steps(
    system: System, params: Any, beliefs: Beliefs, round: Rounds, performances: Sequence[float] | None = None
) -> Outcome:
    """One round of any size in four steps, like a large one; given ``performances`` replace the computed ones."""
    n = round.n_rows
    outcome = Outcome.empty(n)
    prior, summary = outcome.prior, None
    system.prior(params, beliefs, round, 0, n, prior)
    beliefs.reserve(round.player)
    if performances is None:
        summary = system.summarise(params, prior, round, Serial().map)
        system.perform(params, summary, 0, len(summary.first) - 1, outcome.perf)
    else:
        capped = getattr(params, "ceiling_gaussian", True)  # without such a parameter a ceiling always holds
        outcome.perf[:] = np.minimum(performances, round.perf_ceiling[0]) if capped else performances
    tally = Tally(system.learning, params, beliefs, round, prior)
    tally.add(0, n, outcome.perf)
    system.absorb(params, beliefs, round, prior, summary, 0, n, outcome)
    tally.close()
    return outcome


def show(params: Any, beliefs: Beliefs, row: int, *performances: float, time: int = 0) -> None:
    """Rounds with ``row`` as the only participant, with these performances."""
    for performance in performances:
        round = Rounds.from_columns([0, 1], [row], [0], [0], [time])
        four_steps(SYSTEM, params, beliefs, round, [performance])


def set_ratings(system: System, params: Any, beliefs: Beliefs, rows: Any, mu: Any, sigma: Any, n_rounds: Any) -> None:
    """Set the ratings of ``rows``: no history, and rounds at unknown times."""
    beliefs.mu[rows], beliefs.sigma[rows], beliefs.n_rounds[rows] = mu, sigma, n_rounds
    for name, column in system.state(params, beliefs.mu[rows], beliefs.sigma[rows]).items():
        beliefs.state[name][rows] = column


def players_at(system: System, params: Any, mu: Any, sigma: Any = 0.0, n_rounds: Any = 5) -> Beliefs:
    """A store of players 0, 1, 2, ... with these ratings; no history."""
    beliefs = system.newcomers(params, len(mu))
    set_ratings(system, params, beliefs, np.arange(len(mu)), np.asarray(mu, float), np.asarray(sigma, float), n_rounds)
    return beliefs


def store_of(params: Any, people: Mapping[str, Belief], pool: Sequence[Any] = POOL) -> Beliefs:
    """A store with a row for each of ``pool``, with the beliefs ``people``."""
    beliefs = SYSTEM.newcomers(params, len(pool))
    for row, name in enumerate(pool):
        if name in people:
            known = people[name]
            set_ratings(SYSTEM, params, beliefs, [row], known.mu, known.sigma, known.n)
            show(params, beliefs, row, *known.performances)
    return beliefs


def rate(
    params: Any, contests: Iterable[Contest], people: Mapping[str, Belief] | None = None, engine: Engine | None = None
) -> tuple[Beliefs, Outcome]:
    """A history over :data:`strategies.POOL`: final beliefs, and the outcome of all participations."""
    beliefs = store_of(params, people or {})
    return beliefs, rate_rounds(SYSTEM, params, beliefs, to_rounds(contests), engine or Serial())


def store(
    params: Any, mu: float, sigma: float, normal_mu: float, normal_share: float, past: Sequence[tuple[float, float]]
) -> Beliefs:
    """One player with logistic factors ``(performance, beta)`` that share 1 / sigma^2 minus the normal factor's
    weight."""
    beliefs = SYSTEM.newcomers(params, 1)
    set_ratings(SYSTEM, params, beliefs, [0], mu, sigma, len(past))
    weight = (1.0 - normal_share) / sigma**2 / max(len(past), 1)
    offsets = np.array([0, len(past)])
    columns: dict[str, Any] = beliefs.columns()
    columns |= {"normal_mu": np.array([normal_mu]), "normal_weight": np.array([normal_share / sigma**2])}
    steep = [0.5 * C3**2 * weight / math.cosh((mu - p) * C3 / (2 * beta)) ** 2 for p, beta in past]
    columns["slope"] = columns["normal_weight"] + math.fsum(steep)  # of the pull at mu, from which searches set out
    columns["history_perf"] = Ragged(offsets, np.array([p for p, _ in past]))
    columns["history_force"] = Ragged(offsets, np.array([weight * beta * C3 for _, beta in past]))
    columns["history_inverse_width"] = Ragged(offsets, np.array([0.5 * C3 / beta for _, beta in past]))
    beliefs.restore(columns)
    return beliefs


def factors(beliefs: Beliefs, row: int = 0) -> list[list[float]]:
    """A player's logistic factors, oldest first: [performance, weight]."""
    if beliefs.history is None:
        return []
    parts = beliefs.history.ragged()
    start, stop = parts["perf"][0][row : row + 2]
    shown, force, inverse_width = (parts[name][1][start:stop] for name in ("perf", "force", "inverse_width"))
    weights = beliefs.state["shrink"][row] * force * inverse_width * 2 / C3**2  # force = w beta^2 / b, b = beta / C3
    return [list(factor) for factor in zip(shown.tolist(), weights.tolist(), strict=True)]


def pull(beliefs: Beliefs, x: float, row: int = 0) -> tuple[float, float]:
    """Minus the slope of the log-belief at ``x``, and the sum of its parts' sizes; the slope is 0 at the mode."""
    state, parts = beliefs.state, beliefs.history.ragged()
    span = slice(*parts["perf"][0][row : row + 2])
    z = (x - parts["perf"][1][span]) * parts["inverse_width"][1][span]
    pulls = [float(state["normal_weight"][row] * (x - state["normal_mu"][row]))]
    pulls += (state["shrink"][row] * parts["force"][1][span] * np.tanh(z)).tolist()
    return math.fsum(pulls), math.fsum(map(abs, pulls))


def same_bits(one: Any, other: Any) -> bool:
    """Whether two stores, outcomes or arrays hold the same numbers to the bit; NaN equals itself."""
    if isinstance(one, Beliefs):
        a, b = one.columns(), other.columns()
        return a.keys() == b.keys() and all(same_bits(a[name], b[name]) for name in a)
    if isinstance(one, Outcome):
        return all(same_bits(getattr(one, name), getattr(other, name)) for name in Outcome._fields)
    if isinstance(one, tuple):
        return all(same_bits(a, b) for a, b in zip(one, other, strict=True))
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()
