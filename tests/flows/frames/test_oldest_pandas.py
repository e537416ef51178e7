"""Frames and ratings work with the oldest pandas that the project allows, too."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from helpers.documents import ROOT

TESTS = ("frames/test_arguments.py", "ratings/test_ratings.py")
SAME = "not processes and not plots and not lake and not open and not search and not tune"  # what pandas has no part in


@pytest.mark.slow
def test_frames__work_with_the_oldest_pandas(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (oldest,) = [need.removeprefix("pandas>=") for need in project["dependencies"] if need.startswith("pandas>=")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path]
    subprocess.run([*pip, f"pandas=={oldest}", "pytz"], check=True, timeout=600)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    version = [sys.executable, "-c", "import pandas; print(pandas.__version__)"]
    found = subprocess.run(version, env=env, capture_output=True, text=True, check=True, timeout=600)
    assert found.stdout.strip() == oldest
    tests = [str(ROOT / "tests" / "flows" / name) for name in TESTS]
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", SAME, *tests]
    done = subprocess.run(run, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout
