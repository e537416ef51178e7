"""Addresses and stores: what works, and what a message names; a store that ignores conditions cannot hold a lake."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from helpers.builders import contest, ingest

from ranklake.storage import Dataset, Lake, LakeError
from ranklake.storage.lake.access.object_stores import (
    Conditional,
    bucket_of,
    ignored_condition,
    lake_errors,
    unsupported,
)
from ranklake.storage.lake.errors import AddressError
from ranklake.storage.lake.remedies import install_extra
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import lease_holder

WRONG = {
    "": "is empty, got ''",
    "  ": "is empty",
    "file:": "names no folder",
    "file://": "names no folder",
    "local://": "names no folder",
    "file:///": "the root folder of a disk",
    "/": "the root folder of a disk",
    "file://localhost/tmp/lake": "'localhost' would be a host; an absolute path is as in file:///localhost/tmp/lake",
    "file://lake": "as in file:///lake",
    "s3:": "s3: must be followed by //",
    "s3:bucket/lake": "s3: must be followed by //",
    "s3://": "names no bucket",
    "s3:///lake": "names no bucket",
    "foo://lake": "cannot be the address of a lake: Protocol not known: foo",
    "reference://": "cannot be the address of a lake: ",
    "zip://lake": "cannot be the address of a lake: ",
    "simplecache::s3://bucket": "a chain of file systems",
    "~nobody-of-that-name/lake": "no home folder is known for '~nobody-of-that-name'",
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("url", WRONG)
def test_open__refuses_an_address_that_cannot_be_that_of_a_lake(tmp_path: Path, url: str, create: bool) -> None:
    if url.startswith("s3://"):
        pytest.importorskip("s3fs")
    with pytest.raises(AddressError) as caught:
        Lake.open(url, create=create)
    assert WRONG[url] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("protocol", ["s3", "s3a", "gs", "az"])
def test_open__without_the_package_of_a_store_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    def missing(url: str, **options: object) -> None:
        raise ImportError("Install a package to access it")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    remedy = install_extra("s3") if protocol.startswith("s3") else "install that package"
    with pytest.raises(LakeError, match=re.escape(f"Install a package to access it; {remedy}")):
        Lake.open(f"{protocol}://bucket/lake")


@pytest.mark.parametrize("protocol", ["s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"])
def test_open__of_an_object_store_needs_a_bucket(monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda url, **options: (MemoryFileSystem(), ""))
    with pytest.raises(AddressError, match=f"^{protocol}://: names no bucket"):
        Lake.open(f"{protocol}://")


@pytest.mark.parametrize(
    ("protocol", "bucket"), [(("s3", "s3a"), "b"), ("gs", "b"), (["abfs", "az"], "b"), (("file", "local"), "")]
)
def test_bucket__is_the_first_part_of_a_path_in_an_object_store(protocol: object, bucket: str) -> None:
    filesystem = MemoryFileSystem(skip_instance_cache=True)
    filesystem.protocol = protocol
    assert bucket_of(filesystem, "b/lake") == bucket
    assert Conditional.offered_by(filesystem) == ("s3" in protocol)  # type: ignore[operator]


class Versions:
    """The requests of a client of S3 for the deletion of one object."""

    def __init__(self, version: str) -> None:
        self.objects = {("bucket", "lake/root"): version}

    def split_path(self, full: str) -> tuple[str, str, None]:
        bucket, _, key = full.partition("/")
        return bucket, key, None

    def call_s3(self, method: str, *, Bucket: str, Key: str, IfMatch: str | None = None) -> None:
        assert method == "delete_object"
        if IfMatch not in (None, self.objects[Bucket, Key]):
            raise OSError("PreconditionFailed")
        del self.objects[Bucket, Key]


def test_conditional__an_object_of_another_version_is_not_deleted() -> None:
    store = Versions("new")
    at = Conditional(store)
    with pytest.raises(OSError, match="PreconditionFailed"):
        at.delete("bucket/lake/root", "old")
    assert store.objects
    at.delete("bucket/lake/root", "new")
    assert not store.objects


@pytest.mark.parametrize("create", [False, True])
def test_open__of_a_file_is_an_error(tmp_path: Path, create: bool) -> None:
    (tmp_path / "file").write_bytes(b"")
    for below in ("", "/x"):
        with pytest.raises(LakeError) as caught:
            Lake.open(f"file{below}", create=create)
        assert ("file: is a file, " in str(caught.value)) == (not below)
        assert "\n" not in str(caught.value)


def test_errors__of_missing_rights_name_the_lake_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.open(tmp_path)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "listdir", denied)
    with pytest.raises(LakeError) as caught:
        lake.list("")
    assert str(caught.value).startswith(f"{tmp_path}: cannot list: Permission denied; grant this user the right")


@pytest.mark.parametrize(
    "url",
    ["lake", "lake/", "lake//", "./sub/../lake", "file:lake", "{}/lake", "file://{}/lake", "file:{}/lake", "~/lake"],
)
def test_open__by_any_spelling_finds_the_same_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HOME" if os.name == "posix" else "USERPROFILE", str(tmp_path))
    (tmp_path / "sub").mkdir()
    ingest(Lake.open(url.format(tmp_path.as_posix()), create=True), [contest("a", ["x", "y"])])
    assert {path.name for path in tmp_path.iterdir()} == {"sub", "lake"}
    again = Lake.open(url.format(tmp_path.as_posix()))
    assert Dataset.names(again) == ["games"]
    assert os.path.samefile(again.uri("games"), tmp_path / "lake" / "games")


# Conditions of requests

FOLDER = "runs/run"


class Refused(Exception):
    """An error as that of a client: Google's has ``code``, Azure's ``status_code``, that of S3 a cause."""

    def __init__(self, status: int, name: str) -> None:
        super().__init__("the client's words")
        if name == "cause":
            self.__cause__ = Exception()
            self.__cause__.response = {"ResponseMetadata": {"HTTPStatusCode": status}}  # type: ignore[attr-defined]
        else:
            setattr(self, name, status)


class Store:
    """A client whose puts raise, or succeed without an error."""

    protocol = "gs"

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def pipe_file(self, *_: Any, **__: Any) -> None:
        if self.error is not None:
            raise self.error


def test_hold__at_a_store_that_ignores_conditions_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake.open(f"memory://{tmp_path}", create=True)
    pipe = type(lake._filesystem).pipe_file
    monkeypatch.setattr(
        type(lake._filesystem), "pipe_file", lambda self, path, value, mode="", **how: pipe(self, path, value)
    )
    problem = rf"^memory://{tmp_path}: the store ignores If-None-Match: writers at the same .*; use a store that"
    with pytest.raises(LakeError, match=problem), hold_lease(lake, FOLDER, "rate"):
        pass
    monkeypatch.undo()
    assert lease_holder(lake, FOLDER) is None
    with hold_lease(lake, FOLDER, "rate"):
        pass


@pytest.mark.parametrize(
    "error",
    [FileExistsError(), *(Refused(status, name) for status in (409, 412) for name in ("code", "status_code", "cause"))],
)
def test_ignored_condition__of_a_store_that_refuses_is_none(error: Exception) -> None:
    assert ignored_condition(Store(error), "a", b"") == ""
    assert ignored_condition(Store(None), "a", b"") == "If-None-Match"


@pytest.mark.parametrize("error", [OSError(5, "broken"), Refused(503, "cause"), Refused(400, "code")])
def test_ignored_condition__after_any_other_error_is_unknown(error: Exception) -> None:
    with pytest.raises(type(error)):
        ignored_condition(Store(error), "a", b"")
    assert unsupported(error, "If-Match") == ""


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("name", ["code", "status_code", "cause"])
def test_lake_errors__of_a_busy_store_say_to_run_again(status: int, name: str) -> None:
    words = "a/b: cannot write: the client's words; run the same command again when the store is less busy"
    with pytest.raises(LakeError, match=words), lake_errors("write", "a/b", "bucket"):
        raise Refused(status, name)


@pytest.mark.parametrize("name", ["code", "status_code", "cause"])
def test_unsupported__names_the_condition_and_the_answer(name: str) -> None:
    words = "answers a put with If-Match, whose condition is true, with 501 Not Implemented"
    assert unsupported(Refused(501, name), "If-Match") == words
