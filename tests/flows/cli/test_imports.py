"""Imports that commands save."""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers.timeouts import TIMEOUT

PROGRAM = """
import importlib.util, sys
import numpy as np
import pyarrow as pa
from ranklake.flows.cli.terminal.process import without_pandas
without_pandas()
assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("ranklake")]
assert pa.array([1.5, None], from_pandas=True).to_numpy(zero_copy_only=False)[0] == 1.5
assert pa.table({"name": ["a"], "n": np.arange(1)}).column("name").to_numpy()[0] == "a"
assert "pandas" not in sys.modules
assert importlib.util.find_spec("pandas") is not None
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_pandas__conversions_do_not_import_it() -> None:
    run(PROGRAM)


@pytest.mark.slow
def test_without_pandas__it_can_be_imported_later() -> None:
    run(f"{PROGRAM}\nassert pa.table({{'n': [1, 2]}}).to_pandas()['n'].sum() == 3")


@pytest.mark.slow
def test_without_pandas__has_no_effect_after_its_import() -> None:
    late = "import pandas\nfrom ranklake.flows.cli.terminal.process import without_pandas\nwithout_pandas()\n"
    run(f"{late}import pyarrow as pa\nassert pa.array([pandas.NA, 1], from_pandas=True).null_count == 1")
