"""The benchmark programs count the stated units."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ranklake.rating_kernels import Rounds
from ranklake.rating_kernels.fields.panels import NODES

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def phases(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    import phases

    return phases


def test_profile__counts_the_units_of_the_rounds(phases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small, n = 3, 4, 1100
    order = np.random.default_rng(7)
    sizes = [n] * large + [5] * small
    player = np.concatenate([order.permutation(n)[:size] for size in sizes])
    places = np.concatenate([np.arange(size) for size in sizes])
    rounds = Rounds.from_columns(np.cumsum([0, *sizes]), player, places, places)
    history = sys.modules["history"].History(rounds, pa.array([str(i) for i in range(n)]))
    monkeypatch.setattr(phases, "load", lambda path, limit: history)
    options = sys.modules["timing"].Options(FOLDER)
    monkeypatch.setattr(type(options), "file", lambda self, name: FOLDER)
    figures = [result.figures for result in phases.profile(options)][: len(phases.PHASES)]
    units = dict(zip([phase for phase, _, _ in phases.PHASES.values()], [one["units"] for one in figures], strict=True))
    assert units["diffuse"] == units["roots"] == large * n  # no ties
    assert units["absorb"] == n * (1 + 2 + 3)  # all histories grow by one factor a round
    assert units["small rounds, all steps"] == small * 5
    assert units["build"] % NODES == 0
    assert large * n * NODES <= units["build"] <= large * n * NODES * 100
    assert all(0.01 < one["ns_per_unit"] < 1e6 for one in figures)
    assert sum(one["share"] for one in figures) < 1.0
