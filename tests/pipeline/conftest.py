"""What tests of the pipeline share."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from pipeline.command_server import CommandServer, open_command_server
from pipeline.commands import Command
from pipeline.life import SETTINGS, Step, live

SmallDisk: TypeAlias = Callable[[str], Path]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Mounts a file system in memory with some options, as ``size=1m`` or ``nr_inodes=99``, and gives its folder."""
    folder = tmp_path / "disk"
    mounted = []

    def mount(options: str) -> Path:
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("only root on Linux may mount a small disk")
        mounted.append(folder)
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for name in ("FORCE_COLOR", "COLUMNS", "RANKLAKE_LAKE"):
        monkeypatch.delenv(name, raising=False)
    return Command(monkeypatch, capsys)


@pytest.fixture(scope="session")
def command_server() -> Iterator[CommandServer]:
    """Commands under way: who is killed, refused or suspended in tests of stops, faults and races."""
    with open_command_server(SETTINGS) as made:
        yield made


@pytest.fixture(scope="session")
def steps(command_server: CommandServer, tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """The undisturbed life to compare with."""
    return live(command_server, tmp_path_factory.mktemp("undisturbed"))
