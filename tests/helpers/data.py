"""Real data: small samples in tests/data, and whole histories beside the project."""

from __future__ import annotations

from pathlib import Path

import pytest

_TESTS = Path(__file__).resolve().parents[1]
SHARED = _TESTS.parents[1] / "shared" / "data"


def sample(name: str) -> Path:
    """A file or folder of tests/data, whose README says where it comes from."""
    path = _TESTS / "data" / name
    assert path.exists(), path
    return path


def shared(name: str) -> Path:
    """A file or folder of the data that lie beside the project; the test is skipped where they do not."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the real data are not here: ../shared/data/{name} is missing")
    return path
