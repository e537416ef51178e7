"""A small published lake, and clients of the API and of the pages over it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.lakes import commit_often, contest, lake_of, rate_run, small_files, synthetic
from helpers.names import STRANGE
from helpers.problems import solve_some
from helpers.tables import over_years

from ranklake.flows.engines.serial import Serial
from ranklake.flows.publication.publish import publish
from ranklake.flows.smoothing.smooth import smooth_run
from ranklake.storage import Dataset, Lake

pytest.importorskip("starlette")
from helpers.api import TestClient, client_of


@pytest.fixture(scope="package")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Run ``run`` is published, run ``hidden`` is not."""
    contests = [*over_years(synthetic(30)), contest("last/1", *STRANGE, "player 1", time_seconds=10**9)]
    with pytest.MonkeyPatch.context() as patch:
        commit_often(patch, segment_rows=40)
        small_files(patch, index_rows=64)
        lake = lake_of(tmp_path_factory.mktemp("serving") / "lake", contests)
        with Dataset.ingest(lake, "games") as changing:
            changing.alias("old one", "player 1", None, "renamed")
        for run in ("run", "hidden"):
            rate_run(lake, run=run)
        solve_some(lake, ["3", "7", "last/1"])
        smooth_run(lake, "run", Serial())
        publish(lake, "run")
        return lake


@pytest.fixture(scope="package")
def client(lake: Lake) -> Iterator[TestClient]:
    with client_of(lake) as client:
        yield client


@pytest.fixture(scope="package")
def pages(client: TestClient) -> TestClient:
    """The same server, asked for its pages."""
    return client
