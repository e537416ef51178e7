"""What tests of the pipeline share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pipeline.commands import Command
from pipeline.crew import Crew, crew
from pipeline.life import SETTINGS, Step, live


@pytest.fixture
def ranklake(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for name in ("FORCE_COLOR", "COLUMNS", "RANKLAKE_LAKE"):
        monkeypatch.delenv(name, raising=False)
    return Command(monkeypatch, capsys)


@pytest.fixture(scope="session")
def hands() -> Iterator[Crew]:
    """Commands under way: who is killed, refused or suspended in tests of stops, faults and races."""
    with crew(SETTINGS) as made:
        yield made


@pytest.fixture(scope="session")
def steps(hands: Crew, tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """The undisturbed life to compare with."""
    return live(hands, tmp_path_factory.mktemp("undisturbed"))
