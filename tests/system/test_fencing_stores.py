"""Requests of a writer that arrive at a store late, after another one took over: they change no committed data."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import s3fs
from helpers.command_server import CommandServer, Ended
from helpers.lakes import same_tables
from helpers.life import COMMANDS, CORRECT, LOST, OUT, PUBLISH, RATE, Step, live, take_over, what_counts
from helpers.stores import Proxy, published_in
from helpers.timeouts import TIMEOUT

from ranklake.storage import Dataset, Lake, MissingError, Run

pytestmark = pytest.mark.slow

DELETE_RUN = ("delete", "--run", "run", "--yes")
DELETE = ("delete", "--dataset", "games", "--with-runs", "--yes")


@pytest.fixture(scope="module", autouse=True)
def bucket(store: Proxy) -> None:
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir("fencing")


@pytest.fixture(scope="module")
def steps(remote: CommandServer, tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    return live(
        remote,
        tmp_path_factory.mktemp("undisturbed"),
        tuple(command for command in COMMANDS[:8] if "publish" not in command),
    )


def uploaded(state: Path, name: str) -> str:
    """Copy a lake from a disk into the store; returns its address."""
    contents = {path: path.read_bytes() for path in state.rglob("*") if path.is_file()}
    store = s3fs.S3FileSystem(skip_instance_cache=True)
    store.pipe({f"fencing/{name}/{path.relative_to(state)}": data for path, data in contents.items()})
    if not contents:
        store.pipe_file(f"fencing/{name}/empty", b"-")
    return f"s3://fencing/{name}"


def is_change(request: str) -> bool:
    """Whether a request changes the store, apart from leases: heartbeats come by time, and threads read ahead."""
    return not request.startswith(("GET", "LIST", "HEAD")) and "/lease-" not in request


@contextmanager
def held(store: Proxy, number: int) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Hold back the change with that number: one event is set at its arrival, the other one releases it."""
    come, go_on, count = threading.Event(), threading.Event(), iter(range(10**9))
    lock = threading.Lock()

    def fault(request: str) -> str:
        with lock:
            held_back = is_change(request) and not come.is_set() and next(count) == number
            if held_back:
                come.set()
        if held_back:
            assert go_on.wait(TIMEOUT)
        return ""

    store.fault = fault
    try:
        yield come, go_on
    finally:
        go_on.set()
        store.fault = lambda _: ""


def changes(remote: CommandServer, store: Proxy, step: Step, name: str) -> dict[int, str]:
    """The requests that change the store under the last lease of a command, by their number among all changes."""
    url = uploaded(step.before, name)
    store.seen.clear()
    remote.done(*step.command, "--lake", url)
    seen = list(store.seen)
    leases = [n for n, request in enumerate(seen) if "/lease-" in request and request.startswith("PUT")]
    taken, released = seen.index(seen[leases[-1]]), leases[-1]
    changing = [n for n, request in enumerate(seen) if is_change(request)]
    return {number: seen[n] for number, n in enumerate(changing) if taken < n < released}


def arrive_late(
    remote: CommandServer, store: Proxy, step: Step, name: str, number: int, commands: Sequence[tuple[str, ...]]
) -> Ended:
    """Hold back one request of a command until others have taken over and ended: it must have no effect."""
    url = uploaded(step.before, name)
    with held(store, number) as (come, go_on):
        running = remote.start(*step.command, "--lake", url)
        assert come.wait(TIMEOUT)
        take_over(remote, url, commands)
        before, tables = what_counts(url), published_in(url)
        go_on.set()
        ended = running.wait()
    lake, context = Lake.open(url), (step.command, number, ended)
    assert what_counts(url) == before, context
    assert all(same_tables(published_in(url)[name], table) for name, table in tables.items()), context
    assert remote.done("verify", "--lake", url).out.startswith("no problems"), context  # the proxy is in this process
    assert OUT in Dataset.open(lake, "games").log().disqualified["16"], context
    return ended


def successors(step: Step, steps: Sequence[Step]) -> list[tuple[str, ...]]:
    ingest, rate = (*steps[2].command, "--steal"), (*RATE, "--steal")
    return [ingest, CORRECT, rate, ("compact", "--rows", "100")]


def assert_lost(ended: Ended) -> None:
    assert (ended.code, LOST in ended.err) == (1, True), ended


@pytest.mark.parametrize("number", [1, 2, 4, 5, 6])  # rate, ingest, compact twice, amend
def test_commits__that_arrive_late_change_nothing(
    remote: CommandServer, store: Proxy, steps: list[Step], number: int
) -> None:
    step = steps[number]
    points = list(changes(remote, store, step, f"counted-{number}"))
    assert points
    at = points[-1] if number % 2 else random.Random(number).choice(points)  # the last is the commit, or follows it
    assert_lost(arrive_late(remote, store, step, f"late-{number}-{at}", at, successors(step, steps)))


def test_deletions__that_arrive_late_change_nothing(remote: CommandServer, store: Proxy, steps: list[Step]) -> None:
    """The successor writes the objects again that the late requests delete."""
    for number, command in enumerate((DELETE_RUN, DELETE)):
        step = Step(command, steps[-1].after, steps[-1].after, [], 0.0)
        points = list(changes(remote, store, step, f"counted-deletion-{number}"))
        at = points[number - 1]  # the last change of the deletion of a run, the first one of a data set
        again = successors(step, steps)
        assert_lost(arrive_late(remote, store, step, f"deletion-{number}", at, again))


def test_run__that_a_successor_deleted_is_not_restored(remote: CommandServer, store: Proxy, steps: list[Step]) -> None:
    step = Step((*RATE[:-1], "other"), steps[2].after, steps[2].after, [], 0.0)
    for at in list(changes(remote, store, step, "counted-other"))[:2]:
        url = uploaded(step.before, f"deleted-{at}")
        with held(store, at) as (come, go_on):
            running = remote.start(*step.command, "--lake", url)
            assert come.wait(TIMEOUT)
            take_over(remote, url, [(*step.command, "--steal"), ("delete", "--run", "other", "--yes")])
            go_on.set()
            assert_lost(running.wait())
        lake = Lake.open(url)
        assert Run.names(lake) == ([] if not (step.before / "runs").exists() else ["run"])
        with pytest.raises(MissingError, match="no run 'other'"):
            Run.open(lake, "other")
        remote.done("verify", "--lake", url)
        remote.done(*step.command, "--lake", url)
        assert Run.open(lake, "other").segments().stop_round == 32


@pytest.mark.parametrize("number", [4, 9], ids=["first", "replacing"])
def test_publish__whose_requests_arrive_late_changes_nothing(
    remote: CommandServer, store: Proxy, tmp_path_factory: pytest.TempPathFactory, number: int
) -> None:
    step = live(remote, tmp_path_factory.mktemp("published"), COMMANDS[: number + 1])[number]
    seen = changes(remote, store, step, f"counted-publish-{number}")
    logs = [at for at, request in seen.items() if "/_delta_log/" in request]
    assert len(logs) >= 2
    again = [CORRECT, (*RATE, "--steal"), (*PUBLISH, "--steal")]
    # The first file, or the last change and the first commit of a table.
    for at in (min(seen),) if number == 4 else (max(seen), logs[0]):
        assert_lost(arrive_late(remote, store, step, f"publish-{number}-{at}", at, again))
