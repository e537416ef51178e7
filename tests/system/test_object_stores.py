"""All commands on a lake in an object store: the same bits as on a disk, and the faults that only stores have."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import s3fs
from helpers.answers import leaderboard
from helpers.lakes import (
    commit_often,
    files,
    ingest,
    lake_of,
    rate_run,
    rated,
    same_tables,
    small_files,
    start,
    synthetic,
)
from helpers.stores import Proxy, environment, is_lease_put, objects, proxy, server
from helpers.timeouts import TIMEOUT

import ranklake.flows.rating.rate
from ranklake.flows.maintenance.verify import Verifier
from ranklake.storage import Dataset, Lake, LakeError, MissingError, Run, Segment
from ranklake.storage.lake.errors import LeaseHeldError
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.maintenance.compact import compact_dataset, compact_run

pytestmark = pytest.mark.slow

CONTESTS = synthetic(28)


@pytest.fixture(autouse=True)
def many_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    commit_often(monkeypatch, segment_rows=60, snapshot_rows=180)
    small_files(monkeypatch, file_rows=60)


# Life


def test_life__in_a_store_is_that_on_a_disk_to_the_byte(url: str, tmp_path: Path) -> None:
    disk, store_lake = Lake.open(tmp_path / "lake", create=True), Lake.open(url, create=True)
    for lake in (disk, store_lake):
        ingest(lake, CONTESTS[:20])
        rate_run(lake)
        ingest(lake, [CONTESTS[18], *CONTESTS[20:]])
        with Dataset.ingest(lake, "games") as change:
            change.remove("15")
        rate_run(lake)
    assert {k: v for k, v in objects(url).items() if "/log/" not in k and "/contests/" not in k} == {
        k: v for k, v in files(tmp_path / "lake").items() if "/log/" not in k and "/contests/" not in k
    }
    assert same_tables(rated(store_lake), rated(disk))
    assert leaderboard(store_lake, "run").equals(leaderboard(disk, "run"))
    verifier = Verifier(store_lake)
    assert list(verifier.everything()) == []
    assert verifier.rounds == 27


def test_life__deletion_leaves_no_objects(url: str) -> None:
    lake = lake_of(url, CONTESTS)  # type: ignore[arg-type]
    rate_run(lake)
    before = rated(lake)
    with hold_lease(lake, "runs/run", "compact") as lease:
        run = Run.open(lake, "run")
        run.lease = lease
        assert compact_run(run, 100)[1] == 2
    with hold_lease(lake, "games", "compact") as lease:
        assert compact_dataset(lake, "games", lease, 100)[1] == 2
    assert same_tables(rated(lake), before)
    assert list(Verifier(lake).everything()) == []
    with hold_lease(lake, "runs/run", "delete") as lease:
        run = Run(lake, "run", {})
        run.lease = lease
        run.delete()
    with hold_lease(lake, "games", "delete") as lease:
        Dataset.delete(lake, "games", lease)
    assert objects(url) == {}


# Requests


def test_rate__commits_a_segment_with_two_puts_and_a_check_of_the_lease(url: str, store: Proxy) -> None:
    lake = lake_of(url, CONTESTS)  # type: ignore[arg-type]
    written: list[str] = []
    committed: list[list[str]] = []

    def seen() -> list[str]:
        of_run = [one for one in store.seen if "/games/" not in one and not is_lease_put(one)]  # others are read ahead
        store.seen.clear()
        return [re.sub("[0-9]+", "*", request.rpartition("/")[2]) for request in of_run]

    class Counted(Run):
        def write(self, *facts: Any) -> Segment:
            store.seen.clear()
            segment = super().write(*facts)
            written.extend(seen())
            return segment

        def commit(self, segments: Sequence[Segment]) -> None:
            store.seen.clear()
            super().commit(segments)
            requests = seen()
            assert len(requests) == 1 + len(segments)
            committed.append(requests)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranklake.flows.rating.rate, "Run", Counted)
        rate_run(lake)
    assert len(written) > 3
    assert set(written) == {"*.parquet"}
    assert {one for requests in committed for one in requests} == {"lease-*.json", "*.json"}
    assert sum(requests.count("*.json") for requests in committed) == len(written)


def test_standings__are_read_with_one_request_a_file(url: str, store: Proxy) -> None:
    dataset = Dataset.open(lake_of(url, CONTESTS), "games")  # type: ignore[arg-type]
    store.seen.clear()
    assert sum(len(part) for part in dataset.standings()) == 28
    n_files = len(dataset.contests.column("file").unique())
    assert n_files == 3
    assert [request.split()[0] for request in store.seen] == ["GET"] * n_files


# Races


def test_create__by_concurrent_threads_succeeds_once(url: str) -> None:
    lakes = [Lake.open(url, create=True) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for turn in range(5):
            made = list(pool.map(lambda i, turn=turn: lakes[i].create_bytes(f"a/{turn}", f"of {i}".encode()), range(8)))
            assert made.count(True) == 1
            assert lakes[0].read_bytes(f"a/{turn}") == f"of {made.index(True)}".encode()


def test_create__detects_its_own_file_after_a_lost_response(url: str, store: Proxy) -> None:
    lake = Lake.open(url, create=True)
    lost = iter(["lose"])
    store.fault = lambda request: next(lost, "") if request.startswith("PUT") else ""
    assert lake.create_bytes("a/b", b"mine")
    assert [request.split()[0] for request in store.seen if request.endswith("a/b")] == ["PUT", "PUT", "GET"]
    assert not lake.create_bytes("a/b", b"another's")


def test_hold__is_exclusive_across_processes(url: str) -> None:
    lake = lake_of(url, CONTESTS[:3])  # type: ignore[arg-type]
    with hold_lease(lake, "runs/run", "rate run"):
        arguments = ("rate", "--dataset", "games", "--run", "run", "--lake", url)
        with start(*arguments) as process:
            try:
                out, err = process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()
        assert (process.returncode, out) == (1, b"")
        assert b"runs/run: " in err
        assert b"holds the lease" in err
        with pytest.raises(LeaseHeldError):
            rate_run(lake)


def test_lake__is_used_by_many_threads(url: str) -> None:
    lake = Lake.open(url, create=True)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: lake.write_bytes(f"a/{i:03d}", b"%d" % i), range(100)))
    assert list(lake.read_many([f"a/{i:03d}" for i in range(100)])) == [b"%d" % i for i in range(100)]
    assert len(lake.list("a")) == 100


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_lake__survives_a_fork(url: str) -> None:
    lake = lake_of(url, CONTESTS[:3])  # type: ignore[arg-type]
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: theirs.send(Dataset.open(lake, "games").contests.num_rows))
    child.start()
    try:
        assert ours.poll(TIMEOUT)
        assert ours.recv() == 3
    finally:
        child.kill()
        child.join()
    assert Dataset.open(lake, "games").n_players > 0  # and so does the parent


# Errors


def test_open__error_of_a_missing_bucket_names_it_and_it_is_never_made(store: Proxy) -> None:
    for create in (False, True):
        with pytest.raises(
            MissingError, match=r"s3://nobody-made-it/lake: bucket nobody-made-it does not exist; make it"
        ):
            Lake.open("s3://nobody-made-it/lake", create=create)
    filesystem = s3fs.S3FileSystem(skip_instance_cache=True)
    lake = Lake(filesystem, "nobody-made-it/lake", "s3://nobody-made-it/lake")
    actions: list[Callable[[str, bytes], object]] = [lake.write_bytes, lake.create_bytes]
    for action in actions:
        with pytest.raises(LakeError, match=r"a/b: cannot .*: bucket nobody-made-it does not exist"):
            action("a/b", b"")
    assert not filesystem.exists("nobody-made-it")
    assert not any(request.startswith("PUT /nobody-made-it ") for request in store.seen)


def test_open__an_empty_bucket_holds_no_lake_until_one_is_made(url: str) -> None:
    with pytest.raises(MissingError, match=f"no lake at {url}; `ranklake ingest` makes one"):
        Lake.open(url)
    lake_of(url, CONTESTS[:3])  # type: ignore[arg-type]
    assert Dataset.names(Lake.open(url)) == ["games"]
    assert Dataset.names(Lake.open(f"{url}/")) == ["games"]


def test_open__wrong_credentials_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(tmp_path, INITIAL_NO_AUTH_ACTION_COUNT="0") as address:
        for name, value in environment(address).items():
            monkeypatch.setenv(name, value)
        for create in (False, True):
            with pytest.raises(LakeError, match=r"s3://bucket/lake: cannot open the lake: .*Access Key Id"):
                Lake.open("s3://bucket/lake", create=create)


def test_open__missing_credentials_are_an_error(store: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with pytest.raises(LakeError, match="cannot open the lake: Unable to locate credentials"):
        Lake.open("s3://bucket/lake")


def test_lake__an_unreachable_store_is_an_error(url: str, store: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with proxy(f"http://{store.host}") as closed:
        monkeypatch.setenv("AWS_ENDPOINT_URL", closed.address)
    problem = "cannot {}: Could not connect to the endpoint"
    with pytest.raises(LakeError, match=f"^{url}: {problem.format('open the lake')}"):
        Lake.open(url)
    lake = Lake(s3fs.S3FileSystem(skip_instance_cache=True), url.removeprefix("s3://"), url)
    actions = {"read": lake.read_bytes, "list": lake.list, "look for": lake.exists, "delete": lake.delete}
    for verb, action in actions.items():
        with pytest.raises(LakeError, match=f"^a/b: {problem.format(verb)}"):
            action("a/b")
    with pytest.raises(LakeError, match=f"^a/b: {problem.format('create')}"):
        lake.create_bytes("a/b", b"")


def test_lake__requests_to_a_busy_store_are_retried(url: str, store: Proxy) -> None:
    lake = Lake.open(url, create=True)
    turns = iter(range(1000))
    store.fault = lambda _: "refuse" if next(turns) % 30 == 11 else ""
    ingest(lake, CONTESTS[:20])
    rate_run(lake)
    store.fault = lambda _: ""
    assert list(Verifier(lake).everything()) == []


def test_command__error_of_a_missing_bucket_is_one_line(store: Proxy) -> None:
    with start("runs", "--lake", "s3://nobody-made-it/lake") as process:
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        finally:
            process.kill()
    assert (process.returncode, out) == (1, b"")
    assert err.decode().startswith("Error: s3://nobody-made-it/lake: bucket nobody-made-it does not exist")
    assert err.count(b"\n") == 1
