"""Systems of other packages, by the names of their modules: compared with ours, on workers too, and wrong names."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.documents import ROOT, blocks_of

import ranklake
from ranklake.flows.benchmark.candidates import candidates_of
from ranklake.flows.common.configuration.own_systems import code_digest, import_system
from ranklake.flows.engines.protocols import EngineError

NAME = "own_of_tests.place_share:SYSTEM"
RESULTS = pd.DataFrame({"contest": np.repeat(np.arange(30), 5), "player": [*"abcde", *"badce", *"abdec"] * 10})
RESULTS = RESULTS.assign(rank=[1, 2, 3, 4, 5] * 30)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package ``own_of_tests`` in the current folder, with the system of CONTRIBUTING.md and a broken module."""
    (block,) = [
        one for one in blocks_of((ROOT / "CONTRIBUTING.md").read_text("utf-8"), "python") if "PlaceShare" in one
    ]
    folder = tmp_path / "own_of_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    outside = re.sub(r"^from \.\.(\w)", r"from ranklake.rating_kernels.\1", block, flags=re.MULTILINE)
    assert "from .." not in outside
    (folder / "place_share.py").write_text(outside, encoding="utf-8")
    (folder / "broken.py").write_text("import no_such_package\n", encoding="utf-8")
    (folder / "raising.py").write_text("1 / 0\n", encoding="utf-8")
    RESULTS.to_csv(tmp_path / "club.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_of_tests"]:
        del sys.modules[name]


@pytest.mark.slow
def test_command__compares_an_own_system_of_the_current_folder(invoke: Command, package: Path) -> None:
    words = ("benchmark", "club.csv", "--system", "elo", "--system", f"{NAME} k=40", "-o", "out")
    answer = invoke(*words)
    assert answer.code == 0, answer.err
    assert "place-share k=40" in answer.out
    assert answer.err == ""
    assert "2 of 2 results were there already" in invoke(*words).err
    source = package / "place_share.py"
    source.write_text(source.read_text("utf-8") + "# a change\n", encoding="utf-8")
    assert "1 of 2 results were there already" in invoke(*words).err


def test_benchmark__of_an_own_system_has_its_ratings(package: Path) -> None:
    sys.path.append(str(package.parent))
    system = import_module("own_of_tests.place_share").SYSTEM
    frame = ranklake.benchmark({"club": RESULTS}, [system, f"{NAME} k=64"], skip_share=0.0)
    assert sorted(frame["system"]) == ["place-share", "place-share k=64"]
    mu = dict.fromkeys("abcde", 1500.0)
    right = pairs = 0
    for number, (_, contest) in enumerate(RESULTS.groupby("contest")):
        order = contest.player.tolist()
        if number:
            ahead = [mu[order[i]] >= mu[order[j]] for i in range(5) for j in range(i + 1, 5)]
            right, pairs = right + sum(ahead), pairs + len(ahead)
        for place, player in enumerate(order):
            mu[player] += 32.0 * (0.5 - place / 4)
    row = frame[frame["system"] == "place-share"].iloc[0]
    assert row["pair_inversion_everyone"] == pytest.approx(100.0 * right / pairs, rel=1e-12)
    report = frame.attrs["report"]["histories"][0]["systems"]
    assert {one["label"]: one["module"] for one in report} == {"place-share": None, "place-share k=64": NAME}


@pytest.mark.slow
def test_command__compares_an_own_system_on_workers(invoke: Command, package: Path) -> None:
    pytest.importorskip("distributed", reason="needs pip install 'ranklake[cluster]'")
    words = ("benchmark", "club.csv", "--system", NAME, "--format", "json", "-o")
    here, there = invoke(*words, "here"), invoke(*words, "there", "--engine", "dask", "--workers", "2")
    assert (here.code, there.code) == (0, 0), there.err
    same = re.compile(r'"(?:seconds|machine)": [^,]*, ')
    assert same.sub("", here.out) == same.sub("", there.out)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_package.module:SYSTEM", "there is no module no_such_package on Python's path; install it"),
        ("own_of_tests.nothing:SYSTEM", "there is no module own_of_tests.nothing on Python's path"),
        ("own_of_tests.broken:SYSTEM", "the import of own_of_tests.broken fails: No module named 'no_such_package'"),
        ("own_of_tests.raising:SYSTEM", "the import of own_of_tests.raising fails: ZeroDivisionError: division by"),
        ("own_of_tests.place_share:NOTHING", "own_of_tests.place_share has no NOTHING; it has SYSTEM"),
        ("own_of_tests:SYSTEM", "own_of_tests has no SYSTEM; it has no System at all"),
        ("own_of_tests.place_share:PlaceShare", "must be a System, as array_system makes one"),
        ("own_of_tests.place_share:", "a system of your own is MODULE:NAME"),
        ("own_of_tests/place_share.py:SYSTEM", "a system of your own is MODULE:NAME"),
        (f"{NAME} k=-1", "k must be"),
        (f"{NAME} kk=1", "place-share has no parameter 'kk'; it has k, mu_init"),
    ],
)
def test_command__explains_wrong_names_of_own_systems(invoke: Command, package: Path, name: str, message: str) -> None:
    answer = invoke("benchmark", "club.csv", "--system", name, "-o", "out")
    assert answer.code == 2
    assert message in answer.err
    assert not Path("out").exists()


def test_rate__imports_no_module_for_a_name(invoke: Command, package: Path) -> None:
    assert invoke("ingest", "files", "club.csv", "--dataset", "club", "--lake", "lake").code == 0
    for command in ("rate", "tune"):
        assert invoke(command, "--dataset", "club", "--system", NAME, "--lake", "lake").code == 2
    answer = invoke("rate", "--dataset", "club", "--system", NAME, "--lake", "lake")
    assert "system must be one of elo-mmr, " in answer.err
    with pytest.raises(ValueError, match="system must be one of"):
        ranklake.rate_history(RESULTS, system=NAME)  # type: ignore[call-overload]
    assert "own_of_tests" not in sys.modules


def test_own_systems__need_names_of_their_own(package: Path) -> None:
    sys.path.append(str(package.parent))
    system = import_system(NAME)
    for name, message in (
        ("elo", "its name 'elo' is that of one of our systems"),
        ("two words", "its name must be one word without a colon, got 'two words'"),
        ("", "its name must be one word"),
    ):
        with pytest.raises(ValueError, match=message):
            candidates_of([replace(system, name=name)])
    with pytest.raises(ValueError, match="two systems are called 'place-share'"):
        candidates_of([f"{NAME} k=1", replace(system, small=3)])
    with pytest.raises(ValueError, match="all hyperparameters need valid defaults"):
        candidates_of([replace(system, params=lambda: 1 / 0)])  # type: ignore[arg-type]


def test_candidate__on_a_worker_with_other_code_is_refused(package: Path) -> None:
    sys.path.append(str(package.parent))
    (one,) = candidates_of([NAME])
    assert one.system() is import_system(NAME)
    (package / "more.py").write_text("", encoding="utf-8")
    with pytest.raises(EngineError, match="the code of place-share has changed since the start, or a worker"):
        one.system()
    missing = replace(one, source="no_such_package:SYSTEM")
    with pytest.raises(EngineError, match=r"cannot import it .*no module no_such_package"):
        missing.system()


def test_benchmark__names_what_an_own_system_raises(package: Path) -> None:
    sys.path.append(str(package.parent))
    system = import_system(NAME)

    def failing(*_: Any) -> None:
        raise IndexError("row 7")

    def growing(params: Any, beliefs: Any, rounds: Any, outcome: Any) -> None:
        system.rate_small(params, beliefs, rounds, outcome)
        outcome.mu[:] = np.inf

    broken = replace(system, name="broken", rate_small=failing)
    endless = replace(system, name="endless", rate_small=growing)
    frame = ranklake.benchmark({"club": RESULTS}, [system, broken, endless]).set_index("system")
    assert frame["status"].to_dict() == {"place-share": "rated", "broken": "failed", "endless": "diverges"}
    assert frame.loc["broken", "reason"] == "IndexError: row 7"
    assert "gets mu = inf" in frame.loc["endless", "reason"]


def test_code__of_our_systems_and_of_a_package(package: Path) -> None:
    sys.path.append(str(package.parent))
    system = import_system(NAME)
    before = code_digest(system)
    assert before != code_digest(ranklake.SYSTEMS["elo"]) == code_digest(ranklake.SYSTEMS["elo-mmr"])
    (package / "place_share.py").write_text("# other\n", encoding="utf-8")
    assert code_digest(system) != before
    nowhere = type("Params", (), {"__module__": "no_such_module"})
    assert code_digest(replace(system, params=nowhere)) == ""
