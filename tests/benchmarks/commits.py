"""Commits side by side: the files of each one in a folder, imported in place of the installed package."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tomllib
from pathlib import Path
from typing import NamedTuple


class CommitError(Exception):
    """A commit is not there, or its benchmarks cannot be run."""


class Side(NamedTuple):
    """A commit, the folder of its files, and the folder with its package."""

    commit: str
    folder: Path
    packages: Path

    @property
    def environment(self) -> dict[str, str]:
        """Environment of processes that import the commit's package; all other packages are the installed ones."""
        return {**os.environ, "PYTHONPATH": os.fspath(self.packages)}


def export(repository: Path, name: str, folder: Path) -> Side:
    """Write the files of a commit to ``folder``; the repository stays. ``CommitError``: it has no such commit."""
    commit = _git(repository, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").decode().strip()
    with tarfile.open(fileobj=io.BytesIO(_git(repository, "archive", "--format=tar", commit))) as archive:
        archive.extractall(folder / "files", filter="data")
    settings = tomllib.loads((folder / "files" / "pyproject.toml").read_text(encoding="utf-8"))
    places = settings["tool"]["setuptools"]["package-dir"]
    for package in sorted(places):  # a package before those inside of it
        target = folder / "packages" / package.replace(".", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / places[package]).rename(target)
    return Side(commit, folder / "files", folder / "packages")


def _git(repository: Path, *words: str) -> bytes:
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=False)
    if done.returncode:
        raise CommitError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
