"""A rated lake for the tests of publishing into databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.lakes import copy_of, lake_of, often, rate_run, synthetic
from helpers.tables import over_years

from ranklake.storage import Contest, Lake

OFTEN = often(segment_rows=20)


@pytest.fixture(scope="session")
def sixteen() -> list[Contest]:
    """Sixteen contests, one a month."""
    return over_years(synthetic(16))


@pytest.fixture(scope="session")
def _ten_rounds(sixteen: list[Contest], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("rated") / "lake", sixteen[:10])
    rate_run(lake, system="elo", policy=OFTEN)
    return lake


@pytest.fixture
def ten_rounds(_ten_rounds: Lake, tmp_path: Path) -> Lake:
    """A lake with the first ten of them, rated by elo in small segments."""
    return copy_of(_ten_rounds, tmp_path / "lake")
