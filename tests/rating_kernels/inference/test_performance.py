"""The interval of a round's roots, and the extreme rates of the field."""

from __future__ import annotations

import numpy as np
import pytest

from ranklake.rating_kernels.inference.performance import bracket


@pytest.mark.parametrize("split", [False, True])
def test_bracket__has_the_roots_and_the_extreme_rates(split: bool) -> None:
    rng = np.random.default_rng(3)
    n = 9
    mu, omega = rng.normal(1500.0, 300.0, n), 1.0 / rng.uniform(50.0, 400.0, n)
    above = np.concatenate(([0.0], np.cumsum(omega)[:-1]))
    below = omega.sum() - np.cumsum(omega)
    low, high, middle, top_rate, bottom_rate = bracket(mu, omega, above, below, split)
    assert (top_rate, bottom_rate) == (omega.max(), omega.min())
    assert low < middle < high

    def excess(p: float) -> np.ndarray:
        """Of each player, who shares a place with nobody: losses less wins, which rise with ``p``."""
        lost = omega / (1.0 + np.exp(-(p - mu) * omega))
        return lost.sum() - below - 0.5 * omega if split else lost.sum() + lost - below - omega

    assert np.all(excess(low) < 0.0)
    assert np.all(excess(high) > 0.0)
