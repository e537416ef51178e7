"""The comparison of two commits finds a slower row, and not the noise of a machine."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
FACTORS = {"base": 1.0, "same": 1.0, "slow": 1.15, "fast": 0.8}  # of the times, by commit
PYPROJECT = '[tool.setuptools.package-dir]\n"ranklake" = "ranklake"\n"ranklake.inside" = "inside"\n'
# Each run takes the next load; the rows of one run have the same one.
RUN = """
import json, os, pathlib, sys
from ranklake.inside.factor import FACTOR
counter = pathlib.Path({counter!r})
turn = counter.stat().st_size
counter.write_text("x" * (turn + 1))
load = 1.0 + 0.04 * (turn * 7 % 5) + 0.5 * (turn // 4 % 2)
words = sys.argv[1:]
option = lambda name: words[words.index(name) + 1]
assert "--quick" in words and words[0] == "rating"
assert os.environ["RANKLAKE_BENCHMARK_SHORT"] == "2.0"
lines = [("kernel", 2.0 * FACTOR * load), ("peer", 3.0 * load)]
with open(option("--json"), "w") as file:
    for case, seconds in lines:
        line = dict(row="rating", case=case, figure="seconds", minimum=seconds, commit=option("--commit"))
        file.write(json.dumps(line) + "\\n")
"""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a tag for each factor."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "repository"
    for name in ("ranklake", "inside", "tests/benchmarks"):
        (folder / name).mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "ranklake" / "__init__.py").touch()
    (folder / "inside" / "__init__.py").touch()
    (folder / "tests" / "benchmarks" / "run.py").write_text(RUN.format(counter=str(tmp_path / "counter")))
    (tmp_path / "counter").touch()

    def git(*words: str) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)

    git("init")
    for name, factor in FACTORS.items():
        (folder / "inside" / "factor.py").write_text(f"FACTOR = {factor}\nNAME = {name!r}\n")
        git("add", ".")
        git("commit", "-m", name)
        git("tag", name)
    return folder


@pytest.mark.parametrize(("factor", "slower"), [(1.0, False), (1.03, False), (1.1, True), (1.5, True)])
@pytest.mark.parametrize("seed", range(5))
def test_change__is_a_regression_from_ten_percent_on(program: Any, factor: float, slower: bool, seed: int) -> None:
    draw = np.random.default_rng(seed)
    before = np.exp(draw.normal(0.0, 0.02, 9) + draw.normal(0.0, 0.3))
    after = factor * before * np.exp(draw.normal(0.0, 0.02, 9))
    found = program("paired").change(before, after)
    assert found.slower == slower
    assert not found.faster
    assert found.low <= found.ratio <= found.high


@pytest.mark.slow
def test_change__of_noise_alone_is_rarely_a_regression(program: Any) -> None:
    draw = np.random.default_rng(1)
    pairs = np.exp(draw.normal(0.0, 0.15, (60, 2, 9)))
    found = [program("paired").change(*pair) for pair in pairs]
    assert sum(one.slower for one in found) <= 2
    assert sum(one.ratio >= program("paired").JUDGED for one in found) >= 6  # the ratios alone would fail
    assert not all(one.certain for one in found)


# Milliseconds of the row `million`, from a machine with two cores and a load of 15
SAME_COMMIT = [
    ([0.85, 0.85, 0.79, 0.78], [0.70, 0.82, 0.77, 0.73]),
    ([1.40, 1.36, 1.18, 1.34], [1.07, 1.16, 1.19, 1.27]),
    ([74.26, 21.90, 78.41, 12.60], [14.15, 34.16, 19.77, 50.64]),
]
TEN_PERCENT_MORE_WORK = [
    ([0.69, 0.82, 0.80, 0.80, 0.63], [0.74, 0.80, 0.80, 0.86, 0.92]),
    ([0.93, 1.37, 1.36, 1.31, 0.88], [1.27, 1.41, 1.25, 1.27, 1.52]),
]


def test_change__of_recorded_turns_is_no_regression_of_one_commit_and_uncertain_of_a_slower_one(program: Any) -> None:
    change = program("paired").change
    for before, after in SAME_COMMIT:
        assert not change(before, after).slower
    assert not any(change(before, after).certain for before, after in TEN_PERCENT_MORE_WORK)


@pytest.mark.parametrize("seed", range(5))
def test_change__of_ten_percent_is_found_in_more_turns_of_a_loaded_machine(program: Any, seed: int) -> None:
    draw = np.random.default_rng(seed)
    before = np.exp(draw.normal(0.0, 0.05, 21) + draw.normal(0.0, 0.3, 21))
    after = 1.1 * before * np.exp(draw.normal(0.0, 0.05, 21))
    assert program("paired").change(before, after).slower
    assert not program("paired").change(before, after / 1.1).slower


# Milliseconds of the row `codeforces-200`, one process each, from an idle machine with two cores
SLOWER = [
    [30.2, 25.4, 23.6, 34.6, 32.7, 24.9, 31.1, 24.9, 26.3, 25.1],
    [34.8, 27.5, 27.3, 29.4, 31.4, 30.0, 29.3, 29.0, 27.6, 28.2],  # 10 % more work
]
UNCHANGED = [
    [24.3, 27.3, 28.5, 31.9, 26.2, 26.0, 32.1, 25.0, 28.5, 24.6],
    [24.0, 24.0, 26.1, 33.0, 24.6, 25.2, 25.9, 26.3, 25.7, 26.3],
]


def test_change__of_processes_with_two_speeds(program: Any) -> None:
    found = program("paired").change(*SLOWER)
    assert found.slower
    assert found.ratio == pytest.approx(1.1, abs=0.03)
    assert (found.before, found.after) == (pytest.approx(24.78), pytest.approx(27.92))  # of the five fastest
    found = program("paired").change(*UNCHANGED)
    assert found.certain
    assert not found.slower


def test_change__of_one_slow_turn_is_none(program: Any) -> None:
    found = program("paired").change([1.0] * 9, [1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert found.ratio == 1.0
    assert not found.slower


def test_export__makes_one_package_of_the_folders_of_a_commit(program: Any, repository: Path, tmp_path: Path) -> None:
    side = program("commits").export(repository, "slow", tmp_path / "slow")
    assert (side.packages / "ranklake" / "inside" / "factor.py").read_text() == "FACTOR = 1.15\nNAME = 'slow'\n"
    assert (side.folder / "tests" / "benchmarks" / "run.py").exists()
    assert len(side.commit) == 40
    with pytest.raises(program("commits").CommitError, match="no-such"):
        program("commits").export(repository, "no-such", tmp_path / "none")
    assert not subprocess.run(
        ["git", "-C", repository, "status", "--porcelain"], capture_output=True, check=True
    ).stdout  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("after", "code"), [("same", 0), ("slow", 1), ("fast", 0)])
def test_compare__fails_for_a_slower_commit_alone(
    program: Any, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], after: str, code: int
) -> None:
    file = tmp_path / "history.jsonl"
    words = ["base", after, "rating", "--own", "--turns", "5", "--most-turns", "5", "--json", str(file)]
    assert program("compare").main(words, repository) == code
    output = capsys.readouterr().out
    assert ("slower" in output) == (after == "slow")
    assert ("faster" in output) == (after == "fast")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len({line["commit"] for line in lines}) == 2
    assert len(lines) == 2 * 2 * 5  # cases, commits, turns; the first one is not recorded


@pytest.mark.slow
def test_compare__of_programs_that_fail_shows_their_output(
    program: Any, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program("compare").main(["base", "slow", "other", "--own"], repository) == 2
    assert "AssertionError" in capsys.readouterr().out
    assert program("compare").main(["base", "nothing", "rating", "--own"], repository) == 2
    with pytest.raises(SystemExit, match="2"):
        program("compare").main(["base", "slow", "--turns", "2"], repository)


@pytest.mark.slow
def test_structure__of_a_commit_has_positive_figures(program: Any, tmp_path: Path) -> None:
    if not (FOLDER.parents[1] / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no repository, or git is not installed")
    assert program("structure").main(["HEAD", "--packages", "--json", str(tmp_path / "figures.json")]) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())["HEAD"]
    assert all(figure > 0 for figure in figures.values()), figures
    assert figures["lines of the product"] == sum(
        figure for row, figure in figures.items() if row.startswith("  ") and row.endswith(": lines")
    )
    assert program("structure").main(["no-such-commit"]) == 2
