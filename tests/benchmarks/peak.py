"""Rate all contests of a file with the kernels only; a row starts this program to measure its memory."""

from __future__ import annotations

import sys
from pathlib import Path

from history import load, rate_pieces

from ranklake.flows.engines.factory import open_engine

if __name__ == "__main__":
    history = load(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
    with open_engine("threads") as engine:
        rate_pieces(history.rounds, len(history.handles), engine)
