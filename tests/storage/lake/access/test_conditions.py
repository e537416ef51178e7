"""Conditions of requests: a store that ignores them cannot hold a lake, whatever its client's errors are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ranklake.storage import Lake, LakeError
from ranklake.storage.lake.access.object_stores import ignored_condition, lake_errors, unsupported
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.holder import lease_holder

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
