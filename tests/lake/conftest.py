import pytest

from ranklake.storage import Lake


@pytest.fixture
def lake(tmp_path):
    """An empty lake on a disk."""
    return Lake.open(tmp_path / "lake", create=True)
