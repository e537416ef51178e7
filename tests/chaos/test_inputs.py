"""Files with faults in any place are ingested, or refused in one line; a few of the many seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos.inputs import check_input


@pytest.mark.parametrize("block", range(4))
def test_a_mutated_file_is_ingested_or_refused_in_one_line(tmp_path: Path, block: int) -> None:
    _check(range(10 * block, 10 * block + 10), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_mutated_files_are_ingested_or_refused_in_one_line(tmp_path: Path, block: int) -> None:
    _check(range(1_000 + 100 * block, 1_100 + 100 * block), tmp_path)


def _check(seeds: range, folder: Path) -> None:
    wrong = []
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        if found := check_input(seed, place):
            wrong.append(found)
    assert wrong == []
