"""A lake with a run that is not published yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.lakes import commit_often, copy_of, lake_of, rate_run
from helpers.publishing import CONTESTS

from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake


@pytest.fixture(scope="module", autouse=True)
def _small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=20)
        yield


@pytest.fixture(scope="module")
def rated_once(tmp_path_factory: pytest.TempPathFactory, _small_segments: None) -> Lake:
    lake = lake_of(tmp_path_factory.mktemp("rated") / "lake", CONTESTS[:30])
    rate_run(lake)
    return lake


@pytest.fixture
def lake(tmp_path: Path, rated_once: Lake) -> Lake:
    """A lake with a run of the first 30 contests, not published."""
    return copy_of(rated_once, tmp_path / "lake")


@pytest.fixture(scope="module")
def published_once(tmp_path_factory: pytest.TempPathFactory, rated_once: Lake) -> Lake:
    lake = copy_of(rated_once, tmp_path_factory.mktemp("published") / "lake")
    publish(lake, "run")
    return lake


@pytest.fixture
def published(tmp_path: Path, published_once: Lake) -> Lake:
    """A lake with a published run of the first 30 contests."""
    return copy_of(published_once, tmp_path / "published")
