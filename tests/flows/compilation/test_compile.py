"""Child processes compile kernels before a run, once for all later processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from helpers.commands import Command
from helpers.lakes import files, lake_of, stamps, start, synthetic
from helpers.timeouts import TIMEOUT

from ranklake import predict
from ranklake.flows.compilation import child_processes as processes
from ranklake.flows.compilation import compile as compiling
from ranklake.flows.compilation.compile import announce_compilation, compile_kernels, compile_parts, parts_for
from ranklake.flows.frames import prediction
from ranklake.flows.rating import rate
from ranklake.flows.rating.config import RunConfig
from ranklake.rating_kernels import SYSTEMS, Glicko
from ranklake.rating_kernels.core import cache_folder
from ranklake.rating_kernels.core.jit import exact
from ranklake.rating_kernels.inference.diffusion import elapsed_days
from ranklake.rating_kernels.warm import is_warm

PART = "glicko.small"  # the fastest to compile


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache folder for this process and its children."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """The started processes."""
    started = []
    start = subprocess.Popen

    def popen(*arguments: object, **options: object) -> object:
        started.append(start(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    return started


def record_fallback(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the parts that this process would compile itself."""
    parts: list[str] = []
    monkeypatch.setattr(compiling, "warm_part", parts.append)
    return parts


def test_parts__are_those_for_the_sizes() -> None:
    assert parts_for("elo-mmr", [2, 1024]) == ["elo-mmr.small"]
    assert parts_for("elo-mmr", np.array([1025])) == ["elo-mmr.large"]
    assert set(parts_for("elo-mmr", [2, 5000])) == {"elo-mmr.small", "elo-mmr.large"}
    assert parts_for("elo-mmr", []) == []


@pytest.mark.slow
def test_compile__fills_the_cache_once_and_announces_it(cache: Path) -> None:
    """In new processes: this process may have compiled kernels before."""
    code = f"""
from ranklake.flows.compilation.compile import compile_parts
from ranklake.rating_kernels.warm import is_warm
print(compile_parts([{PART!r}]) > 0.0, is_warm({PART!r}), is_warm("glicko.large"))
"""

    def compile_in_process() -> tuple[str, str]:
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
        return done.stdout.strip(), done.stderr

    assert compile_in_process() == ("True True False", "compiling glicko, about 10 s (once per machine)\n")
    names = sorted(cache.rglob("*"))
    assert not [name for name in names if name.suffix == ".tmp"]
    assert compile_in_process() == ("False True False", "")
    assert sorted(cache.rglob("*")) == names


@pytest.mark.slow
def test_compile__interrupted_ends_its_children(children: list[subprocess.Popen[str]], cache: Path) -> None:
    def interrupt(systems: Sequence[str], kernels: int, total: int) -> None:
        if kernels:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_parts(["glicko.large", PART], interrupt, workers=2)
    assert len(children) == 2
    assert all(child.poll() is not None for child in children)
    assert not is_warm(PART)


def test_end__a_child_with_a_broken_pipe_does_not_keep_the_others(children: list[subprocess.Popen[str]]) -> None:
    for _ in range(2):
        child = subprocess.Popen([sys.executable, "-Ic", ""], stdin=subprocess.PIPE, text=True)
        assert child.stdin is not None
        child.stdin.write("unread")  # closing the pipe sends it
    processes.end(children)
    assert all(child.poll() is not None and child.stdin.closed for child in children if child.stdin)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal that a process can ignore")
def test_end__kills_a_child_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_END_SECONDS", 0.05)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-Ic", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        processes.end([child])
    assert child.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_compile__child_ends_with_its_parent(cache: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "from ranklake.rating_kernels.warm import serve; serve()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(f"{cache_folder.release()}\ntrueskill.small\n")
        child.stdin.flush()
        assert child.stdout.readline().startswith("kernel ")
        child.stdin.close()  # as after a kill of the parent
        assert child.wait(TIMEOUT) == 0
        assert "done" not in child.stdout.read()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "from ranklake.rating_kernels.warm import serve; input(); serve()"]
)
def test_compile__without_children_uses_this_process(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "CHILD", code)
    here = record_fallback(monkeypatch)
    assert compile_kernels("glicko", [3, 5000]) > 0.0
    assert here == ["glicko.large", PART]


def test_compile__imports_nothing_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(4)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(processes, "CHILD", "import json; print('done', flush=True); input()")
    here = record_fallback(monkeypatch)
    compile_parts(["glicko.large", PART], workers=2)
    assert here == []


def test_ahead__children_start_once_on_a_cold_machine_and_end_if_unused(
    children: list[subprocess.Popen[str]], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "available_cpus", lambda: 2)
    with processes.started_ahead(["glicko"]):  # one process compiles it
        assert children == []
    with processes.started_ahead(["elo-mmr"]):
        assert len(children) == 2
        taken = processes.take()
    assert taken.poll() is None
    assert children[0].poll() is not None
    processes.end([taken])
    assert taken.poll() is not None
    assert taken.stdout is not None
    taken.stdout.close()
    (cache / "kernels-x").mkdir(parents=True)
    (cache / "kernels-x" / "elo-mmr.small.warm").touch()
    with processes.started_ahead(["elo-mmr"]):
        assert len(children) == 2


def test_ahead__systems_are_those_that_two_processes_compile() -> None:
    assert tuple(name for name, one in SYSTEMS.items() if one.empty_summary is not None) == processes.SHARED


def test_announce_compilation__prints_one_line_for_a_block(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = exact(elapsed_days.py_func)
    for said in ["compiling glicko (once per machine)\n", ""]:
        with announce_compilation("glicko"):
            assert again(86_400, 0) == again(86_400, 0) == 1.0
        assert capsys.readouterr().err == said


def test_prediction__announces_a_compilation(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, list[int]]] = []
    monkeypatch.setattr(prediction, "compile_kernels", lambda system, sizes: asked.append((system, list(sizes))))
    expected = predict({"a": 1600.0, "b": 1500.0}, ["a", "b"], system="glicko")
    expected.outcomes("a", [1])
    assert asked == [("glicko", [2])]


def test_cluster__the_driver_compiles_for_a_local_one_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(compiling, "compile_parts", lambda parts, on_compile: asked.append(list(parts)) or 1.0)
    config, plan = RunConfig("d", "r", "glicko", Glicko()), SimpleNamespace(dataset=SimpleNamespace(kind="contests"))
    for here, seconds in [(False, 0.0), (True, 1.0)]:
        engine = SimpleNamespace(on_this_machine=here)
        assert rate._compile(config, plan, engine, compiling.announce) == seconds  # type: ignore[arg-type]
    assert asked == [["glicko.large", PART]]


def test_warm__compiles_nothing_twice_and_checks_system_names(invoke: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(compiling, "compile_parts", lambda parts, on_compile: asked.append(list(parts)) or 1.0)
    monkeypatch.setattr("ranklake.rating_kernels.warm.is_warm", lambda part: part == PART)
    result = invoke("warm", "glicko", "glicko")
    assert asked == [["glicko.large", "metrics", "smoothing", "chances", "problems", "bradley_terry"]]
    assert "glicko: compiled\n" in result.out
    assert os.environ["NUMBA_CACHE_DIR"] in result.out
    assert "glickoo" in invoke.refuses("warm", "glickoo", code=2)


@pytest.mark.slow
def test_cache__a_second_process_compiles_nothing(tmp_path: Path, cache: Path) -> None:
    lake = lake_of(tmp_path / "lake", synthetic(12, large=5))  # small and large rounds have different kernels

    def rate(run: str, *more: str) -> None:
        with start("rate", "--dataset", "games", "--run", run, *more, "--lake", lake.url) as process:
            try:
                _, err = process.communicate(timeout=600.0)  # a loaded machine may take a while to compile everything
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
