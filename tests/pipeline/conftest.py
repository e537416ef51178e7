"""What tests of the pipeline share."""

from __future__ import annotations

import pytest
from pipeline.commands import Command


@pytest.fixture
def ranklake(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for name in ("FORCE_COLOR", "COLUMNS", "RANKLAKE_LAKE"):
        monkeypatch.delenv(name, raising=False)
    return Command(monkeypatch, capsys)
