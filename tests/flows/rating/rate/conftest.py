"""Lakes with the same contests, not rated and rated once, in many small files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.lakes import commit_often, copy_of, lake_of, rate_run, small_files
from helpers.rated_runs import CONTESTS_MADE, SEGMENT_ROWS

from ranklake.storage import Lake


@pytest.fixture(scope="module", autouse=True)
def many_small_files() -> Iterator[None]:
    """Segments and standings files of a few rounds, divided by size only."""
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=SEGMENT_ROWS)
        small_files(patch, file_rows=24, view_rows=1)  # read a file at a time
        yield


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, many_small_files: None) -> Lake:
    return lake_of(tmp_path_factory.mktemp("ingested") / "lake", CONTESTS_MADE)


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory, ingested: Lake) -> Lake:
    lake = copy_of(ingested, tmp_path_factory.mktemp("rated") / "lake")
    rate_run(lake)
    return lake


@pytest.fixture
def lake(tmp_path: Path, ingested: Lake) -> Lake:
    """A lake with ``CONTESTS_MADE``, not rated."""
    return copy_of(ingested, tmp_path / "lake")


@pytest.fixture
def undisturbed(tmp_path: Path, rated_once: Lake) -> Lake:
    """A lake with ``CONTESTS_MADE``, rated in one call."""
    return copy_of(rated_once, tmp_path / "undisturbed")
