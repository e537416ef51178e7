"""Rows that smooth real histories: a sweep beside a rating pass, all of it, and TrueSkill Through Time on tennis."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from against_peer import CODEFORCES, TENNIS, rate_all
from history import TENNIS_COLUMNS, History, load
from timing import Options, Result, SkippedRow

from ranklake.flows.engines.factory import open_engine
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoothed, Smoother

__all__ = ["smoothing", "smoothing_duels"]

DUELS = 4_000  # matches that the peer is given
PEER_SWEEPS = 10  # as in its authors' article


def smoothing(options: Options) -> Iterator[Result]:
    """All of Codeforces and of tennis, until convergence."""
    for name, columns in ((CODEFORCES, ()), (TENNIS, TENNIS_COLUMNS)):
        path = options.file(name)
        rating, _ = rate_all(path, options.limit, columns)
        history = load(path, options.limit, columns)
        _smooth(_informative(history, 3))  # compiles
        history = _informative(history)
        seconds, smoother = _smooth(history)
        figures = {"sweeps": float(smoother.sweeps), "first": seconds[0], "rating": rating}
        median = float(np.median(seconds[2:]))
        figures["sweep_ratio"], figures["whole_ratio"] = median / rating, sum(seconds) / rating
        what = f"{history}; {smoother.sweeps} sweeps: {figures['whole_ratio']:.1f} rating passes"
        yield Result("smoothing", what, sum(seconds), figures=figures)
        yield Result("smoothing", f"one sweep: {figures['sweep_ratio']:.2f} rating passes", median)


def smoothing_duels(options: Options) -> Iterator[Result]:
    """The first matches of tennis beside TrueSkill Through Time with the same prior, noise and drift."""
    try:
        from trueskillthroughtime import History as Peer
        from trueskillthroughtime import Player
    except ImportError:
        raise SkippedRow("trueskillthroughtime is not installed") from None
    history = _informative(load(options.file(TENNIS), options.least(DUELS), TENNIS_COLUMNS))
    rounds = history.rounds
    params = Smoothing(gamma=0.0)
    _smooth(history, params)
    seconds, smoother = _smooth(history, params)
    ours = smoother.result()
    names = [str(player) for player in rounds.player]
    days = (rounds.time_seconds - rounds.time_seconds.min()) // 86400
    games = [[[names[row]], [names[row + 1]]] for row in rounds.offsets[:-1]]
    began = time.perf_counter()
    players = {
        name: Player(_gaussian(params.mu_init, params.sigma_init), params.beta, params.drift_per_day**0.5)
        for name in set(names)
    }
    peer = Peer(games, times=days.tolist(), priors=players)
    peer.convergence(epsilon=0.5, iterations=PEER_SWEEPS, verbose=False)
    peer_seconds = time.perf_counter() - began
    difference = _differences(history, ours, days, peer.learning_curves())
    what = f"{history}; median difference of a smoothed mean {np.median(difference):.3f} of its deviation"
    figures = {"median": float(np.median(difference)), "p95": float(np.quantile(difference, 0.95))}
    yield Result("smoothing-duels", what, sum(seconds), peer_seconds, figures=figures)


def _gaussian(mu: float, sigma: float) -> object:
    from trueskillthroughtime import Gaussian

    return Gaussian(mu, sigma)


def _differences(history: History, ours: Smoothed, days: np.ndarray, curves: dict[str, list]) -> np.ndarray:
    """|difference of smoothed means| over our deviation, at the last match of each player's day."""
    theirs = {(name, when): belief.mu for name, curve in curves.items() for when, belief in curve}
    at = np.repeat(days, np.diff(history.rounds.offsets))
    last = {
        (str(player), int(day)): row for row, (player, day) in enumerate(zip(history.rounds.player, at, strict=True))
    }
    both = [(row, theirs[key]) for key, row in last.items() if key in theirs]
    rows, mu = np.array([row for row, _ in both]), np.array([mu for _, mu in both])
    return np.abs(ours.smooth_mu[rows] - mu) / ours.smooth_sigma[rows]


def _informative(history: History, limit: int | None = None) -> History:
    rounds = history.rounds if limit is None else history.rounds.part(0, min(limit, len(history.rounds)))
    return History(rounds.keep(rounds.informative | (np.diff(rounds.offsets) == 2)), history.handles)


def _smooth(history: History, params: Smoothing | None = None) -> tuple[list[float], Smoother]:
    """Seconds of each sweep."""
    seconds = []
    with open_engine("threads") as engine:
        began = time.perf_counter()
        smoother = Smoother(params or Smoothing(), history.rounds, len(history.handles), engine.map)
        while not smoother.converged:
            smoother.sweep()
            seconds.append(time.perf_counter() - began)
            began = time.perf_counter()
    return seconds, smoother
