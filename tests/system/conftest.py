"""A life of a lake, command by command, that tests of stops, faults and races disturb."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.command_server import CommandServer, open_command_server
from helpers.life import SETTINGS, Step, live


@pytest.fixture(scope="session")
def command_server() -> Iterator[CommandServer]:
    """Commands under way: who is killed, refused or suspended in tests of stops, faults and races."""
    with open_command_server(SETTINGS) as made:
        yield made


@pytest.fixture(scope="session")
def steps(command_server: CommandServer, tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """The undisturbed life to compare with."""
    return live(command_server, tmp_path_factory.mktemp("undisturbed"))
