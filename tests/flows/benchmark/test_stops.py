"""A benchmark that was interrupted or killed continues; what changed is measured again, and nothing else."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import start, synthetic
from helpers.timeouts import TIMEOUT

from ranklake.flows.benchmark import run
from ranklake.flows.benchmark.candidates import candidates_of
from ranklake.flows.benchmark.cells import Cell, measure
from ranklake.flows.benchmark.finished import FinishedCells
from ranklake.flows.benchmark.histories import sources_of
from ranklake.flows.benchmark.run import BenchmarkRequest, Watching, run_benchmark
from ranklake.flows.engines.task_pool import open_whole_pool

SYSTEMS = ("elo", "elo-mmr", "glicko")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two histories, ``one.csv`` and the folder ``two``."""
    results = pd.DataFrame({"contest": [i // 3 for i in range(60)], "player": list("abcbcadab") * 6 + list("bacdab")})
    results.assign(rank=[1, 2, 2] * 20).to_csv(tmp_path / "one.csv", index=False)
    write_folder(tmp_path / "two", synthetic(20, n_players=8))
    return tmp_path


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The histories and systems that are measured from now on."""
    done: list[tuple[str, str]] = []

    def watched(history: Any, candidate: Any, *how: Any) -> Cell:
        done.append((history.name, candidate.label))
        return measure(history, candidate, *how)

    monkeypatch.setattr(run, "measure", watched)
    return done


def compare(files: Path, *systems: str, share: float = 0.1, **how: Any) -> tuple[Any, list[str]]:
    """The report without what depends on the machine, and the lines that were shown."""
    sources = sources_of([str(files / "one.csv"), str(files / "two")], (), (), {})
    request = BenchmarkRequest(sources, candidates_of(systems or SYSTEMS), skip_share=share, **how)
    lines: list[str] = []
    with open_whole_pool("serial") as pool:
        finished = FinishedCells(files / "out", share)
        report = run_benchmark(request, finished, pool, 1, Watching(on_line=lines.append))
    return without_machine(json.dumps(report)), lines


def without_machine(report: str) -> Any:
    def kept(facts: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in facts.items() if name not in ("seconds", "machine")}

    return json.loads(report, object_hook=kept)


def cells_in(folder: Path) -> list[Path]:
    return sorted((folder / "cells").glob("*.npz"))


@pytest.mark.slow
def test_benchmark__continues_after_an_interrupt(
    files: Path, measured: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed, _ = compare(files)
    for path in cells_in(files / "out"):
        path.unlink()
    whole = run.measure

    def interrupted(*given: Any) -> Cell:
        if len(measured) == 4:
            raise KeyboardInterrupt
        return whole(*given)

    measured.clear()
    with monkeypatch.context() as patch:
        patch.setattr(run, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compare(files)
    assert len(cells_in(files / "out")) == 4
    measured.clear()
    report, lines = compare(files)
    assert len(measured) == 2
    assert lines == ["4 of 6 results were there already"]
    assert report == undisturbed


def _more_rows(files: Path) -> None:
    path = files / "one.csv"
    path.write_text(path.read_text("utf-8") + "77,a,1\n77,b,2\n", encoding="utf-8")


def _torn(files: Path) -> None:
    (path,) = [path for path in cells_in(files / "out") if path.name.startswith("two-glicko")]
    path.write_bytes(path.read_bytes()[:-200])


def _nothing(files: Path) -> None: ...


@pytest.mark.quick("file")
@pytest.mark.parametrize(
    ("change", "systems", "how", "again"),
    [
        (_nothing, SYSTEMS, {}, []),
        (_more_rows, SYSTEMS, {}, [("one", "elo"), ("one", "elo-mmr"), ("one", "glicko")]),
        (_torn, SYSTEMS, {}, [("two", "glicko")]),
        (_nothing, ("elo k=7", *SYSTEMS[1:]), {}, [("one", "elo k=7"), ("two", "elo k=7")]),
        (_nothing, (*SYSTEMS, "elo k=8"), {}, [("one", "elo k=8"), ("two", "elo k=8")]),
        (_nothing, SYSTEMS[:1], {"share": 0.5}, [("one", "elo"), ("two", "elo")]),
        (_nothing, SYSTEMS, {"metric": "own_cross_entropy", "filter": "everyone"}, []),
    ],
    ids=["nothing", "file", "torn cell", "setting", "system", "share", "metric"],
)
def test_benchmark__measures_again_what_changed(
    files: Path,
    measured: list[tuple[str, str]],
    change: Callable[[Path], None],
    systems: tuple[str, ...],
    how: dict[str, Any],
    again: list[tuple[str, str]],
) -> None:
    compare(files)
    change(files)
    measured.clear()
    compare(files, *systems, **how)
    assert measured == again


@pytest.mark.slow
def test_benchmark__of_other_code_is_measured_again(
    files: Path, measured: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(files, "elo")
    measured.clear()
    monkeypatch.setattr("ranklake.flows.common.configuration.own_systems.sources_digest", lambda: "other kernels")
    compare(files, "elo")
    assert measured == [("one", "elo"), ("two", "elo")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_command__continues_after_a_signal(files: Path, invoke: Command, name: str) -> None:
    words = ("benchmark", str(files / "one.csv"), str(files / "two"), "-o")
    assert invoke(*words, files / "out").code == 0
    stopped = files / "stopped"
    with start(*words, str(stopped)) as process:
        deadline = time.monotonic() + TIMEOUT
        while len(cells_in(stopped)) < 3 and time.monotonic() < deadline:
            assert process.poll() is None, "it ended before it was stopped"
        process.send_signal(getattr(signal, name))
        process.wait(TIMEOUT)
    assert not (stopped / "report.json").exists()
    answer = invoke(*words, stopped)
    assert answer.code == 0
    assert " results were there already" in answer.err
    reports = [without_machine((folder / "report.json").read_text("utf-8")) for folder in (files / "out", stopped)]
    assert reports[0] == reports[1]
