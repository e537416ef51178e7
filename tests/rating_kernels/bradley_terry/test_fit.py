"""Laws of fits of the Bradley-Terry model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels import ConvergenceError
from ranklake.rating_kernels.bradley_terry import fit as fitting
from ranklake.rating_kernels.bradley_terry.comparisons import Comparisons, CovariateError, merged
from ranklake.rating_kernels.bradley_terry.covariance import covariance
from ranklake.rating_kernels.bradley_terry.fit import LARGEST, Fit, TiesError, fit
from ranklake.rating_kernels.bradley_terry.graph import UnbeatenError
from ranklake.rating_kernels.bradley_terry.params import UNIT, BradleyTerry

PLAYERS, ROWS = 12, 400
PLAIN, TIED = BradleyTerry(covariates=("x",)), BradleyTerry(covariates=("x",), ties="davidson")
FREE = BradleyTerry(ridge=math.inf, covariates=("x",), covariate_sd=math.inf)
SKILLS = np.linspace(-1.0, 1.0, PLAYERS)
SLOPE = 0.4


def games(seed: int, m: int = ROWS, ties: float = 0.3, values: int = 3) -> Comparisons:
    """Results drawn from the model with one covariate; some are ties."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, PLAYERS, m)
    second = (first + rng.integers(1, PLAYERS, m)) % PLAYERS
    x = rng.integers(-values, values + 1, (m, 1)) / values
    won = rng.random(m) < 1.0 / (1.0 + np.exp(-(SKILLS[first] - SKILLS[second] + SLOPE * x[:, 0])))
    result = np.where(rng.random(m) < ties, 0.5, won)
    return Comparisons.of(first, second, result, x, rng.integers(1, 3, m))


def swapped(rows: Comparisons, at: np.ndarray) -> Comparisons:
    """The same rows, some with their players exchanged."""
    return Comparisons(
        np.where(at, rows.second, rows.first), np.where(at, rows.first, rows.second),
        np.where(at[:, None], -rows.x, rows.x), np.where(at, 1.0 - rows.result, rows.result), rows.weight,
        np.where(at, -rows.offset, rows.offset), rows.count,
    )  # fmt: skip


def of(pairs: str, results: list[float]) -> Comparisons:
    """Games such as "ab bc" between players a, b, c, ..."""
    first, second = (np.array([ord(pair[side]) - ord("a") for pair in pairs.split()], np.int32) for side in (0, 1))
    return Comparisons.of(first, second, np.array(results))


def bits(found: Fit) -> tuple[bytes, bytes, float | None]:
    return found.theta.tobytes(), found.gamma.tobytes(), found.nu


@pytest.mark.parametrize("params", [PLAIN, TIED, FREE])
def test_fit__has_a_gradient_of_zero_and_sums_to_zero(params: BradleyTerry) -> None:
    """Differences of the log-likelihood of the model as printed."""
    rows = games(1)
    found = fit(merged(rows), PLAYERS, params)

    def objective(at: np.ndarray) -> float:
        theta, gamma = at[:PLAYERS], at[PLAYERS]
        eta, y = theta[rows.first] - theta[rows.second] + gamma * rows.x[:, 0], rows.result
        up, down = np.exp(0.5 * eta), np.exp(-0.5 * eta)
        if params.ties == "davidson":
            nu = math.exp(at[-1])
            logs = np.log(np.where(y == 1.0, up, np.where(y == 0.0, down, nu)) / (up + nu + down))
        else:
            logs = y * np.log(up / (up + down)) + (1.0 - y) * np.log(down / (up + down))
        prior = params.precision * theta @ theta + params.covariate_precision * gamma**2
        return float(rows.weight @ logs - 0.5 * prior)

    at = np.concatenate((found.theta, found.gamma, [] if found.nu is None else [math.log(found.nu)]))
    for step in 1e-4 * np.eye(len(at)):
        assert (objective(at + step) - objective(at - step)) / 2e-4 == pytest.approx(0.0, abs=1e-6)
        assert objective(at) > max(objective(at + step), objective(at - step))
    assert abs(found.theta.sum()) < 1e-10
    assert (found.nu is None) == (params.ties != "davidson")


@pytest.mark.parametrize("params", [PLAIN, TIED, replace(PLAIN, ties="drop")])
def test_fit__does_not_depend_on_order_swaps_merging_or_threads(params: BradleyTerry) -> None:
    """Enough rows for several blocks, and enough players for several tiles."""
    rng = np.random.default_rng(2)
    few = games(2, 9000)
    shift = rng.integers(0, 8, 9000) * PLAYERS
    rows = few._replace(first=(few.first + shift).astype(np.int32), second=(few.second + shift).astype(np.int32))
    bridge = of("am my yk", [1.0, 0.5, 0.0])
    rows = merged(rows, bridge._replace(x=np.ones((3, 1))))
    n = 8 * PLAYERS
    found, spread = fit(rows, n, params), covariance(fit(rows, n, params), rows, params)
    other = swapped(rows.take(rng.permutation(len(rows.first))), rng.random(len(rows.first)) < 0.5)
    again = merged(*(other.take(np.arange(k, len(other.first), 3)) for k in range(3)))
    assert all((one == two).all() for one, two in zip(rows, again, strict=True))
    with Threads(3, block_size=1) as engine:
        again = merged(other, map=engine.map)
        threaded = fit(again, n, params, map=engine.map)
        assert bits(threaded) == bits(found)
        wide = covariance(threaded, again, params, map=engine.map)
        assert wide.sigma.tobytes() == spread.sigma.tobytes()
        assert wide.matrix.tobytes() == spread.matrix.tobytes()
    loose = fit(other, n, params)
    assert loose.theta == pytest.approx(found.theta, abs=1e-12)
    assert loose.gamma == pytest.approx(found.gamma, abs=1e-12)


def test_fit__one_more_win_moves_nobody_the_wrong_way() -> None:
    rows = merged(games(3))
    before = fit(rows, PLAYERS, PLAIN).theta
    for a, b in [(0, 1), (4, 9), (11, 2)]:
        one = Comparisons.of(np.array([a]), np.array([b]), np.ones(1), np.zeros((1, 1)))
        after = fit(merged(rows, one), PLAYERS, PLAIN).theta
        assert after[a] > before[a]
        assert after[b] < before[b]


def test_fit__counts_taken_away_leave_the_table() -> None:
    rows, more = games(4, 300), games(5, 100)
    left = merged(merged(rows, more), more._replace(count=-more.count))
    assert all((one == two).all() for one, two in zip(left, merged(rows), strict=True))


@pytest.mark.parametrize("params", [PLAIN, TIED])
def test_fit__warm_is_cold(params: BradleyTerry) -> None:
    rows = merged(games(6))
    cold, early = fit(rows, PLAYERS, params), fit(merged(games(6).take(np.arange(150))), PLAYERS, params)
    warm = fit(rows, PLAYERS, params, early)
    assert warm.theta == pytest.approx(cold.theta, abs=1e-10)
    assert warm.gamma == pytest.approx(cold.gamma, abs=1e-10)
    assert warm.iterations <= cold.iterations


def test_fit__components_are_those_of_two_fits() -> None:
    one, other = games(7, values=1)._replace(x=np.empty((ROWS, 0))), games(8)._replace(x=np.empty((ROWS, 0)))
    away = (other.first + 1 + PLAYERS).astype(np.int32), (other.second + 1 + PLAYERS).astype(np.int32)
    both = merged(one, other._replace(first=away[0], second=away[1]))
    params = BradleyTerry()
    found = fit(both, 2 * PLAYERS + 1, params)
    parts = [fit(merged(rows), PLAYERS, params) for rows in (one, other)]
    assert found.theta == pytest.approx(np.concatenate((parts[0].theta, [0.0], parts[1].theta)), abs=1e-12)
    assert found.component.tolist() == [0] * PLAYERS + [-1] + [1] * PLAYERS
    spread = covariance(found, both, params)
    alone = covariance(parts[0], merged(one), params)
    assert spread.sigma[:PLAYERS] == pytest.approx(alone.sigma, rel=1e-10)
    assert spread.sigma[PLAYERS] == params.ridge
    assert spread.matrix[:PLAYERS, PLAYERS:] == pytest.approx(0.0, abs=1e-14)


def test_fit__counts_results_and_names_the_extreme() -> None:
    rows = of("ab ab bc cb ab db db dd"[:-3], [1, 1, 1, 1, 0.5, 0, 0])
    found = fit(merged(rows), 5, BradleyTerry())
    assert found.n_games.tolist() == [3, 7, 2, 2, 0]
    assert found.wins.tolist() == [2, 3, 1, 0, 0]
    assert found.draws.tolist() == [1, 1, 0, 0, 0]
    assert found.extreme.tolist() == [False, False, False, True, False]
    dropped = fit(merged(rows), 5, BradleyTerry(ties="drop"))
    assert dropped.extreme.tolist() == [True, False, False, True, False]
    assert dropped.draws.tolist() == found.draws.tolist()
    assert fit(rows.take(np.zeros(0, np.int64)), 3, BradleyTerry()).theta.tolist() == [0.0] * 3


def test_fit__without_a_ridge_names_a_group_that_only_won() -> None:
    free = BradleyTerry(ridge=math.inf)
    with pytest.raises(UnbeatenError) as caught:
        fit(of("ab ba bc cd dc ef fe", [1, 1, 1, 1, 1, 1, 1]), 6, free)
    assert caught.value.players.tolist() == [0, 1]
    with pytest.raises(UnbeatenError, match="player 2 only won"):
        fit(of("ab ba ca", [1, 1, 1]), 3, free)
    tied = fit(of("ab ba ca", [1, 1, 0.5]), 3, free)
    assert tied.theta == pytest.approx(0.0, abs=1e-12)


def test_fit__names_covariates_that_cannot_be_used() -> None:
    rows = games(9)
    for column, rule in [(np.zeros(ROWS), "0 in all games"), (2.0 * rows.x[:, 0], "collinear")]:
        with pytest.raises(CovariateError, match=rule) as caught:
            fit(merged(rows._replace(x=np.column_stack((rows.x[:, 0], column)))), PLAYERS, BradleyTerry())
        assert caught.value.column == 1
    of_player = (rows.first == 3) * 1.0 - (rows.second == 3)
    with pytest.raises(CovariateError, match="collinear with the players") as caught:
        fit(merged(rows._replace(x=of_player[:, None])), PLAYERS, BradleyTerry())
    bad = rows.x.copy()
    bad[7] = math.nan
    with pytest.raises(CovariateError, match="must be finite, got nan"):
        merged(rows._replace(x=bad))


def test_fit__refuses_results_that_the_model_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TiesError, match=r"0, 0\.5 or 1"):
        fit(of("ab", [0.7]), 2, BradleyTerry(ties="davidson"))
    with pytest.raises(TiesError, match="all games are ties"):
        fit(of("ab", [0.5]), 2, BradleyTerry(ties="davidson"))
    assert fit(of("ab ba", [1.0, 1.0]), 2, BradleyTerry(ties="davidson")).nu == 0.0
    with pytest.raises(ValueError, match="player 1 has a game against itself"):
        merged(of("ab bb", [1.0, 0.0]))
    monkeypatch.setattr(fitting, "_MOST", 2)
    with pytest.raises(ConvergenceError, match="no maximum after 2 iterations: the last step changed one by"):
        fit(merged(games(10)), PLAYERS, PLAIN)


def test_fit__of_too_many_players_is_refused() -> None:
    player = np.arange(LARGEST + 1, dtype=np.int32)
    rows = merged(Comparisons.of(player, np.roll(player, 1), np.ones(len(player))))
    with pytest.raises(ValueError, match=r"a fit takes at most 10,000 players, and these games have 10,001"):
        fit(rows, len(player), PLAIN)


def test_params__are_checked() -> None:
    for given, words in [
        ({"ridge": 0.0}, "ridge must be"), ({"ties": "thirds"}, "one of half, davidson, drop"),
        ({"covariates": "length"}, "names of columns"), ({"covariates": ("a", "a")}, "named once"),
        ({"window": -1}, "window must be"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=words):
            BradleyTerry(**given)
    assert BradleyTerry(ridge=UNIT).precision == pytest.approx(1.0)
    assert BradleyTerry(ridge=math.inf, covariate_sd=math.inf).covariate_precision == 0.0
