"""Whether a store carries out the conditions of requests. Where it does not, two writers at once could lose commits.

A store that knows no conditions carries the request out as if it had none, and nobody notices before a contest of two
writers. So each lease tries them on its own object, which exists: creating it once more, and replacing a version that
it never had. Both must be refused. Other stores answer with an error, by the standard 412, and with 409 or 501.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

import fsspec

from ..errors import LakeError
from .object_stores import Conditional, status_of

CREATE, REPLACE = "If-None-Match", "If-Match"
_NO_VERSION = f'"{"0" * 32}"'
_REFUSED = (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED)


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
