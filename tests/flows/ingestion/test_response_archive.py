"""Responses whose file names or writes depend on the file system."""

from __future__ import annotations

import json

import pytest

from ranklake.flows.ingestion.response_archive import ResponseArchive
from ranklake.flows.sources.sites.documents import Document, Key, Response
from ranklake.storage import Lake
from ranklake.storage.lake import layout
from ranklake.storage.lake.access.lake import digest_of

DEVICES = ["con", "CON", "nul!", "com1"]


def document(name: str, body: bytes = b"{}", status: int = 200) -> Document:
    return Document(Key("round", name), Response("http://site/", status, body, 1_700_000_000), {})


@pytest.mark.parametrize("name", DEVICES)
def test_archive__responses_of_release_01_about_a_device_are_found_under_their_old_names(lake: Lake, name: str) -> None:
    archive = ResponseArchive(lake, "site")
    archive.store(document(name, b"old"))
    archive.save()
    now, before = (make("site", "round", name) for make in (layout.raw_file, layout.raw_file_before))
    lake.write_bytes(before, lake.read_bytes(now))
    lake.delete(now)
    key = Key("round", name)
    assert ResponseArchive(lake, "site").read(key).response.body == b"old"
    lake.delete(layout.raw_index("site"))
    for again in (ResponseArchive(lake, "site"), ResponseArchive(lake, "site")):
        assert again.find(key) is not None
        assert again.read(key).response.body == b"old"
        assert dict(again.verify()) == {before: ""}
    again.store(document(name, b"new"))
    assert again.read(key).response.body == b"new"
    rebuilt = ResponseArchive(lake, "site")
    assert rebuilt.read(key).response.body == b"new"
    assert dict(rebuilt.verify()) == {before: "", layout.raw_file("site", "round", name, 1): ""}


def test_archive__an_empty_file_of_a_killed_process_is_no_response(lake: Lake) -> None:
    """On a disk without hard links, the file of a response is empty for a moment."""
    lake.write_bytes(layout.raw_file("site", "round", "1"), b"")
    archive = ResponseArchive(lake, "site")
    assert archive.find(Key("round", "1")) is None
    assert list(archive.verify()) == []
    archive.store(document("1"))
    archive.save()
    for again in (ResponseArchive(lake, "site"), archive):
        assert again.read(Key("round", "1")).response.body == b"{}"
        assert dict(again.verify()) == {layout.raw_file("site", "round", "1", 1): ""}


def test_archive__a_response_that_was_emptied_is_damage(lake: Lake) -> None:
    archive = ResponseArchive(lake, "site")
    archive.store(document("1"))
    lake.write_bytes(layout.raw_file("site", "round", "1"), b"")
    ((path, problem),) = archive.verify()
    assert "does not match the digest of the response" in problem
    assert path == layout.raw_file("site", "round", "1")


@pytest.mark.parametrize("left", [".tmp-0123456789abcdef", "writing-000003/.tmp-0123456789abcdef"])
def test_archive__temporary_files_of_a_killed_process_are_no_responses(lake: Lake, left: str) -> None:
    ResponseArchive(lake, "site").store(document("1"))
    lake.write_bytes(f"raw/site/{left}", b"half")
    assert dict(ResponseArchive(lake, "site").verify()) == {layout.raw_file("site", "round", "1"): ""}


@pytest.mark.parametrize("index", ["new", "of release 0.1", "lost"])
@pytest.mark.parametrize(("before", "now"), [(404, 200), (200, 404)])
def test_archive__a_response_of_another_status_is_new(lake: Lake, before: int, now: int, index: str) -> None:
    key, archive = Key("round", "1"), ResponseArchive(lake, "site")
    archive.store(document("1", b"page", before))
    archive.save()
    path = layout.raw_index("site")
    if index == "lost":
        lake.delete(path)
    elif index == "of release 0.1":
        entries = json.loads(lake.read_bytes(path))
        assert [entry.pop("status") for entry in entries] == [before]
        lake.write_bytes(path, json.dumps(entries).encode())
    archive = ResponseArchive(lake, "site")
    assert not archive.store(document("1", b"page", before))
    fingerprint = archive.fingerprint(key)
    assert archive.store(document("1", b"page", now))
    assert archive.fingerprint(key) != fingerprint
    assert archive.read(key).response.status == now
    assert not archive.store(document("1", b"page", now))
    assert {path[-6:] for path, problem in archive.verify() if not problem} == {".0.zst", ".1.zst"}


def test_archive__the_fingerprint_of_a_response_is_that_of_release_01(lake: Lake) -> None:
    """Responses that are in a data set are not parsed again."""
    archive = ResponseArchive(lake, "site")
    archive.store(document("1", b"page"))
    entry = archive.entry(Key("round", "1"))
    assert entry is not None
    assert archive.fingerprint(Key("round", "1")) == digest_of(entry.digest.encode() + b"{}")
