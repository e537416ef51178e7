"""Expected places, chances of places, and the places needed for a rating."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ranklake.flows.common.skipping import Skipping
from ranklake.flows.engines.serial import Serial
from ranklake.flows.execution.rater import select_beliefs
from ranklake.flows.execution.rounds import rate_rounds
from ranklake.flows.preview.needed import UNKNOWN, _last_sufficient, places_needed
from ranklake.flows.preview.places import PlaceModel
from ranklake.flows.preview.preview import Rules, preview_round
from ranklake.flows.preview.standings import Standings
from ranklake.flows.results.display import Display
from ranklake.flows.results.titles import NONE, Title, Titles
from ranklake.rating_kernels import SYSTEMS, ConvergenceError, Prior, Rounds, System
from ranklake.rating_kernels.core.standings import Conditions, places_from_ranks
from ranklake.rating_kernels.registry import of_contests

rng = np.random.default_rng


def prior_of(system: System, n: int, seed: int = 1) -> Prior:
    """Ratings and uncertainties on the scale of the system."""
    params, draw = system.params(), rng(seed)
    scale = (params.sigma_init or 350.0) / 350.0
    mu = params.mu_init + scale * draw.normal(0.0, 300.0, n)
    return Prior(mu, params.sigma_init * draw.uniform(0.2, 1.0, n), np.full(n, np.nan), np.zeros(n, dtype=np.int32))


@pytest.mark.quick("*-elo-mmr", "*-trueskill")
@pytest.mark.parametrize("name", of_contests())
@pytest.mark.parametrize("n", [2, 300])
def test_expected_places__equal_the_sums_over_all_pairs(name: str, n: int) -> None:
    system = SYSTEMS[name]
    params, prior = system.params(), prior_of(system, n)
    one = Prior(prior.mu[None], prior.sigma[None], prior.beta[None], prior.n_before[None])
    other = Prior(*(column[:, None] for column in (prior.mu, prior.sigma, prior.beta, prior.n_before)))
    twin = 0.5 + system.beats(params, Conditions(0.7), n, one, other).sum(axis=1)
    model = PlaceModel(system, params, Conditions(0.7), prior)
    assert np.allclose(model.expected_places(), twin, rtol=0, atol=1e-6 * n)
    assert model._lattice is not None
    by_lattice = 0.5 + model._lattice.expected_losses(model._beats)
    assert np.allclose(by_lattice, twin, rtol=0, atol=1e-6 * n)


@pytest.mark.parametrize("mu", [[1500.0] * 3, [0.0, 1e7, -1e7], [1500.0, 1500.0 + 1e-9, 1400.0]], ids=str)
def test_expected_places__of_equal_and_of_distant_ratings(mu: list[float]) -> None:
    system, n = SYSTEMS["elo-mmr"], len(mu)
    prior = Prior(np.array(mu), np.array([80.0, 350.0, 80.0]), np.zeros(n), np.zeros(n, dtype=np.int32))
    model = PlaceModel(system, system.params(), Conditions(), prior)
    places = model.expected_places()
    assert np.isclose(places.sum(), 6.0, rtol=1e-9)
    assert np.allclose(places, {1500.0: [2.0] * 3, 1e7: [2.0, 1.0, 3.0]}.get(max(mu), places), rtol=1e-6)
    assert np.all(model.chances(np.arange(n), np.ones(n, dtype=np.int64)) >= 0.0)


@pytest.mark.parametrize("name", ["elo-mmr", "elo-mms", "trueskill"])
@pytest.mark.parametrize(("n", "allowed"), [(2, 0.05), (6, 0.06), (60, 0.04)])
def test_chances__agree_with_drawn_rounds(name: str, n: int, allowed: float) -> None:
    """A twin by simulation: performances drawn from the laws of the model, places counted."""
    system = SYSTEMS[name]
    params, prior, draw, n_drawn = system.params(), prior_of(system, n, seed=n), rng(3), 10_000
    assert system.performance_law is not None
    law = system.performance_law(params, Conditions(), n, prior)
    noise = draw.normal(size=(n_drawn, n))
    if law.shape == "logistic":
        noise = draw.logistic(size=(n_drawn, n)) * np.sqrt(3.0) / np.pi
    places = 1 + np.argsort(np.argsort(-(law.mean + law.deviation * noise), axis=1), axis=1)
    model, everybody = PlaceModel(system, params, Conditions(), prior), np.arange(n)
    for place in {1, n // 4 + 1, n // 2, n}:
        found = model.chances(everybody, np.full(n, place))
        assert np.allclose(found, (places <= place).mean(axis=0), atol=allowed)
    assert np.all(model.chances(everybody, np.full(n, n)) == 1.0)


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("shape", [np.tanh, np.cbrt, np.sinh, np.round, np.sign], ids=lambda shape: shape.__name__)
def test_search__finds_the_last_sufficient_position_in_few_steps(shape: Any, started: bool) -> None:
    draw, n, most = rng(5), 400, 5000
    level = np.sort(np.where(draw.random(most + 1) < 0.1, 0.0, draw.normal(0.0, 2.0, most + 1)))[::-1]
    height, goal, steps = shape(level), shape(draw.normal(0.0, 3.0, n)), 0
    goal[:10] = height[::500][:10]  # reached exactly, and with ties

    def excess(searches: Any, positions: Any) -> Any:
        nonlocal steps
        steps += 1
        return height[positions] - goal[searches]

    at = draw.integers(0, most + 1, n)
    start = (at, excess(np.arange(n), at)) if started else None
    found = _last_sufficient(n, most, excess, level, start)
    assert np.array_equal(found, (height >= goal[:, None]).sum(axis=1) - 1)
    assert steps < 40


def round_of(name: str, n: int, ties: int, seed: int = 2) -> tuple[Display, Any, Rounds]:
    """A round of rated players with tie groups of ``ties``, and the beliefs about its participants."""
    system, draw = SYSTEMS[name], rng(seed)
    params, prior = system.params(), prior_of(system, n, seed)
    columns = system.newcomers(params, n).columns()
    columns["mu"][:], columns["sigma"][:] = np.round(prior.mu), prior.sigma
    columns["n_rounds"][:] = draw.integers(0, 9, n)
    order = np.argsort(-prior.mu + draw.normal(0.0, 0.6 * np.ptp(prior.mu) / 6, n), kind="stable")
    _, lo, hi = places_from_ranks(np.arange(n) // ties)
    round = Rounds.from_columns([0, n], np.arange(n), lo, hi)
    return Display(system, params, system.deviations), select_beliefs(system, params, columns, order), round


def rate(display: Display, beliefs: Any, round: Rounds) -> Any:
    store = display.system.newcomers(display.params, round.n_rows)
    store.restore(beliefs)
    return rate_rounds(display.system, display.params, store, round, Serial())


def rating_at(display: Display, beliefs: Any, round: Rounds, row: int, ahead: int) -> tuple[int, float]:
    """Place and display rating of one participant, alone behind ``ahead`` tie groups of the others: the definition."""
    groups = [[i for i in np.flatnonzero(round.lo == lo) if i != row] for lo in np.unique(round.lo)]
    groups = [group for group in groups if group]
    moved = [*groups[:ahead], [row], *groups[ahead:]]
    sizes = np.array([len(group) for group in moved])
    hi = np.repeat(np.cumsum(sizes) - 1, sizes)
    lo = np.repeat(np.cumsum(sizes) - sizes, sizes)
    players = np.concatenate(moved)
    outcome = rate(display, beliefs, Rounds.from_columns([0, len(players)], players, lo, hi))
    at = int(np.flatnonzero(players == row)[0])
    return int(lo[at]) + 1, display.rating(outcome.mu[at], outcome.sigma[at], outcome.n_before[at] + 1)


@pytest.mark.quick("*-elo-mmr", "*-trueskill")
@pytest.mark.parametrize("name", of_contests())
@pytest.mark.parametrize("ties", [1, 3])
def test_places_needed__are_the_worst_sufficient_ones(name: str, ties: int) -> None:
    display, beliefs, round = round_of(name, 12, ties)
    outcome, rows = rate(display, beliefs, round), np.array([0, 5, 11])
    n_groups = [len({lo for i, lo in enumerate(round.lo.tolist()) if i != row}) for row in rows]
    ladders = [
        [rating_at(display, beliefs, round, row, k) for k in range(m + 1)]
        for row, m in zip(rows, n_groups, strict=True)
    ]
    for share in (0.0, 0.3, 1.0, 1.1, -0.1):
        goals = np.array([r[-1][1] + share * (r[0][1] - r[-1][1]) for r in ladders])
        goals = np.where(share == 1.0, [r[0][1] for r in ladders], goals)
        found = places_needed(display, beliefs, round, outcome, rows, goals, Serial())
        expected = [
            max((place for place, rating in ladder if rating >= goal), default=0)
            for ladder, goal in zip(ladders, goals, strict=True)
        ]
        assert found.tolist() == expected


@pytest.mark.parametrize("name", ["elo-mmr", "elo-mmx", "elo-mms", "elo-r", "codeforces"])
def test_places_needed__in_large_rounds_are_near_the_exact_ones(name: str) -> None:
    display, beliefs, round = round_of(name, 300, 2)
    outcome, rows = rate(display, beliefs, round), np.arange(0, 300, 60)
    shown = display.rating(outcome.mu, outcome.sigma, outcome.n_before + 1)[rows]
    for gap in (-60.0, 60.0):
        found, hard, easy = (
            places_needed(display, beliefs, round, outcome, rows, shown + gap + more, Serial(), exact=exact)
            for more, exact in ((0.0, False), (1.0, True), (-1.0, True))
        )
        assert np.all((hard - 3 <= found) & (found <= easy + 3))
        assert (found < 300).any()
    assert (found > 0).any()


def test_places_needed__are_unknown_in_large_rounds_of_other_systems() -> None:
    display, beliefs, round = round_of("glicko", 101, 1)
    found = places_needed(display, beliefs, round, rate(display, beliefs, round), np.array([3]), np.ones(1), Serial())
    assert found.tolist() == [UNKNOWN]


def test_preview_round__has_the_way_to_the_next_title() -> None:
    display, beliefs, _ = round_of("elo", 30, 1)
    standings = Standings.of([f"p{i}" for i in range(30)], np.arange(30), np.arange(30))
    before = np.asarray(beliefs["mu"])
    goal = float(np.sort(before)[-3]) + 1.0
    ladder = Titles("two", (Title("all", -np.inf, "#000000"), Title("top", goal, "#ffffff")))
    found = preview_round(Rules(display, ladder, Skipping()), standings, beliefs, 0).table().to_pylist()
    for row in found:
        assert (row["next_title"] is None) == (row["rating_before"] >= goal)
        assert (row["next_title_chance"] is None) == (row["next_title"] is None)
        if row["next_title_place"] is None and row["next_title"] is not None:
            assert row["next_title_chance"] == 0.0
    assert any(row["next_title_place"] for row in found)
    plain = preview_round(Rules(display, NONE, Skipping()), standings, beliefs, 0).table()
    assert plain["next_title"].null_count == plain["next_title_place"].null_count == 30
    assert plain["mu"].to_pylist() == [row["mu"] for row in found]


def test_preview_round__names_the_player_whose_rating_is_no_number() -> None:
    display, beliefs, _ = round_of("elo", 3, 1)
    params = display.params
    object.__setattr__(params, "k", np.inf)
    standings = Standings.of(["ada", "alan", "grace"], np.arange(3), np.arange(3))
    with pytest.raises(ConvergenceError, match=r"contest of the preview, .*player '(ada|grace)' gets mu = "):
        preview_round(Rules(display, NONE, Skipping()), standings, beliefs, 0)


def test_expected_places__are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    system = SYSTEMS["elo-mmr"]
    model = PlaceModel(system, system.params(), Conditions(), prior_of(system, 20))
    model._lattice, whole = None, model.expected_places()
    monkeypatch.setattr("ranklake.flows.preview.places._PAIRS", 60)
    assert np.allclose(model.expected_places(), whole, rtol=0, atol=1e-5)
