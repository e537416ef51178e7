"""The distribution of ratings: one rule of bins for the API, the pages of the server, and the site."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ranklake.flows.answers.distribution import MOST_BINS, distribution, distribution_of, nice_width

RATINGS = np.random.default_rng(7).normal(1500, 300, 5_000)


def test_distribution__has_every_player_in_a_bin_of_round_width() -> None:
    bins = distribution(np.append(RATINGS, np.nan))
    assert bins.total == 5_000
    assert bins.width == nice_width((RATINGS.max() - RATINGS.min()) / 50) == 50
    assert bins.start % bins.width == 0
    below = np.mean(bins.rows()[3][0] > RATINGS)
    assert bins.rows()[3][2] == pytest.approx(below)
    assert dict(bins.quantiles)[0.5] == pytest.approx(np.median(RATINGS))


@pytest.mark.parametrize("scale", [1e-9, 0.3, 1.0, 7.77, 1e12])
def test_distribution__has_25_to_51_bins_by_default(scale: float) -> None:
    assert 25 <= len(distribution(RATINGS * scale).counts) <= 51


def test_distribution__of_nobody_and_of_equals_has_one_bin() -> None:
    nobody, equals = distribution(np.array([np.nan])), distribution(np.full(3, -1500.0))
    assert (nobody.start, nobody.width, nobody.counts, nobody.quantiles) == (0.0, 1.0, [0], [])
    assert (equals.start, equals.width, equals.counts) == (-1500.0, 1.0, [3])


@pytest.mark.bound("ranklake.flows.answers.distribution.MOST_BINS")
def test_distribution__of_too_many_bins_is_refused() -> None:
    assert len(distribution(np.array([0.0, MOST_BINS - 1.0]), 1.0).counts) == MOST_BINS
    with pytest.raises(ValueError, match="at most 2,000 bins for ratings from 0 to 2000"):
        distribution(np.array([0.0, float(MOST_BINS)]), 1.0)


def test_distribution_of__the_percentile_of_a_player_is_among_the_others() -> None:
    board = pa.table(
        {"handle": list("abcd"), "rating": [9.0, 7.0, 7.0, 3.0], "place": [1, 2, 2, 4], "provisional": [False] * 4,
         "last_time_seconds": [1, 5, 5, 5]}
    )  # fmt: skip

    def percentile(board: pa.Table, handle: str, since: int | None = None) -> float:
        found: float = distribution_of(board, 1.0, since, handle)["player"]["percentile"]
        return found

    assert [percentile(board, handle) for handle in "abcd"] == pytest.approx([100.0, 100 / 3, 100 / 3, 0.0])
    assert percentile(board, "a", 5) == 100.0  # not active: among three others
    assert percentile(board, "b", 5) == 50.0
    apart = board.append_column("component", pa.array([0, 0, 0, 1]))
    assert [percentile(apart, handle) for handle in "abd"] == [100.0, 0.0, 100.0]
