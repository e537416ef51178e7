"""`ranklake rated` in processes that begin at once: each is a fork of one that has imported and compiled all.

As a program, it reads a line with the arguments of the command in JSON, runs it in a child, prints what the child
prints, and then a line ``ended`` when the child is gone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class Forks:
    """The program, and the process that it runs now."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def begin(self, arguments: Sequence[str]) -> tuple[int, str]:
        """Run the command; returns its process id and its first line."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(list(arguments)).encode() + b"\n")
        self._process.stdin.flush()
        return int(self.line()), self.line()

    def line(self) -> str:
        """The next line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().rstrip("\n")


@contextmanager
def forks() -> Iterator[Forks]:
    """The program, ended after the block."""
    with subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Forks(process)
        finally:
            process.kill()


def main() -> None:
    """Import and compile all, then run commands in forks."""
    from ranklake.flows.cli.commands.rated import rated  # noqa: F401
    from ranklake.flows.cli.main import main as command
    from ranklake.flows.live.engine import LiveRuns
    from ranklake.flows.live.log.opening import open_log
    from ranklake.flows.live.matches.match import read_match
    from ranklake.flows.live.service import running, service  # noqa: F401
    from ranklake.flows.rating.resolve import resolve_runs
    from ranklake.storage import Lake

    with tempfile.TemporaryDirectory() as folder:
        log = open_log(f"file:{Path(folder, 'log')}", "d")
        with LiveRuns.open(
            Lake.open(f"{folder}/lake", create=True), resolve_runs(None, "d", ["r"], ["elo"]), log
        ) as runs:
            runs.accept([read_match(b'{"id":"1","a":"a","b":"b","score":1}', runs.rules)])
        log.close()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            sys.argv = ["ranklake", *json.loads(line)]
            print(os.getpid(), flush=True)
            command()
            os._exit(0)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
