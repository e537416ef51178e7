"""Sums over tie groups of any size against sums over all their pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from helpers.histories import same_bits

from ranklake.flows.engines.serial import Serial
from ranklake.flows.engines.threads import Threads
from ranklake.rating_kernels.fields.blocks import BLOCK
from ranklake.rating_kernels.fields.direct import DIRECT
from ranklake.rating_kernels.fields.tie_field import tied_sums

SIZES = [1, 1, 5, DIRECT, 1, DIRECT + 1, 700, BLOCK + 100, 2, BLOCK]


def groups(ratio: float = 1.0):
    """Ratings, rates with ratio ``ratio``, weights, and first rows of tie groups."""
    draw = np.random.default_rng(2)
    n = sum(SIZES)
    rate = 0.006 * ratio ** -draw.random(n)
    return draw.normal(1500, 500, n), rate, draw.uniform(0.5, 2.0, n), np.cumsum([0, *SIZES])


@pytest.mark.quick("1.0")
@pytest.mark.parametrize("ratio", [1.0, 30.0])
def test_tied_sums__are_those_of_all_pairs(ratio: float) -> None:
    mu, rate, weight, first = groups(ratio)
    tied = tied_sums(mu, rate, weight, first, Serial().map)
    for a, b in pairwise(first):
        terms = weight[a:b] / (1 + np.exp((mu[a:b, None] - mu[None, a:b]) * rate[None, a:b]))
        assert tied[a:b] == pytest.approx(terms.sum(axis=1), rel=1e-12, abs=1e-12 * weight[a:b].sum())


def test_tied_sums__have_the_same_bits_however_the_work_is_shared() -> None:
    expected = tied_sums(*groups(), Serial().map)
    for block_size in (None, 1, 7, 1000):
        assert same_bits(tied_sums(*groups(), Serial(block_size).map), expected)
        with Threads(3, block_size) as engine:
            assert same_bits(tied_sums(*groups(), engine.map), expected)
