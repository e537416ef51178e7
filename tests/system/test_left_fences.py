"""Left fences, and changes of a network file system that are answered with an error though they were done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias

import pytest
from helpers.commands import Command
from helpers.folders import write_folder
from helpers.lakes import same_tables, synthetic
from helpers.life import RATE, published, what_counts
from helpers.repeats import repeat_changes

from ranklake.flows.maintenance.verify import Verifier
from ranklake.storage import Lake
from ranklake.storage.leases.holder import lease_numbers

DATASET = ("--dataset", "games")
CONTESTS = [one for one in synthetic(30) if len(one) > 2]  # smoothing takes no contest of one participant
A, B = CONTESTS[14].handles.to_pylist()[:2]
LIFE: tuple[tuple[str, ...], ...] = (
    ("ingest", "files", "first", *DATASET),
    RATE,
    ("ingest", "files", "second", *DATASET),
    ("amend", "14", "--remove", A, *DATASET),
    ("alias", B, "somebody else", *DATASET),
    ("remove", "15", *DATASET),
    ("attributes", "attributes.csv", *DATASET),
    ("ingest", "results", "results.csv", *DATASET),
    RATE,
    ("smooth", "--run", "run"),
    ("publish", "--run", "run"),
    ("compact", *DATASET, "--rows", "150"),
    ("compact", "--run", "run", "--rows", "100"),
    ("tune", *DATASET, "--system", "elo", "--space", "k=10,20", "--filter", "everyone", "--train-share", "0.5"),
)
DELETE = ("delete", *DATASET, "--with-runs", "--yes")
FOLDERS = ("games", "runs/run")
Live: TypeAlias = Callable[..., Path]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    write_folder(folder / "first", CONTESTS[:20])
    write_folder(folder / "second", CONTESTS[:24])
    (folder / "attributes.csv").write_text(f"handle,country\n{B},NL\n")
    (folder / "results.csv").write_text(f"contest,player,problem,solved\n{CONTESTS[14].contest_id},{B},A,1\n")
    return folder


@pytest.fixture
def live(invoke: Command, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Live:
    """Lives a life in a lake with some name; ``before`` is called with its path before each command."""
    monkeypatch.setattr("ranklake.storage.datasets.tables.log.time", SimpleNamespace(time=lambda: 1.7e9))

    def lived(name: str, before: Callable[[Path], None], commands: Sequence[tuple[str, ...]] = LIFE) -> Path:
        lake = tmp_path / name
        for command in commands:
            before(lake)
            words = [str(sources / word) if (sources / word).exists() else word for word in command]
            answer = invoke(*words, "--lake", lake)
            assert (answer.code, "Error" in answer.err) == (0, False), (command, answer)
        return lake

    return lived


def assert_same(one: Path, other: Path) -> None:
    found, wanted = what_counts(one), what_counts(other)
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    assert found == wanted, [name for name in wanted if found[name] != wanted[name]]
    tables, expected = published(one), published(other)
    assert all(same_tables(tables[name], expected[name]) for name in tables.keys() | expected.keys())


def leave_fences(path: Path) -> None:
    """A fence of the next lease, two of other leases, and a revoked one in each folder."""
    lake = Lake.open(path, create=True)
    for folder in FOLDERS:
        number = max(lease_numbers(lake, folder), default=-1) + 1
        for name in (f"{number:06d}", f"{number + 1:06d}", f"{number:06d}-0123456789abcdef"):
            (path / folder / f"writing-{name}").mkdir(parents=True, exist_ok=True)
        (path / folder / f"writing-{number + 1:06d}" / ".tmp-0123456789abcdef").touch()


def left(path: Path) -> list[str]:
    return sorted(str(found.relative_to(path)) for found in [*path.rglob("writing-*"), *path.rglob(".tmp-*")])


@pytest.mark.slow
def test_left_fence__blocks_no_command(live: Live, invoke: Command) -> None:
    lake, twin = live("lake", leave_fences), live("twin", lambda _: None)
    assert_same(lake, twin)
    leave_fences(lake)
    verifier = Verifier(Lake.open(lake))
    assert list(verifier.everything()) == []
    for path in left(lake):
        assert [f"{path}: " in note for note in verifier.notes].count(True) == (".tmp-" not in path), path
    assert invoke(*DELETE, "--lake", lake).code == 0
    assert left(lake) == []


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_damaged_lease__stops_writers_alone(live: Live, invoke: Command, kind: str) -> None:
    lake = live("lake", lambda _: None, LIFE[:2])
    paths = [f"{folder}/lease-000009.json" for folder in FOLDERS]
    for path in paths:
        (lake / path).mkdir() if kind == "folder" else (lake / path).write_text("{")
    for command in (("runs", "--wide"), ("verify",)):
        answer = invoke(*command, "--lake", lake)
        assert answer.code == (command[0] == "verify")
        assert [path for path in paths if path not in answer.out] == []
    for command in (("leaderboard", "--run", "run"), ("player", B, "--run", "run")):
        assert invoke(*command, "--lake", lake).code == 0
    for path, command in zip(paths, (("remove", "15", *DATASET), RATE), strict=True):
        said = invoke.refuses(*command, "--lake", lake)
        assert (said.startswith(path), said.endswith("delete it if no process uses that folder")) == (True, True), said
        if "--steal" in invoke(command[0], "--help").out:
            assert invoke(*command, "--steal", "--lake", lake).code == 0


@pytest.mark.slow
def test_changes__answered_with_an_error_though_done_are_done(
    live: Live, invoke: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    twin = live("twin", lambda _: None)
    with monkeypatch.context() as patch:
        repeat_changes(tmp_path / "lake", patch=patch.setattr)
        lake = live("lake", lambda _: None)
        assert list(Verifier(Lake.open(lake)).everything()) == []
        assert left(lake) == []
        assert_same(lake, twin)
        assert invoke(*DELETE, "--lake", lake).code == 0
    assert left(lake) == []
