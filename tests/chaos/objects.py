"""Commands on an object store whose requests are refused, lost or late, or at which the command is killed."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import s3fs
from chaos.cases import Violation
from chaos.commands import WARM, draw_commands, with_paths
from chaos.lives import Content, Step, check_content, check_ended, lives
from chaos.world import World
from deltalake import DeltaTable
from helpers.command_server import CommandServer, Ended, open_command_server
from helpers.life import SETTINGS, what_counts
from helpers.stores import Proxy, environment, proxy, server
from helpers.tables import ORDER
from helpers.timeouts import TIMEOUT

from ranklake.storage import Lake
from ranklake.storage.lake.errors import MissingError

BUCKET = "bucket"
URL = f"s3://{BUCKET}/lake"
LATE_SECONDS = 0.3
HOWS = ("refuse", "lose", "late", "kill before", "kill after")
STORM = ("refuse", "throttle")
WITHOUT_CONDITIONS = ("ignore", "ignore If-None-Match", "ignore If-Match", "unimplemented", "conflict")


def draw(seed: int) -> dict[str, Any]:
    """Commands, each with the faults of the requests with some numbers; some first at a store without conditions."""
    dice = random.Random(seed)
    steps = []
    for command in draw_commands(dice, dice.choice([1, 2, 3, 3])):
        faults = [{"request": dice.randrange(60), "how": dice.choice(HOWS)} for _ in range(dice.choice([0, 1, 1, 2]))]
        if dice.random() < 0.2:
            first, how = dice.randrange(60), dice.choice(STORM)
            faults += [{"request": first + number, "how": how} for number in range(dice.choice([3, 10, 20]))]
        without = dice.choice(WITHOUT_CONDITIONS) if dice.random() < 0.2 else ""
        steps.append({"command": command, "faults": faults, "without": without})
    return {"steps": steps}


def check(world: World, parameters: dict[str, Any]) -> None:
    store = world.once("store", lambda: _store(world))
    command_server = world.once("remote command server", lambda: open_command_server(SETTINGS + WARM))
    _empty(store)
    steps = parameters["steps"]
    commands = [step["command"] for step in steps]
    for number, step in enumerate(steps):
        command, undisturbed = step["command"], lives(world).after(commands[: number + 1])
        arguments = (*with_paths(world, command), "--lake", URL)
        store.seen.clear()
        if without := step.get("without"):
            _check_refused(world, store, command_server, arguments, without)
        ended = _disturbed(world, store, command_server, arguments, step["faults"]) if step["faults"] else None
        if ended is not None and not ended.killed:
            check_ended(ended, command)
        if step["faults"]:
            _check_sound(command_server, f"after a fault of {command[0]}")
        again = command_server.run(*arguments)
        world.counts["commands"] += 1
        world.counts["requests"] += len(store.seen)
        check_ended(again, command)
        words = f"{' '.join(command)}: exit {ended.code if ended else None}, then {again.code}\n{again.err}"
        if again.code != undisturbed.ended.code and not (again.code == 1 and step["faults"]):
            raise Violation(f"{command[0]} in a store exits with another code", words)
        found = Content(what_counts(URL), _published(undisturbed))
        check_content(found, undisturbed.content, f"{command[0]} in a store does not end as on a disk", words)
    _check_sound(command_server, "after a life with faults")


def _disturbed(
    world: World, store: Proxy, command_server: CommandServer, arguments: tuple[str, ...], faults: list[dict[str, Any]]
) -> Ended:
    """Run a command with faults in the requests with some numbers, counted from 0."""
    victim: list[int] = []
    known, lock, numbers = threading.Event(), threading.Lock(), iter(range(10**9))
    wanted = {fault["request"]: fault["how"] for fault in faults}

    def fault(what: str) -> str:
        if not known.wait(TIMEOUT):
            return ""
        with lock:
            how = wanted.get(next(numbers), "")
            if how:
                world.counts["faults"] += 1
        if how == "late":
            time.sleep(LATE_SECONDS)
        elif how == "kill before":
            os.kill(victim[0], signal.SIGKILL)
            return "refuse"
        elif how == "kill after":
            threading.Timer(0.0, os.kill, (victim[0], signal.SIGKILL)).start()
            return "lose"
        return how if how in ("refuse", "lose", "throttle") else ""

    store.fault = fault
    try:
        running = command_server.start(*arguments)
        victim.append(running.pid)
        known.set()
        ended = running.wait()
    finally:
        known.set()
        store.fault = lambda _: ""
    world.counts["kills"] += any(how.startswith("kill") for how in wanted.values())
    world.counts["in time"] += ended.killed
    return ended


def _check_refused(
    world: World, store: Proxy, command_server: CommandServer, arguments: tuple[str, ...], how: str
) -> None:
    """Check that a command changes nothing in a store without conditions."""
    before = _what_counts()
    store.fault = lambda _: how
    try:
        ended = command_server.run(*arguments)
    finally:
        store.fault = lambda _: ""
    world.counts["faults"] += 1
    check_ended(ended, list(arguments))
    if _what_counts() != before:
        raise Violation(f"{arguments[0]} changes a store that does not carry out conditions", f"{how}\n{ended.err}")


def _what_counts() -> dict[str, bytes]:
    try:
        return what_counts(URL)
    except MissingError:  # a store has no empty folder
        return {}


def _check_sound(command_server: CommandServer, when: str) -> None:
    try:
        Lake.open(URL)
    except MissingError:
        return  # the command was killed before its first write: a store has no empty folder
    # Not in this process: the Delta library checks for a table without releasing the interpreter lock for the proxy.
    ended = command_server.run("verify", "--lake", URL)
    if ended.code:
        raise Violation(f"verify finds damage in a store {when}", f"{ended.out}{ended.err}")


def _published(step: Step) -> dict[str, Any]:
    """The tables in the store that exist on the disk."""
    found = {}
    for path in step.content.tables:
        _, _, name = path.partition("/")
        if name == "latest":  # its bytes were compared
            found[path] = step.content.tables[path]
            continue
        table = DeltaTable(f"{URL}/published/{path}", storage_options={"allow_http": "true"}).to_pyarrow_table()
        found[path] = table.sort_by([(column, "ascending") for column in ORDER[name]])
    return found


@contextmanager
def _store(world: World) -> Iterator[Proxy]:
    """The store for all clients of this process and of its later child processes."""
    folder = world.fresh_folder("store")
    with server(folder) as address, proxy(address) as made:
        os.environ.update(environment(made.address))
        yield made


def _empty(store: Proxy) -> None:
    """Delete all objects of the store."""
    store.fault = lambda _: ""
    request = urllib.request.Request(f"http://{store.host}/moto-api/reset", method="POST")
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        response.read()
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(BUCKET)
