"""Rows that smooth real histories: beside a rating pass, twice as long, and beside TrueSkill Through Time on tennis."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from against_peer import CODEFORCES, TENNIS, rate_all
from history import TENNIS_COLUMNS, History, load, rate_warm
from timing import Options, Result, SkippedRow

from ranklake.flows.engines.factory import open_engine
from ranklake.flows.smoothing.params import params_of
from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.smoothing.params import Smoothing
from ranklake.rating_kernels.smoothing.sweeps import Smoothed, Smoother
from ranklake.rating_kernels.systems.elo_mms import EloMMS

DUELS = 4_000  # matches that the peer is given
MATCHES, LEFT_OUT = 60_000, 1e-7  # matches that are left out a tenth at a time, and the weight of one that is
PEER_SWEEPS = 10  # as in its authors' article


def smoothing(options: Options) -> Iterator[Result]:
    """All of Codeforces and of tennis, until convergence."""
    for name, columns in ((CODEFORCES, ()), (TENNIS, TENNIS_COLUMNS)):
        path = options.file(name)
        rate_all(path, options.limit, columns)  # compiles
        history = load(path, options.limit, columns)
        _smooth(_informative(history, 3))  # compiles
        rate = rate_warm(history)
        began = time.process_time()
        rate(None)
        rating = time.process_time() - began
        history = _informative(history)
        began = time.perf_counter()
        seconds, smoother = _smooth(history, clock=time.process_time)
        wall = time.perf_counter() - began
        figures = {"sweeps": float(smoother.sweeps), "rating_seconds": rating}
        figures |= {"sweep_ratio": float(np.median(seconds[2:])) / rating, "whole_ratio": sum(seconds) / rating}
        passes = f"{figures['whole_ratio']:.1f} rating passes of processor time, a sweep {figures['sweep_ratio']:.2f}"
        what = f"{history}; {smoother.sweeps} sweeps: {passes}"
        yield Result("smoothing", what, wall, figures=figures, case="tennis" if columns else "codeforces")


def smoothing_doubling(options: Options) -> Iterator[Result]:
    """The first rounds of Codeforces with a quarter, half, and all of its participations; the memory of a quarter."""
    history = _informative(load(options.file(CODEFORCES), options.limit, ()))
    _smooth(_informative(history, 3))  # compiles
    rounds, before = history.rounds, 0.0
    for share in (0.25, 0.5, 1.0):
        stop = int(np.searchsorted(rounds.offsets, share * rounds.n_rows))
        part = History(rounds.part(0, stop), history.handles)
        seconds, smoother = _smooth(part, clock=time.process_time)
        each = sum(seconds) / smoother.sweeps / part.rounds.n_rows
        figures = {"sweeps": float(smoother.sweeps), "ns_each": 1e9 * each}
        what = f"{part}; {smoother.sweeps} sweeps, {1e9 * each:.0f} ns of processor time a participation and sweep"
        if before:
            figures["growth"] = sum(seconds) / before
            what += f", {figures['growth']:.2f} times the time of half of it"
        else:
            figures["bytes_each"] = _peak(part)
            what += f", at the peak {figures['bytes_each']:.0f} bytes a participation"
        before = sum(seconds)
        yield Result("smoothing-doubling", what, before, figures=figures, case=f"{share:g}")


def _peak(history: History) -> float:
    """Bytes of memory at the peak of a smoothing, for each participation, beside the input."""
    tracemalloc.start()
    _smooth(history)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / history.rounds.n_rows


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
    ours = {"": smoother.result(), "ranked_": _smooth(history, replace(params, resolution="rank"))[1].result()}
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
    figures, curves = {}, peer.learning_curves()
    for kind, result in ours.items():
        figures |= {f"{kind}{name}": value for name, value in _agreement(history, result, days, curves).items()}
    what = f"{history}; " + ", ".join(f"{name} {value:.4f}" for name, value in figures.items())
    yield Result("smoothing-duels", what, sum(seconds), peer_seconds, figures=figures)


def smoothing_resolution(options: Options) -> Iterator[Result]:
    """Whether cavities of duels contain their own results: tennis, also with a tenth of it left out at a time."""
    history = _informative(load(options.file(TENNIS), options.least(MATCHES), TENNIS_COLUMNS))
    rounds = history.rounds
    tenth = np.random.default_rng(5).integers(0, 10, len(rounds))
    for resolution, duel in (("exact", 1.0), ("exact", 2.0), ("rank", 2.0)):
        params = params_of(EloMMS(duel=duel, resolution=resolution), {})
        seconds, smoother = _smooth(history, params)
        without = np.empty(rounds.n_rows)
        for k in range(10):
            part, rows = replace(rounds, weight=np.where(tenth == k, LEFT_OUT, 1.0)), np.repeat(tenth == k, 2)
            without[rows] = _smooth(History(part, history.handles), params)[1].result().cavity_mu[rows]
        found = {"cavities": smoother.result().cavity_mu, "left_out": without}
        figures = {name: _ordered(rounds, mu) for name, mu in found.items()}
        what = f"{history}; pairs in order: " + ", ".join(f"{name} {value:.2f} %" for name, value in figures.items())
        yield Result("smoothing-resolution", what, sum(seconds), figures=figures, case=f"{resolution}-{duel:g}")


def _ordered(rounds: Rounds, mu: np.ndarray) -> float:
    """Percent of the matches after the first tenth whose winner has the larger mean."""
    winner = rounds.offsets[:-1][len(rounds) // 10 :]
    return 100.0 * float(np.mean(mu[winner] > mu[winner + 1]))


def _gaussian(mu: float, sigma: float) -> object:
    from trueskillthroughtime import Gaussian

    return Gaussian(mu, sigma)


def _agreement(history: History, ours: Smoothed, days: np.ndarray, curves: dict[str, list]) -> dict[str, float]:
    """Correlation of the smoothed means at the last match of each player's day, and ratios of spread and deviation."""
    beliefs = {(name, when): belief for name, curve in curves.items() for when, belief in curve}
    at = np.repeat(days, np.diff(history.rounds.offsets)).tolist()
    last = {(str(player), day): row for row, (player, day) in enumerate(zip(history.rounds.player, at, strict=True))}
    rows = np.array(list(last.values()))
    mu = np.array([beliefs[key].mu for key in last])
    sigma = np.array([beliefs[key].sigma for key in last])
    one, other = (np.argsort(np.argsort(values)) for values in (ours.smooth_mu[rows], mu))
    return {
        "correlation": float(np.corrcoef(ours.smooth_mu[rows], mu)[0, 1]),
        "rank_correlation": float(np.corrcoef(one, other)[0, 1]),
        "spread_ratio": float(ours.smooth_mu[rows].std() / mu.std()),
        "sigma_ratio": float(np.median(ours.smooth_sigma[rows] / sigma)),
    }


def _informative(history: History, limit: int | None = None) -> History:
    rounds = history.rounds if limit is None else history.rounds.part(0, min(limit, len(history.rounds)))
    return History(rounds.keep(rounds.informative | (np.diff(rounds.offsets) == 2)), history.handles)


def _smooth(
    history: History, params: Smoothing | None = None, clock: Callable[[], float] = time.perf_counter
) -> tuple[list[float], Smoother]:
    """Seconds of each sweep."""
    seconds = []
    with open_engine("threads") as engine:
        began = clock()
        smoother = Smoother(params or Smoothing(), history.rounds, len(history.handles), engine.map)
        while not smoother.converged:
            smoother.sweep()
            seconds.append(clock() - began)
            began = clock()
    return seconds, smoother
