"""The suite of random attacks itself: it finds a planted violation, shrinks it, and leaves no processes or files."""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from chaos.cases import Case, case_seed
from chaos.kinds import KINDS
from chaos.lives import Lives
from chaos.shrinking import shrink
from chaos.world import World
from helpers.command_server import Ended
from helpers.timeouts import TIMEOUT

RUN = Path(__file__).parent / "run.py"


def start(tmp_path: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start the suite, with its temporary files and its cases below a folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, RUN, "--failures", tmp_path, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )


def attack(tmp_path: Path, *arguments: object) -> tuple[int, str]:
    with start(tmp_path, *arguments) as process:
        try:
            output, _ = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
    assert list((tmp_path / "scratch").iterdir()) == []
    return process.returncode, output


def planted(tmp_path: Path, *numbers: int) -> Path:
    """The file of a case."""
    path = tmp_path / "case.json"
    path.write_text(Case("planted", 1, {"numbers": list(numbers)}).to_json())
    return path


def test_run__finds_a_planted_violation_shrinks_it_and_replays_it(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    code, output = attack(tmp_path, "--kind", "planted", "--cases", 5, "--seed", 5, "--json", summary)
    assert code == 1, output
    found = json.loads(summary.read_bytes())
    assert found["seed"] == 5
    assert found["kinds"]["planted"]["cases"] == 5
    assert found["kinds"]["planted"]["violations"] == len(found["violations"]) > 0
    (violation, *_) = (one for one in found["violations"] if one["rule"] == "77 is among the numbers")
    path = Path(violation["file"])
    case = Case.read(path)
    assert path.name == f"chaos-planted-{case.seed}.json"
    assert case.parameters == {"numbers": [77]}
    assert case.seed in [case_seed(5, "planted", number) for number in range(5)]
    assert f"VIOLATION planted, seed {case.seed}: 77 is among the numbers; replay with --replay {path}" in output
    code, output = attack(tmp_path, "--replay", path)
    assert (code, output) == (1, f"chaos: VIOLATION planted, seed {case.seed}: 77 is among the numbers\n1 numbers\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "words"), [(78, "no end in time"), (79, "the process of the case ended"), (5, "no violation")]
)
def test_replay__that_hangs_or_dies_is_a_violation(tmp_path: Path, number: int, words: str) -> None:
    code, output = attack(tmp_path, "--replay", planted(tmp_path, number), "--limit", 1.0)
    assert words in output
    assert code == (0 if words == "no violation" else 1)


@pytest.mark.slow
def test_replay__a_command_that_is_killed_before_its_first_write_to_a_store_is_no_violation(tmp_path: Path) -> None:
    pytest.importorskip("moto", reason="needs moto[server], a store that runs here")
    step = {"command": ["ingest", "files", "{first}", "--dataset", "games"]}
    faults = [{"request": 0, "how": "kill before"}]
    path = tmp_path / "case.json"
    path.write_text(Case("objects", 1, {"steps": [step | {"faults": faults}]}).to_json())
    assert attack(tmp_path, "--replay", path) == (0, "chaos: no violation by objects, seed 1\n")


def test_run__interrupted_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    # SIGTERM: Ctrl-C may be ignored in the parent process of the tests.
    with start(tmp_path, "--replay", planted(tmp_path, 78), "--limit", TIMEOUT) as process:
        try:
            folder, give_up = tmp_path / "scratch", time.monotonic() + TIMEOUT
            while not list(folder.glob("*/0/words")):
                assert time.monotonic() < give_up
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=TIMEOUT)  # a remaining child process would hold the pipe open
        finally:
            process.kill()
    assert "interrupted" in output
    assert process.returncode == 1
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_run__killed_leaves_no_process(tmp_path: Path) -> None:
    with start(tmp_path, "--replay", planted(tmp_path, 78), "--limit", TIMEOUT) as process:
        folder, give_up = tmp_path / "scratch", time.monotonic() + TIMEOUT
        while not (pids := "".join(path.read_text() for path in folder.glob("*/0/hangs"))):
            assert time.monotonic() < give_up
            time.sleep(0.01)
        process.kill()
        process.wait()
    group = int(pids)
    while time.monotonic() < give_up:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the process of the case is still running")


def test_run__wrong_use_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    for arguments, words in (
        (("--minutes", 0), "--minutes must be > 0, got 0.0"),
        (("--kind", "any"), "invalid choice: 'any'"),
        (("--replay", tmp_path / "other.json"), "is not the file of a case"),
    ):
        code, output = attack(tmp_path, *arguments)
        assert code == 2
        assert words in output


def test_help__names_every_kind(tmp_path: Path) -> None:
    code, output = attack(tmp_path, "--help")
    assert code == 0
    assert [kind for kind in KINDS if f"  {kind} " not in output] == []


def test_lives__a_cached_step_has_the_lake_that_it_starts_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        def run(self, word: str, *_: str) -> Ended:
            return Ended(0, "", "", [word])

    monkeypatch.setattr("chaos.lives.command_server", lambda world: Server())
    with World(tmp_path) as world:
        cached, dice = Lives(world, kept=4), random.Random(1)
        for _ in range(300):
            words = [[str(dice.randrange(3))] for _ in range(dice.randint(1, 4))]
            step = cached.after(words)
            assert step.operations == words[-1]
            assert step.before.exists()
            assert step.after.exists()
        assert len(list((tmp_path / "lives").iterdir())) <= 1 + 4 + 4


def test_shrink__lists_bytes_and_numbers() -> None:
    begun = {"steps": [{"command": ["a", "b"], "at": 900} for _ in range(9)], "body": {"base64": "YWJjZGVmZ2g="}}

    def fails(one: dict[str, Any]) -> bool:
        return any(step["at"] > 40 for step in one["steps"]) and b"d" in base64.b64decode(one["body"]["base64"])

    smallest, tried = shrink(begun, fails, seconds=60.0)
    assert smallest == {"steps": [{"command": ["a", "b"], "at": 41}], "body": {"base64": "ZA=="}}
    assert tried < 150
