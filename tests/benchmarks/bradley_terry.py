"""Static Bradley-Terry: merging, fit and covariance, beside evalica and arena-rank where they are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from timing import Options, Result, best_of

from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels.bradley_terry.comparisons import Comparisons, merged
from ranklake.rating_kernels.bradley_terry.covariance import covariance
from ranklake.rating_kernels.bradley_terry.fit import Fit, fit
from ranklake.rating_kernels.bradley_terry.params import UNIT, BradleyTerry

SEED, TIES, NEAR = 20261127, 0.2, 1e-3  # of ratings in points


class Case(NamedTuple):
    """Votes to be drawn, and the seconds within which merging, fit and covariance together must end."""

    votes: int
    players: int
    covariates: int
    continuous: bool
    seconds: float


CASES = {
    "votes of 60 models": Case(140_000, 60, 0, True, 0.2),
    "2,000 players": Case(2_000_000, 2000, 0, True, 5.0),
    "five covariates": Case(10_000_000, 300, 5, True, 5.0),
    "five covariates of few values": Case(10_000_000, 300, 5, False, 5.0),
}


def bradley_terry(options: Options) -> Iterator[Result]:
    """One fit of each case on all cores, and the first one beside other programs."""
    for name, case in CASES.items():
        votes = _votes(case, options.smaller(case.votes))
        params = BradleyTerry(covariates=tuple(f"x{k}" for k in range(case.covariates)))
        with Threads() as engine:
            run = _fitting(votes, case.players, params, engine.map)
            run()  # loads kernels
            seconds, (found, rows) = best_of(options.repeats(3), lambda _, run=run: run())
        what = f"{len(votes.first):,} votes, {case.players:,} players, {case.covariates} covariates: merged to {rows:,}"
        what += f" rows, {found.iterations} iterations, covariance"
        targets = {f"within {case.seconds:g} s: {seconds:.2f} s": seconds <= case.seconds}
        yield Result("bradley-terry", what, seconds, targets=targets, case=name)
    case = CASES["votes of 60 models"]
    votes = _votes(case, options.smaller(case.votes))
    free = BradleyTerry(mu_init=1000.0, ridge=np.inf)
    with Threads(1) as engine:
        run = _fitting(votes, case.players, free, engine.map)
        run()
        ours, (found, _) = best_of(options.repeats(5), lambda _: run())
    for package, ask in {"evalica": _evalica, "arena_rank": _arena_rank}.items():
        if importlib.util.find_spec(package) is None:
            continue
        theirs, ratings = best_of(options.repeats(3), ask(votes, case.players))
        difference = float(np.max(np.abs(UNIT * found.theta - (ratings - ratings.mean()))))
        targets = {f"ratings within {NEAR:g}: {difference:.1e}": difference <= NEAR}
        what = f"{len(votes.first):,} votes of {case.players} players by {package}; one thread of ours"
        yield Result("bradley-terry", what, ours, theirs, difference, targets, case=package)


def _fitting(votes: Comparisons, n: int, params: BradleyTerry, map: Any) -> Callable[[], tuple[Fit, int]]:
    def run() -> tuple[Fit, int]:
        rows = merged(votes, map=map)
        found = fit(rows, n, params, map=map)
        assert np.isfinite(covariance(found, rows, params, map=map).sigma).all()
        return found, len(rows.first)

    return run


def _votes(case: Case, m: int) -> Comparisons:
    """Results of known strengths; a fifth of them ties."""
    random, n, c = np.random.default_rng(SEED), case.players, case.covariates
    first = random.integers(0, n, m).astype(np.int32)
    second = ((first + random.integers(1, n, m)) % n).astype(np.int32)
    x = random.standard_normal((m, c)) if case.continuous else random.integers(-1, 2, (m, c)).astype(np.float64)
    lead = np.linspace(-2.0, 2.0, n)[first] - np.linspace(-2.0, 2.0, n)[second] + x @ np.linspace(0.1, 0.5, c)
    result = np.where(random.random(m) < TIES, 0.5, random.random(m) < 1.0 / (1.0 + np.exp(-lead)))
    return Comparisons.of(first, second, result, x)


def _evalica(votes: Comparisons, n: int) -> Callable[[Any], np.ndarray]:
    """Bradley-Terry by minorisation; its ratings are shares of a sum, without a covariance."""
    import evalica

    winner = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    first, second = votes.first.tolist(), votes.second.tolist()
    winners = [winner[y] for y in votes.result.tolist()]

    def ask(_: Any) -> np.ndarray:
        found = evalica.bradley_terry(first, second, winners, tolerance=1e-10, limit=10_000)
        return UNIT * np.log(found.scores.sort_index().to_numpy())

    return ask


def _arena_rank(votes: Comparisons, n: int) -> Callable[[Any], np.ndarray]:
    """L-BFGS and the sandwich, without the Hessian's own ridge and to the end of double precision."""
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry as Theirs
    from arena_rank.utils.data_utils import PairDataset

    names = {1.0: "model_a", 0.5: "tie", 0.0: "model_b"}
    frame = pd.DataFrame({"model_a": votes.first, "model_b": votes.second})
    frame["winner"] = [names[y] for y in votes.result.tolist()]

    def ask(_: Any) -> np.ndarray:
        model = Theirs(n, hessian_reg=1e-12, ftol=1e-15, gtol=1e-15)
        return np.asarray(model.compute_ratings_and_cis(PairDataset.from_pandas(frame))["ratings"])

    return ask
