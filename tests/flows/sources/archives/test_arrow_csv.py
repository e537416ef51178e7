"""A process ends with an error, not with SIGABRT, while Arrow's thread reads ahead in a stream of Python."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.timeouts import TIMEOUT

ROWS = {
    # rows that are read, and rows with a fault; a file has two blocks of Arrow
    "table": ("contest,player,rank\n", "a,x,1\n", "a,y,2,3\n"),
    "encoded": ("contest,player,rank\n", "a,x,1\n", "a,y,2,3\n"),
    "games": ("white,black,result,time\n", "x,y,1-0,2020-01-01\n", "x,y,9-9,2020-01-01\n"),
    "pgn": ('[White "x"]\n[Black "y"]\n', '[Result "1-0"]\n[Date "2020.01.01"]\n', '[Result "9-9"]\n[White "x"]\n' * 9),
    "interrupted": ("contest,player,rank\n", "a,x,1\n", ""),
}
READ = """
import os, signal, sys
from pathlib import Path
from ranklake.flows.sources.archives.arrow_csv import CsvBatches
from ranklake.flows.sources.base import SourceError
from ranklake.flows.sources.files.contests import read_contests
from ranklake.flows.sources.files.inputs import Input
from ranklake.flows.sources.games.batch import GamesReport
from ranklake.flows.sources.games.options import GamesOptions
from ranklake.flows.sources.games.pgn import read_pgn
from ranklake.flows.sources.games.tables import read_table
from ranklake.flows.sources.options import ReadOptions
what, path = sys.argv[1:]
if what == "interrupted":
    CsvBatches.__iter__ = lambda self: os.kill(os.getpid(), signal.SIGINT) or iter(())
try:
    if what == "games":
        list(read_table(Input(Path(path), "t", "csv"), GamesOptions(), GamesReport()))
    elif what == "pgn":
        list(read_pgn(Input(Path(path), "t", "pgn"), GamesOptions(), GamesReport(), 2**22))
    else:
        list(read_contests(path, options=ReadOptions(encoding="latin-1" if what == "encoded" else "utf-8")))
except (SourceError, KeyboardInterrupt) as error:
    print(type(error).__name__, error, flush=True)
    raise SystemExit(1)
"""
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda raw: gzip.compress(raw, 1),
    ".bz2": lambda raw: bz2.compress(raw, 1),
    ".xz": lambda raw: lzma.compress(raw, preset=0),
    ".zst": lambda raw: bytes(pa.compress(raw, "zstd", asbytes=True)),
    "": bytes,
}
SLOW = [("table", ending) for ending in COMPRESSED if ending] + [(what, ".gz") for what in ROWS if what != "table"]
AT_ONCE = 5  # processes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "ending", "turns"),
    [("encoded", "", 1), *(pytest.param(*case, 2, marks=pytest.mark.slow) for case in SLOW)],
)
def test_process__ends_with_an_error_while_arrow_reads_ahead(
    tmp_path: Path, what: str, ending: str, turns: int
) -> None:
    header, row, fault = ROWS[what]
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(COMPRESSED[ending]((header + row + fault + row * (2**25 // len(row))).encode()))
    command = [sys.executable, "-c", READ, what, str(path)]
    for _ in range(turns):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ended = list(pool.map(lambda _: _run(command), range(AT_ONCE if turns > 1 else 1)))
        for done in ended:
            output = done.stdout + done.stderr
            assert (done.returncode, output.count("\n")) == (1, 1), output
            assert output.startswith("KeyboardInterrupt" if what == "interrupted" else "SourceError"), output


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
