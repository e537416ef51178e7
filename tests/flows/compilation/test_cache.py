"""Compiled kernels are cached for later processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.lakes import files, lake_of, stamps, start, synthetic

TIMEOUT = 600.0  # seconds; a loaded machine may take a while to compile everything


@pytest.mark.slow
def test_cache__a_second_process_compiles_nothing(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(12, large=5))  # small and large rounds have different kernels
    cache = tmp_path / "cache"
    cache.mkdir()

    def rate(run: str, *more: str) -> None:
        arguments = ("rate", "--dataset", "games", "--run", run, *more, "--lake", lake.url)
        with start(*arguments, env=os.environ | {"NUMBA_CACHE_DIR": str(cache)}) as process:
            try:
                _, err = process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()
        assert process.returncode == 0, err.decode()

    rate("first", "--max-rounds", "8")
    filled = stamps(cache)
    assert {Path(name).suffix for name in filled} == {".kernel", ".warm", ""}
    rate("second", "--max-rounds", "8")
    rate("third", "--set", "rho=0.04", "--set", "tie_mode=split", "--set", "noob_delay=0.5", "--engine", "serial")
    assert stamps(cache) == filled
    rate("first")  # reads a snapshot, which needs another kernel
    filled = stamps(cache)
    rate("second")
    assert stamps(cache) == filled
    one, other = (files(Path(lake.url) / "runs" / run) for run in ("first", "second"))
    assert one == other
