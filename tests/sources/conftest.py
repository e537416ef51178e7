"""Fixtures of the tests of sites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sources.server import Server, serving

from ranklake.storage import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake on a disk."""
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture
def server() -> Iterator[Server]:
    """A site on this machine that answers nothing yet."""
    with serving() as opened:
        yield opened
