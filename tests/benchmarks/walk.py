"""Count the files and calls that a command crosses: a process of structure.py for one commit.

    python tests/benchmarks/walk.py WALK FOLDER

The walks build on each other in one folder: `ingest files` of three contests, `rate`, a player's page of the server.
The last line printed is a JSON list: files whose functions were called, and calls. Imports are not counted.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType
from typing import Any

from ranklake import flows, rating_kernels, storage
from ranklake.flows.cli.main import main

PACKAGES = tuple(os.fspath(Path(folder)) for name in (flows, storage, rating_kernels) for folder in name.__path__)
FUNCTION = 0x1  # flag of code that is a function's: not a module's, not a class's
TABLE = "contest,time,player,rank\n" + "".join(
    f"c{day},2024-01-0{day},p{(player + day) % 4},{player + 1}\n" for day in (1, 2, 3) for player in range(4)
)


class Counter:
    """Calls of functions of the package, outside of imports, in every thread that starts later."""

    def __init__(self) -> None:
        self.files, self.calls, self.counts = set[str](), 0, True
        self._importing = threading.local()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PACKAGES):
            return
        depth = getattr(self._importing, "depth", 0)
        if not code.co_flags & FUNCTION:
            self._importing.depth = depth + (1 if event == "call" else -1)
        elif event == "call" and self.counts and depth == 0:
            self.files.add(code.co_filename)
            self.calls += 1

    def start(self) -> None:
        """Count from now on."""
        threading.setprofile(self)
        sys.setprofile(self)


def command(*words: str) -> None:
    """Run a command of ranklake."""
    try:
        sys.argv = ["ranklake", *words]
        main()
    except SystemExit as ended:
        if ended.code:
            raise


def _read(url: str) -> None:
    """Request a page, also while the server starts."""
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url, timeout=60).read()
            return
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionError) or time.monotonic() > deadline:
                raise


def page(counter: Counter, lake: str) -> None:
    """Count the page of a player after that of another one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def ask() -> None:
        for player in ("p1", "p2"):
            counter.counts = player == "p2"
            _read(f"http://127.0.0.1:{port}/table-elo-mmr/p/{player}")
        counter.counts = False
        os.kill(os.getpid(), signal.SIGINT)

    counter.counts = False
    asking = threading.Thread(target=ask)
    asking.start()
    command("serve", "--lake", lake, "--port", str(port))
    asking.join()


if __name__ == "__main__":
    walk, folder = sys.argv[1:]
    lake, counter = f"{folder}/lake", Counter()
    if walk == "ingest files":
        Path(folder, "table.csv").write_text(TABLE, encoding="utf-8")
        counter.start()
        command("ingest", "files", f"{folder}/table.csv", "--dataset", "table", "--lake", lake)
    elif walk == "rate":
        counter.start()
        command("rate", "--dataset", "table", "--engine", "threads", "--lake", lake)
    else:
        command("publish", "--run", "table-elo-mmr", "--lake", lake)
        counter.start()
        page(counter, lake)
    sys.setprofile(None)
    print(json.dumps([len(counter.files), counter.calls]))
