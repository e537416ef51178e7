"""The server over a lake in an object store: the answers of one on a disk, a new version, and no write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.lakes import ingest, lake_of, rate_run, synthetic
from helpers.stores import environment, server

from ranklake.flows.publication.publish import publish
from ranklake.storage import Lake

pytest.importorskip("starlette")
pytest.importorskip("moto", reason="needs moto[server], a local object store")
pytest.importorskip("s3fs")
from helpers.api import TestClient

from ranklake.flows.serving.app import create_app
from ranklake.flows.serving.state.served_runs import ServedRuns

pytestmark = pytest.mark.slow

CONTESTS = synthetic(24)
PATHS = ("/leaderboard", "/players/player 1", "/players/player 1/history", "/contests/3", "/search?q=pl")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a store with an empty bucket; without a proxy, as the Delta library holds the interpreter lock."""
    import s3fs

    with server(tmp_path) as address:
        for name, value in {**environment(address), "AWS_REGION": "us-east-1"}.items():
            monkeypatch.setenv(name, value)
        client = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
        client.mkdir("bucket")
        yield client


def versions(client: Any) -> dict[str, str]:
    found = client.find("bucket", detail=True)
    return {path: about["ETag"] + str(about["LastModified"]) for path, about in found.items()}


def answers(client: TestClient) -> dict[str, object]:
    found = {path: client.get(f"/api/v1/runs/run{path}").json() for path in PATHS}
    for answer in found.values():
        del answer["version"]  # has the time of the publish
    return {**found, "page": client.get("/run/p/player 1").text}


def test_serve__from_an_object_store_answers_as_from_a_disk(tmp_path: Path, client: Any) -> None:
    lakes = [lake_of("s3://bucket/lake", CONTESTS[:20]), lake_of(tmp_path / "lake", CONTESTS[:20])]
    served = [_published(lake) for lake in lakes]
    for stop in (22, 24):
        before = versions(client)
        with TestClient(create_app(served[0], 0)) as remote, TestClient(create_app(served[1], 0)) as local:
            assert answers(remote) == answers(local)
        assert versions(client) == before
        for lake, one in zip(lakes, served, strict=True):
            ingest(lake, CONTESTS[:stop])
            _published(lake)
            assert one.refresh()
            assert one.runs["run"].manifest.n_rounds == stop


def _published(lake: Lake) -> ServedRuns:
    rate_run(lake)
    publish(lake, "run")
    return ServedRuns(lake)
