"""Small file systems in memory, which fill up at once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

SmallDisk: TypeAlias = Callable[[str], Path]


@contextmanager
def small_disks(folder: Path) -> Iterator[SmallDisk]:
    """A function that mounts one below ``folder``, which is made for it; it is unmounted at the end."""
    mounted = []

    def mount(options: str) -> Path:
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("only root on Linux may mount a small disk")
        mounted.append(folder)
        return folder

    try:
        yield mount
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def file_size_limit(size: int) -> str:
    """Code before a command: none of its files grows beyond a size in bytes, as on a full disk.

    It also writes no bytecode: Python keeps what the limit has cut, and no later process can import it.
    """
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    return f"import resource, sys\nsys.dont_write_bytecode = True\n{limit}\n"
