"""Three chances from an expected score, and by a system's own model of draws."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import numpy as np
import pytest
import twins.chances as slow
from golden.answers_chances import chances
from golden.runner import FOLDER
from hypothesis import given
from hypothesis import strategies as st

from ranklake.rating_kernels import SYSTEMS, Prior
from ranklake.rating_kernels.chances.games import Pairings
from ranklake.rating_kernels.chances.three_way import DAVIDSON, LEAST, MODELS, NONE, PRESERVING, three_way
from ranklake.rating_kernels.core.standings import Conditions

SCORES = st.floats(-12.0, math.log10(0.5)).map(lambda power: min(10.0**power, 0.5))
NUS = st.floats(-8.0, 6.0).map(lambda power: 10.0**power)
ULP = np.spacing(1.0)


@given(SCORES, NUS)
def test_chances__add_up_to_one_and_keep_the_expected_score(low: float, nu: float) -> None:
    high = 1.0 - low
    for e, f in ((low, high), (high, low)):
        win, draw, loss = three_way(e, f, nu)
        assert abs(win + draw + loss - 1.0) <= 4 * ULP
        assert abs(win + 0.5 * draw - e) <= 4 * ULP * e
        assert abs(loss + 0.5 * draw - f) <= 4 * ULP * f
        assert draw <= 2.0 * low * (1 + 4 * ULP)


@given(SCORES, NUS, st.sampled_from(MODELS))
def test_chances__of_exchanged_entrants_are_exchanged_to_the_bit(low: float, nu: float, model: str) -> None:
    assert three_way(1.0 - low, low, nu, model) == three_way(low, 1.0 - low, nu, model).swapped()


@given(NUS, st.sampled_from([PRESERVING, DAVIDSON]))
def test_win__grows_with_the_expected_score(nu: float, model: str) -> None:
    e = np.linspace(0.001, 0.999, 999)
    win, draw, loss = three_way(e, e[::-1], nu, model)
    assert (np.diff(win) > 0.0).all()
    assert (np.diff(loss) < 0.0).all()
    assert np.argmax(draw) == 499


@given(st.floats(0.0, 1.0))
def test_chances__without_draws_are_the_expected_scores_to_the_bit(e: float) -> None:
    for found in (three_way(e, 1.0 - e, 0.0), three_way(e, 1.0 - e, 0.7, NONE)):
        assert found == (e, 0.0, 1.0 - e)


def test_chances__are_those_of_the_vectors_however_small() -> None:
    vector = json.loads((FOLDER / "chances-three-way.json").read_text("utf-8"))
    for answer, expected in zip(chances(vector), vector["expected"], strict=True):
        for name, value in expected.items():
            assert abs(answer["player"][name] - value) <= vector["rtol"] * abs(value)


def test_chances__of_a_certain_score_are_positive() -> None:
    win, draw, loss = three_way([0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [1e-5, 400.0, 1.7e308])
    for chance in (win, draw, loss):
        assert (chance > 0.0).all()
        assert np.isfinite(chance).all()
    assert draw[0] < 2 * LEAST
    assert draw[2] == 1.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((1.5, 0.5, 1.0), r"an expected score must be in \[0, 1\], got 1.5"),
        ((0.5, math.nan, 1.0), r"an expected score must be in \[0, 1\], got nan"),
        ((0.5, [0.5, -0.25], 1.0), r"an expected score must be in \[0, 1\], got -0.25"),
        ((0.5, 0.5, -1.0), "nu must be >= 0 and finite, got -1.0"),
        ((0.5, 0.5, [1.0, math.inf]), "nu must be >= 0 and finite, got inf"),
        ((0.5, 0.5, 1.0, "rao"), "one of preserving, davidson, none, got 'rao'"),
    ],
)
def test_bad_input__is_named(given: tuple[object, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        three_way(*given)  # type: ignore[arg-type]


def _pairings(lead: np.ndarray, sigma: float = 0.0, name: str = "trueskill", **settings: object) -> Pairings:
    """Games of a system at leads over an entrant of its first rating."""
    params = SYSTEMS[name].params(**settings)
    n, mu = len(lead), np.full(len(lead), params.mu_init)
    one, other = (Prior(x, np.full(n, sigma), np.empty(n), np.zeros(n, np.int32)) for x in (mu + lead, mu))
    return Pairings(SYSTEMS[name], params, Conditions(), 2, one, other)


@pytest.mark.parametrize(
    "settings",
    [{"p_draw": 1e-9}, {"p_draw": 0.1}, {"p_draw": 0.9}, {"model": "place", "eps": 10.0, "mu_init": 0.0, "beta": 3.0}],
)
def test_trueskill__draws_by_its_margin_without_cancellation(settings: dict[str, object]) -> None:
    from ranklake.rating_kernels.systems.trueskill import margin

    games = _pairings(np.array([0.0, 0.3, 3.0, 25.0, -25.0, 75.0]), 2.0, **settings)
    params = games.params
    variance = 2.0 * params.beta**2 + 8.0
    tie = margin(params) * (2.0 if params.model == "place" else 1.0)
    found = games.three_way(0.0)
    for i, lead in enumerate((games.one.mu - games.other.mu).tolist()):
        for chance, expected in zip(found, slow.own_three_way(lead, variance, tie), strict=True):
            assert abs(Decimal(float(chance[i])) - expected) <= Decimal("2e-13") * expected
    swapped = Pairings(games.system, params, games.conditions, 2, games.other, games.one).three_way(0.0)
    assert all((a == b).all() for a, b in zip(swapped.swapped(), found, strict=True))
    assert np.allclose(found.win + 0.5 * found.draw, games.expected()[0], rtol=1e-13, atol=0.0)


def test_every_system__keeps_its_expected_score() -> None:
    lead = np.array([-150.0, 0.0, 40.0])
    for name in SYSTEMS:
        games = _pairings(lead, 30.0, name)
        expected, other = games.ahead(25.0).expected()
        win, draw, loss = games.three_way(0.8, 25.0)
        assert np.allclose(win + 0.5 * draw, expected, rtol=1e-13), name
        assert np.allclose(loss + 0.5 * draw, other, rtol=1e-13), name
        assert (draw > 0.0).all(), name
        assert (games.three_way(0.8, 0.0, NONE).win == games.expected()[0]).all()
        assert np.array_equal(games.ahead(0.0).expected()[0], games.expected()[0])


def test_leads__have_the_curve_of_their_system() -> None:
    lead = np.linspace(-900.0, 900.0, 7)
    found = set()
    for name in SYSTEMS:
        games = _pairings(lead, 120.0, name)
        if (leads := games.leads()) is None:
            continue
        found.add(name)
        assert np.allclose(1.0 / (1.0 + np.exp(-leads.rate * leads.lead)), games.expected()[0], rtol=1e-12, atol=0.0)
    assert {"elo", "glicko", "glicko2", "glicko-allpairs", "bar", "elo-srm", "codeforces"} <= found
    assert _pairings(lead, 0.0, "elo", cdf="normal").leads() is None
    assert _pairings(lead, 30.0, "elo-mmr").leads() is None
