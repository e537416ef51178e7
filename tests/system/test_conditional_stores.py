"""Stores that ignore or refuse conditions, and stores in a storm: words before any change, or the same bits after."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from helpers.command_server import CommandServer
from helpers.folders import write_folder
from helpers.lakes import synthetic
from helpers.life import RATE, what_counts
from helpers.stores import Proxy, is_lease_put, objects

from ranklake.storage import Lake, LakeError, Run
from ranklake.storage.leases.acquire import hold_lease
from ranklake.storage.leases.roots import delete_root, has_root, read_root

pytestmark = pytest.mark.slow

Words: TypeAlias = tuple[str, ...]
Runner: TypeAlias = Callable[[Words, str], tuple[int, str]]

DATASET = ("--dataset", "games")
CONTESTS = [one for one in synthetic(24) if len(one) > 2]
OUT = CONTESTS[5].handles[0].as_py()
# Each ends after a lease is taken; the first two make a data set and a run.
WRITERS: tuple[Words, ...] = (
    ("ingest", "files", "first", *DATASET),
    RATE,
    ("smooth", "--run", "run"),
    ("amend", CONTESTS[5].contest_id, "--remove", OUT, *DATASET),
    ("alias", OUT, "somebody else", *DATASET),
    ("remove", CONTESTS[3].contest_id, *DATASET),
    ("attributes", "attributes.csv", *DATASET),
    ("ingest", "results", "results.csv", *DATASET),
    ("publish", "--run", "run"),
    ("compact", *DATASET),
    ("compact", "--run", "run"),
    ("delete", "--run", "run", "--with-published", "--yes"),
    ("delete", *DATASET, "--with-runs", "--yes"),
)
# What a store does, and what the message says about it
STORES = {
    "ignore": "ignores If-None-Match",
    "ignore If-None-Match": "ignores If-None-Match",
    "ignore If-Match": "ignores If-Match",
    "unimplemented": "answers a put with If-None-Match, whose condition is true, with 501 Not Implemented",
    "conflict": "answers a put with If-None-Match, whose condition is true, with 409 Conflict",
}
REMEDY = (
    ": writers at the same time could overwrite each other's commits; use a store that carries out conditional puts, "
    "as AWS S3, MinIO and R2 do, or a lake on a disk"
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    write_folder(folder / "first", CONTESTS)
    (folder / "attributes.csv").write_text(f"handle,country\n{OUT},NL\n")
    solve = f"{CONTESTS[5].contest_id},{OUT},A,1"
    (folder / "results.csv").write_text(f"contest,player,problem,solved\n{solve}\n")
    return folder


@pytest.fixture
def run(remote: CommandServer, sources: Path) -> Runner:
    """Runs a command in a lake; returns its exit code and what it says."""

    def ran(words: Words, url: str) -> tuple[int, str]:
        arguments = [str(sources / word) if (sources / word).exists() else word for word in words]
        ended = remote.run(*arguments, "--lake", url)
        assert "Traceback" not in ended.err, (words, ended)
        return ended.code, ended.err

    return ran


@pytest.mark.parametrize("how", STORES)
def test_writers__at_a_store_without_conditions_say_so_and_change_nothing(
    url: str, store: Proxy, run: Runner, how: str
) -> None:
    for words in WRITERS[:2]:
        assert run(words, url)[0] == 0
    assert run(("publish", "--run", "run"), url)[0] == 0
    before = objects(url)
    store.fault = lambda _: how
    for words in WRITERS if how == "ignore" else WRITERS[3:4]:
        code, said = run(words, url)
        assert code == 1, (words, said)
        assert said.endswith(f"Error: {url}: the store at {store.address} {STORES[how]}{REMEDY}\n"), (words, said)
        assert objects(url) == before, words
    store.fault = lambda _: ""
    assert run(WRITERS[3], url)[0] == 0  # no lease is left


def test_writers__at_a_store_with_codes_of_its_own_work(url: str, store: Proxy, run: Runner) -> None:
    store.fault = lambda _: "odd"
    for words in (*WRITERS[:2], *WRITERS[7:11]):  # each kind of root: publish, compact and delete a run
        assert run(words, url)[0] == 0, words


def test_commit__refused_for_a_true_condition_says_so(url: str, store: Proxy) -> None:
    """Only the commit, not the lease: of a store that has changed, or of another server behind one address."""
    lake = Lake.open(url, create=True)
    for version in ("", lake.replace_bytes("runs/run/run.json", b"1", "")):
        store.fault = lambda what: "unimplemented" if "run.json" in what or "new" in what else ""
        condition = "If-Match" if version else "If-None-Match"
        with pytest.raises(LakeError, match=rf"answers a put with {condition}, whose .* with 501 Not Implemented: "):
            lake.replace_bytes("runs/run/run.json" if version else "new", b"2", version)
        store.fault = lambda _: ""


def test_probe__is_two_requests_a_lease(url: str, store: Proxy) -> None:
    lake = Lake.open(url, create=True)
    store.seen.clear()
    with hold_lease(lake, "runs/run", "rate"):
        assert sum(map(is_lease_put, store.seen)) == 3


def test_delete_root__at_a_store_that_deletes_without_condition_leaves_a_tombstone(url: str, store: Proxy) -> None:
    store.fault = lambda what: "ignore If-Match" if what.startswith("DELETE") else ""
    lake = Lake.open(url, create=True)
    path = "runs/run/run.json"
    for ignored in (True, False):
        with hold_lease(lake, "runs/run", "delete") as lease:
            lease.lake.replace_bytes(path, b"{}" * 99, read_root(lake, path)[1])
            delete_root(lake, path, lease)
        assert (has_root(lake, path), lake.exists(path)) == (False, ignored)
        store.fault = lambda _: ""
    assert [name for name in lake.list("runs/run") if not name.startswith("lease-")] == []
    assert Run.names(lake) == []


# Storms


def storm(store: Proxy, seed: int) -> None:
    """Refuse or delay a fifth of the requests, some of them several times in a row."""
    dice, lock = random.Random(seed), threading.Lock()

    def fault(_: str) -> str:
        with lock:
            chosen = dice.choice(("refuse", "throttle", "lose", "slow")) if dice.random() < 0.2 else ""
        if chosen == "slow":
            time.sleep(0.05)
            return ""
        return chosen

    store.fault = fault


@pytest.mark.parametrize("how", ["refuse", "throttle"])
def test_command__in_a_storm_without_end_says_to_run_it_again(url: str, store: Proxy, run: Runner, how: str) -> None:
    store.fault = lambda _: how
    code, said = run(WRITERS[0], url)
    assert (code, said.endswith("; run the same command again when the store is less busy\n")) == (1, True), said
    store.fault = lambda _: ""
    assert run(WRITERS[0], url)[0] == 0


def test_life__in_a_storm_ends_with_the_same_bits_or_with_words(url: str, store: Proxy, run: Runner) -> None:
    life, twin = (*WRITERS[:2], WRITERS[3], ("publish", "--run", "run")), f"{url}-twin"
    for number, words in enumerate(life):
        assert run(words, twin)[0] == 0
        storm(store, number)
        code, said = run(words, url)
        store.fault = lambda _: ""
        assert code == 0 or (code == 1 and said.startswith("Error: ") and said.count("\n") <= 2), (words, said)
        if code:
            code, said = run(words, url)
            assert code == 0 or "no contest" in said, (words, said)
    assert what_counts(url) == what_counts(twin)
    assert run(("verify",), url)[0] == 0
