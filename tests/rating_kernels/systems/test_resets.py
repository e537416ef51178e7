"""Soft resets of every system that has a rule for them: order, differences, shifts, composition, and refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers.histories import factors, players_at, pull, same_bits, show, store
from helpers.rounds import history

from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.rating_kernels import SYSTEMS, Beliefs, Outcome, Reset, Rounds, System
from ranklake.rating_kernels.inference.resets.ratings import rounded

N = 24
CHOICES: dict[str, dict[str, Any]] = {
    "elo-mmr": {"rho": 0.5, "noob_delay": (0.5,)},
    "codeforces": {"arithmetic": "real"},  # whole ratings are rounded
    "elo": {"k_rule": "fide", "cdf": "normal"},
    "elo-mms": {"learnt_drift": True},
    "elo-r simple": {"noise": "simple"},
}
RESETS = [name for name, system in SYSTEMS.items() if callable(system.reset_rows)]
WIDENS = [name for name in RESETS if SYSTEMS[name].widens]
EVERY = [*RESETS, "elo-r simple"]


def case_of(label: str) -> tuple[System, Any]:
    system = SYSTEMS[label.split(" ", maxsplit=1)[0]]
    return system, system.params(**CHOICES.get(label, {}))


@cache
def season() -> Rounds:
    return history([10] * 12, N - 4)


def played(label: str) -> Beliefs:
    """Beliefs after rounds of all players but the last four."""
    system, params = case_of(label)
    beliefs = system.newcomers(params, N)
    if system.periods:  # FIDE: published ratings, and one player who is unrated
        beliefs.mu[: N - 4] = np.round(np.linspace(1400.0, 2600.0, N - 4))
        beliefs.mu[3], beliefs.n_rounds[: N - 4] = 0.0, 3
    else:
        rate_rounds(system, params, beliefs, season(), Serial())
    return beliefs


def copy_of(system: System, params: Any, beliefs: Beliefs) -> Beliefs:
    other = system.newcomers(params, 0)
    other.restore(beliefs.columns())
    return other


def after(label: str, *resets: Reset, beliefs: Beliefs | None = None) -> Beliefs:
    system, params = case_of(label)
    beliefs = played(label) if beliefs is None else beliefs
    for reset in resets:
        system.reset(params, beliefs, np.arange(N), reset)
    return beliefs


def unit_of(label: str) -> float:
    """A rating point, in the usual scale, to the system."""
    return float(case_of(label)[1].sigma_init) / 350.0 or 1.0


def tolerance(label: str) -> float:
    """FIDE's ratings are whole numbers."""
    return 0.5 if label == "fide" else 1e-9


@pytest.mark.quick("elo-mmr")
@pytest.mark.parametrize("label", EVERY)
def test_reset__keeps_the_order_and_shrinks_differences(label: str) -> None:
    before, centre = played(label), 1450.0 * unit_of(label)
    beliefs = after(label, Reset(centre, 0.6, 40.0 * unit_of(label) if SYSTEMS[label.split()[0]].widens else 0.0))
    here = np.flatnonzero((before.n_rounds > 0) & (before.mu > 0.0))
    if label != "elo-r simple":  # whose noise computes the mode again
        order = here[np.argsort(before.mu[here], kind="stable")]
        assert (np.diff(beliefs.mu[order]) >= 0.0).all()
        expected = centre + 0.6 * (before.mu[here] - centre)
        assert np.allclose(beliefs.mu[here], expected, rtol=1e-12, atol=tolerance(label))
    for name in ("n_rounds", "last_time"):
        assert same_bits(getattr(beliefs, name).copy(), getattr(before, name).copy())
    for name in {"k", "games", "peak", "vol", "gamma"} & before.state.keys():
        assert same_bits(beliefs.state[name].copy(), before.state[name].copy())
    assert all(same_bits(beliefs.shared[name], before.shared[name]) for name in before.shared)


@pytest.mark.parametrize("label", WIDENS)
def test_widen__adds_a_variance_up_to_that_of_a_newcomer(label: str) -> None:
    before, (_, params), s = played(label), case_of(label), 100.0 * unit_of(label)
    beliefs, limit = after(label, Reset(params.mu_init, 0.8, s)), params.sigma_init
    here = before.n_rounds > 0
    expected = np.minimum(np.maximum(limit, before.sigma), np.hypot(before.sigma, s))[here]
    assert np.allclose(beliefs.sigma[here], expected, rtol=1e-12)
    assert (after(label, Reset(params.mu_init, 0.8, 1e6)).sigma[here] == np.maximum(limit, before.sigma[here])).all()


@pytest.mark.parametrize("label", EVERY)
def test_reset__that_keeps_all_changes_no_bit_and_newcomers_stay(label: str) -> None:
    before = played(label)
    assert same_bits(after(label, Reset(1500.0)), before)
    moved = after(label, Reset(1800.0, 0.5, forget=True))
    assert all(
        same_bits(column, before.take(np.arange(N - 4, N))[name])
        for name, column in moved.take(np.arange(N - 4, N)).items()
    )


@pytest.mark.quick("elo-r")
@pytest.mark.parametrize("label", EVERY)
def test_reset__of_parts_has_the_bits_of_one_of_all(label: str) -> None:
    (system, params), parts = case_of(label), played(label)
    reset = Reset(1500.0, 0.7, 30.0 if system.widens else 0.0)
    for rows in (np.arange(N - 1, 9, -1), np.arange(1), np.arange(1, 10)):
        system.reset(params, parts, rows, reset)
    assert same_bits(parts, after(label, reset))


@pytest.mark.parametrize("label", EVERY)
def test_two_resets__of_one_centre_are_one(label: str) -> None:
    unit = unit_of(label)
    widths = (30.0 * unit, 40.0 * unit, 50.0 * unit) if SYSTEMS[label.split()[0]].widens else (0.0, 0.0, 0.0)
    centre = 1480.0 * unit
    two = after(label, Reset(centre, 0.8, widths[0]), Reset(centre, 0.5, widths[1]))
    one = after(label, Reset(centre, 0.4, widths[2]))
    # simple noise depends on the way; whole ratings are rounded twice
    slack = {"elo-r simple": 5.0, "fide": 1.0}.get(label, 1e-8)
    assert np.allclose(two.mu, one.mu, rtol=1e-12, atol=slack)
    assert np.allclose(two.sigma, one.sigma, rtol=1e-12)


@pytest.mark.parametrize("label", sorted({*EVERY} - {"fide"}))
def test_shift__of_ratings_and_centre_shifts_all(label: str) -> None:
    one, other, shift = played(label), played(label), 512.0
    other.mu[:] += shift
    if "normal_mu" in other.state:
        other.state["normal_mu"][:] += shift
        assert other.history is not None
        kept = other.history.ragged()
        kept["perf"] = kept["perf"]._replace(values=kept["perf"].values + shift)
        other.history.put(np.arange(N), kept)
    wide = 30.0 if SYSTEMS[label.split()[0]].widens else 0.0
    after(label, Reset(1500.0, 0.6, wide), beliefs=one)
    after(label, Reset(1500.0 + shift, 0.6, wide), beliefs=other)
    assert np.allclose(other.mu - shift, one.mu, rtol=1e-12, atol=1e-9)
    assert np.allclose(other.sigma, one.sigma, rtol=1e-12)


@pytest.mark.parametrize("label", ["elo-mmr", "elo-r", "elo-r simple"])
@pytest.mark.parametrize("reset", [Reset(1600.0, 0.0, 50.0), Reset(1600.0, 0.7, 50.0, forget=True)])
def test_reset__can_leave_one_normal_factor(label: str, reset: Reset) -> None:
    before, beliefs = played(label), after(label, reset)
    here = beliefs.n_rounds > 0
    assert beliefs.history is not None
    assert not beliefs.history.length.any()
    assert np.allclose(beliefs.mu[here], 1600.0 + reset.keep * (before.mu[here] - 1600.0))
    assert same_bits(beliefs.state["normal_mu"].copy(), beliefs.mu.copy())
    assert np.allclose(beliefs.state["normal_weight"], beliefs.sigma**-2.0)


def test_elo_mmr__maps_the_mode_of_a_skewed_belief() -> None:
    """The mode of the mapped centres alone would be elsewhere."""
    system = SYSTEMS["elo-mmr"]
    params = system.params()
    beliefs = system.newcomers(params, 1)
    show(params, beliefs, 0, *[1500.0] * 12, 2800.0, 2800.0, 1200.0)
    mu, sigma = float(beliefs.mu[0]), float(beliefs.sigma[0])
    system.reset(params, beliefs, np.arange(1), Reset(1500.0, 0.5, 60.0))
    assert beliefs.mu[0] == pytest.approx(1500.0 + 0.5 * (mu - 1500.0), abs=1e-9)
    force, size = pull(beliefs, float(beliefs.mu[0]))
    assert abs(force) < 1e-12 * size
    assert 1.0 / beliefs.sigma[0] ** 2 == pytest.approx(1.0 / (sigma**2 + 60.0**2), rel=1e-12)
    weights = beliefs.state["normal_weight"][0] + sum(weight for _, weight in factors(beliefs))
    assert weights == pytest.approx(beliefs.sigma[0] ** -2.0, rel=1e-12)


def test_elo_mmr__with_keep_1_diffuses_without_a_transfer() -> None:
    system = SYSTEMS["elo-mmr"]
    params = system.params(rho=0.0, beta=200.0, gamma=70.0)
    one = store(params, 1600.0, 120.0, 1500.0, 0.4, [(1500.0, 200.0), (1900.0, 180.0)])
    other = copy_of(system, params, one)
    system.reset(params, one, np.arange(1), Reset(1500.0, 1.0, 70.0))
    system.prior(params, other, Rounds.from_columns([0, 1], [0], [0], [0], [0]), 0, 1, Outcome.empty(1).prior)
    mine = one.take(np.arange(1))
    for name, column in other.take(np.arange(1)).items():
        for a, b in zip(np.atleast_2d(mine[name]), np.atleast_2d(column), strict=True):
            assert np.allclose(a, b, rtol=1e-14), name


def test_elo_r__simple_noise_computes_the_mode_again() -> None:
    system = SYSTEMS["elo-r"]
    means = {}
    for noise in ("exact", "simple"):
        label = {"exact": "elo-r", "simple": "elo-r simple"}[noise]
        beliefs = after(label, Reset(1500.0, 0.5, 200.0))
        assert beliefs.history is not None
        kept, row = beliefs.history.ragged(), 2
        span = slice(*kept["perf"].offsets[row : row + 2])
        y = kept["inverse_tau"].values[span]
        at, state = beliefs.mu[row], beliefs.state
        pulls = y * np.tanh((at - kept["perf"].values[span]) * y)
        normal = state["normal_weight"][row] * (at - state["normal_mu"][row])
        assert abs(normal + pulls.sum()) < 1e-12
        assert state["normal_weight"][row] + (y * y).sum() == pytest.approx(beliefs.sigma[row] ** -2.0, rel=1e-9)
        means[noise] = at - (1500.0 + 0.5 * (played(label).mu[row] - 1500.0))
    assert abs(means["exact"]) < 1e-9
    assert abs(means["simple"]) > 1e-3
    assert system.widens


def test_whole_ratings__stay_whole() -> None:
    assert rounded(np.array([0.5, -0.5, 1.5, 2.49, -2.5, 0.49999999999999994])).tolist() == [1, -1, 2, 2, -3, 0]
    system = SYSTEMS["codeforces"]
    params = system.params()
    beliefs = players_at(system, params, [1501.0, 1499.0, 1504.0])
    system.reset(params, beliefs, np.arange(3), Reset(1500.0, 0.5))
    assert beliefs.mu.tolist() == [1501.0, 1500.0, 1502.0]
    before, moved = played("fide").mu, after("fide", Reset(1500.0, 0.75)).mu
    assert moved[3] == before[3] == 0.0  # unrated
    assert (moved == np.round(moved)).all()


def test_reset__restarts_the_counts_of_a_rule() -> None:
    beliefs = after("elo", Reset(1500.0, restart_counts=True))
    assert played("elo").state["games"].any()
    assert not beliefs.state["games"].any()
    assert same_bits(beliefs.mu.copy(), played("elo").mu.copy())


def test_reset__refuses_what_it_has_no_rule_for() -> None:
    for name, why in (("atcoder", "a function of all performances"), ("bt", "all games are explained at once")):
        system = SYSTEMS[name]
        with pytest.raises(ValueError, match=f"ratings of {name} cannot be reset: .*{why}.*; make a data set of each"):
            system.check_reset(system.params(), Reset(1500.0, 0.5))
    elo, mmr, fide = SYSTEMS["elo"], SYSTEMS["elo-mmr"], SYSTEMS["fide"]
    with pytest.raises(ValueError, match=r"widen must be 0 with elo, which has no uncertainty to widen, got 60.0"):
        elo.check_reset(elo.params(), Reset(1500.0, 0.5, 60.0))
    with pytest.raises(ValueError, match="restart_counts has no effect with elo-mmr: it counts the rounds"):
        mmr.check_reset(mmr.params(), Reset(1500.0, restart_counts=True))
    with pytest.raises(ValueError, match=r"centre must be within 1400..9999 rating points, got 0"):
        fide.check_reset(fide.params(), Reset(0.0, 0.5))
    fide.check_reset(fide.params(), Reset(0.0, restart_counts=True))  # which moves no rating
    for given, text in (
        ({"keep": 1.5}, r"keep must be within 0..1, got 1.5"),
        ({"keep": float("nan")}, r"keep must be within 0..1, got nan"),
        ({"widen": -1}, r"widen must be within 0..1e\+10 rating points, got -1"),
        ({"centre": float("inf")}, "centre must be within"),
    ):
        with pytest.raises(ValueError, match=text):
            Reset(**{"centre": 1500.0, **given})


@pytest.mark.parametrize("label", ["elo-mmr", "elo-r"])
def test_reset__refuses_performances_that_become_too_narrow_and_changes_nothing(label: str) -> None:
    beliefs = played(label)
    with pytest.raises(ValueError, match=r"keep = 1e-13 makes past performances narrower than 1e-09 .*; keep = 0"):
        after(label, Reset(1500.0, 1e-13), beliefs=beliefs)
    assert same_bits(beliefs, played(label))
    tiny = after(label, Reset(1500.0, 1e-8))
    assert np.abs(tiny.mu - 1500.0).max() < 1e-4
