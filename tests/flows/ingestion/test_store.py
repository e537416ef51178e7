"""Ingestion of a site into a lake in an object store: the same as on a disk, without listings of the responses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.contents import counts, standings
from helpers.fake_codeforces import FakeCodeforces, changes
from helpers.server import Server
from helpers.stores import Proxy, reachable

from ranklake.flows.ingestion.sites import ingest_source, normalise_source
from ranklake.storage import Lake

pytestmark = pytest.mark.slow

pytest.importorskip("moto", reason="needs moto[server], a store that runs here")
s3fs = pytest.importorskip("s3fs")

NAME = "codeforces"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Proxy]:
    with reachable(tmp_path) as made:
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir("bucket")
        yield made


def test_ingest__into_an_object_store_is_as_on_a_disk(store: Proxy, lake: Lake, server: Server) -> None:
    site = FakeCodeforces(server)
    for number in range(1, 6):
        site.add(number, changes(number, ("ada", 1), ("bob", 2)) if number != 2 else None)
    remote = Lake.open("s3://bucket/lake", create=True)
    first = [counts(ingest_source(each, NAME, client=site.client())) for each in (lake, remote)]
    site.add(6, changes(6, ("bob", 1), ("ada", 2)))
    store.seen.clear()
    second = [counts(ingest_source(each, NAME, client=site.client())) for each in (lake, remote)]
    raw_listed = [what for what in store.seen if what.startswith("LIST") and "raw" in what and "lease" not in what]
    third = [counts(ingest_source(each, NAME, client=site.client())) for each in (lake, remote)]
    again = [counts(normalise_source(each, NAME)) for each in (lake, remote)]
    assert [one for one, _ in (first, second, third, again)] == [other for _, other in (first, second, third, again)]
    assert (first[1]["new"], second[1]["new"], third[1]) == (4, 1, {"unchanged": 5, "requests": 1})
    assert standings(remote, NAME) == standings(lake, NAME)
    assert remote.list("raw/codeforces/rating-changes") == lake.list("raw/codeforces/rating-changes")
    assert not [what for what in raw_listed if "rating-changes" in what]
