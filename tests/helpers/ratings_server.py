"""``ranklake serve`` as a process."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from helpers.lakes import start

from ranklake.storage import Lake


@contextmanager
def serving(lake: Lake, *options: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server on a port, 0 for a free one, and the address of its list of runs; it is killed at the end."""
    with start("serve", "--lake", lake.url, "--port", str(port), *options) as process:
        try:
            yield process, _address(process)
        finally:
            process.kill()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _address(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline().decode()
    found = re.fullmatch(r"serving (.*) at (http://127\.0\.0\.1:\d+\S*/)\n", line)
    assert found, (line, process.stderr.read())
    return f"{found[2]}api/v1/runs"
