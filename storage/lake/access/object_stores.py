"""File systems behind an address: connections, conditional requests, and their errors as errors of the lake.

A store that knows no conditions carries a request out as if it had none, and nobody notices before a contest of two
writers, which could lose commits. So each lease tries them on its own object, which exists: creating it once more, and
replacing a version that it never had. Both must be refused. Other stores answer with an error, by the standard 412, and
with 409 or 501.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import fsspec
from fsspec.asyn import sync
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.utils import get_protocol

from ..errors import AddressError, LakeError, MissingError, NoSpaceError
from ..remedies import install_extra, remedy_for
from .space import HOW_TO_FREE_SPACE, free_space, is_full

ADDRESS_FORMS = "a lake is at a folder, as data/lake, or in a bucket, as s3://bucket/lake"

_STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https", "memory")
_DRIVE = re.compile("[A-Za-z]:")
CREATE, REPLACE = "If-None-Match", "If-Match"
_NO_VERSION = f'"{"0" * 32}"'
_REFUSED = (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED)
_TRIES = 3
_BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"})
_HOW_TO_GET_RIGHTS = "grant this user the right, or run the command as another user" + (
    ", or close the program that has the file open" if os.name == "nt" else ""
)
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_EXTRAS = {"s3": "s3", "s3a": "s3"}  # extras of this package, by protocol

# By default a client requests a file's size before it reads the file, and lists the folder of a missing file.
_OPTIONS: dict[str, dict[str, Any]] = {"s3": {"max_concurrency": 1}, "s3a": {"max_concurrency": 1}}


class _Memory(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Files in the memory of this process, for its threads.

    fsspec looks for a file and then makes it: of two threads that create a file, both could succeed. Its listing fails
    if a file is deleted meanwhile.
    """

    _lock = threading.RLock()

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        with self._lock:
            super().pipe_file(path, value, mode, **kwargs)

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        with self._lock:
            return super().ls(path, detail, **kwargs)

    def rm_file(self, path: str) -> None:
        with self._lock:
            super().rm_file(path)


def connect(url: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The file system behind an address, and the path in it.

    Raises LakeError: the package for such addresses is not installed.
    Raises AddressError: it cannot be the address of a lake.
    """
    check_address(url)
    protocol = get_protocol(url)
    options = _OPTIONS.get(protocol, {})
    if protocol in _BUCKETS:
        # A cached connection may have other credentials, or another endpoint from the environment.
        options = {**options, "skip_instance_cache": True}
    try:
        # A cached listing would hide our own later writes.
        filesystem, root = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    except ImportError as error:
        remedy = install_extra(_EXTRAS[protocol]) if protocol in _EXTRAS else "install that package"
        raise LakeError(f"{url}: {error}; {remedy}") from error
    except Exception as error:  # each file system has errors of its own for addresses that it cannot use
        reason = (str(error) or type(error).__name__).partition("\n")[0]
        raise AddressError(f"{url}: cannot be the address of a lake: {reason}; {ADDRESS_FORMS}") from error
    if protocol == "memory":
        filesystem = _Memory()
    if protocol in _BUCKETS and not bucket_of(filesystem, root):
        raise AddressError(f"{url}: names no bucket; {ADDRESS_FORMS}")
    if root.strip("/") == "" and isinstance(filesystem, LocalFileSystem):
        raise AddressError(f"{url}: the root folder of a disk cannot be a lake; name a folder in it")
    return filesystem, root


def check_address(url: str) -> None:
    """Refuse an address that names no folder, or that fsspec would read as a folder in the working folder.

    Raises AddressError: names the address and its fault.
    """
    if not url.strip():
        raise AddressError(f"the address of the lake is empty, got {url!r}; {ADDRESS_FORMS}")
    scheme, colon, rest = url.partition(":")
    if scheme in ("file", "local") and colon:
        path = rest.removeprefix("//")
        if not path.strip():
            raise AddressError(f"{url}: names no folder; {ADDRESS_FORMS}")
        if rest.startswith("//") and not path.startswith(("/", "~")) and not _DRIVE.match(path):
            full = f"{scheme}:///{path}"
            raise AddressError(f"{url}: {path.partition('/')[0]!r} would be a host; an absolute path is as in {full}")
    elif "::" in url:
        raise AddressError(f"{url}: a chain of file systems cannot hold a lake; {ADDRESS_FORMS}")
    elif scheme in _STORES and colon and not rest.startswith("//"):
        raise AddressError(f"{url}: {scheme}: must be followed by //; {ADDRESS_FORMS}")
    if url.startswith("~") and os.path.expanduser(url) == url:
        raise AddressError(f"{url}: no home folder is known for {url.partition('/')[0]!r}; give the whole path")


def bucket_of(filesystem: fsspec.AbstractFileSystem, root: str) -> str:
    """The bucket of a path in an object store; empty on a disk.

    In a bucket a folder exists as long as it has files, and need not be made. Buckets are never made here.
    """
    protocols = filesystem.protocol
    names = {protocols} if isinstance(protocols, str) else set(protocols)
    return root.partition("/")[0] if names & _BUCKETS else ""


class Conditional:
    """Objects of S3 with their versions, which are their ETags. In other stores versions are empty.

    gcsfs and adlfs only make an object unless there is one (``mode="create"``); they offer no replacement of a
    version that was read. Their objects are replaced without a condition.
    """

    def __init__(self, filesystem: fsspec.AbstractFileSystem) -> None:
        self._filesystem = filesystem

    @staticmethod
    def offered_by(filesystem: fsspec.AbstractFileSystem) -> bool:
        """Whether the store's client can replace an object on condition that it has a version."""
        protocols = filesystem.protocol
        return "s3" in ({protocols} if isinstance(protocols, str) else set(protocols))

    def read(self, full: str) -> tuple[bytes, str]:
        """An object and its version, in one request."""
        bucket, key, _ = self._filesystem.split_path(full)

        async def get() -> tuple[bytes, str]:
            response = await self._filesystem._call_s3("get_object", Bucket=bucket, Key=key)
            async with response["Body"] as body:
                return await body.read(), response["ETag"]

        data, version = self._again(lambda: sync(self._filesystem.loop, get))
        return data, version

    def replace(self, full: str, data: bytes, version: str) -> str:
        """Replace that version of an object, or create the object if ``version`` is empty; returns the new version.

        Raises OSError: the object is of another version, or the request failed. A failed request may have succeeded in
        the store.
        """
        how = {"IfMatch": version} if version else {"mode": "create"}
        response = self._filesystem.pipe_file(full, data, **how)
        return str(response["ETag"]) if response else self.read(full)[1]  # s3fs returns nothing for very large objects

    def delete(self, full: str, version: str) -> None:
        """Delete an object on condition that it has that version; raises as :meth:`replace`."""
        bucket, key, _ = self._filesystem.split_path(full)
        self._filesystem.call_s3("delete_object", Bucket=bucket, Key=key, IfMatch=version)

    def _again(self, act: Callable[[], tuple[bytes, str]]) -> tuple[bytes, str]:
        """Retry when the body breaks off; requests are retried by the client itself."""
        for _ in range(_TRIES - 1):
            try:
                return act()
            except FileNotFoundError:
                raise
            except Exception:
                continue
        return act()


def status_of(error: Exception) -> int:
    """The status of the answer that an error of a client is about; 0 if it is unknown."""
    response = getattr(error.__cause__, "response", None)  # of botocore
    found = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    found = found or getattr(error, "status_code", None) or getattr(error, "code", None)  # of Azure's and Google's
    return int(found) if isinstance(found, int) else 0


def ignored_condition(filesystem: fsspec.AbstractFileSystem, full: str, data: bytes) -> str:
    """The condition that the store ignores at an object with these ``data``; empty if it carries out all."""
    if _is_carried_out(lambda: filesystem.pipe_file(full, data, mode="create")):
        return CREATE
    at = Conditional(filesystem)
    if at.offered_by(filesystem) and _is_carried_out(lambda: at.replace(full, data, _NO_VERSION)):
        return REPLACE
    return ""


def ignores_deletion_condition(filesystem: fsspec.AbstractFileSystem, full: str) -> bool:
    """Whether the store deletes an object though it is of another version; the object is deleted in any case."""
    filesystem.pipe_file(full, b"-")
    if _is_carried_out(lambda: Conditional(filesystem).delete(full, _NO_VERSION)):
        return True
    filesystem.rm_file(full)
    return False


def unsupported(error: Exception, condition: str) -> str:
    """What is wrong if the store refused a request though its condition was true; empty for any other error."""
    status = status_of(error)
    if status in (*_REFUSED, HTTPStatus.NOT_IMPLEMENTED):
        return f"answers a put with {condition}, whose condition is true, with {status} {HTTPStatus(status).phrase}"
    return ""


def unconditional(filesystem: fsspec.AbstractFileSystem, url: str, problem: str, path: str) -> LakeError:
    """The error for a store that cannot hold a lake: the store, what it does, what would happen, and the remedy."""
    endpoint = filesystem.s3.meta.endpoint_url if Conditional.offered_by(filesystem) else ""
    return LakeError(
        f"{url}: the store{f' at {endpoint}' if endpoint else ''} {problem}: writers at the same time could overwrite "
        "each other's commits; use a store that carries out conditional puts, as AWS S3, MinIO and R2 do, or a lake on "
        "a disk",
        path=path,
    )


def _is_carried_out(act: Callable[[], object]) -> bool:
    """Whether a request succeeds that must be refused.

    Raises Exception: it failed for another reason: nothing is known.
    """
    try:
        act()
    except Exception as error:
        if isinstance(error, FileExistsError) or status_of(error) in _REFUSED:
            return False
        raise
    return True


@contextmanager
def lake_errors(action: str, path: str, bucket: str = "", disk: str = "") -> Iterator[None]:
    """Raise errors of the file system as errors of the lake, with the path inside it.

    ``disk``: a path on the disk of the lake, for the free space in messages; empty for object stores.
    """
    try:
        yield
    except LakeError:
        raise
    except FileNotFoundError as error:
        if bucket and action in ("write", "create"):
            problem = f"{path}: cannot {action}: bucket {bucket} does not exist; make it, or correct the lake's address"
            raise LakeError(problem, path=path) from error
        raise MissingError(f"{path}: there is no such file; {remedy_for(path)}", path=path) from error
    except Exception as error:
        # Clients of object stores have their own errors for missing credentials and lost connections.
        if not isinstance(error, OSError) and not bucket:
            raise
        reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).partition("\n")[0]
        if disk and is_full(error):
            raise NoSpaceError(
                f"{path}: cannot {action}: {reason} ({free_space(disk)}); {HOW_TO_FREE_SPACE}", path=path
            ) from error
        remedy = "correct this and run again"
        if isinstance(error, PermissionError) and not bucket:
            remedy = _HOW_TO_GET_RIGHTS
        elif status_of(error) in _BUSY:
            remedy = "run the same command again when the store is less busy"
        raise LakeError(f"{path}: cannot {action}: {reason}; {remedy}", path=path) from error
