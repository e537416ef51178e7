"""Prediction metrics against plain Python, and their general properties."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import twins.metrics as slow
from helpers.histories import same_bits
from helpers.strategies import places, repeatable
from hypothesis import given
from hypothesis import strategies as st

from ranklake.rating_kernels.metrics.lattice import _CHEAPER, _FEW, _STEP, sum_opponents
from ranklake.rating_kernels.metrics.metrics import FILTERS, PER_ROW, Scores, keep, score
from ranklake.rating_kernels.metrics.rank_errors import RANK_ERROR_ROWS, rank_errors, total

EXPERIENCED = FILTERS["experienced"]


@st.composite
def rounds(draw: st.DrawFn, max_size: int = 30) -> list[tuple[float, int, int]]:
    """One round: ratings that repeat or not, near or far, and places with ties."""
    n = draw(st.integers(2, max_size))
    kind = draw(st.sampled_from(["coarse", "fine", "far"]))
    rating = {
        "coarse": st.integers(10, 16).map(lambda x: 100.0 * x),
        "fine": st.floats(600, 3500),
        "far": st.floats(-1e6, 1e6),
    }[kind]
    mu = draw(st.lists(rating, min_size=n, max_size=n))
    return [(m, lo, hi) for m, (lo, hi) in zip(mu, draw(places(n)), strict=True)]


def scored(*contests: list[tuple[float, int, int]], **options: Any) -> Scores:
    """Scores of all participants of rounds given as lists of (mu, lo, hi)."""
    rows = [row for contest in contests for row in contest]
    offsets = np.cumsum([0, *map(len, contests)])
    mu, lo = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=np.int32)
    kept = keep(offsets, lo, np.ones(len(rows), dtype=bool))
    return score(kept, mu[kept.rows], **options)


def told_apart(contest: list[tuple[float, int, int]]) -> bool:
    return contest[0][2] < len(contest) - 1


def large(n: int, tied: bool = True, seed: int = 3) -> list[tuple[float, int, int]]:
    """A round beyond the lattice's threshold, with tie groups below and beyond it."""
    draw = np.random.default_rng(seed)
    mu = draw.normal(1500, 400, n)
    shown = -(mu + draw.normal(0, 200, n))
    if tied:
        shown = np.where(shown > -1100, -1100.0, np.where(shown < -2000, shown, np.round(shown, -2)))
    order = np.argsort(shown, kind="stable")
    lo = np.searchsorted(shown[order], shown[order], "left")
    hi = np.searchsorted(shown[order], shown[order], "right") - 1
    return list(zip(mu[order].tolist(), lo.tolist(), hi.tolist(), strict=True))


@given(st.lists(rounds(), min_size=1, max_size=4))
@repeatable(80)
def test_score__is_that_of_all_pairs_one_by_one(contests: list[Any]) -> None:
    scores = scored(*contests)
    informative = [contest for contest in contests if told_apart(contest)]
    expected = [slow.score(contest) for contest in informative]
    for name in ("pair_inversion", "pair_inversion_equal_half", "rank_deviation", "log2_performance", "cross_entropy"):
        together = [value for one in expected for value in one[name]]
        # a difference of a million points is 5,000 units: what cancels there leaves an error of 1e-12 of it
        assert getattr(scores, name) == pytest.approx(together, rel=1e-11, abs=1e-9), name
    for name in ("kendall_tau_b", "spearman_rho"):
        values = iter(one[name] for one in expected)
        together = [next(values) if told_apart(contest) else None for contest in contests]
        want = [math.nan if value is None else value for value in together]
        assert getattr(scores, name) == pytest.approx(want, abs=1e-12, nan_ok=True), name


@given(rounds(12), st.lists(st.booleans(), min_size=12, max_size=12), st.none() | st.integers(1, 8))
@repeatable(200)
def test_keep__closes_places_up_as_counting_the_better_ones_does(
    contest: list[tuple[float, int, int]], counts: list[bool], top: int | None
) -> None:
    n = len(contest)
    lo = np.array([row[1] for row in contest], dtype=np.int32)
    kept = keep(np.array([0, n]), lo, np.array(counts[:n]), top)
    expected = slow.keep(contest, counts[:n], top)
    assert kept.rows.tolist() == expected
    better = [sum(contest[j][1] < contest[i][1] for j in expected) for i in expected]
    alike = [sum(contest[j][1] == contest[i][1] for j in expected) for i in expected]
    assert kept.lo.tolist() == better
    assert kept.hi.tolist() == [a + b - 1 for a, b in zip(better, alike, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "tied"), [(_FEW + 1, False), (700, True), (900, False)])
def test_score__of_a_large_round_is_that_of_all_pairs(n: int, tied: bool) -> None:
    contest = large(n, tied)
    scores, expected = scored(contest), slow.score(contest)
    for name in ("pair_inversion", "pair_inversion_equal_half", "rank_deviation"):
        assert getattr(scores, name) == pytest.approx(expected[name], rel=1e-14), name
    for name in ("log2_performance", "cross_entropy"):
        assert getattr(scores, name) == pytest.approx(expected[name], rel=1e-10, abs=1e-10), name


@pytest.mark.parametrize("width", [0.0, 1.0, 30.0, 0.99 * _CHEAPER * 500 * _STEP, 1e6])
@pytest.mark.parametrize(
    "sizes", [[1] * 500, [1, 9, 90, 200, 200], [500], [499, 1]], ids=["apart", "mixed", "all", "one"]
)
def test_sum_opponents__is_that_of_all_pairs_from_no_width_to_any(width: float, sizes: list[int]) -> None:
    x = np.random.default_rng(4).uniform(-width / 2, width / 2, 500)
    x[:40] = np.round(x[:40] / _STEP) * _STEP  # on the lattice's own points
    chance, even = np.empty(500), np.empty(500)
    group = np.repeat(np.arange(len(sizes)), sizes)
    hi = np.repeat(np.cumsum(sizes) - 1, sizes).astype(np.int32)
    lo = (hi + 1 - np.repeat(sizes, sizes)).astype(np.int32)
    sum_opponents(x, lo, hi, chance, even)
    d, apart = x[None, :] - x[:, None], group[:, None] != group
    assert chance == pytest.approx((apart * (0.5 + 0.5 * np.tanh(d / 2))).sum(axis=1), rel=1e-11, abs=1e-10)
    expected = (apart * (np.abs(d) / 2 + np.log1p(np.exp(-np.abs(d))))).sum(axis=1)
    assert even == pytest.approx(expected, rel=1e-11, abs=1e-9)


@given(rounds())
@repeatable(100)
def test_score__means_are_those_of_pairs_and_of_shifted_ratings(contest: list[tuple[float, int, int]]) -> None:
    if not told_apart(contest):
        return
    n, scores = len(contest), scored(contest)
    inverted = sum(b[0] > a[0] for a in contest for b in contest if a[1] < b[1])
    equal = sum(b[0] == a[0] for a in contest for b in contest if a[1] < b[1])
    assert scores.pair_inversion.mean() == pytest.approx(100 * (1 - 2 * inverted / (n * (n - 1))), abs=1e-9)
    neutral = 100 * (1 - (2 * inverted + equal) / (n * (n - 1)))
    assert scores.pair_inversion_equal_half.mean() == pytest.approx(neutral, abs=1e-9)
    mirrored = scored([(-mu, lo, hi) for mu, lo, hi in contest])
    tied = sum(hi - lo for _, lo, hi in contest)
    both = scores.pair_inversion_equal_half.mean() + mirrored.pair_inversion_equal_half.mean()
    assert both == pytest.approx(100 * (1 + tied / (n * (n - 1))), abs=1e-9)  # the neutral rule is neutral
    assert mirrored.kendall_tau_b == pytest.approx(-scores.kendall_tau_b, abs=1e-12, nan_ok=True)


def test_score__of_perfect_and_of_reversed_predictions_is_extreme() -> None:
    n = 50
    best = [(3000.0 - 40 * i, i, i) for i in range(n)]
    worst = [(-mu, lo, hi) for mu, lo, hi in best]
    alike = [(1500.0, i, i) for i in range(n)]
    foreseen, upside_down, blind = (scored(contest) for contest in (best, worst, alike))
    assert set(foreseen.pair_inversion) == {100.0}
    assert set(foreseen.rank_deviation) == {0.0}
    assert foreseen.kendall_tau_b[0] == pytest.approx(1.0) == foreseen.spearman_rho[0]
    assert set(upside_down.pair_inversion) == {0.0}
    assert upside_down.kendall_tau_b[0] == pytest.approx(-1.0) == upside_down.spearman_rho[0]
    assert set(blind.pair_inversion) == {100.0}  # as the paper's engine counts
    assert set(blind.pair_inversion_equal_half) == {50.0}
    assert blind.cross_entropy == pytest.approx(1.0, abs=1e-12)
    assert np.isnan(blind.kendall_tau_b[0])
    assert np.isnan(blind.spearman_rho[0])


def test_score__of_a_round_does_not_depend_on_its_company() -> None:
    contests = [large(60, seed=1), [(1500.0, 0, 1), (1400.0, 0, 1)], large(500, seed=2), [(1.0, 0, 0), (2.0, 1, 1)]]
    together, alone = scored(*contests), [scored(contest) for contest in contests]
    for field in fields(Scores):
        parts = np.concatenate([getattr(one, field.name) for one in alone])
        assert same_bits(getattr(together, field.name), parts), field.name


def test_score__without_probabilities_skips_the_slow_measures() -> None:
    contest = large(100)
    quick, full = scored(contest, probabilities=False), scored(contest)
    assert same_bits(quick.pair_inversion, full.pair_inversion)
    assert same_bits(quick.rank_deviation, full.rank_deviation)
    assert np.isnan(quick.cross_entropy).all()
    assert not np.isnan(full.log2_rank_error).any()


def test_score__of_expected_ranks_goes_with_the_scale() -> None:
    contest = large(100)
    twice = [(2 * mu, lo, hi) for mu, lo, hi in contest]
    assert scored(twice, scale=800.0).cross_entropy == pytest.approx(scored(contest).cross_entropy, rel=1e-12)
    assert scored(twice).cross_entropy != pytest.approx(scored(contest).cross_entropy, rel=1e-2)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_score__refuses_ratings_that_are_not_finite(wrong: float) -> None:
    with pytest.raises(ValueError, match=f"must be finite, got {wrong}"):
        scored([(1500.0, 0, 0), (wrong, 1, 1)])
    kept = keep(np.array([0, 2]), np.array([0, 1], np.int32), np.array([True, True]))
    with pytest.raises(ValueError, match="one entry for each selected row, 2, got 3"):
        score(kept, np.zeros(3))


def test_rounding_ratings__is_rewarded_by_the_published_rule_and_not_by_the_neutral_one() -> None:
    contest = large(900, tied=False)
    coarse = [(100.0 * round(mu / 100), lo, hi) for mu, lo, hi in contest]
    assert scored(coarse).pair_inversion.mean() > scored(contest).pair_inversion.mean() + 1
    gain = scored(coarse).pair_inversion_equal_half.mean() - scored(contest).pair_inversion_equal_half.mean()
    assert gain < 0


def test_rank_errors__have_the_rows_of_the_table() -> None:
    # one round of each division, and one of none; ties across the middle go to the upper half
    lo = np.array([0, 1, 1, 3, 0, 1, 2, 0, 1], dtype=np.int32)
    kept = keep(np.array([0, 4, 7, 9]), lo, np.ones(9, dtype=bool))
    n_before = np.array([0, 1, 6, 7, 23, 24, 74, 198, 199], dtype=np.int32)
    p = np.array([1.0, -2.0, 0.5, 0.0, 4.0, -1.0, 2.0, 3.0, -3.0])
    gain = np.arange(9.0)
    sums = rank_errors(kept, n_before, np.array([1, 2, 0]), p, gain)
    rows = {row.name: row for row in total(sums)}
    assert tuple(rows) == RANK_ERROR_ROWS
    members = {
        "all": range(9), "first": [0], "2-7": [1, 2], "8-24": [3, 4], "25-74": [5], "75-199": [6, 7], "200+": [8],
        "existing": range(1, 9), "existing, division 1": [1, 2, 3], "existing, division 2": [4, 5, 6],
        "division 1, half 1": [1, 2], "division 1, half 2": [3], "division 2, half 1": [4, 5],
        "division 2, half 2": [6],
    }  # fmt: skip
    for name, which in members.items():
        at = list(which)
        assert rows[name] == (name, len(at), gain[at].mean(), p[at].mean(), abs(p[at]).mean()), name
    empty = total(sums[2:])
    assert empty[1].participations == 0
    assert math.isnan(empty[1].error)


def test_names__of_means_are_scores() -> None:
    assert all(hasattr(Scores, name) for name in PER_ROW)
