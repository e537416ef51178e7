"""Kill -9 at any request to an object store: the repeated command gives the lake of an undisturbed one on a disk."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import pytest
from helpers.command_server import CommandServer, Ended
from helpers.lakes import same_tables
from helpers.life import COMMANDS, Step, live, published, what_counts
from helpers.stores import Proxy, is_lease_put, published_in
from helpers.timeouts import TIMEOUT

from ranklake.storage import Lake, Run

pytestmark = pytest.mark.slow


def die_at_request(remote: CommandServer, store: Proxy, command: tuple[str, ...], number: int, answered: bool) -> Ended:
    """Kill a command at one of its requests, counted from 0: before the store receives it, or after it is done."""
    victim: list[int] = []
    known, lock, requests = threading.Event(), threading.Lock(), iter(range(10**9))

    def fault(_: str) -> str:
        assert known.wait(TIMEOUT)
        with lock:
            if next(requests) != number:
                return ""
        if answered:
            return "lose"
        os.kill(victim[0], signal.SIGKILL)
        return "refuse"

    # The store is done by then: a request of a dead process must not change it beside the next command.
    store.on_loss = lambda: os.kill(victim[0], signal.SIGKILL)
    store.fault = fault
    running = remote.start(*command)
    victim.append(running.pid)
    known.set()
    ended = running.wait()
    store.fault = lambda _: ""
    return ended


def assert_as_on_the_disk(url: str, step: Step) -> None:
    actual, expected = what_counts(url), what_counts(step.after)
    assert actual.keys() == expected.keys()
    assert [name for name in expected if actual[name] != expected[name]] == []
    on_disk, in_store = published(step.after), published_in(url)
    assert [name for name in in_store if not same_tables(in_store[name], on_disk[name])] == []
    assert bool(in_store) == bool(on_disk)


def test_life__in_a_store_killed_at_any_request_ends_as_on_a_disk(
    remote: CommandServer, store: Proxy, url: str, tmp_path: Path
) -> None:
    """Each command is killed once before it may finish."""
    dice, killed = random.Random(9), 0
    for step in live(remote, tmp_path, COMMANDS[:10]):
        command = (*step.command, "--lake", url)
        killed += die_at_request(remote, store, command, dice.randint(3, 30), dice.random() < 0.5).killed
        Lake.open(url, create=True)
        remote.done("verify", "--lake", url)  # not here: Delta's library holds the lock that the proxy needs
        remote.done(*command)
        assert_as_on_the_disk(url, step)
    assert killed >= 5


def test_rate__lists_as_often_for_one_segment_as_for_many(
    remote: CommandServer, store: Proxy, url: str, tmp_path: Path
) -> None:
    (ingest,) = live(remote, tmp_path, COMMANDS[:1])
    remote.done(*ingest.command, "--lake", url)
    remote.done(
        "rate", "--dataset", "games", "--run", "first", "--max-rounds", "0", "--lake", url
    )  # as in any lake in use
    counts = []
    for run, rows in (("many", 20), ("one", 10**9)):
        store.seen.clear()
        policy = f"CommitPolicy(segment_rows={rows}, segment_seconds=float('inf'), snapshot_rows=10**9)"
        ended = remote.run(
            "rate",
            "--dataset",
            "games",
            "--run",
            run,
            "--lake",
            url,
            before="from ranklake.flows.rating.commits import commit_policy\n"
            f"commit_policy.DEFAULT = commit_policy.{policy}",
        )
        assert ended.code == 0, ended.err
        seen = [request for request in store.seen if "/entry/" not in request and not is_lease_put(request)]
        kinds = [request.split()[0] for request in seen]
        segments = Run.open(Lake.open(url), run).segments().segments
        counts.append((len(segments), kinds.count("LIST"), kinds.count("PUT")))
    (many, lists, puts), one = counts
    assert many > 5
    assert one == (1, lists, puts - 2 * (many - 1))
