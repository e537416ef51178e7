"""A rated lake, and an empty database of each kind in turn."""

from __future__ import annotations

import pytest
from helpers.databases import Judge

from ranklake.storage import Lake


@pytest.fixture
def lake(ten_rounds: Lake) -> Lake:
    """Ten rounds rated by elo."""
    return ten_rounds


@pytest.fixture
def judge(database: Judge) -> Judge:
    """An empty database."""
    return database
