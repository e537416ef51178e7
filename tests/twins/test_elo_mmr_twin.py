"""The twin itself: every vector, and what the paper proves of the system."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain, pairwise

import pytest
from helpers.strategies import Belief, Contest, elo_mmr_params, histories, populations, repeatable
from hypothesis import given
from hypothesis import strategies as st

from twins.elo_mmr import Outcome, Player, Twin, _diffuse, _hazard

VARIANTS = st.sampled_from(["logistic", "gaussian"])


def run(rounds: list[Contest], people: dict[str, Belief] | None = None, **params: object) -> list[list[Outcome]]:
    """A whole history; the outcomes of every round."""
    twin = Twin(initial_state={name: belief.state for name, belief in (people or {}).items()}, **params)
    for name, belief in (people or {}).items():
        for performance in belief.performances:
            twin.absorb([(name, performance)])
    return [twin.rate(r.standings, r.time, r.weight, r.perf_ceiling) for r in rounds]


@given(histories(max_rounds=3), populations(), elo_mmr_params(), VARIANTS)
@repeatable(60)
def test_twin__orders_performances_by_place_and_ties_share_one(rounds, people, params, variant) -> None:
    for contest, outcomes in zip(rounds, run(rounds, people, variant=variant, **params), strict=True):
        for ((_, lo, _), one), ((_, next_lo, _), other) in pairwise(zip(contest.standings, outcomes, strict=True)):
            if lo == next_lo:
                assert other.performance == one.performance
            elif one.performance == contest.perf_ceiling:
                assert other.performance <= one.performance
            else:
                assert other.performance < one.performance
        for o in outcomes:
            assert 0 < o.sigma < o.sigma_prior
            assert math.isclose(o.normal_sigma**-2 + sum(w for _, w in o.factors), o.sigma**-2, rel_tol=1e-9)
            between = sorted((o.mu_prior, o.performance))
            assert params.get("history_len") or between[0] - 1e-6 <= o.mu <= between[1] + 1e-6


@given(
    histories(max_rounds=3), populations(extreme=True), elo_mmr_params(), VARIANTS, st.sampled_from([-1000.0, 512.0])
)
@repeatable(40)
def test_twin__shifting_all_ratings_shifts_all_results(rounds, people, params, variant, shift) -> None:
    base = {"mu_init": 1500.0} | params | {"variant": variant}
    moved_people = {
        name: Belief(b.mu + shift, b.sigma, b.n, tuple(p + shift for p in b.performances)) for name, b in people.items()
    }
    moved_rounds = [replace(r, perf_ceiling=r.perf_ceiling + shift) for r in rounds]
    before = run(rounds, people, **base)
    after = run(moved_rounds, moved_people, **base | {"mu_init": base["mu_init"] + shift})
    for one, other in zip(chain(*before), chain(*after), strict=True):
        assert other.sigma == one.sigma
        assert math.isclose(other.mu - shift, one.mu, rel_tol=0, abs_tol=1e-6)


@given(st.floats(20, 400), st.floats(0, 200), st.floats(0, 200), st.sampled_from([0.0, 0.04, 1.0, 5.0, math.inf]))
@repeatable(60)
def test_diffusion__keeps_the_mode_and_the_magnitude_and_composes(sigma, gamma1, gamma2, rho) -> None:
    def old_belief() -> Player:
        w = sigma**-2
        return Player(1480.0, sigma, 1500.0, 0.5 * w, [[1300.0, 0.2 * w, 200.0], [1700.0, 0.3 * w, 150.0]])

    twice, once = old_belief(), old_belief()
    _diffuse(twice, gamma1**2, rho)
    _diffuse(twice, gamma2**2, rho)
    _diffuse(once, gamma1**2 + gamma2**2, rho)
    assert twice.mu == once.mu == 1480.0
    assert math.isclose(once.normal_weight + sum(w for _, w, _ in once.factors), once.sigma**-2, rel_tol=1e-12)
    assert math.isclose(once.sigma**-2, 1 / (sigma**2 + gamma1**2 + gamma2**2), rel_tol=1e-12)
    for name in ("sigma", "normal_mu", "normal_weight"):
        assert math.isclose(getattr(twice, name), getattr(once, name), rel_tol=1e-11)
    for a, b in zip(twice.factors, once.factors, strict=True):
        assert math.isclose(a[1], b[1], rel_tol=1e-11)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("rho", [0.0, 0.04, 1.0, 5.0, math.inf])
def test_twin__one_performance_far_out_moves_a_rating_by_no_more_than_the_bound(rho: float, sign: int) -> None:
    """Theorem 5.7; both bounds meet for rho = inf."""
    beta, gamma = 200.0, 35.0
    twin = Twin(rho=rho, beta=beta, gamma=gamma, initial_state={"a": {"mu": 1500, "sig": 90, "n": 20}})
    for performance in (1400.0, 1750.0, 1500.0):
        twin.absorb([("a", performance)])
    player = twin.players["a"]
    before = Player(player.mu, player.sigma, player.normal_mu, player.normal_weight, [f[:] for f in player.factors])
    _diffuse(before, gamma**2, rho)
    (outcome,) = twin.absorb([("a", sign * 1e9)])
    most = math.pi / math.sqrt(3) / beta / before.normal_weight
    least = math.pi / math.sqrt(3) / beta / (before.normal_weight + math.pi**2 / 6 * sum(f[1] for f in before.factors))
    assert least * (1 - 1e-9) <= sign * (outcome.mu - outcome.mu_prior) <= most * (1 + 1e-9)


@pytest.mark.parametrize("x", [5.0, 6.0, 9.0, 12.0])
def test_hazard__is_the_same_on_both_sides_of_the_seam(x: float) -> None:
    quotient = math.sqrt(2 / math.pi) * math.exp(-x * x / 2) / math.erfc(x / math.sqrt(2))
    assert math.isclose(_hazard(x), quotient, rel_tol=1e-13)


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"beta": 200.0}, "beta and gamma go together"),
        ({"rho": -1.0}, "rho must be >= 0"),
        ({"rho": math.nan}, "rho must be >= 0"),
        ({"tie_mode": "half"}, "tie_mode must be full or split"),
        ({"weight_limit": 0.0}, "weight_limit must be > 0"),
        ({"beta": 200.0, "gamma": 35.0, "drift_per_day": 3.5}, "drift_per_day needs limits"),
    ],
)
def test_twin__refuses_parameters_that_mean_nothing(params: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        Twin(**params)
