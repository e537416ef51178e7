"""Files with faults in any place are ingested, or refused in one line; a few of the many seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos.inputs import check_input


@pytest.mark.parametrize("block", range(4))
def test_a_mutated_file_is_ingested_or_refused_in_one_line(tmp_path: Path, block: int) -> None:
    wrong = []
    for seed in range(10 * block, 10 * block + 10):
        place = tmp_path / str(seed)
        place.mkdir()
        if found := check_input(seed, place):
            wrong.append(found)
    assert wrong == []
