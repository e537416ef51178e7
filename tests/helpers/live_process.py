"""`ranklake rated` as a process of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .lakes import start


def options(folder: Path, *more: str) -> list[str]:
    """The options of a process over games that are rated by Elo."""
    return ["--run", "run", "--dataset", "games", "--system", "elo", "--lake", str(folder / "lake"), "--log",
            f"file:{folder / 'log'}", "--port", "0", *more]  # fmt: skip


@contextmanager
def rated(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[bytes], str, int]]:
    """The process, the address of its run, and the number of its last record; it is killed at the end."""
    with start("rated", *options(folder, *more)) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            found = re.fullmatch(
                r"rating matches of run at (http://127\.0\.0\.1:\d+)/; the last one has number (.*)\n", line
            )
            assert found, (line, process.stderr and process.stderr.read())
            yield process, f"{found[1]}/api/v1/runs/run", int(found[2].replace(",", ""))
        finally:
            process.kill()
