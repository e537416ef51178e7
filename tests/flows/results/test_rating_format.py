"""The text of ratings."""

from __future__ import annotations

import numpy as np
import pytest

from ranklake.flows.results.rating_format import RatingFormat
from ranklake.flows.results.titles import CODEFORCES


@pytest.mark.parametrize("decimals", [0, 1])
def test_rating__of_equal_numbers_is_one_text(decimals: int) -> None:
    form = RatingFormat(CODEFORCES, decimals)
    for numbers in ((0.0, -0.0, 0), (1500, 1500.0, np.float64(1500.0)), (-2.0, -2)):
        assert len({form.rating(number) for number in numbers}) == 1
    assert form.rating(-0.0) == f"{0:.{decimals}f}"


def test_rating__beyond_every_scale_has_three_digits() -> None:
    assert [RatingFormat(CODEFORCES, 0).rating(value) for value in (999_999_999.0, 1e9, -2.5e12)] == [
        "999999999", "1e+09", "-2.5e+12"
    ]  # fmt: skip
