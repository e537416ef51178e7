"""`verify` checks published tables: a missing file is a fault, an outdated table is a note."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.commands import Command
from helpers.lakes import contest, ingest, lake_of, rate_run, synthetic

from ranklake.flows.common.extras import MissingExtraError
from ranklake.flows.maintenance.verify import Verifier
from ranklake.flows.publication.publish import publish
from ranklake.flows.publication.root import LATEST, delete_published
from ranklake.storage import DamagedError, Lake
from ranklake.storage.lake.errors import UnreachableError
from ranklake.storage.lake.remedies import install_extra
from ranklake.storage.lake.schemas import PUBLISHED
from ranklake.storage.leases.acquire import hold_lease

pytest.importorskip("deltalake")


@pytest.fixture(scope="module")
def published_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "lake"
    lake = lake_of(path, synthetic(20, n_players=12))
    rate_run(lake, system="elo")
    publish(lake, "run")
    return path


@pytest.fixture
def lake(tmp_path: Path, published_lake: Path) -> Path:
    return Path(shutil.copytree(published_lake, tmp_path / "lake"))


def data_file(table: Path) -> Path:
    return next(path for path in sorted(table.rglob("*.parquet")) if "_delta_log" not in path.parts)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


HARM: dict[str, tuple[Callable[[Path], None], str]] = {
    "ratings-gone": (lambda folder: data_file(folder / "ratings").unlink(), "is missing"),
    "leaderboard-cut": (lambda folder: cut(data_file(folder / "leaderboard")), " bytes, not "),
    "players-gone": (lambda folder: shutil.rmtree(folder / "players"), "there is no such table"),
    "contests-log-gone": (lambda folder: shutil.rmtree(folder / "contests" / "_delta_log"), "there is no such table"),
    "latest-gone": (lambda folder: (folder / LATEST).unlink(), "there is no such file"),
    "latest-cut": (lambda folder: cut(folder / LATEST), " as in index.json"),
    "latest-flipped": (lambda folder: flip(folder / LATEST), "does not match index.json"),
    "root-torn": (lambda folder: cut(folder / "index.json"), "not readable"),
    "plain-gone": (lambda folder: next(folder.glob("latest-*")).unlink(), "there is no such file"),
}


@pytest.mark.quick("run-ratings-gone", "run-leaderboard-cut")
@pytest.mark.parametrize(("harm", "said"), HARM.values(), ids=HARM)
@pytest.mark.parametrize("which", [(), ("--run", "run")], ids=["all", "run"])
def test_verify__reports_faults_of_published_tables_with_the_remedy(
    lake: Path, invoke: Command, harm: Callable[[Path], None], said: str, which: tuple[str, ...]
) -> None:
    answer = invoke("verify", *which, "--lake", lake)
    assert (answer.code, answer.err) == (0, "")
    assert "the published tables of 1 run" in answer.out
    harm(lake / "published" / "run")
    answer = invoke("verify", *which, "--lake", lake)
    assert answer.code == 1
    (problem,) = answer.out.splitlines()
    assert problem.startswith("published/run/")
    assert said in problem
    if "delete it" in problem:
        (lake / problem.partition(": ")[0]).unlink(missing_ok=True)
    (command,) = re.findall("`ranklake (publish --run run[^`]*)`", problem)
    assert invoke(*shlex.split(command), "--lake", lake).code == 0
    answer = invoke("verify", *which, "--lake", lake)
    assert (answer.code, answer.err) == (0, "")


def outdate(lake: Path) -> None:
    """Add a round to the published run."""
    ingest(Lake.open(lake), [contest("later", "player 1", "player 2")])
    rate_run(Lake.open(lake), system="elo")


@pytest.mark.quick("default")
@pytest.mark.parametrize("more", [(), ("--deviations", "1.5")], ids=["default", "deviations"])
def test_verify__tables_older_than_the_run_are_a_note_with_the_command_of_the_last_publish(
    lake: Path, invoke: Command, more: tuple[str, ...]
) -> None:
    assert invoke("publish", "--run", "run", *more, "--lake", lake).code == 0
    assert invoke("verify", "--lake", lake).err == ""
    outdate(lake)
    answer, command = invoke("verify", "--lake", lake), ["publish", "--run", "run", *more, "--lake", str(lake)]
    said = f"published/run: has an earlier state of the run; `ranklake {shlex.join(command)}` brings it up to date"
    assert (answer.code, answer.err) == (0, f"note: {said}\n")
    assert invoke(*command, "--maintain").code == 0  # files are merged; the table has the same rows
    assert invoke("verify", "--lake", lake).err == ""


def test_verify__an_interrupted_first_publish_is_a_note(lake: Path, invoke: Command) -> None:
    """The parts written last are missing."""
    folder = lake / "published" / "run"
    for part in ("index.json", LATEST, "leaderboard"):
        (shutil.rmtree if (folder / part).is_dir() else Path.unlink)(folder / part)
        answer = invoke("verify", "--lake", lake)
        command = f"publish --run run --lake {lake}"
        assert (answer.code, answer.err) == (
            0, f"note: published/run: its first publish was interrupted; `ranklake {command}` completes it\n"
        )  # fmt: skip
    assert invoke(*command.split()).code == 0
    assert invoke("verify", "--lake", lake).err == ""


@pytest.mark.slow
def test_verify__reads_tables_of_an_older_release(lake: Path, invoke: Command) -> None:
    folder = lake / "published" / "run"
    as_earlier_release(folder)
    answer = invoke("verify", "--lake", lake)
    assert (answer.code, answer.err) == (0, "")
    cut(folder / LATEST)
    assert " as in latest.json" in invoke("verify", "--lake", lake).out
    cut(folder / "latest.json")
    assert "has no version of latest.parquet" in invoke("verify", "--lake", lake).out
    assert invoke("publish", "--run", "run", "--lake", lake).code == 0
    answer = invoke("verify", "--lake", lake)
    assert (answer.code, answer.err) == (0, "")
    assert not (folder / "latest.json").exists()


def test_verify__without_the_delta_library_checks_only_the_plain_leaderboard(
    lake: Path, invoke: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(package: str, extra: str, purpose: str) -> None:
        raise MissingExtraError(f"{purpose} needs the package {package}: {install_extra(extra)}")

    monkeypatch.setattr("ranklake.flows.publication.verification.need", missing)
    answer = invoke("verify", "--lake", lake)
    assert answer.code == 0
    assert answer.err == (
        f"note: published/run: checking its tables needs the package deltalake: {install_extra('publish')}\n"
    )
    (lake / "published" / "run" / LATEST).unlink()
    assert invoke("verify", "--lake", lake).code == 1


def test_verify__tables_without_a_run_are_a_note(lake: Path, invoke: Command) -> None:
    assert invoke("delete", "--run", "run", "--yes", "--lake", lake).code == 0
    answer = invoke("verify", "--lake", lake)
    command = "delete --run run --with-published"
    assert answer.err == f"note: published/run: the run was deleted; `ranklake {command}` deletes its tables\n"
    assert invoke(*command.split(), "--yes", "--lake", lake).code == 0
    assert invoke("verify", "--lake", lake).err == ""


def as_earlier_release(folder: Path) -> None:
    """Make published tables those of a release that wrote no root."""
    root = json.loads((folder / "index.json").read_text())
    (folder / "latest.json").write_text(
        json.dumps({"version": root["tables"]["leaderboard"], "size": root["plain"]["size"]})
    )
    (folder / root["plain"]["name"]).unlink()
    facts = {name: value for name, value in root.items() if name not in ("tables", "plain", "indexed")}
    (folder / "index.json").write_text(json.dumps(facts))


@contextmanager
def store_at(lake: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tables are in a store for the Delta library; the rest of the lake is on the disk."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "made-up")
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    with monkeypatch.context() as patched:
        patched.setattr(Lake, "uri", lambda self, path: f"s3://bucket/{path}")
        patched.setattr("ranklake.flows.publication.delta_store._RETRY_SECONDS", 1)
        yield


@pytest.fixture
def closed_port() -> Iterator[str]:
    with socket.socket() as bound:  # bound, so that no other process gets the port, and not listening
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_verify__an_unreachable_store_is_no_damage(
    lake: Path, invoke: Command, monkeypatch: pytest.MonkeyPatch, closed_port: str
) -> None:
    began = time.monotonic()
    with store_at(lake, closed_port, monkeypatch):
        answer = invoke("verify", "--lake", lake)
    assert time.monotonic() - began < 60  # the library alone tries for three minutes
    assert answer.code == 1
    (problem,) = answer.out.splitlines()
    assert problem.startswith("published/run/players: the store does not work: ")
    assert "onnection refused" in problem
    assert "probably not damaged" in problem
    assert "--afresh" not in answer.out + answer.err
    assert invoke("verify", "--lake", lake).code == 0


@pytest.mark.slow
def test_publish__into_an_unreachable_store_is_no_damage(
    lake: Path, monkeypatch: pytest.MonkeyPatch, closed_port: str
) -> None:
    from ranklake.flows.publication.delta_table import PublishedTable, TableNotFoundError

    def no_table(*_: object) -> None:
        raise TableNotFoundError

    opened = Lake.open(lake)
    with store_at(lake, closed_port, monkeypatch):
        with pytest.raises(UnreachableError, match="the store does not work"):
            publish(opened, "run")
        with monkeypatch.context() as patched:  # the store worked until now
            patched.setattr(PublishedTable, "_open", no_table)
            table = PublishedTable(opened, "published/run/players", PUBLISHED["players"])
        with pytest.raises(UnreachableError) as error:
            table.create()
    assert "delete" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "of_the_store"),
    [
        ("Generic S3 error\n  \x1b[31m↳\x1b[0m Error performing GET", True),
        ("Kernel error -> Generic GCS error\n ↳ x", True),
        ("Kernel error -> The operation lacked the necessary privileges to complete for path x", True),
        ("Kernel error -> The operation lacked valid authentication credentials for path x", True),
        ("Generic LocalFileSystem error: x", False),
        ("Kernel error -> Invalid JSON in a commit: Generic S3", False),
    ],
)
def test_delta__distinguishes_faults_of_a_store_and_of_files(lake: Path, words: str, of_the_store: bool) -> None:
    from ranklake.flows.publication.delta_table import PublishedTable

    table = PublishedTable(Lake.open(lake), "published/run/players", PUBLISHED["players"])
    with pytest.raises(UnreachableError if of_the_store else DamagedError), table._reading():
        raise OSError(words)


@pytest.mark.slow
def test_delete__stopped_anywhere_leaves_complete_tables_or_none(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Lake.open(lake)
    ingest(opened, [*synthetic(20, n_players=12), contest("more", "player 1", "player 2", time_seconds=10**9)])
    rate_run(opened, system="elo")
    publish(opened, "run")  # a second version
    delete, left = Lake.delete, 0

    def stopped(self: Lake, path: str) -> None:
        nonlocal left
        if path.startswith("published/"):
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
        delete(self, path)

    state, stops = lake.parent / "state", 0
    shutil.copytree(lake, state)
    monkeypatch.setattr(Lake, "delete", stopped)
    while True:
        left = stops
        try:
            with hold_lease(opened, "runs/run", "test") as lease:
                delete_published(opened, "run", lease)
        except KeyboardInterrupt:
            pass
        else:
            break
        verifier = Verifier(opened)
        assert list(verifier.everything()) == []
        assert any("its first publish was interrupted" in note for note in verifier.notes) == (stops > 0)
        shutil.rmtree(lake)
        shutil.copytree(state, lake)
        stops += 1
    assert stops >= 2
    assert not (lake / "published" / "run").exists()
