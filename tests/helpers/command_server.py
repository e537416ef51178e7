"""Commands in processes of their own that start in milliseconds and fail where a test wants them to.

The server is one process that has imported and compiled everything; it forks a process for each command. It has done
nothing that a fork does not survive: no thread, no connection, nothing of Delta's library but its import.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import itertools
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helpers.timeouts import TIMEOUT

ERRORS = ("ENOSPC", "EACCES", "EIO")
DELAY_SECONDS = 0.02  # at most
ROOM = 4  # files, folders and contents that a removed part of the reserve makes room for
NOW = 1_700_000_000.0  # what corrections say that the time is: lakes are to be compared to the byte
HEARTBEAT = "ranklake-lease"  # the thread of a lease
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, or that it was stopped: exit code, or the negative number of the signal that ended it.

    ``operations``: what it did to the files below the lake; known if it was not killed.
    """

    code: int
    out: str
    err: str
    operations: list[str]
    stopped: bool = False

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class RunningCommand:
    """A running command."""

    def __init__(self, command_server: CommandServer, pid: int, logs: str) -> None:
        self._server, self.pid, self._logs = command_server, pid, logs

    def wait_for_message(self, words: str) -> None:
        """Wait until its standard error contains ``words``."""
        give_up = time.monotonic() + TIMEOUT
        while words not in Path(f"{self._logs}.err").read_text():
            assert time.monotonic() < give_up, f"it did not print {words!r}"
            time.sleep(0.005)

    def wait(self) -> Ended:
        """Wait until it has ended or was stopped."""
        return Ended(**self._server._ask(wait=self.pid))

    def kill(self) -> Ended:
        """Send SIGKILL. Nothing happens if it has ended: its pid is not reused before it is waited for."""
        os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def go_on(self) -> RunningCommand:
        """Continue a stopped command."""
        os.kill(self.pid, signal.SIGCONT)
        return self


class CommandServer:
    """A process that forks commands. Made by :func:`open_command_server`."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self._server = server

    def start(self, *arguments: str, at: int = -1, how: str = "", before: str = "") -> RunningCommand:
        """``ranklake`` with some arguments, ``--lake`` among them, after the Python of ``before``.

        ``at``, ``how``: which of its operations on files below the lake fails, counted from 0, and in what way:
        ``kill`` (it dies before it), ``halfway`` (it dies in the middle of a write), ``stop`` (it is suspended before
        it), ``torn`` (half is written, then the disk is full), or one of ``ERRORS``. All are late with ``delay``. With
        ``full``, the disk is full from that one on: nothing is created or written, but what removed parts of the
        reserve have made room for.
        """
        return RunningCommand(self, **self._ask(arguments=arguments, at=at, how=how, before=before))

    def run(self, *arguments: str, at: int = -1, how: str = "", before: str = "") -> Ended:
        """As :meth:`start`, to its end."""
        return self.start(*arguments, at=at, how=how, before=before).wait()

    def done(self, *arguments: str) -> Ended:
        """As :meth:`run`, for what must not fail."""
        ended = self.run(*arguments)
        assert ended.code == 0, ended.err
        return ended

    def kill_after(self, seconds: float, *arguments: str) -> Ended:
        """As :meth:`run`, killed some seconds after its start, if it is still there."""
        running = self.start(*arguments)
        time.sleep(seconds)
        return running.kill()

    def _ask(self, **question: Any) -> dict[str, Any]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(question) + "\n")
        self._server.stdin.flush()
        ready, _, _ = select.select([self._server.stdout], [], [], TIMEOUT)
        assert ready, f"no answer to {question}"
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer


@contextlib.contextmanager
def open_command_server(settings: str = "") -> Iterator[CommandServer]:
    """A server whose commands start after the Python of ``settings`` has run. The block ends with all its processes."""
    tests = str(Path(__file__).parents[1])
    paths = os.pathsep.join([os.getcwd(), tests, os.environ.get("PYTHONPATH", "")])
    program = f"from helpers.command_server import serve\nserve({settings!r})"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    ) as server:
        try:
            yield CommandServer(server)
        finally:
            assert server.stdin is not None
            server.stdin.close()  # the server kills its commands and ends
            try:
                server.wait(TIMEOUT)
            finally:
                server.kill()


# In the process of the server


def serve(settings: str) -> None:
    """Fork commands and wait for them, as told by the lines of the standard input, until it ends."""
    questions, answers = sys.stdin, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _warm_up()
    exec(settings, {})
    alive: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number in itertools.count():
                if not (line := questions.readline()):
                    break
                question = json.loads(line)
                if "wait" in question:
                    answer = _wait(question["wait"], alive)
                else:
                    logs = f"{folder}/{number}"
                    for name in ("out", "err"):
                        Path(f"{logs}.{name}").touch()
                    pid = os.fork()
                    if pid == 0:
                        _work(logs, **question)
                    alive[pid] = logs
                    answer = {"pid": pid, "logs": logs}
                answers.write(json.dumps(answer) + "\n")
                answers.flush()
        finally:
            for pid in alive:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _warm_up() -> None:
    from helpers.lakes import NO_PROGRESS, rated_in_memory, synthetic

    import ranklake.storage.datasets.tables.log
    import ranklake.storage.maintenance.compact

    exec(NO_PROGRESS, {})
    rated_in_memory(synthetic(30))
    ranklake.storage.datasets.tables.log.time = SimpleNamespace(time=lambda: NOW)  # type: ignore[assignment]
    gc.freeze()  # collecting would copy pages that are shared


def _wait(pid: int, alive: dict[int, str]) -> dict[str, Any]:
    _, status = os.waitpid(pid, os.WUNTRACED)
    logs = alive[pid]
    if stopped := os.WIFSTOPPED(status):
        code = 0
    else:
        code = os.waitstatus_to_exitcode(status)
        del alive[pid]
    operations = Path(f"{logs}.operations")
    return {
        "code": code,
        "out": Path(f"{logs}.out").read_text(),
        "err": Path(f"{logs}.err").read_text(),
        "operations": operations.read_text().splitlines() if operations.exists() else [],
        "stopped": stopped,
    }


def _work(logs: str, arguments: list[str], at: int, how: str, before: str) -> None:
    """Run a command in the forked process; does not return."""
    code = 70
    try:
        for stream, name in ((0, os.devnull), (1, f"{logs}.out"), (2, f"{logs}.err")):
            os.dup2(os.open(name, os.O_RDWR), stream)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["ranklake", *arguments]
        operations = _watch(arguments[arguments.index("--lake") + 1], at, how)
        exec(before, {})
        from ranklake.flows.cli.main import main

        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        Path(f"{logs}.operations").write_text("\n".join(operations))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _watch(lake: str, at: int, how: str) -> list[str]:
    """Record all operations on files below a lake, and let one of them fail."""
    import ranklake.storage.lake.access.disk

    operations: list[str] = []
    numbers, dice, room = itertools.count(), random.Random(at), [0]

    def operate(what: str, halfway: Callable[[], object] = lambda: None) -> None:
        if threading.current_thread().name == HEARTBEAT:  # comes by time, so it has no number
            return
        operations.append(what)
        if how == "delay":
            time.sleep(dice.uniform(0, DELAY_SECONDS))
        number = next(numbers)
        if how == "full" and number >= at:
            if what.startswith("remove /.reserve/"):
                room[0] += ROOM
            if not what.startswith(("open", "write", "mkdir")):
                return
            room[0] -= 1
            if room[0] >= 0:
                return
            room[0] = 0
        elif number != at:
            return
        if how in ("halfway", "torn"):
            halfway()
        if how in ("kill", "halfway"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "stop":
            # To this thread: a signal to the process may stop it from another thread, after this one went on.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        else:
            code = getattr(errno, how if how in ERRORS else "ENOSPC")
            raise OSError(code, os.strerror(code))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        changes = event in ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir")
        if changes or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES):
            if isinstance(arguments[0], int):  # of the compiled module of a first import: in no other process
                return
            path = str(arguments[0])
            target = f" {str(arguments[1]).removeprefix(lake)}" if event in ("os.rename", "os.link") else ""
            if path.startswith(lake) or not path.startswith("/"):  # whole folders are removed by names inside them
                there = event == "open" and not arguments[2] & os.O_CREAT
                operate(f"{'again ' if there else ''}{event.removeprefix('os.')} {path.removeprefix(lake)}{target}")

    def opened(path: str, mode: str) -> Any:
        file = open(path, mode)  # noqa: SIM115
        write = file.write

        def written(data: Any) -> int:
            again = "again " if mode == "r+b" else ""
            half = bytes(data)[: len(data) // 2]
            operate(f"{again}write {path.removeprefix(lake)}", lambda: (write(half), file.flush()))
            return int(write(data))

        return _File(file, written)

    ranklake.storage.lake.access.disk.open = opened  # type: ignore[attr-defined]
    sys.addaudithook(hook)
    return operations


class _File:
    """A file whose ``write`` is replaced."""

    def __init__(self, file: Any, write: Callable[[Any], int]) -> None:
        self._file, self.write = file, write
        self.flush, self.fileno = file.flush, file.fileno

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
