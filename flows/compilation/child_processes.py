"""Child processes that compile kernels (:mod:`.compile`), and their start before this process has loaded its modules.

Loading numba takes most of a second. A command that will probably compile starts its children first, so that they load
numba at the same time. The guess uses file names alone, as an exact answer would need numba. Unneeded children are
ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..common.cpus import available_cpus

# The child has the import path of this process, without its working directory.
CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from ranklake.rating_kernels.warm import serve; serve()"
)
SHARED = ("elo-mmr", "elo-mms")  # systems whose kernels two processes compile in parallel
_CHILDREN = 2  # used by one system
_END_SECONDS = 10.0  # timeout for the end of a child

Child = subprocess.Popen[str]

_ahead: list[Child] = []  # started, and not taken yet


@contextmanager
def started_ahead(systems: Sequence[str]) -> Iterator[None]:
    """A block that may compile these systems. Children are started if it probably will; unused ones end with it."""
    try:
        if available_cpus() > 1 and sys.executable and any(_is_cold(name) for name in systems if name in SHARED):
            for _ in range(_CHILDREN):
                _ahead.append(_start())
        yield
    finally:
        discard()


def _is_cold(system: str) -> bool:
    """Whether no release has recorded that it compiled this system for small rounds."""
    base = os.environ.get("NUMBA_CACHE_DIR")
    if not base:
        import platformdirs

        base = platformdirs.user_cache_dir("ranklake", appauthor=False)
    return not any(Path(base).glob(f"kernels-*/{system}.small.warm"))


def take() -> Child:
    """A child that was started in advance, or a new one."""
    return _ahead.pop() if _ahead else _start()


def discard() -> None:
    """End the unused children that were started in advance."""
    unread = _ahead[:]
    _ahead.clear()
    end(unread)
    for child in unread:
        assert child.stdout is not None
        child.stdout.close()


def _start() -> Child:
    command = [sys.executable, "-P", "-c", CHILD, json.dumps(sys.path, allow_nan=False)]
    # in a group of their own: Ctrl-C reaches this process, which ends them
    apart: dict[str, Any] = {"process_group": 0}
    if sys.platform == "win32":
        apart = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **apart
    )


def end(children: Sequence[Child]) -> None:
    """End children and wait for them."""
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdin is not None:
            with suppress(OSError):  # the pipe to an ended child is broken
                child.stdin.close()
