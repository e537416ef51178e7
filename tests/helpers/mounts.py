"""Small file systems in memory, which fill up at once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

__all__ = ["SmallDisk", "small_disks"]

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
