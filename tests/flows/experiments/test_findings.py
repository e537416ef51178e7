"""Words of findings."""

from __future__ import annotations

import math

from ranklake.flows.experiments.findings import extreme, listed, span


def test_extreme__names_the_value_and_never_one_that_is_unknown() -> None:
    values = {"elo": math.nan, "elo-mmr": 1234.567, "bar": -2.0, "glicko": math.nan}
    assert extreme(values) == "elo-mmr (1,234.57)"
    assert span(values, 1, " s") == "from bar (-2.0 s) to elo-mmr (1,234.6 s)"
    assert extreme({"elo": math.nan}) == extreme({}) == "no system"


def test_listed__has_words_for_nothing() -> None:
    assert listed(["one", "two"], "none") == "one, two"
    assert listed([], "none") == "none"
