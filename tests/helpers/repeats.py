"""A network file system that repeats each change of a file: the answer to the second request is an error."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# What a server answers to the second of two equal requests
ANSWERS = {
    "replace": errno.ENOENT,
    "rename": errno.ENOENT,
    "link": errno.EEXIST,
    "unlink": errno.ENOENT,
    "remove": errno.ENOENT,
    "rmdir": errno.ENOENT,
    "mkdir": errno.EEXIST,
}


def repeat_changes(
    lake: Path | str,
    names: Iterable[str] = tuple(ANSWERS),
    every: int = 1,
    patch: Callable[[Any, str, Any], None] = setattr,
) -> None:
    """Let each ``every``-th change below a lake by these functions of ``os`` be done, and then fail."""
    turns = itertools.count(1)

    def repeated(do: Callable[..., None], code: int) -> Callable[..., None]:
        def done(path: Any, *more: Any, **how: Any) -> None:
            do(path, *more, **how)
            below = str(path).startswith(str(lake)) or how.get("dir_fd") is not None  # of a folder that is deleted
            if below and next(turns) % every == 0:
                raise OSError(code, os.strerror(code), path)

        return done

    for name in names:
        patch(os, name, repeated(getattr(os, name), ANSWERS[name]))
