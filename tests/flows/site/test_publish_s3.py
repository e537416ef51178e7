"""A site in an object store: the files of one on a disk, with the types that browsers need, and one switch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.lakes import ingest, lake_of, rate_run, synthetic
from helpers.stores import Proxy, reachable

from ranklake.flows.site.publish import publish_site
from ranklake.storage import Lake, LakeError

pytestmark = pytest.mark.slow

pytest.importorskip("moto", reason="needs moto[server], a local object store")
s3fs = pytest.importorskip("s3fs")

CONTESTS = synthetic(24)
SITE = "s3://bucket/site"
TYPES = {
    "index.html": "text/html; charset=utf-8", "player.html": "text/html; charset=utf-8",
    "v/000001/leaderboard/000.html": "text/html; charset=utf-8",
    "v/000001/leaderboard/000.html.gz": "application/gzip", "v/000001/manifest.json": "application/json",
}  # fmt: skip
STATIC = {
    "site.css": "text/css; charset=utf-8", "site.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with reachable(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def client(store: Proxy) -> Iterator[Any]:
    """A client of the store, with an empty bucket."""
    store.fault = lambda _: ""
    client = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
    if client.exists("bucket"):
        client.rm("bucket", recursive=True)
    client.mkdir("bucket")
    return client


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = lake_of(tmp_path / "lake", CONTESTS[:20])
    rate_run(lake)
    return lake


def objects(client: Any) -> dict[str, bytes]:
    found = client.cat(client.find("bucket/site"))
    return {path.removeprefix("bucket/site/"): data for path, data in found.items()}


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def writes(store: Proxy) -> list[str]:
    return [what.removeprefix("PUT /bucket/site/") for what in store.seen if what.startswith("PUT ")]


def add_round(lake: Lake, number: int) -> None:
    ingest(lake, CONTESTS[number : number + 1])
    rate_run(lake)


def test_site__in_a_store_is_that_on_a_disk_after_each_publish(
    lake: Lake, tmp_path: Path, store: Proxy, client: Any
) -> None:
    publish_site(lake, "run", SITE)
    publish_site(lake, "run", str(tmp_path / "site"))
    first = objects(client)
    assert first == files(tmp_path / "site")
    store.seen.clear()
    assert publish_site(lake, "run", SITE).written == 0
    assert writes(store) == []

    add_round(lake, 20)
    add_round(lake, 21)
    publish_site(lake, "run", SITE)
    publish_site(lake, "run", str(tmp_path / "site"))
    second = objects(client)
    assert second == files(tmp_path / "site")
    written = writes(store)
    assert written[0] == "ranklake-site.json"
    assert written[-1] == "index.html"
    assert written.count("index.html") == 1
    changed = {path for path, data in second.items() if first.get(path) != data}
    assert set(written) - {"ranklake-site.json"} == changed - {"ranklake-site.json"}


def test_site__files_of_a_store_have_types_and_pages_at_the_root_are_asked_for_again(lake: Lake, client: Any) -> None:
    publish_site(lake, "run", SITE)
    paths = objects(client).keys()
    one_of_each = {path.rpartition(".")[2]: path for path in paths}.values()
    for path in [path for path in paths if path in TYPES or path.startswith("static/")] + [*one_of_each]:
        about = client.call_s3("head_object", Bucket="bucket", Key=f"site/{path}")
        wanted = TYPES.get(path, STATIC.get(path.rpartition("/")[2]))
        assert about["ContentType"] == (wanted or about["ContentType"]) != "binary/octet-stream", path
        is_root = ("/" not in path and path != "ranklake-site.json") or path.startswith("p/")
        assert about.get("CacheControl") == ("no-cache" if is_root else None), path
    assert paths > TYPES.keys()


def test_site__a_store_that_refuses_the_switch_leaves_the_version_before(
    lake: Lake, store: Proxy, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_site(lake, "run", SITE)
    before = objects(client)
    add_round(lake, 20)
    add_round(lake, 21)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    store.fault = lambda what: "refuse" if what.startswith("PUT ") and what.endswith("/index.html") else ""
    with pytest.raises(LakeError, match=r"index\.html: cannot write: "):
        publish_site(lake, "run", SITE)
    store.fault = lambda _: ""
    of_version = {path: data for path, data in before.items() if not path.startswith(("p/", "feed.atom"))}
    assert of_version.items() <= objects(client).items()
    assert publish_site(lake, "run", SITE).version == "v/000002"
    assert b"v/000002/" in objects(client)["index.html"]
